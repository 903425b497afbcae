#include "storage/set_merger.hpp"

#include <algorithm>

namespace tagring::storage {
namespace {

using redundancy::Partition;

// Whoever has not given all of a part after that is left out, if most owners of the part have: it may be a
// liar without end, or have blocked this node.
constexpr Duration kMergePatience = std::chrono::hours(1);

}  // namespace

SetMerger::Merged SetMerger::merged(const Tag& tag) const {
  const auto known = merged_.find(tag);
  return known == merged_.end() ? Merged() : known->second;
}

void SetMerger::forget_others(const std::vector<Tag>& tags) {
  std::erase_if(merged_, [&](const auto& known) { return !std::ranges::binary_search(tags, known.first); });
}

// Of a set of that version.
SetMerger::Merged& SetMerger::of_version(const Tag& tag, std::uint64_t version) {
  Merged& merged = merged_[tag];
  if (merged.version != version) merged = Merged{version, {}, {}, clock_.now()};
  return merged;
}

Task<void> SetMerger::merge(Tag tag) {
  const redundancy::StorageSet set = kept_.of(tag);
  for (const unsigned partition : redundancy::partitions_of_set(kept_.copies(), set.replicas)) {
    if (of_version(tag, set.version).into.contains(partition) || !kept_.check(tag, partition)) continue;
    bool complete = true;
    for (const unsigned other : policy_.taken_up_by(partition, set)) {
      const bool taken = co_await take_up(tag, partition, other, set.version);
      complete = complete && taken;
    }
    if (kept_.of(tag).version != set.version) break;
    if (complete) of_version(tag, set.version).into.insert(partition);
  }
  merging_.erase(tag);
}

// From all owners of the partition: one of them may lack what another has, or lie. What is here already needs
// nobody else to say so.
Task<bool> SetMerger::take_up(Tag tag, unsigned into, unsigned from, std::uint64_t version) {
  std::map<std::string, RingId> owners;  // by origin: where one stands
  std::size_t unknown = 0;
  for (unsigned copy = 0; copy < kept_.copies(); ++copy) {
    const RingId place = kept_.key(tag, from, copy);
    const Result<ring::Owner> owner = co_await kept_.ring().find_owner(place);
    if (owner)
      owners.try_emplace(owner->contact.origin(), place);
    else
      ++unknown;
  }
  const std::size_t sources = owners.size() + unknown;
  std::size_t read = 0;
  for (const bool own : {true, false}) {
    for (const auto& [origin, place] : owners) {
      if (own != (origin == calls_.own_origin())) continue;
      const bool taken =
          co_await take_up_from(Partition{tag, into}, Partition{tag, from}, origin, version, sources);
      if (kept_.of(tag).version != version) co_return false;
      if (!taken) kept_.ring().forget_route(place);
      read += taken ? 1 : 0;
    }
  }
  const bool is_late = clock_.now() - of_version(tag, version).begun >= kMergePatience;
  co_return read == sources || (is_late && 2 * read > sources);
}

Task<bool> SetMerger::take_up_from(Partition into, Partition from, std::string origin, std::uint64_t version,
                                   std::size_t sources) {
  const Tag tag = into.tag;
  const Merged::Read read{into.number, from.number, origin};
  if (of_version(tag, version).read.contains(read)) co_return true;
  const ring::Vserver* own = kept_.vserver_of(tag, into.number);
  if (own == nullptr) co_return false;
  Result<void> taken;
  if (origin == calls_.own_origin()) {
    taken = co_await kept_.copy(from, into, sources);
  } else {
    const ring::Contact requester = own->self();
    taken = co_await observer_.fetch_partition(origin, requester, from, into, version, sources);
  }
  if (!taken) {
    log_.debug("storage_not_taken_up", {{"tag", from.name()}, {"because", taken.error().message}});
    co_return false;
  }
  if (kept_.of(tag).version == version) of_version(tag, version).read.insert(read);
  co_return true;
}

}  // namespace tagring::storage
