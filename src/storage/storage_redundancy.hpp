// This node as one of the storage owners of hashtags that have more of them than at rest, or need more (paper
// §7.2; docs/protocol.md, "Storage sets"; redundancy/storage_place.hpp has where posts go).
//
// The owner of a hashtag's key, the *coordinator*, changes the number: doubles it when an owner's partition
// has become more than that owner can bear, and halves it when all can bear what they would take up. When is
// decided in redundancy/storage_policy.hpp. What readers and removals go by, the read factor ("reach" on the
// wire), never shrinks before the posts that are found through it are elsewhere. A change is safe because of
// two rules. Nobody takes posts by a larger number before all owners at rest, whom readers ask first, have
// its read factor on disk. And nobody looks less far before whatever was found there has been taken up by
// owners that are still asked, from sources that take no more. Where a ring was cut in two, each part may
// have done so by itself: whoever then finds posts here where nobody looks any more owes them to those who
// keep them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/runtime.hpp"
#include "federation/authenticator.hpp"
#include "http/message.hpp"
#include "redundancy/storage_policy.hpp"
#include "ring/contact.hpp"
#include "storage/kept_partitions.hpp"
#include "storage/observer.hpp"
#include "storage/set_merger.hpp"
#include "storage/storage_calls.hpp"

namespace tagring::storage {

class StorageRedundancy {
 public:
  struct Options {
    redundancy::StoragePolicy::Options policy;
    // Bytes of one partition that this node can bear now; 0: any.
    std::function<double()> bearable = [] { return 0.0; };
    Duration every = std::chrono::seconds(10);  // upkeep
  };
  // What nobody needs to bear of one hashtag: 2^21 posts. Larger pieces are hard to find room for
  // (docs/evaluation.md). As all bytes here, and on the wire: HistoryStore::kBytesOfEntry a post.
  static constexpr double kPartMax = (1U << 21U) * HistoryStore::kBytesOfEntry;
  static constexpr std::string_view kPath = StorageCalls::kPath;

  StorageRedundancy(Options options, KeptPartitions& kept, StorageCalls& calls,
                    federation::Authenticator& authenticator, Observer& observer, const Runtime& runtime);

  void start() { tasks_.spawn("storage_sets", upkeep()); }
  [[nodiscard]] Task<void> stop();

  // Posts were written to this partition: it may have become too large.
  void note_written(redundancy::Partition partition) { written_.insert(std::move(partition)); }
  // Answers kPath: GET to anybody, POST to other owners.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  [[nodiscard]] json::array status() const;

 private:
  using Change = redundancy::StoragePolicy::Change;
  using Report = redundancy::StorageReport;
  // How far what is beyond a set's read factor is cleared away.
  struct Beyond {
    enum class State : std::uint8_t { kUnknown, kBeingOwed, kOwed, kDropped };
    std::uint64_t version = 0;  // of the set
    State state = State::kUnknown;
  };
  // A set that all owners have, and since when.
  struct Told {
    redundancy::StorageSet set;
    Instant at;
  };

  // --- changing, as coordinator ---
  Task<Result<void>> change(Tag tag, Change change, std::uint64_t from_version);
  Task<void> try_to_change(Tag tag, Change wanted, std::uint64_t from_version);
  Task<bool> spread(Tag tag, unsigned widest);
  Task<void> tend(Tag tag);
  Task<void> give_up(Tag tag);
  Task<void> try_to_shrink(Tag tag, Change change);
  Task<void> consider_doubling(Tag tag, unsigned partition, double bytes, std::string origin);
  Task<Result<std::vector<Report>>> reports(Tag tag, unsigned replicas,
                                            std::optional<Report> if_silent = std::nullopt);
  [[nodiscard]] bool is_coordinator(const Tag& tag) const;
  [[nodiscard]] double vservers() const;
  [[nodiscard]] bool has_room(const redundancy::StorageSet& set) const;
  [[nodiscard]] Duration rested(const Tag& tag) const;
  [[nodiscard]] bool is_taken(const Tag& tag) const;
  // --- as any owner ---
  Task<void> upkeep();
  Task<void> look_beyond(Tag tag, std::size_t* looks);
  Task<void> owe_beyond(Tag tag, std::uint64_t version);
  Task<void> look_at(redundancy::Partition partition);
  Task<void> ask_for_more(Tag tag, unsigned partition, double bytes);
  [[nodiscard]] bool is_unconfirmed(const Tag& tag) const;
  Task<void> confirm_some(std::vector<Tag> tags);
  Task<void> confirm(Tag tag);
  Task<Result<Report>> report(Tag tag);
  // --- asking and answering ---
  Task<Result<Report>> ask(ring::Contact owner, Tag tag);
  Task<Result<json::object>> act(json::object request, std::string origin);
  Task<Result<void>> hear_double(json::object request, Tag tag, std::string origin);

  const Options options_;
  redundancy::StoragePolicy policy_;
  KeptPartitions& kept_;
  StorageCalls& calls_;
  federation::Authenticator& authenticator_;
  Observer& observer_;
  Clock& clock_;
  Log& log_;
  std::set<redundancy::Partition> written_;
  std::map<Tag, Beyond> beyond_;
  std::map<Tag, Told> told_;
  std::map<Tag, std::uint64_t> made_;  // the version that this node has made
  std::map<Tag, Instant> confirmed_;   // when owners at rest were asked whether they keep it
  std::optional<Tag> confirmed_last_;
  std::set<Tag> busy_;  // hashtags that are being changed
  SetMerger merger_;
  TaskGroup tasks_;
};

}  // namespace tagring::storage
