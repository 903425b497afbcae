#include "handover/transfer.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "hashtag/tag.hpp"
#include "redundancy/partition.hpp"
#include "redundancy/storage_place.hpp"
#include "storage/entries_json.hpp"

namespace tagring::handover {
namespace {

constexpr Duration kRetry = std::chrono::milliseconds(300);
constexpr std::size_t kWalkMax = 64;  // owners of a replica's segment

}  // namespace

Transfer::Transfer(Options options, overlay::RingService& rings, FetchedKinds kinds,
                   storage::Disputes& disputes, federation::SignedClient& client, const Runtime& runtime)
    : options_(std::move(options)),
      rings_(rings),
      kinds_(kinds),
      disputes_(disputes),
      client_(client),
      clock_(runtime.clock),
      log_(runtime.log),
      tasks_(runtime.executor) {}

unsigned Transfer::replicas(Ring ring) const {
  return ring == Ring::kRelay ? options_.relay_replicas : options_.storage_replicas;
}

Task<void> Transfer::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

void Transfer::segment_changed(Ring ring, ring::Vserver& vserver) {
  if (!vserver.missing()) return;
  if (filling_.insert({ring, vserver.self().id}).second)
    tasks_.spawn("transfer", fill(ring, vserver.self().id));
}

Task<void> Transfer::fill(Ring ring, RingId id) {
  ring::Vserver& vserver = *rings_.of(ring).find(id);  // lives as long as the node
  unsigned searches = 0;
  unsigned attempts = 0;
  while (const std::optional<Segment> gap = vserver.missing()) {
    const std::uint64_t rivals_met = vserver.rivals_met();
    Sources known = co_await sources(ring, id, *gap);
    // Who is not found yet may be all that has it.
    if (!known.are_all && ++searches < options_.attempts_max) {
      const Instant again = clock_.now() + kRetry * searches;
      co_await clock_.sleep_until(again);
      continue;
    }
    Round round{std::move(known.copies), clock_.now(), vserver.has_served()};
    std::vector<Task<Result<void>>> fetches;
    for (const auto& [origin, copies] : round.sources)
      fetches.push_back(fetch_in_round(origin, ring, vserver.self(), *gap, round));
    const std::vector<Result<void>> fetched = co_await all_of(std::move(fetches));
    const bool complete = std::ranges::all_of(fetched, &Result<void>::has_value);
    if (complete || ++attempts >= options_.attempts_max) {
      vserver.fetched(*gap, rivals_met);
      searches = attempts = 0;
      continue;
    }
    const Instant next = clock_.now() + kRetry * attempts;
    co_await clock_.sleep_until(next);
  }
  filling_.erase({ring, id});
}

// Who may hold data of the positions: the successor, who owned them before (or if it is this node's, and may
// have come just now, the next that is not), whoever answered for them without knowing of us, and the owners
// of the other replicas.
Task<Transfer::Sources> Transfer::sources(Ring ring, RingId id, Segment positions) {
  ring::Membership& membership = rings_.of(ring);
  const ring::Vserver& vserver = *membership.find(id);
  Sources known;
  const auto list = vserver.successors().contacts();
  const auto other = std::ranges::find_if(
      list, [&](const ring::Contact& contact) { return contact.origin() != vserver.self().origin(); });
  if (other != list.end()) known.copies[other->origin()].insert(0);
  for (const ring::Contact& rival : vserver.rivals()) known.copies[rival.origin()].insert(0);
  const unsigned count = replicas(ring);
  for (unsigned i = 1; i < count; ++i) {
    const Segment shifted{replica_key(positions.from, i, count), replica_key(positions.to, i, count)};
    RingId reached = shifted.from;
    for (std::size_t step = 0; step < kWalkMax; ++step) {
      const Result<ring::Owner> owner = co_await membership.find_owner(reached + RingId::power_of_two(0));
      known.are_all = known.are_all && owner;
      if (!owner) break;
      known.copies[owner->contact.origin()].insert(i);
      const bool wrapped = owner->segment.from == owner->segment.to;
      // Whoever owns more than half of the ring may own both ends, and not all between them.
      if (wrapped || Segment{reached, owner->segment.to}.contains(shifted.to)) break;
      reached = owner->segment.to;
    }
  }
  known.copies.erase(vserver.self().origin());
  std::erase_if(known.copies, [this](const auto& source) { return rings_.is_blocked_at(source.first); });
  co_return known;
}

Instant Transfer::Round::end() const {
  const Instant last = begun + kPatienceMax;
  if (!first_done) return last;
  return std::min(last, *first_done + std::max(kPatience, 2 * (*first_done - begun)));
}

// `round` lives as long as this. Who is left out counts as having given all.
Task<Result<void>> Transfer::fetch_in_round(std::string origin, Ring ring, ring::Contact requester,
                                            Segment positions, Round& round) {
  ++round.under_way;
  Result<void> fetched = co_await fetch_from(origin, ring, requester, positions, round);
  --round.under_way;
  // Another one may go on for an hour if nobody else comes to an end.
  for (unsigned again = 1; !fetched && round.under_way > 0 && clock_.now() <= round.end(); ++again) {
    const Instant next = clock_.now() + again * kRetry;
    co_await clock_.sleep_until(next);
    fetched = co_await fetch_from(origin, ring, requester, positions, round);
  }
  if (fetched && !round.first_done) round.first_done = clock_.now();
  const bool is_left_out = !fetched && clock_.now() > round.end();
  if (!is_left_out) co_return fetched;
  log_.info("source_left_out", {{"origin", origin}, {"because", fetched.error().message}});
  co_return Result<void>();
}

Task<Result<void>> Transfer::fetch_from(std::string origin, Ring ring, ring::Contact requester,
                                        Segment positions, const Round& round) {
  Request request;
  request.sources = round.sources.size();
  request.is_of_rivals = round.is_of_rivals;
  request.ring = ring;
  request.requester = std::move(requester);
  if (ring == Ring::kStorage) {
    request.segment = positions;
    CO_TRY_VOID(co_await fetch(origin, request, kinds_.sets, round));
  }
  // It may be none who denies that this node has served these: if it has posts it owes them, one by one.
  const bool is_left_out = ring == Ring::kStorage && round.is_of_rivals && disputes_.is_doubtful(origin);
  if (is_left_out) co_return Result<void>();
  const std::vector<Segment> segments = key_segments(positions, replicas(ring));
  for (std::size_t i = 0; i < segments.size(); ++i) {
    request.segment = segments[i];
    if (ring == Ring::kRelay) request.halves = halves(round.sources.at(origin), i);
    if (ring == Ring::kStorage) {
      CO_TRY_VOID(co_await fetch(origin, request, kinds_.history, round));
      continue;
    }
    CO_TRY_VOID(co_await fetch(origin, request, kinds_.followers, round));
    CO_TRY_VOID(co_await fetch(origin, request, kinds_.feed, round));
  }
  co_return Result<void>();
}

// Of the relays at rest of the keys whose copy `index` is fetched. Those who stood at one place one after the
// other, or say so, are one voice.
redundancy::RelayHalves Transfer::halves(const std::set<unsigned>& copies, std::size_t index) const {
  const unsigned count = options_.relay_replicas;
  redundancy::RelayHalves halves = 0;
  for (const unsigned copy : copies)
    halves |= redundancy::half_of_relay((static_cast<unsigned>(index) + copy) % count, count);
  return halves;
}

// `kind` and `round` live as long as this. kTooLarge if there is no end of it while the round lasts.
Task<Result<void>> Transfer::fetch(std::string origin, Request request, FetchedKind& kind,
                                   const Round& round) {
  request.kind = kind.name();
  for (;;) {
    if (clock_.now() > round.end()) co_return fail(ErrorCode::kTooLarge, "no end of " + request.kind);
    CO_TRY(json::object page, co_await ask(origin, request));
    json::value* items = page.if_contains("items");
    if (items == nullptr || !items->is_array())
      co_return fail(ErrorCode::kInvalid, "a transfer page has no 'items'");
    const std::size_t count = items->get_array().size();
    if (count == 0) co_return Result<void>();  // by which the other one knows that the last page arrived
    CO_TRY_VOID(co_await kind.absorb(&request, origin, std::move(items->get_array())));
    fetched_ += count;
  }
}

Task<Result<json::object>> Transfer::ask(std::string origin, Request request) {
  return client_.ask(origin + std::string(kPath), to_json(request, options_.network));
}

Task<Result<void>> Transfer::fetch_partition(std::string origin, ring::Contact requester,
                                             redundancy::Partition from, redundancy::Partition to,
                                             std::uint64_t version, std::size_t sources) {
  const std::size_t enough = storage::Disputes::enough_of(sources);
  const RingId key = from.key();
  Request request;
  request.ring = Ring::kStorage;
  request.requester = std::move(requester);
  request.segment = {key - RingId::power_of_two(0), key};
  request.kind = "shelf";
  request.partition = from.name();
  const Instant end = clock_.now() + kPatienceMax;
  std::optional<storage::HistoryCursor> last;
  for (;;) {
    if (clock_.now() > end) co_return fail(ErrorCode::kTooLarge, "no end of the part");
    CO_TRY(const json::object page, co_await ask(origin, request));
    const std::int64_t known = json::get_int(page, "version").value_or(0);
    if (known < 0 || static_cast<std::uint64_t>(known) < version)
      co_return fail(ErrorCode::kBusy, origin + " may still take posts of the part");
    const json::value* items = json::find(page, "items");
    CO_TRY(std::vector<storage::HistoryEntry> entries, storage::entries_from_json(items));
    const std::size_t count = entries.size();
    fetched_ += count;
    for (storage::HistoryEntry& entry : entries) {
      CO_TRY_VOID(check_item(request.segment, entry.partition));
      if (last && !last->before(entry))
        co_return fail(ErrorCode::kInvalid, "a page of a transfer does not move on");
      last = storage::HistoryCursor::of(entry);
      entry.partition = to;
    }
    if (last) request.after = last->text();
    std::vector<storage::HistoryEntry> heard = take_heard(&entries);
    for (std::vector<storage::HistoryEntry>* given : {&heard, &entries}) {
      std::erase_if(*given, [&](const storage::HistoryEntry& entry) {
        return !redundancy::may_be_in_partition(entry.uri, from.number, options_.storage_replicas);
      });
    }
    CO_TRY_VOID(co_await disputes_.adopt(std::move(heard), storage::Disputes::kNobody, enough));
    CO_TRY_VOID(co_await disputes_.adopt(std::move(entries), origin, enough));
    if (count < options_.page_size) co_return Result<void>();
  }
}

Task<Result<void>> Transfer::take_over(Ring ring, ring::Contact asked, ring::TakeOver request) {
  // The leaver's node must stand before us; data of others is of no use here. All its vservers go, so any of
  // them may be the predecessor.
  const ring::Vserver* vserver = rings_.of(ring).find(asked.id);
  if (vserver == nullptr || !vserver->predecessor() ||
      vserver->predecessor()->origin() != request.leaver.origin()) {
    co_return fail(ErrorCode::kNotOwner, "the leaver is not the predecessor of this node");
  }
  const Held leaver(taking_over_, std::pair(ring, request.leaver.id));  // no longer than it stays
  if (!leaver.is_first())
    co_return fail(ErrorCode::kBusy, "this node is taking over from the leaver already");
  // A place that is given up itself would never own what it copies, and owe it to nobody. Not kBusy: where
  // all leave, nobody is to wait for another.
  const auto given_up = [this, ring, id = asked.id] { return !rings_.of(ring).keeps(id); };
  const Error refusal{ErrorCode::kNotOwner, "this node gives up that place"};
  if (given_up()) co_return std::unexpected(refusal);
  Result<void> taken = co_await take_over_from(ring, std::move(request.leaver), std::move(asked));
  if (taken && given_up()) co_return std::unexpected(refusal);
  co_return taken;
}

// What the leaver names, as far as the ring knows it for the owner: or it would have its successor copy as
// much as it likes of what is others'.
Task<Result<Segment>> Transfer::owned_part(Ring ring, ring::Contact leaver, Segment named) {
  ring::Membership& membership = rings_.of(ring);
  membership.forget_route(leaver.id);  // since then it may own more
  CO_TRY(const ring::Owner owner, co_await membership.find_owner(leaver.id));
  if (owner.contact.id != leaver.id)
    co_return fail(ErrorCode::kNotOwner, "the ring knows another node where the leaver stands");
  const Segment& owned = owner.segment;
  const bool is_within = owned.from == owned.to || named.from == owned.from ||
                         (named.from != named.to && owned.contains(named.from));
  co_return is_within ? named : Segment{owned.from, named.to};
}

Task<Result<void>> Transfer::take_over_from(Ring ring, ring::Contact leaver, ring::Contact asked) {
  Request question;
  question.ring = ring;
  question.requester = asked;
  question.segment = {leaver.id - RingId::power_of_two(0), leaver.id};
  question.kind = LeavingKind::kName;
  CO_TRY(const json::object answer, co_await ask(leaver.origin(), std::move(question)));
  const auto from = RingId::from_hex(json::text_of(answer, "from"));
  const auto to = RingId::from_hex(json::text_of(answer, "to"));
  if (!from || to != leaver.id) co_return fail(ErrorCode::kInvalid, "the leaver names no segment of its own");
  CO_TRY(const Segment segment, co_await owned_part(ring, leaver, {*from, *to}));
  const std::pair<Ring, RingId> taker(ring, asked.id);
  const auto last = taken_over_.find(taker);
  if (last != taken_over_.end() && last->second.leaver == leaver && last->second.segment == segment &&
      clock_.now() - last->second.done < kPatience)
    co_return Result<void>();
  const Round round{{{leaver.origin(), {0}}}, clock_.now()};
  CO_TRY_VOID(co_await fetch_from(leaver.origin(), ring, std::move(asked), segment, round));
  taken_over_.insert_or_assign(taker, TakenOver{std::move(leaver), segment, clock_.now()});
  co_return Result<void>();
}

}  // namespace tagring::handover
