// The followers of this node's hashtag actors: on disk, in memory for fan-out, and as a reason for the node
// to subscribe to the hashtag.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime.hpp"
#include "budget/lingering.hpp"
#include "budget/manager.hpp"
#include "delivery/announcement_sender.hpp"
#include "delivery/followers.hpp"
#include "delivery/store.hpp"
#include "subscriber/subscriptions.hpp"

namespace tagring::subscriber {

class HashtagFollowers {
 public:
  // How long a hashtag stays subscribed after the last one has gone: people come back.
  static constexpr Duration kUnsubscribeAfter = std::chrono::minutes(5);
  // One server is reminded after the other, and not at once: after the start there is enough to do.
  static constexpr Duration kRemindAfter = std::chrono::minutes(1);
  static constexpr Duration kRemindEvery = std::chrono::seconds(1);
  // Who does not take it is told again, so long after the start. A server that was gone each time is told no
  // more, after later starts either: proxies err, but not for a week.
  static constexpr std::array<Duration, 4> kRemindAgain = {std::chrono::hours(6), std::chrono::hours(24),
                                                           std::chrono::hours(72), std::chrono::hours(192)};

  HashtagFollowers(budget::Manager& budget, delivery::Store& store, delivery::Followers& followers,
                   Subscriptions& subscriber, delivery::AnnouncementSender& sender, const Runtime& runtime)
      : budget_(budget),
        store_(store),
        followers_(followers),
        subscriber_(subscriber),
        sender_(sender),
        clock_(runtime.clock),
        idle_(
            {budget::Resource::kWanted, kUnsubscribeAfter, std::chrono::seconds(10)}, budget,
            [this](std::vector<std::string> tags) { return unsubscribe(std::move(tags)); }, runtime),
        tasks_(runtime.executor) {}

  // Reads them into memory, by pages; `visit` sees each.
  [[nodiscard]] Task<Result<void>> load(std::function<void(const delivery::Follower&)> visit);
  // Tells every server where somebody followed, and nobody does any more, so: it gets no post that would. And
  // those of who follows the node's own actor, at these inboxes, who may get none either. What a restored
  // backup has forgotten of followers, or has of those who left since, is found so.
  void start(std::vector<std::string> own);
  [[nodiscard]] Task<void> stop();

  // Durable when it completes. Somebody who is no node makes this node want the hashtag. kUnavailable if
  // their domains follow as much as they may already.
  [[nodiscard]] Task<Result<void>> follow(std::vector<delivery::Follower> followers);
  // Of these, removes and returns those for whom there is no room any more, the last ones.
  [[nodiscard]] std::vector<delivery::Follower> take_out_excess(
      std::vector<delivery::Follower>* followers) const;
  // (tag, actor) pairs, by their servers' own word; unknown ones are ignored.
  [[nodiscard]] Task<Result<void>> unfollow(std::vector<std::pair<Tag, std::string>> pairs);
  // The same by this node's decision, which their servers need not know; returns who they were.
  [[nodiscard]] Task<Result<std::vector<delivery::Follower>>> turn_away(
      std::vector<std::pair<Tag, std::string>> pairs);
  // An actor is gone, and follows nothing any more.
  [[nodiscard]] Task<Result<void>> unfollow_all(std::string actor);
  // That actor follows the node's own, or not any more: see Followers::count_own.
  void count_own(const std::string& actor, bool is_person, bool enters) {
    followers_.count_own(actor, is_person, enters);
  }
  // Somebody who followed the node's own actor from that server does not by this node's decision.
  void note_turned_away(const delivery::PartialKey& key) { sender_.partials().note_turned_away(key); }
  // Whoever followed the hashtag through an inbox that is gone for good, or says that it does not follow;
  // unless somebody there follows once more just now.
  void lose(const Tag& tag, const std::string& inbox);

  [[nodiscard]] const delivery::Followers& all() const { return followers_; }
  // delivery::Store::announced().
  [[nodiscard]] Task<Result<std::vector<WallTime>>> announced(Tag tag, std::vector<std::string> uris) const {
    return store_.announced(std::move(tag), std::move(uris));
  }
  [[nodiscard]] delivery::Store& store() { return store_; }
  // When the actor of a hashtag came to be, or that of the node without `tag` (Store::actor_since).
  [[nodiscard]] Task<Result<std::optional<WallTime>>> actor_since(std::optional<Tag> tag) const {
    return store_.actor_since(std::move(tag));
  }

 private:
  struct Reminder {
    std::string inbox;
    bool is_gone = true;  // it was, whenever it was told
  };
  using Reminders = std::map<delivery::PartialKey, Reminder>;
  Task<void> remind(std::vector<std::string> own);
  // Gives back those that have not taken it.
  Task<Reminders> remind_all(Reminders servers);
  Task<void> drop_gone(Reminders servers);
  // What the follower will be counted as, unless their domain has paid for that already.
  [[nodiscard]] std::optional<budget::Resource> charged(const delivery::Follower& follower) const;
  Task<Result<std::vector<delivery::Follower>>> drop(std::vector<std::pair<Tag, std::string>> pairs);
  Task<Result<void>> unsubscribe(std::vector<std::string> idle);
  Task<void> unfollow_lost(Tag tag, std::string inbox, std::uint64_t asked);

  static constexpr const char* kReason = "followers";  // delivery::Store::want

  budget::Manager& budget_;
  delivery::Store& store_;
  delivery::Followers& followers_;
  Subscriptions& subscriber_;
  delivery::AnnouncementSender& sender_;
  Clock& clock_;
  budget::Lingering idle_;  // subscriptions, by hashtag
  TaskGroup tasks_;
};

}  // namespace tagring::subscriber
