#include "followers/listing.hpp"

#include <array>

#include "base/assert.hpp"
#include "base/json.hpp"

namespace tagring::followers {
namespace {

bool is_collection(const json::object& o) {
  bool found = false;
  json::for_each(json::find(o, "type"), [&](const json::value& type) {
    static constexpr std::array<std::string_view, 4> kTypes = {"Collection", "CollectionPage",
                                                               "OrderedCollection", "OrderedCollectionPage"};
    for (const std::string_view name : kTypes) found |= type.is_string() && type.get_string() == name;
  });
  return found;
}

// The member unless it is null, which means the same as its absence.
const json::value* present(const json::object& o, std::string_view key) {
  const json::value* v = json::find(o, key);
  return v == nullptr || v->is_null() ? nullptr : v;
}

// Says only how many there are, as collections do that are nobody's business; but Fedify leaves out an empty
// list, too, and counts followers of all servers.
bool says_only_how_many(const json::object& o) {
  const bool shows = present(o, "orderedItems") != nullptr || present(o, "items") != nullptr ||
                     present(o, "next") != nullptr;
  return !shows && json::get_int(o, "totalItems").value_or(0) > 0;
}

}  // namespace

// Reads the documents; only here is JSON known, so that no user of the header needs it.
class Listing::Reader {
 public:
  explicit Reader(Listing& listing) : listing_(listing) {}

  void document(const json::object& o) {
    if (!is_collection(o)) return listing_.fail("not a collection");
    const bool is_root = !listing_.in_pages_;
    const json::value* first = is_root ? present(o, "first") : nullptr;
    listing_.in_pages_ = true;
    listing_.only_counts_ = listing_.only_counts_ || (first == nullptr && is_root && says_only_how_many(o));
    if (first == nullptr) return page(o);
    if (!first->is_object()) return follow(*first);
    if (!is_collection(first->get_object())) return listing_.fail("first page is not a collection");
    page(first->get_object());
  }

 private:
  void page(const json::object& o) {
    if (++listing_.pages_ > listing_.limits_.pages_max) return listing_.fail("too many pages");
    const json::value* ordered = present(o, "orderedItems");
    const json::value* plain = present(o, "items");
    if (ordered != nullptr && plain != nullptr) return listing_.fail("two lists of items");
    json::for_each(ordered != nullptr ? ordered : plain, [this](const json::value& v) { item(v); });
    if (const json::value* next = present(o, "next")) follow(*next);
  }

  void item(const json::value& v) {
    if (!listing_.problem_.empty()) return;
    std::string id = json::id_of(v);
    if (id.empty() || id.size() > listing_.limits_.id_bytes_max)
      return listing_.fail("item without a proper id");
    if (listing_.items_.size() == listing_.limits_.items_max) return listing_.fail("too many items");
    listing_.items_.push_back(std::move(id));
  }

  void follow(const json::value& v) {
    if (!listing_.problem_.empty()) return;
    std::string url = json::id_of(v);
    if (!listing_.authority_->covers(url)) return listing_.fail("page on another server");
    if (!listing_.visited_.insert(url).second) return listing_.fail("page that was read before");
    listing_.next_ = std::move(url);
  }

  Listing& listing_;
};

Listing::Listing(std::string url, ListingLimits limits)
    : limits_(limits), authority_(Authority::of(url)), visited_{url} {
  if (authority_) {
    next_ = std::move(url);
  } else {
    fail("not an http(s) URL");
  }
}

void Listing::take(std::string_view body) {
  TR_ASSERT(next_.has_value());
  next_.reset();
  if (body.size() > limits_.document_bytes_max) return fail("document too large");
  const Result<json::object> document = json::parse_object(body);
  if (!document) return fail("not a JSON object");
  Reader(*this).document(*document);
}

void Listing::fail(std::string_view problem) {
  TR_ASSERT(!problem.empty());
  next_.reset();
  items_.clear();
  problem_ = problem;
}

std::optional<std::span<const std::string>> Listing::items() const {
  if (next_ || !problem_.empty()) return std::nullopt;
  return items_;
}

}  // namespace tagring::followers
