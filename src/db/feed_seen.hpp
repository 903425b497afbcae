// What this node knows of posts under hashtags, and as what it has announced them: the tables feed_seen and
// announced. Called in jobs of the database.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "belief/tag_event.hpp"
#include "hashtag/tag.hpp"
#include "sql/connection.hpp"

namespace tagring::db::feed_seen {

struct Marked {
  bool fresh = false;
  WallTime announced{};
  std::uint64_t added = 0;
};
// Whether the event is news (delivery::Store::accept), and from then on it is not; its TagEvent::announced
// and FeedEntry::added. `seq`: its place in the feed, if it is news.
Result<Marked> mark(sql::Connection& db, const belief::TagEvent& event, WallTime now, std::uint64_t seq);
// What mark() would say.
Result<bool> is_news(sql::Connection& db, const belief::TagEvent& event);
// As what the post was announced last under the tag: 0 if never, or as it was published.
Result<WallTime> announced(sql::Connection& db, const Tag& tag, const std::string& uri);
// Since 1970, rounded down.
std::int64_t hour_of(WallTime time);

}  // namespace tagring::db::feed_seen
