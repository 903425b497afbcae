// Feed entries of other nodes: what is taken is written as it is.
#include <algorithm>

#include "fuzz/target.hpp"
#include "relay/wire.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  const Result<json::value> parsed = json::parse(text);
  if (!parsed) return;
  const Result<std::vector<relay::FeedEntry>> entries = relay::feed_from_json(&*parsed);
  if (!entries) return;
  const json::value written = relay::to_json(*entries);
  const Result<std::vector<relay::FeedEntry>> again = relay::feed_from_json(&written);
  TR_ASSERT(again);
  TR_ASSERT(std::ranges::equal(*again, *entries, [](const relay::FeedEntry& a, const relay::FeedEntry& b) {
    return a.seq == b.seq && a.event == b.event;
  }));
  for (const relay::FeedEntry& entry : *entries) {
    TR_ASSERT(Tag::parse(entry.event.tag)->canonical() == entry.event.tag);
    TR_ASSERT(Url::parse(entry.event.uri));
  }
}

}  // namespace tagring::fuzzing
