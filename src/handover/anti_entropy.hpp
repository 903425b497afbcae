// Keeps the replicas of history alike (design: storage owners reconcile by Merkle trees over (tag, hour)):
// every so often each storage vserver asks the other owners of its keys what they have that it lacks. What
// was lost with a disk comes back so, and what a node missed while it was cut off. The search is
// storage/reconcile.hpp's; this is who asks whom, and its JSON (docs/protocol.md §5.1).
//
// Followers need none of this: who follows renews its follow at every owner again and again (Subscriber).
#pragma once

#include <string>
#include <vector>

#include "base/rng.hpp"
#include "base/runtime.hpp"
#include "handover/comparison.hpp"
#include "handover/transfer.hpp"
#include "overlay/ring_service.hpp"
#include "ring/contact.hpp"
#include "storage/disputes.hpp"
#include "storage/kept_partitions.hpp"
#include "storage/reconcile.hpp"

namespace tagring::handover {

class AntiEntropy {
 public:
  struct Options {
    Duration every = std::chrono::minutes(30);  // between two rounds, on average
    storage::CompareLimits limits;
  };
  AntiEntropy(Options options, overlay::RingService& rings, storage::KeptPartitions& kept,
              storage::Disputes& disputes, Transfer& transfer, const Runtime& runtime);

  void start() { tasks_.spawn("anti_entropy", reconcile_for_ever()); }
  [[nodiscard]] Task<void> stop();
  // Asks every replica of every segment that is served here. One that does not answer is left for the next
  // round.
  [[nodiscard]] Task<void> reconcile_all();

  struct Counters {
    std::uint64_t rounds = 0;
    std::uint64_t questions = 0;
    std::uint64_t entries = 0;  // sent to this node
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  Task<void> reconcile_for_ever();
  Task<Result<std::vector<storage::Difference>>> ask_replica(std::string origin, ring::Contact requester,
                                                             Segment keys,
                                                             std::vector<storage::Comparison> asked);
  Task<Result<void>> reconcile_with(std::string origin, ring::Contact requester, Segment keys,
                                    storage::Disputes::Heard* heard);

  Options options_;
  overlay::RingService& rings_;
  storage::KeptPartitions& kept_;
  storage::Disputes& disputes_;
  Transfer& transfer_;
  Clock& clock_;
  Rng rng_;
  Log& log_;
  Counters counters_;
  TaskGroup tasks_;
};

}  // namespace tagring::handover
