// Announces what enters this node's feed to the followers of its hashtag actors (paper §5.5): to subscriber
// nodes under every tag, to everyone else each post once an inbox, whatever the number of tags. It keeps how
// far each inbox has got, and tries again; relay/announcement_sender.hpp forms what is sent.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "federation/blocks.hpp"
#include "federation/delivery_queues.hpp"
#include "relay/announcement_sender.hpp"
#include "relay/followers.hpp"
#include "relay/store.hpp"

namespace tagring::relay {

class Announcer {
 public:
  Announcer(federation::QueueOptions options, Store& store, const Followers& followers,
            const federation::Blocks& blocks, AnnouncementSender& sender, const Runtime& runtime);

  // Takes up what followers have not acknowledged. `followers` must be loaded.
  [[nodiscard]] Task<Result<void>> load();
  // Saves cursors and prunes the feed in the background.
  void start();
  [[nodiscard]] Task<void> stop();

  // Queues a new feed entry for everyone who follows its tag.
  enum class To : std::uint8_t { kEverybody, kPeople };  // kPeople: to followers who are no nodes
  void push(FeedEntry entry, To to = To::kEverybody);
  // Queues what entered the feed under a tag after that place for followers who came only now.
  [[nodiscard]] Task<void> push_missed(std::string tag, std::vector<std::string> inboxes,
                                       std::uint64_t after);
  // Nothing up to that place in the feed waits for the inbox.
  [[nodiscard]] bool has_reached(const std::string& inbox, std::uint64_t seq) const;
  // The latest place in the feed.
  [[nodiscard]] std::uint64_t last_seq() const { return last_seq_; }
  // What an inbox has not taken for that long is given up.
  static constexpr Duration kLifetime = std::chrono::days(7);
  [[nodiscard]] std::size_t waiting() const { return lanes_.size(); }
  [[nodiscard]] bool idle() const { return lanes_.idle(); }
  // By inbox.
  [[nodiscard]] std::map<std::string, federation::QueueStatus> lanes() const { return lanes_.status(); }
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }

 private:
  using Items = Announcements;
  using Item = Items::value_type;
  // A post told of lately, with the tags by which it concerns an inbox: one Announce, under the first of
  // them.
  struct Told {
    Items under;
    bool undone = false;  // the first was lost, and the post was not announced under another yet
  };
  struct Inbox {
    Via via = Via::kBoost;
    std::uint64_t acknowledged = 0;
    std::map<std::string, Told> recent;
  };

  void queue(const Item& item, const std::map<std::string, std::uint64_t>* cursors, To to);
  bool concerns_people(const std::string& destination, Inbox& inbox, const Item& item);
  Task<void> tell_again(std::string destination, std::string uri);
  Task<Items> send(std::string inbox, Items items);
  Task<void> upkeep();
  Task<void> save_cursors();
  Task<void> prune();

  Store& store_;
  const Followers& followers_;
  const federation::Blocks& blocks_;
  AnnouncementSender& sender_;
  Clock& clock_;
  std::map<std::string, Inbox> inboxes_;
  std::set<std::string> moved_;  // inboxes whose cursor moved since it was saved
  std::uint64_t last_seq_ = 0;
  std::uint64_t delivered_ = 0;
  Instant next_prune_{};
  federation::DeliveryQueues<Item> lanes_;
  TaskGroup tasks_;
};

}  // namespace tagring::relay
