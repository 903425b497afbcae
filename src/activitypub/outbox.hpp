// A hashtag's history as the outbox of its actor: a collection of announcements, a page at a time. Any node
// shows it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "activitypub/announced.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "federation/identity.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"
#include "storage/history_service.hpp"

namespace tagring::activitypub {

class Outbox {
 public:
  Outbox(const federation::Identity& identity, storage::HistoryService& history, Announced& announced,
         const Clock& clock)
      : identity_(identity), history_(history), announced_(announced), clock_(clock) {}

  // The collection, or the page that the query names.
  [[nodiscard]] Task<HttpResponse> answer(Tag tag, std::string query);

  struct Extent {
    std::uint64_t posts = 0;
    std::optional<WallTime> first_day;  // its beginning; nothing if there is no post
  };
  // Of the whole history, at most kExtentFresh old; nothing if its owners do not say.
  [[nodiscard]] Task<std::optional<Extent>> extent(Tag tag);

 private:
  // Servers that meet a hashtag's actor ask how many posts it has, many at a time.
  static constexpr Duration kExtentFresh = std::chrono::minutes(15);
  static constexpr std::size_t kExtentsMax = 2000;
  struct Known {
    Instant since;
    Extent extent;
  };

  const federation::Identity& identity_;
  storage::HistoryService& history_;
  Announced& announced_;
  const Clock& clock_;
  std::map<std::string, Known> extents_;
};

}  // namespace tagring::activitypub
