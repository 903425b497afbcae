// Announces what enters this node's feed to the followers of its hashtag actors (paper §5.5): to subscriber
// nodes in batches, to everyone else one Announce a post and inbox, whatever the number of tags.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "federation/blocks.hpp"
#include "federation/delivery_queues.hpp"
#include "federation/signed_client.hpp"
#include "redundancy/relay_hints.hpp"
#include "relay/followers.hpp"
#include "relay/observer.hpp"
#include "relay/partial_collections.hpp"
#include "relay/store.hpp"

namespace tagring::relay {

class Announcer {
 public:
  Announcer(federation::QueueOptions options, Store& store, Followers& followers,
            const PartialCollections& partials, federation::SignedClient& client,
            const federation::Blocks& blocks, Observer& observer, const Runtime& runtime);

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
  struct Queued {
    FeedEntry entry;
    Instant since;
  };
  using Item = std::shared_ptr<const Queued>;
  using Items = std::vector<Item>;
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

  // What was sent to a node lately: its other followers get the same.
  struct Letter {
    Op op;
    Items items;
    std::string body;
  };

  void queue(const Item& item, const std::map<std::string, std::uint64_t>* cursors, To to);
  bool concerns_people(const std::string& destination, Inbox& inbox, const Item& item);
  Task<void> tell_again(std::string destination, std::string uri);
  Task<Items> send(std::string inbox, Items items);
  Task<Items> send_to_node(std::string inbox, Items items);
  std::string letter(Op op, const Items& items);
  Task<Items> send_to_fasp_server(std::string inbox, Items items);
  Task<Items> send_to_people(std::string inbox, Items items);
  std::string single(const std::string& actor, Via via, const TagEvent& event) const;
  Task<void> upkeep();
  Task<void> save_cursors();
  Task<void> prune();

  Store& store_;
  Followers& followers_;
  const PartialCollections& partials_;
  federation::SignedClient& client_;
  const federation::Blocks& blocks_;
  Observer& observer_;
  const federation::Identity& identity_;
  Clock& clock_;
  Rng rng_;
  std::map<std::string, Inbox> inboxes_;
  std::deque<Letter> letters_;   // latest first
  std::set<std::string> moved_;  // inboxes whose cursor moved since it was saved
  std::uint64_t last_seq_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t activity_ = 0;
  Instant next_prune_{};
  federation::DeliveryQueues<Item> lanes_;
  TaskGroup tasks_;
};

}  // namespace tagring::relay
