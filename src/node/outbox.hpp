// Brings posts to the owners of their tags (paper §5.5): a publisher's to the relay owners, a relay owner's
// to the storage owners. What is owed is in the store; this drives it until every replica has acknowledged.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/courier.hpp"
#include "node/relay_counts.hpp"
#include "node/ring_service.hpp"
#include "node/storage_sets.hpp"
#include "node/wire.hpp"
#include "relay/lanes.hpp"
#include "relay/store.hpp"

namespace tagring::node {

// An event that an owner did not take.
struct Refusal {
  std::string uri;
  std::string tag;
  Error error;
};

class Outbox {
 public:
  struct Options {
    relay::LaneOptions lanes;
  };
  // Gives events to this node's own role as owner, as if another node had sent them.
  using ApplyHere =
      std::function<Task<Result<std::vector<Refusal>>>(Ring ring, std::vector<relay::TagEvent> events)>;

  Outbox(Options options, relay::Store& store, RingService& rings, RelayCounts& relays, StorageSets& stores,
         Courier& courier, const Identity& identity, Clock& clock, Executor executor, Rng rng,
         ApplyHere apply_here);

  // What this node says of itself as a relay of a tag, to its storage owners.
  std::function<std::optional<RelayClaim>(const std::string& tag)> relay_claim =
      [](const std::string&) -> std::optional<RelayClaim> { return std::nullopt; };

  // What an owner answered to a batch, of which it did not take `refusals`.
  std::function<void(const std::string& origin, Ring ring, const std::vector<relay::TagEvent>& events,
                     const std::vector<Refusal>& refusals, const std::string& answer)>
      on_answer = [](const auto&...) {};

  // Takes up what was owed when the node stopped.
  [[nodiscard]] Task<Result<void>> load();
  void add(relay::OutboxEntry entry);
  // Owes events to the present owners of their tags, whoever had them before. Durable when it completes.
  [[nodiscard]] Task<Result<void>> hand_out(Ring ring, std::vector<relay::TagEvent> events);
  [[nodiscard]] Task<void> stop();

  [[nodiscard]] std::size_t size() const { return pending_.size(); }
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  // By ring and owner: "relay https://owner".
  [[nodiscard]] std::map<std::string, relay::LaneStatus> lanes() const { return sending_.status(); }
  // Of what waits until its owner is found, by a number.
  [[nodiscard]] std::map<std::string, relay::LaneStatus> look_ups() const { return routing_.status(); }

 private:
  struct Pending {
    relay::OutboxEntry entry;
    RingId tag_key;
  };
  // One replica of one entry.
  struct Item {
    std::shared_ptr<Pending> pending;
    unsigned replica = 0;  // which copy
    // Of a removal from the archive: how many of the shelves where the post may be have it already.
    std::size_t shelves = 0;
    bool moved = false;  // another owner has sent it on
  };
  using Items = std::vector<Item>;

  [[nodiscard]] RingId position(const Item& item) const;
  [[nodiscard]] std::vector<unsigned> shelves_of(const Item& item) const;
  [[nodiscard]] unsigned replicas(Ring ring) const;
  void find_way(Item item);
  void find_way_later(Items items);
  Task<void> wait_and_find_way(Items items);
  RelayNews news_about(Ring ring, const std::vector<relay::TagEvent>& events) const;
  Task<Items> route(std::string shard, Items items);
  Task<Items> send(std::string destination, Items items);
  Task<Result<std::vector<Refusal>>> send_events(std::string destination, Ring ring, relay::Op op,
                                                 std::vector<relay::TagEvent> events);
  Task<void> settle(std::string origin, Items items, std::vector<Refusal> refusals, Items* again);

  Options options_;
  relay::Store& store_;
  RingService& rings_;
  RelayCounts& relays_;
  StorageSets& stores_;
  Courier& courier_;
  const Identity& identity_;
  Clock& clock_;
  ApplyHere apply_here_;
  std::map<std::uint64_t, std::shared_ptr<Pending>> pending_;
  std::uint64_t delivered_ = 0;
  std::uint64_t activity_ = 0;
  Rng rng_;
  relay::Lanes<Item> routing_;  // by shard of the key space: waiting for a look-up
  relay::Lanes<Item> sending_;  // by "relay https://owner" or "storage https://owner"
  TaskGroup tasks_;
};

}  // namespace tagring::node
