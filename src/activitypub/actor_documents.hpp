// The documents that a node shows the world: its actors, WebFinger, NodeInfo, and hashtags' outboxes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/task.hpp"
#include "base/time.hpp"
#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"
#include "overlay/ring_service.hpp"
#include "storage/history_service.hpp"
#include "subscriber/hashtag_followers.hpp"

namespace tagring::activitypub {

class ActorDocuments {
 public:
  ActorDocuments(const federation::Identity& identity, overlay::RingService& rings,
                 storage::HistoryService& history, const subscriber::HashtagFollowers& followers,
                 const federation::Blocks& blocks, const Clock& clock)
      : identity_(identity),
        rings_(rings),
        history_(history),
        followers_(followers),
        blocks_(blocks),
        clock_(clock) {}

  // Answers a GET. 404 for unknown paths.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  HttpResponse webfinger(std::string_view query) const;
  Task<HttpResponse> tag_page(HttpRequest request, std::string rest, std::string query);
  Task<HttpResponse> outbox(Tag tag, std::string query);
  Task<std::optional<std::uint64_t>> count_posts(Tag tag);
  // When an actor came to be; that of the node, if `tag` is empty.
  Task<std::optional<WallTime>> since(std::optional<Tag> tag);

  // How many posts a hashtag has: servers that meet its actor ask for that, many at a time.
  static constexpr Duration kCountFresh = std::chrono::minutes(15);
  static constexpr std::size_t kCountsMax = 2000;
  struct Count {
    Instant since;
    std::uint64_t posts = 0;
  };

  // Anybody may ask for any hashtag, and each that is new is a write: of the others of that minute nothing is
  // said this time.
  static constexpr std::size_t kSinceAMinute = 120;
  static constexpr std::size_t kSinceMax = 10'000;

  const federation::Identity& identity_;
  overlay::RingService& rings_;
  storage::HistoryService& history_;
  const subscriber::HashtagFollowers& followers_;
  const federation::Blocks& blocks_;
  const Clock& clock_;
  std::map<std::string, Count> counts_;
  std::map<std::optional<Tag>, WallTime> since_;
  Instant minute_;
  std::size_t asked_ = 0;  // the database, in that minute
};

}  // namespace tagring::activitypub
