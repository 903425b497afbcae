// Feed entries of other nodes: what is taken is written as it is.
#include <algorithm>

#include "delivery/wire.hpp"
#include "fuzz/target.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  const Result<json::value> parsed = json::parse(text);
  if (!parsed) return;
  const Result<std::vector<delivery::FeedEntry>> entries = delivery::feed_from_json(&*parsed);
  if (!entries) return;
  const json::value written = delivery::to_json(*entries);
  const Result<std::vector<delivery::FeedEntry>> again = delivery::feed_from_json(&written);
  TR_ASSERT(again);
  TR_ASSERT(
      std::ranges::equal(*again, *entries, [](const delivery::FeedEntry& a, const delivery::FeedEntry& b) {
        return a.seq == b.seq && a.event == b.event;
      }));
  for (const delivery::FeedEntry& entry : *entries) {
    TR_ASSERT(Tag::parse(entry.event.tag.canonical()) == entry.event.tag);
    TR_ASSERT(Url::parse(entry.event.uri));
  }
}

}  // namespace tagring::fuzzing
