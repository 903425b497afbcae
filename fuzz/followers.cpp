// FEP-8fcf: the header that comes with a delivery, and the pages of another server's list. Text: the header's
// value, or pages, each ended by a zero byte.
#include "followers/documents.hpp"
#include "followers/header.hpp"
#include "followers/listing.hpp"
#include "fuzz/target.hpp"

namespace tagring::fuzzing {
namespace {

using namespace followers;

void check_header(std::string_view text) {
  const auto header = parse_header(text);
  if (!header) {
    TR_ASSERT(!to_string(header.error()).empty());
    return;
  }
  TR_ASSERT(text.size() <= kHeaderBytesMax);
  const auto written = format_header(*header);
  if (written) TR_ASSERT(parse_header(*written) == *header);
  const auto own = Authority::of("https://tags.example.org");
  const Delivery delivery{
      .actor = header->collection_id, .followers = header->collection_id, .covers_header = true};
  const auto checked = followers::check_header(*header, delivery, *own);
  if (!checked) return;
  TR_ASSERT(Authority::of(header->url) == Authority::of(header->collection_id));
  TR_ASSERT(Authority::of(header->url) != own);
  TR_ASSERT(
      !followers::check_header(*header, {.actor = delivery.actor, .followers = delivery.followers}, *own));
}

void check_listing(std::string_view text) {
  constexpr ListingLimits kLimits{
      .pages_max = 4, .items_max = 16, .id_bytes_max = 64, .document_bytes_max = 4096};
  constexpr DocumentLimits kDocumentLimits{.bytes_max = 9400, .pages_max = 16};  // room for a few ids
  const std::string url = "https://example.net/followers";
  Listing listing(url, kLimits);
  std::size_t pages = 0;
  while (const std::string* next = listing.next()) {
    // The root, the pages, and one that turns out to be too many.
    TR_ASSERT(++pages <= kLimits.pages_max + 2);
    TR_ASSERT(Authority::of(*next) == Authority::of(url));
    if (text.empty()) {
      listing.fail("cannot be fetched");
    } else {
      listing.take(take_until(text, '\0'));
    }
  }
  const auto items = listing.items();
  TR_ASSERT(items.has_value() == listing.problem().empty());
  if (!items) return;
  TR_ASSERT(items->size() <= kLimits.items_max);
  for (const std::string& item : *items) TR_ASSERT(!item.empty() && item.size() <= kLimits.id_bytes_max);
  // Served by us, the list is the same but for its order.
  const auto documents = make_documents(url, {items->begin(), items->end()}, kDocumentLimits);
  if (!documents) return;
  Listing again(url, {.pages_max = 32});
  for (const Document& document : *documents) {
    TR_ASSERT(document.body.size() <= kDocumentLimits.bytes_max);
    TR_ASSERT(again.next() != nullptr && *again.next() == document.url);
    again.take(document.body);
  }
  TR_ASSERT(again.items());
  TR_ASSERT(Digest::of(*again.items()) == Digest::of(*items));
}

}  // namespace

void fuzz(std::string_view text) {
  check_header(text);
  check_listing(text);
}

}  // namespace tagring::fuzzing
