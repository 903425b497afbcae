// How sets of storage owners change: asked for by an owner whose part is too large, made by the keeper.
//
// A change is safe because of two rules. Nobody takes posts by a larger number before all owners at rest,
// whom readers ask first, have its reach on disk. And nobody looks less far before whatever was found there
// has been taken up by owners that are still asked, from sources that take no more.
#include <algorithm>
#include <bit>

#include "storage/storage_redundancy.hpp"

namespace tagring::storage {
namespace {

using redundancy::Partition;

constexpr Duration kTellAgain = std::chrono::minutes(5);  // owners that are new
constexpr std::size_t kCopyPage = 1'000;
constexpr std::size_t kDropPage = 1'000;

}  // namespace

bool StorageRedundancy::is_keeper(const Tag& tag) const {
  return rings_.of(Ring::kStorage).serving(tag.key()) != nullptr;
}

const ring::Vserver* StorageRedundancy::vserver_of(const Tag& tag, unsigned slot) const {
  for (unsigned copy = 0; copy < copies(); ++copy) {
    const ring::Vserver* vserver = rings_.of(Ring::kStorage).serving(position(tag, slot, copy));
    if (vserver != nullptr) return vserver;
  }
  return nullptr;
}

// Posts that came before stay, so each further doubling waits until half as much again has come.
double StorageRedundancy::limit(double bearable, unsigned replicas) const {
  const auto doublings = std::countr_zero(replicas) - std::countr_zero(options_.at_rest);
  return bearable * (1 + doublings / 2.0);
}

Task<Result<double>> StorageRedundancy::octets_of(Tag tag, unsigned slot) {
  const RingId key = redundancy::partition_key(tag.key(), slot);
  CO_TRY(const auto weights, co_await history_.weights(key - RingId::power_of_two(0), 1));
  const bool is_there = !weights.empty() && weights.front().key == key;
  co_return is_there ? static_cast<double>(weights.front().entries * HistoryStore::kBytesOfEntry) : 0;
}

Task<Result<StorageRedundancy::Report>> StorageRedundancy::report(Tag tag) {
  Report report;
  report.set = of(tag.canonical());
  report.bearable = options_.bearable;
  bool is_owner = false;
  const auto merged = merged_.find(tag.canonical());
  bool all_merged = merged != merged_.end() && merged->second.first == report.set.version;
  for (const unsigned slot : redundancy::slots_of_set(copies(), report.set.reach)) {
    if (!check_slot(tag, slot)) continue;
    is_owner = true;
    CO_TRY(report.octets[slot], co_await octets_of(tag, slot));
    const bool stays = slot % (redundancy::kSlots / report.set.replicas) == 0;
    all_merged = all_merged && (!stays || merged->second.second.contains(slot));
  }
  if (!is_owner) co_return fail(ErrorCode::kNotOwner, "this node keeps nothing of the hashtag");
  if (all_merged && of(tag.canonical()).version == report.set.version) report.merged = report.set.version;
  co_return report;
}

// Of the owners of so many replicas, each once. An error unless all answer.
Task<Result<std::vector<StorageRedundancy::Report>>> StorageRedundancy::reports(Tag tag, unsigned replicas) {
  std::vector<Report> all;
  std::set<std::string> asked;
  for (unsigned i = 0; i < replicas; ++i) {
    CO_TRY(const ring::Owner owner,
           co_await rings_.of(Ring::kStorage).find_owner(replica_key(tag.key(), i, replicas)));
    if (!asked.insert(owner.contact.origin()).second) continue;
    Result<Report> answer = co_await ask(owner.contact, tag);
    if (!answer) rings_.of(Ring::kStorage).forget_route(replica_key(tag.key(), i, replicas));
    CO_TRY(Report report, std::move(answer));
    all.push_back(std::move(report));
  }
  co_return all;
}

// --- as keeper ---------------------------------------------------------------------------------------------

// Makes the next version of what the owners at rest agree on, if that still is what the decision rests on.
Task<Result<void>> StorageRedundancy::change(Tag tag, Change change, std::uint64_t from_version) {
  CO_TRY(const std::vector<Report> base, co_await reports(tag, options_.at_rest));
  redundancy::StorageSet next = of(tag.canonical());
  unsigned reach = next.reach;
  for (const Report& report : base) {
    reach = std::max(reach, report.set.reach);
    if (redundancy::supersedes(report.set, next)) next = report.set;
  }
  if (next.version > of(next.tag).version) {
    CO_TRY_VOID(co_await adopt(next));
  }
  if (next.version != from_version || !is_keeper(tag))
    co_return fail(ErrorCode::kConflict, "the set has changed meanwhile");
  const unsigned widest = reach;
  if (change == Change::kDouble) next.replicas *= 2;
  if (change == Change::kHalve) next.replicas /= 2;
  next.reach = change == Change::kMerged ? next.replicas : std::max(reach, next.replicas);
  next.tag = tag.canonical();
  next.at = clock_.wall_now();
  ++next.version;
  if (next.replicas > redundancy::kRelaysMax || next.replicas < options_.at_rest)
    co_return fail(ErrorCode::kInvalid, "no set may be so large, or so small");
  CO_TRY_VOID(co_await adopt(next));
  co_await spread(tag, std::max(widest, next.reach));
  co_return Result<void>();
}

// Tells all owners: those at rest first, and the others only when all of these know. Whether all do.
Task<bool> StorageRedundancy::spread(Tag tag, unsigned widest) {
  const redundancy::StorageSet set = of(tag.canonical());
  bool complete = true;
  std::set<std::string> told{identity_.origin()};
  for (const unsigned replicas : {options_.at_rest, widest}) {
    for (unsigned i = 0; i < replicas; ++i) {
      const RingId place = replica_key(tag.key(), i, replicas);
      const Result<ring::Owner> owner = co_await rings_.of(Ring::kStorage).find_owner(place);
      complete = complete && owner.has_value();
      if (!owner || !told.insert(owner->contact.origin()).second) continue;
      json::object request = redundancy::to_json(set);
      request["action"] = "set";
      Result<redundancy::StorageSet> kept = co_await call(owner->contact.origin(), tag, std::move(request));
      if (!kept) rings_.of(Ring::kStorage).forget_route(place);
      if (kept && redundancy::supersedes(*kept, set)) co_await adopt(std::move(*kept));
      complete = complete && kept && kept->version == set.version;
    }
    if (!complete) co_return false;
  }
  told_[tag.canonical()] = {set.version, clock_.now()};
  co_return true;
}

// An owner has more of the hashtag than it can bear. Another one of the same part must have about as much.
Task<void> StorageRedundancy::consider_doubling(Tag tag, unsigned slot, double octets, std::string origin) {
  const std::string name = tag.canonical();
  const redundancy::StorageSet set = of(name);
  const auto kept = kept_.find(name);
  const bool is_new = kept != kept_.end() && clock_.now() - kept->second.since < options_.settle;
  const auto& own = rings_.of(Ring::kStorage).vservers();
  const double vservers = own.empty() ? 1 : own.front()->estimated_size();
  const bool is_part = slot % (redundancy::kSlots / set.replicas) == 0;
  bool wanted = !is_new && is_part && set.replicas < redundancy::kRelaysMax && set.replicas < vservers;
  for (unsigned copy = 0; wanted && copy < copies(); ++copy) {
    const Result<ring::Owner> owner =
        co_await rings_.of(Ring::kStorage).find_owner(position(tag, slot, copy));
    if (!owner || owner->contact.origin() == origin) continue;
    const Result<Report> other = co_await ask(owner->contact, tag);
    const auto there = other ? other->octets.find(slot) : std::map<unsigned, double>::const_iterator();
    wanted = other && there != other->octets.end() && there->second >= octets / 2;
    break;
  }
  if (wanted) {
    const Result<void> done = co_await change(tag, Change::kDouble, set.version);
    if (!done) log_.debug("storage_not_doubled", {{"tag", name}, {"because", done.error().message}});
  }
  busy_.erase(name);
}

// If everybody could bear what it would take up, and half as much again.
Task<void> StorageRedundancy::try_to_halve(Tag tag) {
  const redundancy::StorageSet set = of(tag.canonical());
  const Result<std::vector<Report>> owners = co_await reports(tag, set.replicas);
  if (!owners) co_return;
  std::map<unsigned, double> octets;
  std::map<unsigned, double> bearable;
  for (const Report& owner : *owners) {
    for (const auto& [slot, load] : owner.octets) {
      octets[slot] = std::max(octets[slot], load);
      const double limit_there = owner.bearable > 0 ? limit(owner.bearable, set.replicas / 2) : 1e300;
      const auto [it, fresh] = bearable.emplace(slot, limit_there);
      it->second = std::min(it->second, limit_there);
    }
  }
  for (const unsigned slot : redundancy::slots_of_set(copies(), set.replicas / 2)) {
    const double together = octets[slot] + octets[redundancy::sibling_of_slot(slot, set.replicas / 2)];
    if (!bearable.contains(slot) || together * 1.5 > bearable[slot]) co_return;
  }
  const Result<void> done = co_await change(tag, Change::kHalve, set.version);
  if (!done) log_.debug("storage_not_halved", {{"tag", set.tag}, {"because", done.error().message}});
}

// When every owner that stays has taken up what those have that go, nobody needs to ask those any more.
Task<void> StorageRedundancy::finish_merge(Tag tag) {
  const redundancy::StorageSet set = of(tag.canonical());
  const Result<std::vector<Report>> owners = co_await reports(tag, set.replicas);
  if (!owners) co_return;
  const bool all =
      std::ranges::all_of(*owners, [&](const Report& owner) { return owner.merged == set.version; });
  if (!all) co_return;
  const Result<void> done = co_await change(tag, Change::kMerged, set.version);
  if (!done) log_.debug("storage_not_merged", {{"tag", set.tag}, {"because", done.error().message}});
}

Task<void> StorageRedundancy::tend(Tag tag) {
  const std::string name = tag.canonical();
  const Kept& kept = kept_.at(name);
  const redundancy::StorageSet set = kept.set;
  const Duration age = clock_.now() - kept.since;
  const auto told = told_.find(name);
  const bool is_known = told != told_.end() && told->second.first == set.version &&
                        clock_.now() - told->second.second < kTellAgain;
  if (!is_known) {
    co_await spread(tag, std::min(redundancy::kRelaysMax, set.reach * 2));
  } else if (set.replicas < set.reach) {
    co_await finish_merge(tag);
  } else if (set.replicas > options_.at_rest && age > options_.cooldown) {
    co_await try_to_halve(tag);
  }
  busy_.erase(name);
}

// --- as any owner ------------------------------------------------------------------------------------------

Task<void> StorageRedundancy::upkeep() {
  for (;;) {
    const Instant next = clock_.now() + options_.every;
    co_await clock_.sleep_until(next);
    const std::set<std::pair<std::string, unsigned>> written = std::exchange(written_, {});
    for (const auto& [tag, slot] : written) co_await look_at(tag, slot);
    std::vector<Tag> tags;
    for (const auto& [name, kept] : kept_) {
      Result<Tag> tag = Tag::parse(name);
      if (tag) tags.push_back(std::move(*tag));
    }
    for (const Tag& tag : tags) {
      const redundancy::StorageSet set = of(tag.canonical());
      if (set.replicas < set.reach) co_await merge(tag);
      const bool is_over = set.replicas == set.reach && swept_[set.tag] != set.version &&
                           clock_.now() - kept_.at(set.tag).since > options_.cooldown;
      if (is_over) co_await sweep(tag);
      const bool is_free = is_keeper(tag) && busy_.insert(tag.canonical()).second;
      if (is_free) tasks_.spawn("tend", tend(tag));
    }
  }
}

// Asks for more owners if a part has become more than this node can bear.
Task<void> StorageRedundancy::look_at(std::string name, unsigned slot) {
  const Result<Tag> tag = Tag::parse(name);
  if (!tag || options_.bearable <= 0 || !check_slot(*tag, slot)) co_return;
  const unsigned replicas = of(name).replicas;
  const Result<double> octets = co_await octets_of(*tag, slot);
  if (!octets || *octets <= limit(options_.bearable, replicas) || replicas >= redundancy::kRelaysMax)
    co_return;
  written_.emplace(name, slot);  // until it is done
  if (is_keeper(*tag)) {
    const bool is_free = busy_.insert(name).second;
    if (is_free) tasks_.spawn("double", consider_doubling(*tag, slot, *octets, identity_.origin()));
    co_return;
  }
  const Result<ring::Owner> keeper = co_await rings_.of(Ring::kStorage).find_owner(tag->key());
  if (!keeper) co_return;
  for (unsigned copy = 0; copy < copies(); ++copy) {
    if (rings_.of(Ring::kStorage).serving(position(*tag, slot, copy)) == nullptr) continue;
    json::object request = {
        {"action", "double"}, {"slot", slot}, {"copy", copy}, {"octets", static_cast<std::int64_t>(*octets)}};
    Result<redundancy::StorageSet> kept = co_await call(keeper->contact.origin(), *tag, std::move(request));
    if (!kept) rings_.of(Ring::kStorage).forget_route(tag->key());
    co_return;
  }
}

// Takes up what owners have that do not belong to the smaller set any more.
Task<void> StorageRedundancy::merge(Tag tag) {
  const redundancy::StorageSet set = of(tag.canonical());
  for (const unsigned slot : redundancy::slots_of_set(copies(), set.replicas)) {
    auto& [version, slots] = merged_[set.tag];
    if (version != set.version) slots.clear();
    version = set.version;
    if (slots.contains(slot) || !check_slot(tag, slot)) continue;
    bool complete = true;
    for (const unsigned other : redundancy::slots_of_set(copies(), set.reach)) {
      const bool is_taken_up = other > slot && other < slot + redundancy::kSlots / set.replicas;
      if (!is_taken_up || !complete) continue;
      complete = co_await take_up(tag, slot, other, set.version);
    }
    if (!complete || of(set.tag).version != set.version) co_return;
    merged_[set.tag].second.insert(slot);
  }
}

// From all owners of the shelf: one of them may lack what another has.
Task<bool> StorageRedundancy::take_up(Tag tag, unsigned slot, unsigned from, std::uint64_t version) {
  const Partition to{tag.canonical(), slot};
  const Partition source{tag.canonical(), from};
  std::set<std::string> asked;
  for (unsigned copy = 0; copy < copies(); ++copy) {
    const RingId place = position(tag, from, copy);
    const Result<ring::Owner> owner = co_await rings_.of(Ring::kStorage).find_owner(place);
    if (!owner) co_return false;
    const std::string origin = owner->contact.origin();
    if (!asked.insert(origin).second) continue;
    const ring::Vserver* own = vserver_of(tag, slot);
    if (own == nullptr) co_return false;
    Result<void> taken;
    if (origin == identity_.origin()) {
      taken = co_await copy_here(source, to);
    } else {
      const ring::Contact requester = own->self();
      taken = co_await observer_.fetch_partition(origin, requester, source, to, version);
    }
    if (!taken) {
      rings_.of(Ring::kStorage).forget_route(place);
      log_.debug("storage_not_taken_up", {{"tag", source.name()}, {"because", taken.error().message}});
      co_return false;
    }
  }
  co_return true;
}

Task<Result<void>> StorageRedundancy::copy_here(Partition from, Partition to) {
  std::optional<HistoryCursor> after;
  for (;;) {
    CO_TRY(HistoryPage page, co_await history_.page(from.name(), after, kCopyPage));
    if (page.entries.empty()) break;
    after = HistoryCursor::of(page.entries.back());
    for (HistoryEntry& entry : page.entries) entry.tag = to.name();
    CO_TRY_VOID(co_await history_.put(std::move(page.entries)));
    if (!page.more) break;
  }
  note_handed(from.name());
  co_return Result<void>();
}

// Shelves that others have taken up, and that nobody asks for any more.
Task<void> StorageRedundancy::drop_handed(std::string tag) {
  std::vector<Partition> gone;
  for (const std::string& name : handed_) {
    Result<Partition> shelf = Partition::parse(name);
    if (shelf && shelf->tag == tag && !is_in_reach(*shelf)) gone.push_back(std::move(*shelf));
  }
  for (const Partition& shelf : gone) {
    handed_.erase(shelf.name());
    co_await drop(shelf);
  }
}

Task<void> StorageRedundancy::drop(Partition shelf) {
  while (!is_in_reach(shelf)) {
    const Result<std::size_t> dropped = co_await history_.forget(shelf.name(), kDropPage, clock_.wall_now());
    if (!dropped || *dropped < kDropPage) break;
  }
}

// What is beyond the reach for so long goes, also if this node did not see it fetched, or has forgotten that:
// all owners that stay have fetched from all that went.
Task<void> StorageRedundancy::sweep(Tag tag) {
  const redundancy::StorageSet set = of(tag.canonical());
  for (const unsigned slot : redundancy::slots_of_set(copies(), redundancy::kRelaysMax)) {
    Partition shelf{set.tag, slot};
    if (is_in_reach(shelf)) continue;
    const Result<double> octets = co_await octets_of(tag, slot);
    if (!octets) co_return;
    if (*octets > 0) co_await drop(std::move(shelf));
  }
  swept_[set.tag] = set.version;
}

}  // namespace tagring::storage
