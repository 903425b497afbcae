// The documents that a node shows the world: its actors with what belongs to them, WebFinger, NodeInfo. Of
// these only outboxes wait for other nodes: who checks a signature fetches the actor, and must have it at
// once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "activitypub/outbox.hpp"
#include "base/runtime.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "hashtag/tag.hpp"
#include "http/ip.hpp"
#include "http/message.hpp"
#include "overlay/ring_service.hpp"
#include "subscriber/hashtag_followers.hpp"

namespace tagring::activitypub {

class ActorDocuments {
 public:
  ActorDocuments(const federation::Identity& identity, overlay::RingService& rings, Outbox& outbox,
                 const subscriber::HashtagFollowers& followers, const federation::Blocks& blocks,
                 const Runtime& runtime)
      : identity_(identity),
        rings_(rings),
        outbox_(outbox),
        followers_(followers),
        blocks_(blocks),
        clock_(runtime.clock),
        tasks_(runtime.executor) {}
  [[nodiscard]] Task<void> stop();

  // Answers a GET. 404 for unknown paths.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

  static constexpr std::size_t kLookUpsMax = 8;  // at a time; who comes then has the day that is known
  static constexpr Duration kLookAgain = std::chrono::minutes(1);  // after one that failed

 private:
  struct Since {
    WallTime day;
    // For the day of the first post; not again once it was found, nor while it is looked for.
    Instant look_again = Instant::min();
  };

  Task<HttpResponse> webfinger(std::string query, IpAddress asker);
  HttpResponse own_page(const std::string& path) const;  // below the node's own actor
  Task<HttpResponse> tag_page(HttpRequest request, std::string rest, std::string query);
  // What other names the actor goes by, put into its document.
  [[nodiscard]] json::object with_names(json::object actor, const std::optional<Tag>& tag) const;
  // When an actor came to be; that of the node, if `tag` is empty. A hashtag's is as old as its first post,
  // as far as this node has heard: who looks at it before following would see an account of today otherwise.
  // Its owners are asked meanwhile, not waited for, so the first to look may see the day on which they did;
  // what they say is kept in memory only, since one of them alone may have said it.
  // Anybody may ask for any hashtag, and each that is new is a write and a look-up: of the budget of who
  // asks, and nothing is said of one that is new where that is used up.
  Task<std::optional<WallTime>> since(std::optional<Tag> tag, IpAddress asker);
  Task<void> learn_since(Tag tag, IpAddress asker);
  Task<void> find_first_day(Tag tag);
  // On the executor of who asks, whose time it takes.
  static Task<void> charged_to(Executor asker, Task<void> work);

  static constexpr std::size_t kSinceMax = 10'000;

  const federation::Identity& identity_;
  overlay::RingService& rings_;
  Outbox& outbox_;
  const subscriber::HashtagFollowers& followers_;
  const federation::Blocks& blocks_;
  Clock& clock_;
  std::map<std::optional<Tag>, Since> since_;
  TaskGroup tasks_;  // look-ups
};

}  // namespace tagring::activitypub
