// The history of hashtags: what the storage role keeps (paper §5.5).
//
// Posts of a tag are ordered newest first by (published, uri): an order every replica shares, so that a
// cursor from one is valid at all others and does not move when posts arrive.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/ring_id.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "belief/tag_event.hpp"
#include "overlay/stored_load.hpp"
#include "redundancy/partition.hpp"
#include "redundancy/storage_hints.hpp"
#include "storage/statements.hpp"

namespace tagring::storage {

// HistoryEntry::changed. A store keeps so what its owner has only heard, of posts and of removals, so that it
// is never final by itself, nor the owner's word.
using belief::kBeforeAll;

struct HistoryEntry {
  // Where it is; to readers, for whom all partitions are one, that of the whole hashtag.
  redundancy::Partition partition;
  std::string uri;
  std::string author;
  WallTime published;
  bool removed = false;  // a tombstone: stays, so that the post stays deleted, or without the hashtag
  bool taken_down =
      false;  // by this node's administrator; only find() and bucket() say so, others pass it over
  WallTime changed = {};  // see belief::version_of()

  [[nodiscard]] belief::Version version() const { return belief::version_of(removed, changed); }
  // Its owner was told of it, and has not looked.
  [[nodiscard]] bool is_hearsay() const { return changed == kBeforeAll; }
  // For ever; what was taken out has a time, and may be put back.
  [[nodiscard]] bool is_deletion() const { return removed && changed == WallTime(); }
  friend bool operator==(const HistoryEntry&, const HistoryEntry&) = default;
};

// A place between entries. Text form: milliseconds, "~", percent-encoded uri:
// "1763691840000~https%3A%2F%2F…".
struct HistoryCursor {
  WallTime published;
  std::string uri;

  [[nodiscard]] std::string text() const;
  static Result<HistoryCursor> parse(std::string_view text);
  static HistoryCursor of(const HistoryEntry& entry) { return {entry.published, entry.uri}; }
  // The place from which that post comes next: no URI has a space in it, or any byte below.
  static HistoryCursor just_above(WallTime published, const std::string& uri) {
    return {published, uri + " "};
  }
  // True if `entry` comes after this place when reading newest first.
  [[nodiscard]] bool before(const HistoryEntry& entry) const;
};

// Newest first: later `published`, and of equal ones the greater uri, come first.
bool newer(const HistoryEntry& a, const HistoryEntry& b);

struct HistoryPage {
  std::vector<HistoryEntry> entries;  // newest first
  bool more = false;                  // there are older ones
  // Where to go on if there is more: the last place looked at, which need not be that of an entry given.
  std::optional<HistoryCursor> next;
  WallTime kept_from{};  // of one owner: what is older was let go to make room
  std::size_t disputed =
      0;  // of several: posts of which these did not all say the same, so that they were looked at
};

// Hours since 1970, in both directions: no post is of so far a time.
inline constexpr std::int64_t kHourMax = std::int64_t{1} << 40U;

// The posts of a hashtag in one hour, found by place: in the order of keys, then of hours since 1970. It is
// what replicas compare (reconcile.hpp).
struct HourPlace {
  RingId key;
  std::int64_t hour = 0;

  friend auto operator<=>(const HourPlace&, const HourPlace&) = default;
};

// Both ends belong to it; it does not wrap.
struct HourRange {
  HourPlace first;
  HourPlace last;

  friend bool operator==(const HourRange&, const HourRange&) = default;
};

// What there is in a range: equal in two stores if, and but for a chance of 2^-62 only if, these have the
// same posts and tombstones there. The digest is a sum of hashes modulo 2^62, so that order does not matter
// and an entry is added or replaced by adding.
struct HourDigest {
  HourRange range;
  std::uint64_t posts = 0;  // tombstones included
  std::uint64_t digest = 0;

  friend bool operator==(const HourDigest&, const HourDigest&) = default;
};

std::int64_t hour_of(WallTime time);
// How much a hashtag was used on a day (UTC).
struct HistoryDay {
  std::chrono::sys_days day;
  std::uint64_t posts = 0;
  std::uint64_t authors = 0;

  friend bool operator==(const HistoryDay&, const HistoryDay&) = default;
};

// Of each day the most that a replica counts, since one that lacks posts counts too few; of three or more
// replicas the second most, so that none can make a day greater by itself. Ascending; days without posts are
// absent.
std::vector<HistoryDay> merge_days(const std::vector<std::vector<HistoryDay>>& replicas);

// The same of the parts that a history is divided into: posts are in one part each, but while these merge.
// (Authors are counted once for each part in which they have posts.)
std::vector<HistoryDay> add_days(const std::vector<std::vector<HistoryDay>>& parts);

// Merges pages of replicas, each asked with the same cursor and limit: an entry is there if any replica has
// it and none has a later tombstone for it; tombstones are dropped unless `keep_removed`. Only entries that
// every replica with more to say has reached are returned, so that nothing is skipped by the next cursor. At
// most `limit`; perhaps none although there is more, when all that was reached is removed. Of entries that
// differ the latest is taken, and of those of the same time the first replica's. Posts that were disputed are
// added up.
HistoryPage merge_pages(const std::vector<HistoryPage>& replicas, std::size_t limit, bool keep_removed);

// The same of pages that were read towards newer posts (HistoryStore::page_after): only entries that every
// replica with more to say has reached, newest first, without tombstones; `next` is the newest place looked
// at.
HistoryPage merge_newer_pages(const std::vector<HistoryPage>& replicas, std::size_t limit);

// Durable storage. Same promise as delivery::Store: a write that completed survives.
class HistoryStore : public overlay::StoredLoad {
 public:
  // Adds entries and tombstones. Of what is known already nothing changes, unless that is later (version()):
  // then an entry becomes a tombstone, and a tombstone the entry given. A tombstone for an unknown post is
  // kept with the author and time given.
  virtual Task<Result<void>> put(std::vector<HistoryEntry> entries) = 0;
  // Has of a post what is given, live or not, and nothing else: what its own server bears out, in place of
  // what somebody said. With nothing it is as if there had been none. What was taken down stays as it is.
  // `promised`: this node may have signed that it has what there was, so bucket() goes on to name that.
  virtual Task<Result<void>> correct(redundancy::Partition partition, std::string uri,
                                     std::optional<HistoryEntry> truth, bool promised) = 0;
  // Entries after `cursor` (from the newest if none), newest first, tombstones included.
  virtual Task<Result<HistoryPage>> page(redundancy::Partition partition, std::optional<HistoryCursor> cursor,
                                         std::size_t limit) = 0;
  // The entries next to `cursor` on its newer side, newest first, tombstones included; `more` and `next` are
  // about what is newer still.
  virtual Task<Result<HistoryPage>> page_after(redundancy::Partition partition, HistoryCursor cursor,
                                               std::size_t limit) = 0;
  // What was published from the first day up to, not including, the second; ascending, without empty days and
  // tombstones.
  virtual Task<Result<std::vector<HistoryDay>>> days(redundancy::Partition partition,
                                                     std::chrono::sys_days from,
                                                     std::chrono::sys_days to) = 0;
  // Entries of all partitions with key in the segment, clockwise from segment.from and in each newest first,
  // after that place: for hand-over. Without `after` the whole of after_partition is passed over. kInvalid if
  // there is one and its key is not in the segment.
  virtual Task<Result<std::vector<HistoryEntry>>> segment(
      Segment segment, std::optional<redundancy::Partition> after_partition,
      std::optional<HistoryCursor> after, std::size_t limit) = 0;
  // Of each range the digest, hours before `since` left out.
  virtual Task<Result<std::vector<HourDigest>>> digests(std::vector<HourRange> ranges,
                                                        std::int64_t since) = 0;
  // The range cut into at most that many, with about as many hours that have posts in each. Together they are
  // the range, without gaps.
  virtual Task<Result<std::vector<HourDigest>>> split(HourRange range, std::int64_t since,
                                                      std::size_t parts) = 0;
  // Entries of the range, tombstones included: hour after hour, in each newest first and after that place.
  virtual Task<Result<std::vector<HistoryEntry>>> entries(HourRange range, std::int64_t since,
                                                          std::optional<HistoryCursor> after,
                                                          std::size_t limit) = 0;
  // Of the partitions in the range that were let go of in part (let_go()) the first hour that is kept, in
  // order, at most that many.
  virtual Task<Result<std::vector<HourPlace>>> floors(HourRange range, std::size_t limit) = 0;
  // Of each partition from when on it is kept: nothing older is taken for it.
  virtual Task<Result<std::vector<WallTime>>> kept_from(std::vector<redundancy::Partition> partitions) = 0;
  // What there is of these posts, each by partition and URI.
  virtual Task<Result<std::vector<std::optional<HistoryEntry>>>> find(
      std::vector<std::pair<redundancy::Partition, std::string>> posts) = 0;
  // Posts that are so of kBeforeAll; at most that many.
  virtual Task<Result<std::vector<HistoryEntry>>> heard(std::size_t limit) = 0;
  // What of a partition is published in an hour, in pages as of entries(); from when on it is kept here, as
  // it is after that page was read; when the last of it was forgotten; and, with the first page, which posts
  // were there and no more are, since they were corrected: see correct().
  struct Bucket {
    WallTime kept_from;
    WallTime begun;
    std::vector<HistoryEntry> entries;
    std::vector<crypto::Hash256> corrected = {};
  };
  virtual Task<Result<Bucket>> bucket(redundancy::Partition partition, std::int64_t hour,
                                      std::optional<HistoryCursor> after, std::size_t limit) = 0;
  // Keeps the notice and shows the post to nobody any more. Others keep theirs, and do not bring it back: in
  // digests it counts as it did. That holds for all partitions of the hashtag, also for those into which it
  // comes later. kNotFound if it is in none, or removed.
  virtual Task<Result<void>> take_down(TakeDown notice) = 0;
  virtual Task<Result<std::optional<TakeDown>>> take_down_of(Tag tag, crypto::Hash256 id) = 0;
  // All of them, the latest first.
  virtual Task<Result<std::vector<TakeDown>>> take_downs() = 0;
  // Forgets the notice and shows the post again, unless its author has removed it meanwhile. kNotFound if
  // there is no notice.
  virtual Task<Result<void>> undo_take_down(Tag tag, std::string uri) = 0;
  // A partition, as letting go looks at it (storage/retention.hpp).
  struct Span {
    redundancy::Partition partition;
    std::uint64_t posts = 0;
    WallTime oldest;
    RingId key;
  };
  // Of partitions with posts, by key, after that one.
  virtual Task<Result<std::vector<Span>>> spans(std::optional<RingId> after, std::size_t limit) = 0;
  // Lets go of the oldest posts of a partition: about `count` at a time, all older than `before`. From then
  // on nothing as old as these is taken for it. In digests they still count, their hours as one, so that who
  // has them and nothing else shows no difference. What there is of it after that.
  virtual Task<Result<Span>> let_go(redundancy::Partition partition, std::size_t count, WallTime before) = 0;
  // Drops up to that many of the oldest entries of a partition, tombstones included, and from that time on
  // says that it was begun at `at`. How many there were.
  virtual Task<Result<std::size_t>> forget(redundancy::Partition partition, std::size_t limit,
                                           WallTime at) = 0;
  // Keeps a set in place of one that it supersedes; otherwise nothing changes.
  virtual Task<Result<void>> save_set(redundancy::StorageSet set) = 0;
  // If it is that one.
  virtual Task<Result<void>> drop_set(redundancy::StorageSet set) = 0;
  virtual Task<Result<std::vector<redundancy::StorageSet>>> sets() = 0;
  struct Totals {
    std::uint64_t tags = 0;
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;         // of the whole database, if that is one
    std::uint64_t let_go = 0;        // entries, ever
    std::uint64_t bytes_unused = 0;  // of `bytes`: can be written again without more of the disk
    std::uint64_t bytes_of_entry = kBytesOfEntry;  // as bytes_of_entry() has it from then on
    [[nodiscard]] std::uint64_t bytes_of_history() const { return entries * bytes_of_entry; }
  };
  virtual Task<Result<Totals>> totals() = 0;
};

}  // namespace tagring::storage
