// The followers of this node's hashtag actors: on disk, in memory for fan-out, and as a reason for the node
// to subscribe to the hashtag.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/runtime.hpp"
#include "budget/manager.hpp"
#include "relay/followers.hpp"
#include "relay/store.hpp"
#include "relay/subscriptions.hpp"

namespace tagring::relay {

class HashtagFollowers {
 public:
  // How long a hashtag stays subscribed after the last one has gone: people come back.
  static constexpr Duration kUnsubscribeAfter = std::chrono::minutes(5);

  HashtagFollowers(budget::Manager& budget, Store& store, Followers& followers, Subscriptions& subscriber,
                   const Runtime& runtime)
      : budget_(budget),
        store_(store),
        followers_(followers),
        subscriber_(subscriber),
        clock_(runtime.clock),
        tasks_(runtime.executor) {}

  // Reads them into memory, by pages; `visit` sees each.
  [[nodiscard]] Task<Result<void>> load(std::function<void(const Follower&)> visit);
  [[nodiscard]] Task<void> stop();

  // Durable when it completes. Somebody who is no node makes this node want the hashtag. kUnavailable if
  // their domains follow as much as they may already.
  [[nodiscard]] Task<Result<void>> follow(std::vector<Follower> followers);
  // (tag, actor) pairs; unknown ones are ignored.
  [[nodiscard]] Task<Result<void>> unfollow(std::vector<std::pair<std::string, std::string>> pairs);
  // Whoever followed the hashtag through an inbox that is gone for good.
  void lose(const std::string& tag, const std::string& inbox);

  [[nodiscard]] const Followers& all() const { return followers_; }

 private:
  Task<void> unsubscribe_later(std::vector<std::string> tags);
  Task<void> unfollow_lost(std::vector<std::pair<std::string, std::string>> pairs);

  [[nodiscard]] Result<void> check_room(const std::vector<Follower>& followers) const;

  budget::Manager& budget_;
  Store& store_;
  Followers& followers_;
  Subscriptions& subscriber_;
  Clock& clock_;
  TaskGroup tasks_;
};

}  // namespace tagring::relay
