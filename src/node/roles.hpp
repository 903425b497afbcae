// What this node does as an owner of tags, and as a subscriber: takes events in, once each, and passes them
// on (paper §5.5).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "fediverse/consent.hpp"
#include "node/announcer.hpp"
#include "node/outbox.hpp"
#include "node/relay_sets.hpp"
#include "node/storage_sets.hpp"
#include "node/subscriber.hpp"
#include "relay/blocks.hpp"
#include "storage/history.hpp"

namespace tagring::node {

class Roles {
 public:
  struct Options {
    unsigned relay_replicas = 2;         // at rest
    double check_share = 1.0 / 64;       // of vouched posts, fetched from their origin all the same
    std::size_t fetches_per_batch = 50;  // of posts that nobody vouches for; more are asked for again
  };

  Roles(Options options, relay::Store& store, storage::HistoryStore& history, RingService& rings,
        StorageSets& stores, const relay::Blocks& blocks, Courier& courier, const Identity& identity,
        Clock& clock, Log& log, Executor executor, Rng rng);

  // The parts that pass events on. Set once, before anything is taken in.
  void connect(Outbox& outbox, Announcer& announcer, Subscriber& subscriber, RelaySets& sets);
  [[nodiscard]] Task<void> stop();

  // As publisher: records a post of an own instance and owes it to the relay owners. Durable when it
  // completes.
  [[nodiscard]] Task<Result<void>> publish(relay::PublishedPost post);
  // As relay owner: takes events of tags this node serves, from a node with that origin, who is believed
  // about posts of its own host; others are checked at their origin. kUnavailable for what is too much.
  [[nodiscard]] Task<Result<std::vector<Refusal>>> relay(std::vector<relay::TagEvent> events,
                                                         std::string sender);
  // As storage owner: takes events from a relay owner of their tags, or as above.
  [[nodiscard]] Task<Result<std::vector<Refusal>>> archive(std::vector<relay::TagEvent> events,
                                                           std::string sender, RelayClaims claims);
  // As subscriber: takes announcements from an owner that we follow, or that proves to be a relay of what we
  // want.
  [[nodiscard]] Task<Result<std::vector<Refusal>>> receive(std::vector<relay::TagEvent> events,
                                                           std::string sender, RelayClaims claims);

  struct Counters {
    std::uint64_t published = 0;
    std::uint64_t relayed = 0;   // events taken as relay owner, first time
    std::uint64_t archived = 0;  // as storage owner, repetitions included
    std::uint64_t received = 0;  // as subscriber, first time
    std::uint64_t checked = 0;   // fetched from their origin
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }
  // kNotOwner or kBusy unless this node serves a replica of the tag on that ring.
  [[nodiscard]] Result<void> check_serving(Ring ring, const Tag& tag) const;

 private:
  Task<Result<std::size_t>> take(std::vector<relay::TagEvent> events, unsigned storage_replicas,
                                 Announcer::To to);
  Task<Result<void>> check_announcer(std::string tag, std::string sender, const RelayClaims* claims);
  Task<std::vector<relay::TagEvent>> believable(Ring ring, std::vector<relay::TagEvent> events,
                                                std::string sender, RelayClaims claims,
                                                std::vector<Refusal>* refusals);
  [[nodiscard]] Result<void> check_place(Ring ring, const relay::TagEvent& event) const;
  Task<Result<void>> check_at_origin(relay::TagEvent event);
  Task<Result<void>> ask_author(relay::TagEvent* event, std::map<std::string, fediverse::Wishes>* asked);
  Task<void> spot_check(relay::TagEvent event, std::string sender);
  [[nodiscard]] Result<void> check_blocks(const relay::TagEvent& event) const;
  bool vouches(const std::string& sender, const relay::TagEvent& event) const;

  Options options_;
  relay::Store& store_;
  storage::HistoryStore& history_;
  RingService& rings_;
  StorageSets& stores_;
  const relay::Blocks& blocks_;
  Courier& courier_;
  const Identity& identity_;
  Clock& clock_;
  Log& log_;
  Rng rng_;
  Outbox* outbox_ = nullptr;
  Announcer* announcer_ = nullptr;
  Subscriber* subscriber_ = nullptr;
  RelaySets* sets_ = nullptr;
  std::set<std::string> liars_;  // origins whose word about their own posts was wrong
  Counters counters_;
  TaskGroup tasks_;
};

}  // namespace tagring::node
