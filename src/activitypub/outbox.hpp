// A hashtag's history as the outbox of its actor: a collection of announcements, a page at a time. Any node
// shows it, of any hashtag, and asks its owners for that: those who have them asked have a budget, that of
// readers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "activitypub/announced.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "budget/manager.hpp"
#include "federation/identity.hpp"
#include "hashtag/tag.hpp"
#include "http/ip.hpp"
#include "http/message.hpp"
#include "storage/history_service.hpp"

namespace tagring::activitypub {

class Outbox {
 public:
  Outbox(const federation::Identity& identity, storage::HistoryService& history, Announced& announced,
         budget::Manager& budget, const Clock& clock)
      : identity_(identity), history_(history), announced_(announced), budget_(budget), clock_(clock) {}

  // The collection, or the page that the query names. 429 if the asker has nothing left.
  [[nodiscard]] Task<HttpResponse> answer(Tag tag, std::string query, IpAddress asker);

  struct Extent {
    std::uint64_t posts = 0;
    std::optional<WallTime> first_day;  // its beginning; nothing if there is no post
  };
  // Of the whole history, at most kExtentFresh old; nothing if its owners do not say. For those whom
  // wait_for() lets in.
  [[nodiscard]] Task<std::optional<Extent>> extent(Tag tag);
  // Zero if the extent is known, or may be asked for; else how long the asker has to wait before it may be.
  [[nodiscard]] Duration wait_for(const Tag& tag, const IpAddress& asker);

 private:
  // Servers that meet a hashtag's actor ask how many posts it has, many at a time.
  static constexpr Duration kExtentFresh = std::chrono::minutes(15);
  static constexpr std::size_t kExtentsMax = 2000;
  struct Known {
    Instant since;
    Extent extent;
  };

  [[nodiscard]] const Extent* fresh(const Tag& tag) const;
  Task<HttpResponse> page(Tag tag, std::string page);

  const federation::Identity& identity_;
  storage::HistoryService& history_;
  Announced& announced_;
  budget::Manager& budget_;
  const Clock& clock_;
  std::map<std::string, Known> extents_;
};

}  // namespace tagring::activitypub
