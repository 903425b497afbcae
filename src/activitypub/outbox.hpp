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

 private:
  Task<std::optional<std::uint64_t>> count_posts(Tag tag);

  // How many posts a hashtag has: servers that meet its actor ask for that, many at a time.
  static constexpr Duration kCountFresh = std::chrono::minutes(15);
  static constexpr std::size_t kCountsMax = 2000;
  struct Count {
    Instant since;
    std::uint64_t posts = 0;
  };

  const federation::Identity& identity_;
  storage::HistoryService& history_;
  Announced& announced_;
  const Clock& clock_;
  std::map<std::string, Count> counts_;
};

}  // namespace tagring::activitypub
