// Brings posts to the owners of their tags (paper §5.5): a publisher's to the relay owners, a relay owner's
// to the storage owners. What is owed is in the store; this drives it until every replica has acknowledged.
// Where each belongs: delivery/owner_places.hpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "delivery/observer.hpp"
#include "delivery/owner_places.hpp"
#include "delivery/results.hpp"
#include "delivery/store.hpp"
#include "delivery/wire.hpp"
#include "federation/signed_client.hpp"
#include "queues/delivery_queues.hpp"

namespace tagring::delivery {

class OwnerQueue {
 public:
  struct Options {
    queues::QueueOptions lanes;
  };
  OwnerQueue(Options options, Store& store, OwnerPlaces places, federation::SignedClient& client,
             Observer& observer, const Runtime& runtime);

  // Takes up what was owed when the node stopped.
  [[nodiscard]] Task<Result<void>> load();
  // Records a post of an own instance and owes it to the relay owners. Durable when it completes.
  [[nodiscard]] Task<Result<void>> publish(PublishedPost post);
  [[nodiscard]] std::uint64_t published() const { return published_; }
  [[nodiscard]] Store& store() { return store_; }  // of what is published
  // Of the copies that there are, those that it is owed to; none if the network keeps fewer than it did
  // when that was written.
  [[nodiscard]] std::uint32_t owed(const OutboxEntry& entry) const;
  void add(OutboxEntry entry);
  // Owes events to the present owners of their tags, whoever had them before, or to those who keep that copy.
  // Durable when it completes.
  [[nodiscard]] Task<Result<void>> reassign(Ring ring, std::vector<TagEvent> events,
                                            std::optional<unsigned> copy = std::nullopt);
  [[nodiscard]] Task<void> stop();

  [[nodiscard]] std::size_t size() const { return pending_.size(); }
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  // By ring and owner: "relay https://owner".
  [[nodiscard]] std::map<std::string, queues::QueueStatus> lanes() const { return sending_.status(); }
  // Of what waits until its owner is found, by a number.
  [[nodiscard]] std::map<std::string, queues::QueueStatus> look_ups() const { return routing_.status(); }

 private:
  struct Pending {
    OutboxEntry entry;
    RingId tag_key;
  };
  // One replica of one entry.
  struct Item {
    std::shared_ptr<Pending> pending;
    unsigned replica = 0;      // which copy
    std::size_t step = 0;      // of OwnerPlaces::ways(): how many partitions have it, or refused it, already
    bool moved = false;        // another owner has sent it on
    unsigned refused = 0;      // so often by the owner of that partition, who keeps no such
    bool is_anywhere = false;  // a partition has it
  };
  using Items = std::vector<Item>;

  [[nodiscard]] std::uint32_t all_copies(Ring ring) const { return (1U << places_.copies(ring)) - 1; }
  // Where the item belongs, as far as is known of the number of owners now.
  [[nodiscard]] RingId key(const Item& item) const;
  void find_way(Item item);
  void find_way_later(Items items);
  Task<void> wait_and_find_way(Items items);
  RelayNews news_about(Ring ring, const std::vector<TagEvent>& events) const;
  Task<Items> route(std::string shard, Items items);
  Task<Items> send(std::string destination, Items items);
  void note(Ring ring, const std::string& origin, const Items& items,
            const Result<std::vector<Refusal>>& refusals);
  Task<void> move_if_owner_changed(std::string destination, Items items, Items* again);
  // What `batch` leads to lives as long as this.
  Task<Result<std::vector<Refusal>>> send_batch(std::string origin, Ring ring, Op op, Part batch);
  Task<Result<std::vector<Refusal>>> send_events(std::string origin, Ring ring, Op op,
                                                 std::vector<TagEvent> events);
  void pass_over(Item item, Items& taken, Items& again);
  Task<void> settle(std::string origin, Items items, std::vector<Refusal> refusals, Items* again);
  Task<void> acknowledge(std::string origin, Items taken, Items* again);

  Options options_;
  Store& store_;
  OwnerPlaces places_;
  federation::SignedClient& client_;
  const federation::Identity& identity_;
  Clock& clock_;
  Observer& observer_;
  std::map<std::uint64_t, std::shared_ptr<Pending>> pending_;
  std::uint64_t published_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t activity_ = 0;
  Log& log_;
  Rng rng_;
  queues::DeliveryQueues<Item> routing_;  // by shard of the key space: waiting for a look-up
  queues::DeliveryQueues<Item> sending_;  // by "relay https://owner" or "storage https://owner"
  TaskGroup tasks_;
};

}  // namespace tagring::delivery
