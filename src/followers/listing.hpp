// The partial collection as the receiver reads it, page by page.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "followers/authority.hpp"

namespace tagring::followers {

struct ListingLimits {
  std::size_t pages_max = 10;
  std::size_t items_max = 500'000;
  std::size_t id_bytes_max = 2048;
  std::size_t document_bytes_max = 1U << 20U;
};

// Gathers a list from the documents of another server, and says which to fetch next. All or nothing: there
// are items only after every page was read, since half a list looks like a full one whose other followers
// left.
//
//   Listing listing(header.url);
//   while (const std::string* url = listing.next()) {
//     if (const auto body = signed_get(*url)) listing.take(*body); else listing.fail("cannot be fetched");
//   }
//   const Plan plan = make_plan(…, listing.items(), …);
//
// It reads what servers send: Collection and OrderedCollection, with `items` or `orderedItems`, of ids or of
// objects with one, a single one outside a list; or in pages that `first` gives by name or whole, and then
// what else is in the root does not count. No items at all are an empty list (but see only_counts()), and
// `totalItems` does not count, since some mean all followers by it. A document's `id` need not be the URL
// that it came from.
class Listing {
 public:
  // `url` has passed check_header. Every page must be under the same authority.
  explicit Listing(std::string url, ListingLimits limits = {});

  // What to get (signed, and with the receiver's own bounds on time, size and redirects); null when there is
  // no more. Valid until the next take() or fail().
  [[nodiscard]] const std::string* next() const { return next_ ? &*next_ : nullptr; }
  // The body of the answer to next(): of a 200 with a media type of ActivityStreams, else fail().
  void take(std::string_view body);
  // Ends it. `problem` must outlive the listing, like a literal.
  void fail(std::string_view problem);

  // In the order and with the repetitions of the documents; nothing until all is read, and for ever after a
  // failure.
  [[nodiscard]] std::optional<std::span<const std::string>> items() const;
  // There is no list, but a count: of all followers, where none is the receiver's, or of what is not shown.
  // Only a signed digest tells which: without one it is no empty list.
  [[nodiscard]] bool only_counts() const { return only_counts_; }
  // What went wrong; empty if nothing did. For the log.
  [[nodiscard]] std::string_view problem() const { return problem_; }

 private:
  class Reader;

  ListingLimits limits_;
  std::optional<Authority> authority_;
  std::optional<std::string> next_;
  std::set<std::string> visited_;
  std::size_t pages_ = 0;
  bool in_pages_ = false;
  bool only_counts_ = false;
  std::vector<std::string> items_;
  std::string_view problem_;
};

}  // namespace tagring::followers
