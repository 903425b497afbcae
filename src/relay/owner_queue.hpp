// Brings posts to the owners of their tags (paper §5.5): a publisher's to the relay owners, a relay owner's
// to the storage owners. What is owed is in the store; this drives it until every replica has acknowledged.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "federation/delivery_queues.hpp"
#include "federation/signed_client.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/relay_hints.hpp"
#include "redundancy/storage_hints.hpp"
#include "relay/observer.hpp"
#include "relay/store.hpp"
#include "relay/wire.hpp"

namespace tagring::relay {

class OwnerQueue {
 public:
  struct Options {
    federation::QueueOptions lanes;
  };
  OwnerQueue(Options options, Store& store, overlay::RingService& rings, redundancy::RelayHints& relays,
             redundancy::StorageHints& stores, federation::SignedClient& client, Observer& observer,
             const Runtime& runtime);

  // Takes up what was owed when the node stopped.
  [[nodiscard]] Task<Result<void>> load();
  // Records a post of an own instance and owes it to the relay owners. Durable when it completes.
  [[nodiscard]] Task<Result<void>> publish(PublishedPost post);
  [[nodiscard]] std::uint64_t published() const { return published_; }
  void add(OutboxEntry entry);
  // Owes events to the present owners of their tags, whoever had them before. Durable when it completes.
  [[nodiscard]] Task<Result<void>> hand_out(Ring ring, std::vector<TagEvent> events);
  [[nodiscard]] Task<void> stop();

  [[nodiscard]] std::size_t size() const { return pending_.size(); }
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  // By ring and owner: "relay https://owner".
  [[nodiscard]] std::map<std::string, federation::QueueStatus> lanes() const { return sending_.status(); }
  // Of what waits until its owner is found, by a number.
  [[nodiscard]] std::map<std::string, federation::QueueStatus> look_ups() const { return routing_.status(); }

 private:
  struct Pending {
    OutboxEntry entry;
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
  RelayNews news_about(Ring ring, const std::vector<TagEvent>& events) const;
  Task<Items> route(std::string shard, Items items);
  Task<Items> send(std::string destination, Items items);
  Task<Result<std::vector<Refusal>>> send_events(std::string destination, Ring ring, Op op,
                                                 std::vector<TagEvent> events);
  Task<void> settle(std::string origin, Items items, std::vector<Refusal> refusals, Items* again);

  Options options_;
  Store& store_;
  overlay::RingService& rings_;
  redundancy::RelayHints& relays_;
  redundancy::StorageHints& stores_;
  federation::SignedClient& client_;
  const federation::Identity& identity_;
  Clock& clock_;
  Observer& observer_;
  std::map<std::uint64_t, std::shared_ptr<Pending>> pending_;
  std::uint64_t published_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t activity_ = 0;
  Rng rng_;
  federation::DeliveryQueues<Item> routing_;  // by shard of the key space: waiting for a look-up
  federation::DeliveryQueues<Item> sending_;  // by "relay https://owner" or "storage https://owner"
  TaskGroup tasks_;
};

}  // namespace tagring::relay
