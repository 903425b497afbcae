// Takes up, as a storage owner of a hashtag whose set has become smaller, what those have who belong to it no
// more (paper §7.2; docs/protocol.md, "Storage sets"), and remembers how far it is. When that begins and ends
// is StorageRedundancy's business.
//
// A source that does not answer, or does not end, is asked again with the next upkeep: nothing here fails.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/log.hpp"
#include "base/runtime.hpp"
#include "hashtag/tag.hpp"
#include "redundancy/partition.hpp"
#include "redundancy/storage_policy.hpp"
#include "ring/contact.hpp"
#include "storage/kept_partitions.hpp"
#include "storage/observer.hpp"
#include "storage/storage_calls.hpp"

namespace tagring::storage {

class SetMerger {
 public:
  // What this node has taken up of a merging set.
  struct Merged {
    std::uint64_t version = 0;  // of the set
    std::set<unsigned> into;    // partitions that are complete
    using Read =
        std::tuple<unsigned, unsigned, std::string>;  // into which partition, from which, of which owner
    std::set<Read> read;                              // to its end
    Instant begun;
  };

  SetMerger(KeptPartitions& kept, const StorageCalls& calls, Observer& observer,
            const redundancy::StoragePolicy& policy, const Runtime& runtime)
      : kept_(kept),
        calls_(calls),
        observer_(observer),
        policy_(policy),
        clock_(runtime.clock),
        log_(runtime.log) {}

  // False if that is under way. Else merge() it.
  [[nodiscard]] bool begin(const Tag& tag) { return merging_.insert(tag).second; }
  // Takes up what owners have that do not belong to the smaller set any more.
  [[nodiscard]] Task<void> merge(Tag tag);
  // Of version 0 if there is nothing.
  [[nodiscard]] Merged merged(const Tag& tag) const;
  void forget(const Tag& tag) { merged_.erase(tag); }
  // `tags`, in order, are those that count still.
  void forget_others(const std::vector<Tag>& tags);

 private:
  Merged& of_version(const Tag& tag, std::uint64_t version);
  Task<bool> take_up(Tag tag, unsigned into, unsigned from, std::uint64_t version);
  Task<bool> take_up_from(redundancy::Partition into, redundancy::Partition from, std::string origin,
                          std::uint64_t version, std::size_t sources);

  KeptPartitions& kept_;
  const StorageCalls& calls_;
  Observer& observer_;
  const redundancy::StoragePolicy& policy_;
  Clock& clock_;
  Log& log_;
  std::map<Tag, Merged> merged_;
  std::set<Tag> merging_;
};

}  // namespace tagring::storage
