// What this node keeps as one of the storage owners of hashtags (paper §5.5, §7.2): which partitions of their
// histories, and of how many owners each hashtag has (docs/protocol.md, "Storage sets"). Every storage owner
// keeps that number, on disk, and refuses posts of partitions that are not its own, or not of that number.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/log.hpp"
#include "base/runtime.hpp"
#include "hashtag/tag.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/storage_hints.hpp"
#include "redundancy/storage_place.hpp"
#include "ring/vserver.hpp"
#include "storage/disputes.hpp"
#include "storage/history.hpp"
#include "storage/statements.hpp"

namespace tagring::storage {

class KeptPartitions {
 public:
  static constexpr std::size_t kSetsMax = 100'000;
  // `rows`: copied, and dropped, at once. `sets_max`: kept.
  KeptPartitions(Disputes& disputes, redundancy::StorageHints& hints, overlay::RingService& rings,
                 const Runtime& runtime, std::size_t rows = 1'000, std::size_t sets_max = kSetsMax);

  // What is on disk, with no fewer owners than at rest now. What no network can have is left out.
  [[nodiscard]] Task<Result<void>> load();
  [[nodiscard]] Task<void> stop();

  [[nodiscard]] HistoryStore& history() const { return history_; }
  // To readers, as if this node's own word: posts that it was given as a new owner, of which the others tell.
  void vouch_for_given(std::vector<HistoryEntry>* entries) const {
    for (HistoryEntry& entry : *entries) {
      if (!entry.removed && disputes_.is_given(entry)) entry.changed = std::max(entry.changed, WallTime());
    }
  }
  [[nodiscard]] SignedTime& signed_time() { return signed_time_; }
  [[nodiscard]] redundancy::StorageHints& hints() const { return hints_; }
  [[nodiscard]] unsigned at_rest() const { return hints_.at_rest(); }
  [[nodiscard]] unsigned copies() const { return hints_.copies(); }
  [[nodiscard]] ring::Membership& ring() const { return rings_.of(Ring::kStorage); }

  // --- of how many owners ---------------------------------------------------------------------------------
  // What this node keeps of the tag; at rest if that is nothing.
  [[nodiscard]] redundancy::StorageSet of(const Tag& tag) const;
  // How long ago this node has heard of that; very long if it is at rest.
  [[nodiscard]] Duration age(const Tag& tag) const;
  // Tags of which something is kept.
  [[nodiscard]] std::vector<Tag> tags() const;
  // Keeps the set, if it supersedes what was kept. Durable when it completes. kTooLarge if there are too
  // many, and posts here of all that were looked at; kInvalid for a version that cannot have been reached
  // since the one that is kept.
  [[nodiscard]] Task<Result<void>> adopt(redundancy::StorageSet set);
  // The set is kept, and not one that owners have: it is as if it had never been heard of, unless another one
  // is kept by then.
  [[nodiscard]] Task<Result<void>> forget(redundancy::StorageSet set);
  // One of its places is there.
  [[nodiscard]] static bool has_place_in(const Segment& positions, const redundancy::StorageSet& set);
  // One of the hashtag's places is here, of so many.
  [[nodiscard]] bool stands_at(const Tag& tag, unsigned places) const;
  // One of the set's places is here, or one of those that it may have had before it was halved.
  [[nodiscard]] bool may_keep(const redundancy::StorageSet& set) const;
  // Those that have a replica at one of the positions, by tag, after that one.
  [[nodiscard]] std::vector<redundancy::StorageSet> sets_at(const Segment& positions,
                                                            const std::optional<Tag>& after,
                                                            std::size_t limit) const;
  // "stores" of an answer to the sender of posts of these tags; empty if there is nothing to say.
  [[nodiscard]] json::object news(const std::set<Tag>& tags) const;

  // --- which partitions -----------------------------------------------------------------------------------
  // Where on the ring a copy of a partition is.
  [[nodiscard]] RingId key(const Tag& tag, unsigned partition, unsigned copy) const;
  // The vserver here that serves it, or null.
  [[nodiscard]] const ring::Vserver* vserver_of(const Tag& tag, unsigned partition) const;
  // kNotOwner, or kBusy while its posts are being fetched, unless this node has it.
  [[nodiscard]] Result<void> check(const Tag& tag, unsigned partition) const;
  // The same unless it has any of the tag.
  [[nodiscard]] Result<void> check_serving(const Tag& tag) const;
  // The partitions here into which the post, or its removal, is to be written. A post goes into the one where
  // it belongs now, or else the last in which it would have been put before, so that somebody takes it
  // however many owners have heard of the present number. kNotOwner if there are none, kBusy while their
  // posts are being fetched.
  [[nodiscard]] Result<std::vector<unsigned>> partitions_for(const Tag& tag, const std::string& uri,
                                                             bool removal) const;
  // The partition that "tag=…&slot=…" asks for, 0 if none is named: kNotOwner or kBusy unless this node has
  // it.
  [[nodiscard]] Result<redundancy::Partition> asked_for(std::string_view query) const;
  // Readers look there; what was there is in another partition otherwise.
  [[nodiscard]] bool is_read(const redundancy::Partition& partition) const;

  // --- what is in them ------------------------------------------------------------------------------------
  [[nodiscard]] Task<Result<double>> bytes_of(Tag tag, unsigned partition);
  // Copies what is in one to another, both here. What was only heard is so in the other one, too, into which
  // so many sources give what they have.
  [[nodiscard]] Task<Result<void>> copy(redundancy::Partition from, redundancy::Partition to,
                                        std::size_t sources);
  // Of what another owner gave, takes out what is in partitions that nobody reads: it has been moved. And
  // posts that were never to be in theirs: about these other owners are asked.
  void leave_out_misplaced(std::vector<HistoryEntry>* entries) const;
  // Another owner has fetched all of it.
  void note_handed(const redundancy::Partition& partition);
  // Those of the tag that nobody reads, and of which posts are here that no other owner has fetched.
  [[nodiscard]] Task<Result<std::vector<redundancy::Partition>>> left_over(Tag tag);
  // Drops everything of the tag that nobody reads. False if that has to be tried again.
  [[nodiscard]] Task<bool> sweep(Tag tag);

 private:
  struct Kept {
    redundancy::StorageSet set;
    Instant since{};  // when this node heard of it
    bool on_disk = false;
  };
  [[nodiscard]] Result<void> check_version(const redundancy::StorageSet& set) const;
  Task<Result<void>> make_room();
  Task<Result<bool>> stores_nothing(redundancy::StorageSet set);
  Task<Result<void>> write_down(Tag tag);
  Task<void> drop_handed(Tag tag);
  Task<void> drop(redundancy::Partition partition);

  Disputes& disputes_;
  HistoryStore& history_;
  redundancy::StorageHints& hints_;
  overlay::RingService& rings_;
  Clock& clock_;
  SignedTime signed_time_;
  Log& log_;
  std::size_t rows_;
  std::size_t sets_max_;
  std::map<Tag, Kept> kept_;
  std::optional<Tag> looked_at_;              // last, for room
  std::map<Tag, std::set<unsigned>> handed_;  // numbers of partitions, of sets that are kept
  TaskGroup tasks_;
};

}  // namespace tagring::storage
