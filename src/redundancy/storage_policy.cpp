#include "redundancy/storage_policy.hpp"

#include <algorithm>
#include <bit>

namespace tagring::redundancy {

StoragePolicy::State StoragePolicy::state(const StorageSet& set) const {
  if (set.replicas < set.read_factor) return State::kMerging;
  return set.replicas > options_.at_rest ? State::kRaised : State::kAtRest;
}

double StoragePolicy::limit(double bearable, unsigned replicas) const {
  const auto doublings = std::countr_zero(replicas) - std::countr_zero(options_.at_rest);
  return bearable * (1 + doublings / 2.0);
}

bool StoragePolicy::asks_for_more(double bytes, double bearable, unsigned replicas) const {
  return bytes > limit(bearable, replicas) && replicas < kRelaysMax;
}

bool StoragePolicy::may_double(const StorageSet& set, Duration age, unsigned partition,
                               double vservers) const {
  return age >= options_.settle && partition % (kPartitionsMax / set.replicas) == 0 &&
         set.replicas < kRelaysMax && set.replicas < vservers;
}

bool StoragePolicy::confirms(const StorageReport& other, double bearable, unsigned replicas,
                             unsigned partition, double bytes) const {
  const auto there = other.bytes.find(partition);
  double least = kWorthDividing;
  for (const double one : {bearable, other.bearable}) {
    if (one > 0) least = std::min(least, limit(one, replicas) / 2);
  }
  return there != other.bytes.end() && there->second >= std::max(bytes / 2, least);
}

bool StoragePolicy::may_halve(const StorageSet& set, const std::vector<StorageReport>& owners) const {
  constexpr double kSpace = 1.5;
  const unsigned half = set.replicas / 2;
  std::map<unsigned, double> bytes;
  std::map<unsigned, double> bearable;
  for (const StorageReport& owner : owners) {
    for (const auto& [partition, load] : owner.bytes) {
      bytes[partition] = std::max(bytes[partition], load);
      const double limit_there = owner.bearable > 0 ? limit(owner.bearable, half) : 1e300;
      const auto [it, fresh] = bearable.emplace(partition, limit_there);
      it->second = std::min(it->second, limit_there);
    }
  }
  return std::ranges::all_of(partitions_of_set(copies(), half), [&](unsigned partition) {
    const double together = bytes[partition] + bytes[sibling_of_partition(partition, half)];
    return bearable.contains(partition) && together * kSpace <= bearable[partition];
  });
}

bool StoragePolicy::is_merged(const StorageSet& set, const std::vector<StorageReport>& owners) {
  return std::ranges::all_of(owners, [&](const StorageReport& owner) { return owner.merged == set.version; });
}

StoragePolicy::Step StoragePolicy::next_step(const StorageSet& set, Duration age) const {
  if (state(set) == State::kMerging) return Step::kFinishMerge;
  if (state(set) == State::kRaised && age > options_.cooldown) return Step::kTryToHalve;
  return Step::kNothing;
}

Result<StorageSet> StoragePolicy::changed(StorageSet set, Change change, unsigned widest, WallTime at) const {
  if (change == Change::kDouble) set.replicas *= 2;
  if (change == Change::kHalve) set.replicas /= 2;
  set.read_factor = change == Change::kMerged ? set.replicas : std::max(widest, set.replicas);
  set.at = at;
  ++set.version;
  if (set.replicas > kRelaysMax || set.replicas < options_.at_rest)
    return fail(ErrorCode::kInvalid, "no set may be so large, or so small");
  return set;
}

std::vector<unsigned> StoragePolicy::taken_up_by(unsigned partition, const StorageSet& set) const {
  std::vector<unsigned> taken = partitions_of_set(copies(), set.read_factor);
  std::erase_if(taken, [&](unsigned other) {
    return other <= partition || other >= partition + kPartitionsMax / set.replicas;
  });
  return taken;
}

bool StoragePolicy::stays(unsigned partition, const StorageSet& set) {
  return partition % (kPartitionsMax / set.replicas) == 0;
}

}  // namespace tagring::redundancy
