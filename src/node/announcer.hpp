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

#include "node/courier.hpp"
#include "node/partial_collections.hpp"
#include "node/relay_counts.hpp"
#include "relay/blocks.hpp"
#include "relay/followers.hpp"
#include "relay/lanes.hpp"
#include "relay/store.hpp"

namespace tagring::node {

class Announcer {
 public:
  Announcer(relay::LaneOptions options, relay::Store& store, relay::Followers& followers,
            const PartialCollections& partials, Courier& courier, const relay::Blocks& blocks,
            const Identity& identity, Clock& clock, Executor executor, Rng rng);

  // Takes up what followers have not acknowledged. `followers` must be loaded.
  [[nodiscard]] Task<Result<void>> load();
  // Saves cursors and prunes the feed in the background.
  void start();
  [[nodiscard]] Task<void> stop();

  // Queues a new feed entry for everyone who follows its tag.
  enum class To : std::uint8_t { kEverybody, kPeople };  // kPeople: to followers who are no nodes
  void push(relay::FeedEntry entry, To to = To::kEverybody);
  // Queues what entered the feed under a tag after that place for followers who came only now.
  [[nodiscard]] Task<void> push_missed(std::string tag, std::vector<std::string> inboxes,
                                       std::uint64_t after);
  // Nothing up to that place in the feed waits for the inbox.
  [[nodiscard]] bool has_reached(const std::string& inbox, std::uint64_t seq) const;
  // The latest place in the feed.
  [[nodiscard]] std::uint64_t last_seq() const { return last_seq_; }
  // What an inbox has not taken for that long is given up.
  static constexpr Duration kLifetime = std::chrono::days(7);
  // Called for each new feed entry, before it goes to anybody.
  std::function<void(const relay::FeedEntry& entry)> on_entry = [](const relay::FeedEntry&) {};
  // Called when a follower is gone for good: its inbox does not exist, or refuses us.
  std::function<void(const std::string& tag, const std::string& inbox)> on_lost_follower =
      [](const std::string&, const std::string&) {};

  // What this node says of itself as a relay of a tag; nothing while all is as at rest.
  std::function<std::optional<RelayClaim>(const std::string& tag)> relay_claim =
      [](const std::string&) -> std::optional<RelayClaim> { return std::nullopt; };
  // Called for each item that a subscriber's node has taken from us, with its part of the letter.
  std::function<void(const std::string& tag, std::size_t octets)> on_relayed = [](const std::string&,
                                                                                  std::size_t) {};

  // Sends an announcement to a server that uses this node as a FASP (node/fasp_hashtags.hpp).
  std::function<Task<Result<HttpResponse>>(std::string inbox, std::string body)> deliver_to_fasp_server;

  [[nodiscard]] std::size_t waiting() const { return lanes_.size(); }
  [[nodiscard]] bool idle() const { return lanes_.idle(); }
  // By inbox.
  [[nodiscard]] std::map<std::string, relay::LaneStatus> lanes() const { return lanes_.status(); }
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }

 private:
  struct Queued {
    relay::FeedEntry entry;
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
    relay::Via via = relay::Via::kBoost;
    std::uint64_t acknowledged = 0;
    std::map<std::string, Told> recent;
  };

  // What was sent to a node lately: its other followers get the same.
  struct Letter {
    relay::Op op;
    Items items;
    std::string body;
  };

  void queue(const Item& item, const std::map<std::string, std::uint64_t>* cursors, To to);
  bool concerns_people(const std::string& destination, Inbox& inbox, const Item& item);
  Task<void> tell_again(std::string destination, std::string uri);
  Task<Items> send(std::string inbox, Items items);
  Task<Items> send_to_node(std::string inbox, Items items);
  std::string letter(relay::Op op, const Items& items);
  Task<Items> send_to_fasp_server(std::string inbox, Items items);
  Task<Items> send_to_people(std::string inbox, Items items);
  std::string single(const std::string& actor, relay::Via via, const relay::TagEvent& event) const;
  Task<void> upkeep();
  Task<void> save_cursors();
  Task<void> prune();

  relay::Store& store_;
  relay::Followers& followers_;
  const PartialCollections& partials_;
  Courier& courier_;
  const relay::Blocks& blocks_;
  const Identity& identity_;
  Clock& clock_;
  Rng rng_;
  std::map<std::string, Inbox> inboxes_;
  std::deque<Letter> letters_;   // latest first
  std::set<std::string> moved_;  // inboxes whose cursor moved since it was saved
  std::uint64_t last_seq_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t activity_ = 0;
  Instant next_prune_{};
  relay::Lanes<Item> lanes_;
  TaskGroup tasks_;
};

}  // namespace tagring::node
