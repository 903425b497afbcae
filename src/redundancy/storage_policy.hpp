// When the number of a hashtag's storage owners changes, and to what (paper §7.2; docs/protocol.md, "Storage
// sets"): decisions of the coordinator, who owns the hashtag's key, and the states of the set. No clock, no
// ring, no network: the caller says what owners have reported, and how long ago the set has changed.
//
//   state     what it is                               leaves it by                         to
//   --------  ---------------------------------------  ----------------------------------- ------------------
//   at rest   as many owners as the network keeps      double: a partition is more than     raised
//                                                      its owners can bear
//   raised    more; readers ask all of them            double                               raised
//                                                      halve: all could bear what they      merging
//                                                      would take up, and half as much
//                                                      again
//   merging   fewer owners for new posts than readers  merged: those that stay have all     raised, or at
//   rest
//             ask; the former go on being asked        that those have that go
//                                                      double                               merging, or
//                                                      raised
#pragma once

#include <map>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "redundancy/storage_hints.hpp"

namespace tagring::redundancy {

// What a storage owner says of itself.
struct StorageReport {
  StorageSet set;
  std::map<unsigned, double> bytes = {};  // by partition
  double bearable = 0;                    // of one partition; 0: any
  std::uint64_t merged = 0;               // the version of the set to which it has taken up what it must
};

class StoragePolicy {
 public:
  struct Options {
    unsigned at_rest = 4;
    // Since the last change, before a set is doubled or halved.
    Duration settle = std::chrono::minutes(1);
    Duration cooldown = std::chrono::hours(24);
  };
  // The bytes of a partition of which whoever cannot bear it is believed, though others could bear far more.
  static constexpr double kWorthDividing = 1U << 24U;
  enum class State : std::uint8_t { kAtRest, kRaised, kMerging };
  enum class Change : std::uint8_t { kDouble, kHalve, kMerged };

  explicit StoragePolicy(Options options) : options_(options) {}

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] unsigned copies() const { return copies_in_storage(options_.at_rest); }
  [[nodiscard]] State state(const StorageSet& set) const;

  // The most of a partition that whoever can bear so much keeps alone, in a set of so many. Posts that came
  // before stay, so each further doubling waits until half as much again has come.
  [[nodiscard]] double limit(double bearable, unsigned replicas) const;
  // As an owner that can bear so much: to ask for more owners of a partition of that many bytes.
  [[nodiscard]] bool asks_for_more(double bytes, double bearable, unsigned replicas) const;
  // As the coordinator: a set that has been as it is for that long may be doubled at all, for that partition,
  // in a ring of about so many vservers.
  [[nodiscard]] bool may_double(const StorageSet& set, Duration age, unsigned partition,
                                double vservers) const;
  // Another owner of the partition, of a set of so many, has about as much as the one that asks, and no less
  // than half of what this node, which can bear so much, or that one would ask at, or kWorthDividing: who
  // asks may say any number.
  [[nodiscard]] bool confirms(const StorageReport& other, double bearable, unsigned replicas,
                              unsigned partition, double bytes) const;
  // All who stay could bear what they would take up, and half as much again. `owners`: of all its replicas.
  [[nodiscard]] bool may_halve(const StorageSet& set, const std::vector<StorageReport>& owners) const;
  // All owners have taken up what they must.
  [[nodiscard]] static bool is_merged(const StorageSet& set, const std::vector<StorageReport>& owners);

  // What the coordinator does next about a set that all owners know.
  enum class Step : std::uint8_t { kNothing, kFinishMerge, kTryToHalve };
  [[nodiscard]] Step next_step(const StorageSet& set, Duration age) const;

  // The set after the change, a version later. `widest`: the most that an owner asks of readers. kInvalid if
  // no set may be so large, or so small.
  [[nodiscard]] Result<StorageSet> changed(StorageSet set, Change change, unsigned widest, WallTime at) const;

  // A merging set: the partitions that an owner of `partition` takes up, ascending.
  [[nodiscard]] std::vector<unsigned> taken_up_by(unsigned partition, const StorageSet& set) const;
  // An owner keeps the partition when the set is merged.
  [[nodiscard]] static bool stays(unsigned partition, const StorageSet& set);

 private:
  Options options_;
};

}  // namespace tagring::redundancy
