// What readers ask of the timeline of a hashtag. Text: the hashtag as it stands in the path, a newline, the
// query. What is understood of the query is said again in links to other pages, and is understood as the
// same.
#include "fuzz/target.hpp"
#include "http/url.hpp"
#include "mastodon_api/timeline_query.hpp"

namespace tagring::fuzzing {

using mastodon_api::TimelineQuery;

void fuzz(std::string_view text) {
  const std::string_view name = take_until(text, '\n');
  const Result<TimelineQuery> query = TimelineQuery::parse(name, text);
  if (!query) return;
  TR_ASSERT(query->limit <= TimelineQuery::kLimitMax);
  for (const auto* tags : {&query->any, &query->all, &query->none})
    TR_ASSERT(tags->size() <= TimelineQuery::kTagsMax);
  const Result<TimelineQuery> again = TimelineQuery::parse(query->tag.canonical(), query->filters());
  TR_ASSERT(again && again->tag == query->tag);
  TR_ASSERT(again->any == query->any && again->all == query->all && again->none == query->none);
  TR_ASSERT(again->local == query->local && again->remote == query->remote);
  TR_ASSERT(again->only_media == query->only_media && again->limit == query->limit);
  TR_ASSERT(again->filters() == query->filters());
}

}  // namespace tagring::fuzzing
