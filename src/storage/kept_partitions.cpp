#include "storage/kept_partitions.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ranges>

#include "http/url.hpp"
#include "redundancy/asked_tag.hpp"

namespace tagring::storage {
namespace {

constexpr int kLookedAt = 4;  // sets that may go, each time there is no room
// Sets rest for a minute before they change again (StoragePolicy); clocks may differ, and so may what is
// heard.
constexpr Duration kChangesEvery = std::chrono::seconds(10);

}  // namespace

KeptPartitions::KeptPartitions(Disputes& disputes, redundancy::StorageHints& hints,
                               overlay::RingService& rings, const Runtime& runtime, std::size_t rows,
                               std::size_t sets_max)
    : disputes_(disputes),
      history_(disputes.history()),
      hints_(hints),
      rings_(rings),
      clock_(runtime.clock),
      signed_time_(runtime.clock),
      log_(runtime.log),
      rows_(rows),
      sets_max_(sets_max),
      tasks_(runtime.executor) {}

Task<Result<void>> KeptPartitions::load() {
  CO_TRY(std::vector<redundancy::StorageSet> sets, co_await history_.sets());
  for (redundancy::StorageSet& set : sets) {
    // It may have been written when the network kept fewer at rest.
    set.replicas = std::max(set.replicas, at_rest());
    set.read_factor = std::max(set.read_factor, set.replicas);
    if (!hints_.is_sound(set.replicas, set.read_factor)) {
      log_.warn("storage_set_left_out", {{"tag", set.tag.canonical()}});
      continue;
    }
    hints_.keep(set);
    Tag tag = set.tag;
    kept_.insert_or_assign(std::move(tag), Kept{std::move(set), clock_.now(), true});
  }
  co_return Result<void>();
}

Task<void> KeptPartitions::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

// --- of how many owners ------------------------------------------------------------------------------------

redundancy::StorageSet KeptPartitions::of(const Tag& tag) const {
  const auto it = kept_.find(tag);
  return it == kept_.end() ? redundancy::StorageSet{tag, 0, at_rest(), at_rest(), {}} : it->second.set;
}

Duration KeptPartitions::age(const Tag& tag) const {
  const auto it = kept_.find(tag);
  return it == kept_.end() ? Duration::max() : clock_.now() - it->second.since;
}

std::vector<Tag> KeptPartitions::tags() const {
  std::vector<Tag> tags;
  for (const auto& [tag, kept] : kept_) tags.push_back(tag);
  return tags;
}

// Whoever could say any version would have the last word for ever.
Result<void> KeptPartitions::check_version(const redundancy::StorageSet& set) const {
  const redundancy::StorageSet mine = of(set.tag);
  const Duration since = clock_.wall_now() - mine.at;
  const auto changes = static_cast<std::uint64_t>(std::max<Duration::rep>(0, since / kChangesEvery));
  if (set.version <= mine.version + 1 + changes) return {};
  return fail(ErrorCode::kInvalid, "sets of storage owners do not change that often");
}

Task<Result<void>> KeptPartitions::adopt(redundancy::StorageSet set) {
  CO_TRY_VOID(check_version(set));
  set.at = std::min(set.at, clock_.wall_now());  // or no version could follow for as long
  const Tag tag = set.tag;
  if (!kept_.contains(tag) && kept_.size() >= sets_max_) {
    CO_TRY_VOID(co_await make_room());
  }
  const auto it = kept_.find(tag);
  // Who brings what is known again is told that it is on disk, so it has to be: it may have failed before.
  if (it != kept_.end() && !redundancy::supersedes(set, it->second.set)) co_return co_await write_down(tag);
  log_.debug("storage_set", {{"tag", tag.canonical()},
                             {"version", std::to_string(set.version)},
                             {"replicas", std::to_string(set.replicas)},
                             {"reach", std::to_string(set.read_factor)}});
  const bool has_merged = set.replicas == set.read_factor;
  // Partitions that were handed over take posts again.
  const bool grows = it != kept_.end() && set.replicas > it->second.set.replicas;
  if (grows) handed_.erase(tag);
  // From here on partitions beyond it take no posts, and senders are told to go by it; whoever asks is told
  // only when it is on disk.
  hints_.keep(set);
  kept_.insert_or_assign(tag, Kept{std::move(set), clock_.now(), false});
  CO_TRY_VOID(co_await write_down(tag));
  if (has_merged) tasks_.spawn("drop_handed", drop_handed(tag));
  co_return Result<void>();
}

// Of a hashtag of which nothing is stored here nobody misses the set, which may be made up: whoever
// coordinates it tells it again.
Task<Result<void>> KeptPartitions::make_room() {
  for (int looked = 0; looked < kLookedAt && !kept_.empty(); ++looked) {
    auto next = looked_at_ ? kept_.upper_bound(*looked_at_) : kept_.begin();
    if (next == kept_.end()) next = kept_.begin();
    looked_at_ = next->first;
    const redundancy::StorageSet set = next->second.set;
    CO_TRY(const bool is_empty, co_await stores_nothing(set));
    if (is_empty) co_return co_await forget(set);
  }
  co_return fail(ErrorCode::kTooLarge, "too many hashtags with other sets than at rest");
}

Task<Result<bool>> KeptPartitions::stores_nothing(redundancy::StorageSet set) {
  for (const unsigned number : redundancy::partitions_of_set(copies(), set.read_factor)) {
    CO_TRY(const double bytes, co_await bytes_of(set.tag, number));
    if (bytes > 0) co_return false;
  }
  co_return true;
}

Task<Result<void>> KeptPartitions::write_down(Tag tag) {
  if (kept_.at(tag).on_disk) co_return Result<void>();
  const redundancy::StorageSet set = kept_.at(tag).set;
  CO_TRY_VOID(co_await history_.save_set(set));
  const auto kept = kept_.find(tag);  // it may have been forgotten
  if (kept != kept_.end()) kept->second.on_disk = kept->second.on_disk || kept->second.set == set;
  co_return Result<void>();
}

Task<Result<void>> KeptPartitions::forget(redundancy::StorageSet set) {
  const auto known = kept_.find(set.tag);
  if (known == kept_.end() || known->second.set != set)
    co_return fail(ErrorCode::kConflict, "another set is kept meanwhile");
  // First here: what is adopted while the disk is at work is not to be lost with it.
  kept_.erase(known);
  handed_.erase(set.tag);
  hints_.keep_nothing(set.tag);
  log_.debug("storage_set_forgotten", {{"tag", set.tag.canonical()}});
  CO_TRY_VOID(co_await history_.drop_set(set));
  co_return Result<void>();
}

bool KeptPartitions::has_place_in(const Segment& positions, const redundancy::StorageSet& set) {
  const RingId key = set.tag.key();
  for (unsigned i = 0; i < set.read_factor; ++i) {
    if (positions.contains(replica_key(key, i, set.read_factor))) return true;
  }
  return false;
}

bool KeptPartitions::stands_at(const Tag& tag, unsigned places) const {
  const RingId key = tag.key();
  for (unsigned i = 0; i < places; ++i) {
    if (ring().owning(replica_key(key, i, places)) != nullptr) return true;
  }
  return false;
}

bool KeptPartitions::may_keep(const redundancy::StorageSet& set) const {
  return kept_.contains(set.tag) || stands_at(set.tag, at_rest()) ||
         stands_at(set.tag, std::min(redundancy::kRelaysMax, set.read_factor * 2));
}

std::vector<redundancy::StorageSet> KeptPartitions::sets_at(const Segment& positions,
                                                            const std::optional<Tag>& after,
                                                            std::size_t limit) const {
  std::vector<redundancy::StorageSet> sets;
  for (auto it = after ? kept_.upper_bound(*after) : kept_.begin(); it != kept_.end() && sets.size() < limit;
       ++it) {
    if (has_place_in(positions, it->second.set)) sets.push_back(it->second.set);
  }
  return sets;
}

json::object KeptPartitions::news(const std::set<Tag>& tags) const {
  std::vector<redundancy::StorageSet> sets;
  for (const Tag& tag : tags) {
    const auto it = kept_.find(tag);
    if (it != kept_.end()) sets.push_back(it->second.set);
  }
  json::object news;
  if (!sets.empty()) news["stores"] = redundancy::to_json(sets);
  return news;
}

// --- which partitions --------------------------------------------------------------------------------------

RingId KeptPartitions::key(const Tag& tag, unsigned number, unsigned copy) const {
  return replica_key(redundancy::partition_key(tag.key(), number), copy, copies());
}

Result<void> KeptPartitions::check(const Tag& tag, unsigned number) const {
  ring::Membership& members = ring();
  bool owned = false;
  const RingId key = redundancy::partition_key(tag.key(), number);
  for (unsigned copy = 0; copy < copies(); ++copy) {
    const RingId place = replica_key(key, copy, copies());
    if (members.serving(place) != nullptr) return {};
    owned = owned || members.owning(place) != nullptr;
  }
  if (owned) return fail(ErrorCode::kBusy, "this node is still fetching the tag's history");
  return fail(ErrorCode::kNotOwner, "this node does not keep that part of the tag's history");
}

Result<void> KeptPartitions::check_serving(const Tag& tag) const {
  Result<void> none = fail(ErrorCode::kNotOwner, "this node does not own the tag");
  for (const unsigned number : redundancy::partitions_of_set(copies(), of(tag).read_factor)) {
    const Result<void> serving = check(tag, number);
    if (serving) return {};
    if (serving.error().code == ErrorCode::kBusy) none = std::unexpected(serving.error());
  }
  return none;
}

Result<std::vector<unsigned>> KeptPartitions::partitions_for(const Tag& tag, const std::string& uri,
                                                             bool removal) const {
  const redundancy::StorageSet set = of(tag);
  // Not only where the post belongs by this set: the owner there may know nothing of it, and refuse it.
  // Readers look at all of these.
  const std::vector<unsigned> partitions =
      redundancy::partitions_of_post(uri, copies(), at_rest(), removal ? set.read_factor : set.replicas);
  std::vector<unsigned> here;
  for (const unsigned number : std::views::reverse(partitions)) {
    const Result<void> serving = check(tag, number);
    if (serving) here.push_back(number);
    if (serving && !removal) break;
    if (!serving && serving.error().code == ErrorCode::kBusy) return std::unexpected(serving.error());
  }
  if (here.empty())
    return fail(ErrorCode::kNotOwner, "this node does not keep that part of the tag's history");
  return here;
}

Result<redundancy::Partition> KeptPartitions::asked_for(std::string_view query) const {
  TRY(const Tag tag, redundancy::asked_tag(query));
  const std::string number = query_value(query, "slot");
  const bool is_whole = number.empty() || number == "0";
  TRY(redundancy::Partition partition,
      is_whole ? redundancy::Partition(tag)
               : redundancy::Partition::parse(fmt::format("{}/{}", tag.canonical(), number)));
  TRY_VOID(check(tag, partition.number));
  return partition;
}

const ring::Vserver* KeptPartitions::vserver_of(const Tag& tag, unsigned number) const {
  const RingId key = redundancy::partition_key(tag.key(), number);
  for (unsigned copy = 0; copy < copies(); ++copy) {
    const ring::Vserver* vserver = ring().serving(replica_key(key, copy, copies()));
    if (vserver != nullptr) return vserver;
  }
  return nullptr;
}

bool KeptPartitions::is_read(const redundancy::Partition& partition) const {
  return partition.number < redundancy::kPartitionsMax / copies() &&
         partition.number % (redundancy::kPartitionsMax / of(partition.tag).read_factor) == 0;
}

// --- what is in them ---------------------------------------------------------------------------------------

Task<Result<double>> KeptPartitions::bytes_of(Tag tag, unsigned number) {
  const RingId key = redundancy::partition_key(tag.key(), number);
  CO_TRY(const auto weights, co_await history_.weights(key - RingId::power_of_two(0), 1));
  const bool is_there = !weights.empty() && weights.front().key == key;
  co_return is_there ? static_cast<double>(weights.front().entries * HistoryStore::kBytesOfEntry) : 0;
}

Task<Result<void>> KeptPartitions::copy(redundancy::Partition from, redundancy::Partition to,
                                        std::size_t sources) {
  const std::size_t enough = Disputes::enough_of(sources);
  std::optional<HistoryCursor> after;
  for (;;) {
    CO_TRY(HistoryPage page, co_await history_.page(from, after, rows_));
    if (page.entries.empty()) break;
    after = HistoryCursor::of(page.entries.back());
    std::vector<HistoryEntry> own;
    std::vector<HistoryEntry> heard;
    for (HistoryEntry& entry : page.entries) {
      std::vector<HistoryEntry>& with = entry.is_hearsay() ? heard : own;
      with.push_back(std::move(entry));
      with.back().partition = to;
    }
    CO_TRY_VOID(co_await history_.put(std::move(own)));
    CO_TRY_VOID(co_await disputes_.adopt(std::move(heard), Disputes::kNobody, enough));
    if (!page.more) break;
  }
  note_handed(from);
  co_return Result<void>();
}

void KeptPartitions::leave_out_misplaced(std::vector<HistoryEntry>* entries) const {
  std::erase_if(*entries, [this](const HistoryEntry& entry) {
    return !is_read(entry.partition) ||
           !redundancy::may_be_in_partition(entry.uri, entry.partition.number, copies());
  });
}

void KeptPartitions::note_handed(const redundancy::Partition& partition) {
  // Nothing else is dropped, and a member may ask for any number of hashtags that there are not.
  if (kept_.contains(partition.tag)) handed_[partition.tag].insert(partition.number);
}

// Partitions that others have taken up, and that nobody reads any more.
Task<void> KeptPartitions::drop_handed(Tag tag) {
  const auto handed = handed_.find(tag);
  if (handed == handed_.end()) co_return;
  std::vector<redundancy::Partition> gone;
  for (const unsigned number : handed->second) gone.emplace_back(tag, number);
  std::erase_if(gone, [this](const redundancy::Partition& partition) { return is_read(partition); });
  for (const redundancy::Partition& partition : gone) handed->second.erase(partition.number);
  if (handed->second.empty()) handed_.erase(handed);
  for (const redundancy::Partition& partition : gone) co_await drop(partition);
}

Task<void> KeptPartitions::drop(redundancy::Partition partition) {
  while (!is_read(partition)) {
    const Result<std::size_t> dropped = co_await history_.forget(partition, rows_, signed_time_.now());
    if (!dropped || *dropped < rows_) break;
  }
}

Task<Result<std::vector<redundancy::Partition>>> KeptPartitions::left_over(Tag tag) {
  std::vector<redundancy::Partition> left;
  for (const unsigned number : redundancy::partitions_of_set(copies(), redundancy::kRelaysMax)) {
    redundancy::Partition partition{tag, number};
    const auto handed = handed_.find(tag);
    if (is_read(partition) || (handed != handed_.end() && handed->second.contains(number))) continue;
    CO_TRY(const double bytes, co_await bytes_of(tag, number));
    if (bytes > 0) left.push_back(std::move(partition));
  }
  co_return left;
}

Task<bool> KeptPartitions::sweep(Tag tag) {
  for (const unsigned number : redundancy::partitions_of_set(copies(), redundancy::kRelaysMax)) {
    redundancy::Partition partition{tag, number};
    if (is_read(partition)) continue;
    const Result<double> bytes = co_await bytes_of(tag, number);
    if (!bytes) co_return false;
    if (*bytes > 0) co_await drop(std::move(partition));
  }
  co_return true;
}

}  // namespace tagring::storage
