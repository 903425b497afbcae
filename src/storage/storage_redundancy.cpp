#include "storage/storage_redundancy.hpp"

#include <algorithm>

#include "http/http_error.hpp"
#include "http/url.hpp"
#include "redundancy/asked_tag.hpp"

namespace tagring::storage {
namespace {

using redundancy::Partition;

constexpr Duration kTellAgain = std::chrono::minutes(5);  // owners that are new
constexpr Duration kGiveUp = std::chrono::minutes(5);     // a set that not all owners take
constexpr Duration kConfirmEvery = std::chrono::minutes(10);
constexpr std::ptrdiff_t kConfirmMost = 4;  // sets in one round of the upkeep
constexpr std::size_t kLooksBeyond = 32;    // the same
constexpr double kRoom = 4;                 // places that a set may have for each that the ring seems to have

// Both are in order.
template <class T>
void forget_others(const std::vector<Tag>& tags, std::map<Tag, T>* by_tag) {
  auto kept = tags.begin();
  std::erase_if(*by_tag, [&](const auto& known) {
    while (kept != tags.end() && *kept < known.first) ++kept;
    return kept == tags.end() || known.first < *kept;
  });
}

}  // namespace

StorageRedundancy::StorageRedundancy(Options options, KeptPartitions& kept, StorageCalls& calls,
                                     federation::Authenticator& authenticator, Observer& observer,
                                     const Runtime& runtime)
    : options_(std::move(options)),
      policy_(options_.policy),
      kept_(kept),
      calls_(calls),
      authenticator_(authenticator),
      observer_(observer),
      clock_(runtime.clock),
      log_(runtime.log),
      merger_(kept, calls, observer, policy_, runtime),
      tasks_(runtime.executor) {}

Task<void> StorageRedundancy::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

bool StorageRedundancy::is_coordinator(const Tag& tag) const {
  return kept_.ring().serving(tag.key()) != nullptr;
}

Task<Result<StorageRedundancy::Report>> StorageRedundancy::report(Tag tag) {
  Report report{kept_.of(tag)};
  report.bearable = options_.bearable();
  bool is_owner = false;
  // As it is now: others change it while bytes are counted.
  const SetMerger::Merged merged = merger_.merged(tag);
  bool all_merged = merged.version == report.set.version;
  for (const unsigned partition : redundancy::partitions_of_set(kept_.copies(), report.set.read_factor)) {
    if (!kept_.check(tag, partition)) continue;
    is_owner = true;
    CO_TRY(report.bytes[partition], co_await kept_.bytes_of(tag, partition));
    const bool stays = redundancy::StoragePolicy::stays(partition, report.set);
    all_merged = all_merged && (!stays || merged.into.contains(partition));
  }
  if (!is_owner) co_return fail(ErrorCode::kNotOwner, "this node keeps nothing of the hashtag");
  if (all_merged && kept_.of(tag).version == report.set.version) report.merged = report.set.version;
  co_return report;
}

// Of the owners of so many replicas, each once. Whoever does not answer counts as `if_silent`; without that
// it is an error.
Task<Result<std::vector<StorageRedundancy::Report>>> StorageRedundancy::reports(
    Tag tag, unsigned replicas, std::optional<Report> if_silent) {
  std::vector<Report> all;
  std::set<std::string> asked;
  for (unsigned i = 0; i < replicas; ++i) {
    const RingId place = replica_key(tag.key(), i, replicas);
    const Result<ring::Owner> owner = co_await kept_.ring().find_owner(place);
    if (owner && !asked.insert(owner->contact.origin()).second) continue;
    Result<Report> answer = fail(ErrorCode::kUnavailable, "the owner could not be looked up");
    if (owner) answer = co_await ask(owner->contact, tag);
    if (!answer) kept_.ring().forget_route(place);
    if (!answer && if_silent) answer = *if_silent;
    CO_TRY(Report report, std::move(answer));
    all.push_back(std::move(report));
  }
  co_return all;
}

// --- as coordinator ----------------------------------------------------------------------------------------

// Makes the next version of what the owners at rest agree on, if that still is what the decision rests on.
Task<Result<void>> StorageRedundancy::change(Tag tag, Change change, std::uint64_t from_version) {
  CO_TRY(const std::vector<Report> at_rest, co_await reports(tag, kept_.at_rest()));
  redundancy::StorageSet latest = kept_.of(tag);
  unsigned widest = latest.read_factor;
  for (const Report& report : at_rest) {
    // One that lies may name any. Where the ring has shrunk most of them rightly have such a set.
    const auto have = std::ranges::count_if(
        at_rest, [&](const Report& other) { return !redundancy::supersedes(report.set, other.set); });
    if (!has_room(report.set) && 2 * have <= std::ssize(at_rest)) continue;
    widest = std::max(widest, report.set.read_factor);
    if (redundancy::supersedes(report.set, latest)) latest = report.set;
  }
  if (latest.version > kept_.of(latest.tag).version) {
    CO_TRY_VOID(co_await kept_.adopt(latest));
  }
  if (latest.version != from_version || !is_coordinator(tag))
    co_return fail(ErrorCode::kConflict, "the set has changed meanwhile");
  CO_TRY(const redundancy::StorageSet next, policy_.changed(latest, change, widest, clock_.wall_now()));
  CO_TRY_VOID(co_await kept_.adopt(next));
  made_[next.tag] = next.version;
  log_.info("storage_set_changed", {{"tag", next.tag.canonical()},
                                    {"version", std::to_string(next.version)},
                                    {"replicas", std::to_string(next.replicas)},
                                    {"reach", std::to_string(next.read_factor)}});
  co_await spread(tag, std::max(widest, next.read_factor));
  co_return Result<void>();
}

Task<void> StorageRedundancy::try_to_change(Tag tag, Change wanted, std::uint64_t from_version) {
  const Result<void> done = co_await change(tag, wanted, from_version);
  if (!done)
    log_.debug("storage_set_not_changed", {{"tag", tag.canonical()}, {"because", done.error().message}});
}

double StorageRedundancy::vservers() const {
  const auto& own = kept_.ring().vservers();
  return own.empty() ? 1 : own.front()->estimated_size();
}

// As far as this node sees, whoever names it.
bool StorageRedundancy::has_room(const redundancy::StorageSet& set) const {
  return set.replicas <= std::max<double>(kept_.of(set.tag).replicas, kRoom * vservers());
}

// How long ago the set has changed. One that this node did not make, though it coordinates now, has rested
// enough after a minute: whoever made it may have said anything, and it is halved only where what owners have
// allows it.
Duration StorageRedundancy::rested(const Tag& tag) const {
  const Duration age = kept_.age(tag);
  const auto made = made_.find(tag);
  const bool own = made != made_.end() && made->second == kept_.of(tag).version;
  return own || age < options_.policy.settle ? age : std::max(age, options_.policy.cooldown + Duration(1));
}

// By all owners, as this node was answered.
bool StorageRedundancy::is_taken(const Tag& tag) const {
  const auto told = told_.find(tag);
  return told != told_.end() && told->second.set == kept_.of(tag);
}

// Tells all owners: those at rest first, and the others only when all of these know. Whether all do.
Task<bool> StorageRedundancy::spread(Tag tag, unsigned widest) {
  const redundancy::StorageSet set = kept_.of(tag);
  if (set.version == 0) co_return false;  // forgotten a moment ago
  // This node is one of them: its disk may have failed when it took the set.
  bool complete = (co_await kept_.adopt(set)).has_value();
  std::set<std::string> told{calls_.own_origin()};
  for (const unsigned replicas : {kept_.at_rest(), widest}) {
    for (unsigned i = 0; i < replicas; ++i) {
      const RingId place = replica_key(tag.key(), i, replicas);
      const Result<ring::Owner> owner = co_await kept_.ring().find_owner(place);
      complete = complete && owner.has_value();
      if (!owner || !told.insert(owner->contact.origin()).second) continue;
      json::object request = to_json(set);
      request["action"] = "set";
      Result<redundancy::StorageSet> kept =
          co_await calls_.tell(owner->contact.origin(), tag, std::move(request));
      if (!kept) kept_.ring().forget_route(place);
      if (kept && redundancy::supersedes(*kept, set) && has_room(*kept)) co_await kept_.adopt(*kept);
      complete =
          complete && kept && !redundancy::supersedes(*kept, set) && !redundancy::supersedes(set, *kept);
    }
    if (!complete) co_return false;
  }
  told_.insert_or_assign(tag, Told{set, clock_.now()});
  co_return true;
}

// An owner has more of the hashtag than it can bear. Another one of the same partition must have about as
// much.
Task<void> StorageRedundancy::consider_doubling(Tag tag, unsigned partition, double bytes,
                                                std::string origin) {
  const redundancy::StorageSet set = kept_.of(tag);
  bool wanted = policy_.may_double(set, kept_.age(tag), partition, vservers());
  for (unsigned copy = 0; wanted && copy < kept_.copies(); ++copy) {
    const Result<ring::Owner> owner = co_await kept_.ring().find_owner(kept_.key(tag, partition, copy));
    if (!owner || owner->contact.origin() == origin) continue;
    const Result<Report> other = co_await ask(owner->contact, tag);
    wanted = other && policy_.confirms(*other, options_.bearable(), set.replicas, partition, bytes);
    break;
  }
  if (wanted) co_await try_to_change(tag, Change::kDouble, set.version);
  busy_.erase(tag);
}

// When every owner that stays has taken up what those have that go, nobody needs to ask those any more.
Task<void> StorageRedundancy::try_to_shrink(Tag tag, Change change) {
  const redundancy::StorageSet set = kept_.of(tag);
  const Result<std::vector<Report>> owners = co_await reports(tag, set.replicas);
  if (!owners) co_return;
  const bool may_shrink = change == Change::kMerged ? redundancy::StoragePolicy::is_merged(set, *owners)
                                                    : policy_.may_halve(set, *owners);
  if (may_shrink) co_await try_to_change(tag, change, set.version);
}

// Owners may see a smaller ring, and refuse a set that others have taken. The next smaller one is taken by
// those and these, and all that was put beyond it is taken up.
Task<void> StorageRedundancy::give_up(Tag tag) {
  const redundancy::StorageSet set = kept_.of(tag);
  if (kept_.age(tag) < kGiveUp || set.replicas <= kept_.at_rest()) co_return;
  log_.info("storage_set_not_taken", {{"tag", tag.canonical()}, {"replicas", std::to_string(set.replicas)}});
  co_await try_to_change(tag, Change::kHalve, set.version);
}

Task<void> StorageRedundancy::tend(Tag tag) {
  using Step = redundancy::StoragePolicy::Step;
  const redundancy::StorageSet set = kept_.of(tag);
  const Step step = policy_.next_step(set, rested(tag));
  const bool was_known = is_taken(tag);
  const bool is_known = was_known && clock_.now() - told_.at(tag).at < kTellAgain;
  if (!is_known) {
    const bool complete = co_await spread(tag, std::min(redundancy::kRelaysMax, set.read_factor * 2));
    if (!complete && !was_known) co_await give_up(tag);
  } else if (step == Step::kFinishMerge) {
    co_await try_to_shrink(tag, Change::kMerged);
  } else if (step == Step::kTryToHalve) {
    co_await try_to_shrink(tag, Change::kHalve);
  }
  busy_.erase(tag);
}

// --- as any owner ------------------------------------------------------------------------------------------

Task<void> StorageRedundancy::upkeep() {
  using State = redundancy::StoragePolicy::State;
  for (;;) {
    const Instant next = clock_.now() + options_.every;
    co_await clock_.sleep_until(next);
    const std::set<Partition> written = std::exchange(written_, {});
    for (const Partition& partition : written) co_await look_at(partition);
    const std::vector<Tag> tags = kept_.tags();
    // What was known of a set goes with it: a member can make up any number of them, one after the other.
    merger_.forget_others(tags);
    forget_others(tags, &beyond_);
    forget_others(tags, &told_);
    forget_others(tags, &made_);
    forget_others(tags, &confirmed_);
    co_await confirm_some(tags);
    std::size_t looks = kLooksBeyond;
    for (const Tag& tag : kept_.tags()) {
      const redundancy::StorageSet set = kept_.of(tag);
      const bool is_merging = policy_.state(set) == State::kMerging;
      const bool merges = is_merging && merger_.begin(tag);
      if (merges) tasks_.spawn("merge", merger_.merge(tag));
      // One that was forgotten a moment ago has no age: what was put beyond it does not go at once.
      if (set.version > 0 && !is_merging) co_await look_beyond(tag, &looks);
      const bool is_free = is_coordinator(tag) && busy_.insert(tag).second;
      if (is_free) tasks_.spawn("tend", tend(tag));
    }
  }
}

// What nobody reads any more, and nobody has fetched either, was put there by a set of a part of the ring
// that was cut off. It goes later: the set that leaves it out may be made up.
Task<void> StorageRedundancy::look_beyond(Tag tag, std::size_t* looks) {
  using State = Beyond::State;
  const std::uint64_t version = kept_.of(tag).version;
  Beyond& beyond = beyond_[tag];
  if (beyond.version != version) beyond = {version, State::kUnknown};
  if (beyond.state == State::kUnknown && *looks > 0) {
    --*looks;
    beyond.state = State::kBeingOwed;
    tasks_.spawn("owe_beyond", owe_beyond(tag, version));
  } else if (beyond.state == State::kOwed && kept_.age(tag) > options_.policy.cooldown) {
    const bool swept = co_await kept_.sweep(tag);
    if (swept) beyond_[tag] = {version, State::kDropped};
  }
}

Task<void> StorageRedundancy::owe_beyond(Tag tag, std::uint64_t version) {
  Result<std::vector<Partition>> left = co_await kept_.left_over(tag);
  bool is_owed = left.has_value();
  if (left) {
    for (Partition& partition : *left) {
      log_.info("storage_left_over", {{"tag", partition.name()}});
      const bool owed = co_await observer_.owe_partition(std::move(partition));
      is_owed = is_owed && owed;
    }
  }
  const auto beyond = beyond_.find(tag);
  if (beyond == beyond_.end() || beyond->second.version != version) co_return;
  beyond->second.state = is_owed ? Beyond::State::kOwed : Beyond::State::kUnknown;
}

// Asks for more owners if a partition has become more than this node can bear.
Task<void> StorageRedundancy::look_at(Partition partition) {
  const auto& [tag, number] = partition;
  const double bearable = options_.bearable();
  if (bearable <= 0 || !kept_.check(tag, number)) co_return;
  const unsigned replicas = kept_.of(tag).replicas;
  const Result<double> bytes = co_await kept_.bytes_of(tag, number);
  if (!bytes || !policy_.asks_for_more(*bytes, bearable, replicas)) co_return;
  written_.insert(partition);  // until it is done
  if (!is_coordinator(tag)) {
    co_await ask_for_more(tag, number, *bytes);
    co_return;
  }
  const bool is_free = busy_.insert(tag).second;
  if (is_free) tasks_.spawn("double", consider_doubling(tag, number, *bytes, calls_.own_origin()));
}

Task<void> StorageRedundancy::ask_for_more(Tag tag, unsigned partition, double bytes) {
  const Result<ring::Owner> coordinator = co_await kept_.ring().find_owner(tag.key());
  if (!coordinator) co_return;
  for (unsigned copy = 0; copy < kept_.copies(); ++copy) {
    if (kept_.ring().serving(kept_.key(tag, partition, copy)) == nullptr) continue;
    json::object request = {{"action", "double"},
                            {"slot", partition},
                            {"copy", copy},
                            {"octets", static_cast<std::int64_t>(bytes)}};
    const Result<redundancy::StorageSet> kept =
        co_await calls_.tell(coordinator->contact.origin(), tag, std::move(request));
    if (!kept) kept_.ring().forget_route(tag.key());
    co_return;
  }
}

// By turns.
Task<void> StorageRedundancy::confirm_some(std::vector<Tag> tags) {
  std::erase_if(tags, [this](const Tag& tag) { return !is_unconfirmed(tag); });
  if (confirmed_last_)
    std::ranges::rotate(
        tags, std::ranges::find_if(tags, [this](const Tag& tag) { return *confirmed_last_ < tag; }));
  if (std::ssize(tags) > kConfirmMost) tags.erase(tags.begin() + kConfirmMost, tags.end());
  for (const Tag& tag : tags) {
    confirmed_last_ = tag;
    co_await confirm(tag);
  }
}

// A coordinator, too, may have it from one that lied, until all owners have taken it.
bool StorageRedundancy::is_unconfirmed(const Tag& tag) const {
  const auto last = confirmed_.find(tag);
  return !(is_coordinator(tag) && is_taken(tag)) && kept_.age(tag) >= kConfirmEvery &&
         (last == confirmed_.end() || clock_.now() - last->second >= kConfirmEvery);
}

// A set counts when all owners at rest have it. This node may have it from one that lied: then most of these
// know nothing of it, however long ago that was. What counts instead most of them have, or a later one: the
// latest may be what the liar says now. Silence is no word against it.
Task<void> StorageRedundancy::confirm(Tag tag) {
  confirmed_[tag] = clock_.now();
  const redundancy::StorageSet set = kept_.of(tag);
  Result<std::vector<Report>> at_rest = co_await reports(tag, kept_.at_rest(), Report{set});
  if (!at_rest || kept_.of(tag) != set) co_return;
  std::ranges::sort(*at_rest, redundancy::supersedes, &Report::set);
  const std::size_t own = kept_.stands_at(tag, kept_.at_rest()) ? 1 : 0;
  // One alone is no majority against who makes the sets.
  if (at_rest->size() < own + (is_coordinator(tag) ? 2 : 1)) co_return;
  // If that is an earlier one, this node's is before it.
  const redundancy::StorageSet of_most = (*at_rest)[own + (at_rest->size() - own - 1) / 2].set;
  if (redundancy::supersedes(of_most, set)) co_await kept_.adopt(of_most);
  if (!redundancy::supersedes(set, of_most)) co_return;
  const Result<void> forgotten = co_await kept_.forget(set);
  confirmed_.erase(tag);
  // What was put beyond it goes when another set has rested, not at once.
  beyond_.erase(tag);
  merger_.forget(tag);
  if (forgotten && of_most.version > 0) co_await kept_.adopt(of_most);
  tasks_.spawn("owe_beyond", owe_beyond(tag, kept_.of(tag).version));
}

// --- asking and answering ----------------------------------------------------------------------------------

Task<Result<StorageRedundancy::Report>> StorageRedundancy::ask(ring::Contact owner, Tag tag) {
  if (owner.origin() == calls_.own_origin()) return report(std::move(tag));
  return calls_.ask_report(std::move(owner), std::move(tag));
}

Task<HttpResponse> StorageRedundancy::answer(HttpRequest request) {
  Result<json::object> answer = fail(ErrorCode::kInvalid, "");
  if (request.method == "POST") {
    const Result<federation::Authentic> sender = co_await authenticator_.authenticate(request);
    if (!sender) co_return federation::not_authentic(sender.error());
    Result<json::object> body = json::parse_object(request.body);
    if (!body) co_return error_response(body.error());
    answer = co_await act(std::move(*body), origin_of(sender->actor.id));
  } else {
    const std::string query(query_of(request.target));
    const Result<Tag> tag = redundancy::asked_tag(query);
    if (!tag) co_return error_response(tag.error());
    const Result<Report> own = co_await report(*tag);
    answer = own ? Result<json::object>(to_json(*own)) : std::unexpected(own.error());
  }
  if (!answer) co_return error_response(answer.error());
  co_return json_response(*answer);
}

// From nodes that are blocked here as well: it moves nothing, and a set that some owners have not heard of
// stops nothing (docs/protocol.md, 4.4).
Task<Result<json::object>> StorageRedundancy::act(json::object request, std::string origin) {
  CO_TRY(const Tag tag, Tag::parse(json::text_of(request, "tag")));
  const std::string action = json::text_of(request, "action");
  if (action == "set") {
    CO_TRY(redundancy::StorageSet set, kept_.hints().set_from(request));
    if (!kept_.may_keep(set)) co_return fail(ErrorCode::kNotOwner, "no place of that set is here");
    CO_TRY_VOID(co_await calls_.check_owner(tag.key(), origin));
    if (!has_room(set)) co_return fail(ErrorCode::kInvalid, "the ring has not so many places");
    CO_TRY_VOID(co_await kept_.adopt(std::move(set)));
  } else if (action == "double") {
    CO_TRY_VOID(co_await hear_double(std::move(request), tag, std::move(origin)));
  } else {
    co_return fail(ErrorCode::kInvalid, "no such action");
  }
  co_return redundancy::to_json(kept_.of(tag));
}

Task<Result<void>> StorageRedundancy::hear_double(json::object request, Tag tag, std::string origin) {
  const auto number = json::get_int(request, "slot");
  const auto copy = json::get_int(request, "copy");
  const auto bytes = json::get_int(request, "octets");
  if (!number || !copy || !bytes || *bytes < 0 || *number < 0 || *number >= redundancy::kPartitionsMax ||
      *copy < 0 || *copy >= kept_.copies())
    co_return fail(ErrorCode::kInvalid, "'slot', 'copy' or 'octets' is not as it should be");
  if (!is_coordinator(tag)) co_return fail(ErrorCode::kNotOwner, "this node does not own the hashtag's key");
  const auto partition = static_cast<unsigned>(*number);
  const RingId place = kept_.key(tag, partition, static_cast<unsigned>(*copy));
  CO_TRY_VOID(co_await calls_.check_owner(place, origin));
  const bool is_free = busy_.insert(tag).second;
  if (is_free) tasks_.spawn("double", consider_doubling(tag, partition, static_cast<double>(*bytes), origin));
  co_return Result<void>();
}

json::array StorageRedundancy::status() const {
  json::array list;
  for (const Tag& tag : kept_.tags()) {
    json::object set = redundancy::to_json(kept_.of(tag));
    set["merged"] = merger_.merged(tag).version;
    list.push_back(std::move(set));
  }
  return list;
}

}  // namespace tagring::storage
