// The administrator's requests about what this node is subscribed to, and who follows it (see control.hpp).
//
//   POST /subscribe   {"tags": […]}     wants tags: {"subscribed": […]}
//   POST /unsubscribe {"tags": […]}     {"unsubscribed": […]}
//   GET  /subscriptions   {"hours", "complete", "hashtags": [{"tag", "posts", "latest"?, "owners"}]}
//   GET  /followers       {"followers", "hashtags": [{"tag", "boosts", "nodes", "relays", "fasps"}]}
//   POST /followers/check {"actor", "apply"}  compares with an actor who is followed (FEP-8fcf)
//   POST /followers/check {"tag", "server"}   who of that server follows the hashtag here, and whether the
//                                       server agrees (delivery::PartialCollections::report)
//   POST /followers/verify              computes the digests of all followers anew
#pragma once

#include <chrono>

#include "admin/routes.hpp"
#include "base/time.hpp"
#include "delivery/followers.hpp"
#include "delivery/partial_collections.hpp"
#include "delivery/store.hpp"
#include "instances/follower_sync.hpp"
#include "subscriber/subscriptions.hpp"

namespace tagring::admin {

class FollowControl final : public Subject {
 public:
  FollowControl(subscriber::Subscriptions& subscriptions, const delivery::Followers& followers,
                const delivery::PartialCollections& partials, instances::FollowerSync& sync,
                delivery::Store& store, const Clock& clock)
      : subscriptions_(subscriptions),
        followers_(followers),
        partials_(partials),
        sync_(sync),
        store_(store),
        clock_(clock) {}

  // Posts are counted over that long, as far as so many entries of the feed reach.
  static constexpr std::chrono::hours kCounted{24};
  static constexpr std::size_t kCountedMax = 50'000;

  void add_routes(Routes& routes) override;

 private:
  Task<Reply> subscribe(json::object body, bool on);
  Task<Reply> subscriptions();
  [[nodiscard]] json::object followers() const;
  Task<Reply> check(json::object body);
  [[nodiscard]] Task<Reply> check_server(json::object body) const;
  Task<Reply> verify();

  subscriber::Subscriptions& subscriptions_;
  const delivery::Followers& followers_;
  const delivery::PartialCollections& partials_;
  instances::FollowerSync& sync_;
  delivery::Store& store_;
  const Clock& clock_;
};

}  // namespace tagring::admin
