// The documents that a node shows the world: its actors with what belongs to them, WebFinger, NodeInfo.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "activitypub/outbox.hpp"
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
                 const subscriber::HashtagFollowers& followers, const federation::Blocks& blocks)
      : identity_(identity), rings_(rings), outbox_(outbox), followers_(followers), blocks_(blocks) {}

  // Answers a GET. 404 for unknown paths.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  HttpResponse webfinger(std::string_view query) const;
  HttpResponse own_page(const std::string& path) const;  // below the node's own actor
  Task<HttpResponse> tag_page(HttpRequest request, std::string rest, std::string query);
  // What other names the actor goes by, put into its document.
  [[nodiscard]] json::object with_names(json::object actor, const std::optional<Tag>& tag) const;
  // When an actor came to be; that of the node, if `tag` is empty. A hashtag's is as old as its first post:
  // who looks at it before following would see an account of today otherwise. Anybody may ask for any
  // hashtag, each that is new is a write, and its owners are asked: of the budget of who asks, and nothing is
  // said where that is used up.
  Task<std::optional<WallTime>> since(std::optional<Tag> tag, IpAddress asker);

  static constexpr std::size_t kSinceMax = 10'000;

  const federation::Identity& identity_;
  overlay::RingService& rings_;
  Outbox& outbox_;
  const subscriber::HashtagFollowers& followers_;
  const federation::Blocks& blocks_;
  std::map<std::optional<Tag>, WallTime> since_;
};

}  // namespace tagring::activitypub
