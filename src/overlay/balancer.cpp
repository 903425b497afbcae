#include "overlay/balancer.hpp"

#include <algorithm>
#include <utility>

#include "crypto/hash.hpp"

namespace tagring::overlay {
namespace {

constexpr Duration kFirstLook = std::chrono::seconds(30);
constexpr Duration kRetry = std::chrono::seconds(5);
constexpr Duration kServedWithin = std::chrono::hours(12);
constexpr Duration kLeaveAgain = std::chrono::minutes(1);  // and twice as long each time
constexpr unsigned kLeaveTries = 4;                      // or an overloaded node would give up no other place
constexpr Duration kDeniedFor = std::chrono::hours(24);  // who has blocked this node may think again
constexpr int kSettlingAttempts = 20;
// Replicas see the same posts, but not at the same moment.
constexpr double kContradiction = 2;
constexpr double kSlack = 64 * 1024;
constexpr int kPieces = 4;  // of a replica's keys, whose owners are looked up for who can tell

json::object to_json(const Places::OfRing& places) {
  json::array taken;
  for (const std::uint8_t number : places.taken) taken.push_back(number);
  json::object out = {{"taken", std::move(taken)}};
  if (places.leaving) out["leaving"] = *places.leaving;
  if (places.settling) out["settling"] = true;
  return out;
}

std::optional<std::uint8_t> number_of(const json::value& value) {
  if (!value.is_int64() || value.get_int64() < 0 || value.get_int64() > 255) return std::nullopt;
  return static_cast<std::uint8_t>(value.get_int64());
}

std::optional<Places::OfRing> places_of(const json::object& all, std::string_view ring) {
  const json::object* object = json::get_object(all, ring);
  const json::value* taken = object == nullptr ? nullptr : json::find(*object, "taken");
  if (taken == nullptr || !taken->is_array()) return std::nullopt;
  Places::OfRing places;
  for (const json::value& element : taken->get_array()) {
    const auto number = number_of(element);
    if (!number) return std::nullopt;
    places.taken.push_back(*number);
  }
  if (const json::value* leaving = json::find(*object, "leaving")) places.leaving = number_of(*leaving);
  places.settling = json::get_flag(*object, "settling");
  return places;
}

Places of_newcomer() {
  Places places;
  places.relay.settling = places.storage.settling = true;
  return places;
}

bool contradict(double a, double b) { return std::max(a, b) > kContradiction * std::min(a, b) + kSlack; }

}  // namespace

std::string Places::text() const {
  return json::serialize(json::object{{"relay", to_json(relay)}, {"storage", to_json(storage)}});
}

std::optional<Places> Places::parse(std::string_view text) {
  const Result<json::object> object = json::parse_object(text);
  if (!object) return std::nullopt;
  const auto relay = places_of(*object, "relay");
  const auto storage = places_of(*object, "storage");
  if (!relay || !storage) return std::nullopt;
  return Places{*relay, *storage};
}

Balancer::Balancer(Options options, std::optional<Places> places, Save save, RingService& rings, Loads& loads,
                   const Runtime& runtime)
    : options_(options),
      places_(places ? *std::move(places) : of_newcomer()),
      save_(std::move(save)),
      rings_(rings),
      loads_(loads),
      clock_(runtime.clock),
      rng_(runtime.rng.fork("balancer")),
      log_(runtime.log),
      tasks_(runtime.executor) {}

void Balancer::start() {
  for (Side& side : sides_) side.fitted = clock_.now();
  tasks_.spawn("balance_relay", balance_for_ever(Ring::kRelay));
  tasks_.spawn("balance_storage", balance_for_ever(Ring::kStorage));
}

Task<void> Balancer::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Duration Balancer::jittered(Duration base) {
  const auto count = static_cast<std::uint64_t>(base.count());
  return Duration(static_cast<Duration::rep>(count / 2 + rng_.below(count + 1)));
}

// --- figures of this node ----------------------------------------------------------------------------------

double Balancer::capacity(Ring ring) const {
  const double own = ring == Ring::kRelay ? options_.relay_capacity : options_.storage_capacity;
  return own / loads_.on_disk(ring);
}

unsigned Balancer::replicas(Ring ring) const {
  return ring == Ring::kRelay ? options_.relay_replicas : options_.storage_replicas;
}

double Balancer::own_load(Ring ring) const {
  double load = 0;
  for (const auto& vserver : rings_.of(ring).vservers()) {
    const std::optional<Segment> owned = vserver->owned();
    if (owned) load += loads_.of(ring, *owned);
  }
  return load;
}

balance::Bearer Balancer::self(Ring ring) const {
  const Side& side = sides_[static_cast<std::size_t>(ring)];
  const bool strained = clock_.now() - side.fitted >= options_.patience;
  return {own_load(ring), capacity(ring), strained};
}

Balancer::State Balancer::state(Ring ring) const {
  const Side& side = sides_[static_cast<std::size_t>(ring)];
  const double on_disk = loads_.on_disk(ring);
  return {own_load(ring) * on_disk, capacity(ring) * on_disk, side.moves, side.refused};
}

Task<void> Balancer::refresh() {
  const Duration fresh = options_.every / 4;
  if (counted_ == Instant{} || clock_.now() - counted_ >= fresh) {
    counted_ = clock_.now();
    const Result<void> counted = co_await loads_.refresh();
    if (!counted) log_.warn("loads_not_counted", {{"reason", counted.error().message}});
  }
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
    if (own_load(ring) <= options_.parameters.upper * capacity(ring)) side(ring).fitted = clock_.now();
  }
}

Task<Result<ring::Load>> Balancer::load_of(Ring ring, Segment segment) {
  co_await refresh();
  const balance::Bearer own = self(ring);
  ring::Load load;
  load.of_segment = static_cast<std::uint64_t>(loads_.of(ring, segment));
  load.of_node = static_cast<std::uint64_t>(own.load);
  load.capacity = static_cast<std::uint64_t>(own.capacity);
  load.strained = own.strained && own.load > options_.parameters.upper * own.capacity;
  co_return load;
}

// --- figures of others -------------------------------------------------------------------------------------

// False if the node does not say. `wants_load`: what the segment costs, else only what the node bears.
Task<bool> Balancer::ask(Ring ring, ring::Contact owner, Segment segment, balance::Place* place,
                         bool wants_load) {
  if (rings_.is_blocked(owner.host)) co_return false;
  const Result<ring::Load> load = co_await rings_.ask_load(ring, owner, segment);
  // More for a part than for all is no answer.
  if (!load || load->of_segment > load->of_node) co_return false;
  if (wants_load) place->load = static_cast<double>(load->of_segment);
  place->successor = {static_cast<double>(load->of_node), static_cast<double>(load->capacity),
                      load->strained};
  place->successor_node = crypto::hash64(owner.origin());
  co_return true;
}

Task<bool> Balancer::see_active(Ring ring, RingId id, balance::Place* place) {
  const ring::Vserver& vserver = *rings_.of(ring).find(id);
  const std::optional<Segment> owned = vserver.owned();
  if (!owned || vserver.successors().empty() || !vserver.predecessor()) co_return false;
  const ring::Contact successor = vserver.successors().front();
  const std::string own = vserver.self().origin();
  place->index = vserver.self().vserver;
  place->load = loads_.of(ring, *owned);
  if (vserver.predecessor()->origin() == own) place->before = vserver.predecessor()->vserver;
  place->own = successor.origin() == own;
  if (place->own) {
    place->after = successor.vserver;
    place->successor = self(ring);
    co_return true;
  }
  co_return co_await ask(ring, successor, {id, successor.id}, place, false);
}

Task<std::optional<ring::Owner>> Balancer::see_free(Ring ring, ring::Contact contact, balance::Place* place) {
  const Result<ring::Owner> owner = co_await rings_.of(ring).find_owner(contact.id);
  if (!owner || owner->contact.id == contact.id) co_return std::nullopt;
  const Segment part{owner->segment.from, contact.id};
  place->index = contact.vserver;
  for (const auto& vserver : rings_.of(ring).vservers()) {
    if (vserver->self().id == owner->segment.from) place->before = vserver->self().vserver;
  }
  place->own = owner->contact.origin() == contact.origin();
  if (place->own) {
    place->after = owner->contact.vserver;
    place->load = loads_.of(ring, part);
    place->successor = self(ring);
    co_return *owner;
  }
  const bool answered = co_await ask(ring, owner->contact, part, place, true);
  if (!answered) {
    rings_.of(ring).forget_route(contact.id);
    co_return std::nullopt;
  }
  co_return *owner;
}

Task<Balancer::View> Balancer::look_around(Ring ring) {
  View view;
  std::vector<RingId> standing;
  for (const auto& vserver : rings_.of(ring).vservers()) standing.push_back(vserver->self().id);
  for (const RingId& id : standing) {
    balance::Place place;
    const bool known = co_await see_active(ring, id, &place);
    if (known) view.around.active.push_back(place);
  }
  for (const ring::Contact& contact : rings_.of(ring).free_places()) {
    balance::Place place;
    const std::optional<ring::Owner> owner = co_await see_free(ring, contact, &place);
    if (!owner) continue;
    view.around.free.push_back(place);
    view.free.emplace(place.index, FreePlace{contact.id, *owner});
  }
  std::erase_if(side(ring).denied,
                [this](const auto& entry) { return clock_.now() - entry.second >= kDeniedFor; });
  for (std::vector<balance::Place>* places : {&view.around.active, &view.around.free}) {
    std::erase_if(*places, [&](const balance::Place& place) {
      return side(ring).denied.contains(static_cast<std::uint8_t>(place.index));
    });
  }
  view.around.self = self(ring);
  co_return view;
}

// Other replicas hold the same keys: what their owners say of them must fit. The first who is somebody else
// tells, of the part that both own. What nobody else can tell is no reason to move, whoever says it; but a
// new node has to stand somewhere, and where there is one copy of all there is nobody to ask.
Task<Result<bool>> Balancer::is_plausible(Ring ring, ring::Owner owner, Segment segment) {
  const std::string own = rings_.of(ring).vservers().front()->self().origin();
  const unsigned count = replicas(ring);
  if (owner.contact.origin() == own || count == 1) co_return true;
  for (unsigned i = 1; i < count; ++i) {
    Segment there{replica_key(segment.from, i, count), replica_key(segment.to, i, count)};
    for (int piece = 0; piece < kPieces; ++piece) {
      const Result<ring::Owner> other = co_await rings_.of(ring).find_owner(there.to);
      if (!other) break;
      const bool begins_inside = other->segment.contains(there.from) || other->segment.from == there.from;
      const RingId from = begins_inside ? there.from : other->segment.from;
      // What a new node has itself is still on its way, and was counted before.
      const std::string witness = other->contact.origin();
      const bool can_tell = witness != owner.contact.origin() && !(witness == own && places(ring).settling);
      if (can_tell) {
        const Segment here{key_of_replica(from, i, count), key_of_replica(there.to, i, count)};
        const Result<ring::Load> says = co_await rings_.ask_load(ring, owner.contact, here);
        if (!says) co_return std::unexpected(says.error());
        const Result<ring::Load> checks = co_await rings_.ask_load(ring, other->contact, {from, there.to});
        if (checks) {
          co_return !contradict(static_cast<double>(says->of_segment),
                                static_cast<double>(checks->of_segment));
        }
      }
      if (begins_inside) break;
      there.to = from;
    }
  }
  if (places(ring).settling) co_return true;
  co_return fail(ErrorCode::kUnavailable, "nobody else can say what is there");
}

// --- decisions ---------------------------------------------------------------------------------------------

Task<void> Balancer::balance_for_ever(Ring ring) {
  const Duration first = std::min<Duration>(kFirstLook, options_.every);
  Instant next = clock_.now() + jittered(places(ring).settling ? std::min<Duration>(kRetry, first) : first);
  for (;;) {
    co_await clock_.sleep_until(next);
    next = clock_.now() + jittered(options_.every);
    co_await refresh();
    if (!options_.enabled || !rings_.of(ring).is_member()) {
      next = clock_.now() + jittered(std::min<Duration>(kRetry, options_.every));
      continue;
    }
    if (places(ring).settling) co_await settle_in(ring);
    co_await finish_leaving(ring);
    // No other place is taken as long as one has to go.
    const bool may_move = !places(ring).leaving && clock_.now() >= side(ring).rested;
    if (may_move) co_await decide(ring);
    const Duration again = kLeaveAgain * (1U << side(ring).failures);
    if (places(ring).leaving) next = clock_.now() + jittered(std::min<Duration>(again, options_.every));
  }
}

// A new node stands in one place; now it chooses the others, by what joining there is worth (figure 7). What
// it does not get now, it looks for again at its next turn, or after a restart.
Task<void> Balancer::settle_in(Ring ring) {
  for (int attempt = 0; attempt < kSettlingAttempts; ++attempt) {
    places(ring).settling = rings_.of(ring).vservers().size() < options_.vservers;
    if (!places(ring).settling) break;
    const Result<void> taken = co_await take_best(ring);
    if (taken) continue;
    const Instant again = clock_.now() + jittered(kRetry);
    co_await clock_.sleep_until(again);
  }
  co_await save();
}

// Of those whose owners are not contradicted.
Task<Result<void>> Balancer::take_best(Ring ring) {
  View view = co_await look_around(ring);
  std::vector<balance::Place>& free = view.around.free;
  Result<void> taken = fail(ErrorCode::kUnavailable, "no owner of a free place answers");
  while (const auto choice = balance::best_join(options_.parameters, view.around.self, free)) {
    const FreePlace& place = view.free.at(choice->index);
    taken = co_await take_checked(ring, static_cast<std::uint8_t>(choice->index), place);
    if (taken || taken.error().code != ErrorCode::kDenied) break;
    std::erase_if(free, [&](const balance::Place& other) { return other.index == choice->index; });
  }
  co_return taken;
}

// What a restart has interrupted, or could not be done at an earlier turn.
Task<void> Balancer::finish_leaving(Ring ring) {
  const std::optional<std::uint8_t> leaving = places(ring).leaving;
  if (!leaving) co_return;
  const auto& vservers = rings_.of(ring).vservers();
  const bool stands =
      std::ranges::any_of(vservers, [&](const auto& vserver) { return vserver->self().vserver == *leaving; });
  if (stands && vservers.size() > 1) {
    co_await depart(ring, *leaving);
    co_return;
  }
  places(ring).leaving.reset();
  co_await save();
}

Task<void> Balancer::decide(Ring ring) {
  const View first = co_await look_around(ring);
  const balance::Move wish = balance::best_move(options_.parameters, first.around, true);
  if (wish.cost >= 0) co_return;
  // Others may want the same. Whoever looks again first takes it; for the rest it is worth nothing then.
  const Instant later = clock_.now() + jittered(options_.every / 4);
  co_await clock_.sleep_until(later);
  for (const auto& [number, place] : first.free) rings_.of(ring).forget_route(place.id);
  const View view = co_await look_around(ring);
  const balance::Move move = balance::best_move(options_.parameters, view.around, true);
  if (move.cost >= 0 || move.to != wish.to || move.from != wish.from) co_return;
  const bool done = co_await carry_out(ring, move, view);
  if (!done) co_return;
  ++side(ring).moves;
  const double seconds = move.carried / std::max(1.0, options_.bytes_per_second);
  side(ring).rested = clock_.now() + std::chrono::milliseconds(static_cast<std::int64_t>(1'000 * seconds));
  log_.info("moved_on_ring", {{"ring", ring::to_string(ring)},
                              {"from", move.from ? std::to_string(*move.from) : "none"},
                              {"to", move.to ? std::to_string(*move.to) : "none"},
                              {"octets", move.carried}});
}

// The new place first: until it is served, the old one stays.
Task<bool> Balancer::carry_out(Ring ring, balance::Move move, View view) {
  if (move.to) {
    const FreePlace& place = view.free.at(*move.to);
    const Result<void> taken = co_await take_checked(ring, static_cast<std::uint8_t>(*move.to), place);
    if (!taken && taken.error().code == ErrorCode::kDenied)
      side(ring).denied[static_cast<std::uint8_t>(*move.to)] = clock_.now();  // another one is next
    if (!taken) co_return false;
    const bool served = co_await wait_until_served(ring, static_cast<std::uint8_t>(*move.to));
    if (!served) co_return false;
  }
  if (!move.from) co_return true;
  side(ring).instead.reset();
  if (move.to) side(ring).instead = static_cast<std::uint8_t>(*move.to);
  co_return co_await depart(ring, static_cast<std::uint8_t>(*move.from));
}

// Now, or at a later turn: who would take over may be busy, or this node's places changing. Or not for long,
// if that one has blocked this node, or cannot: then what was taken in its place goes again.
Task<bool> Balancer::depart(Ring ring, std::uint8_t number) {
  const Result<void> gone = co_await give_up(ring, number);
  const bool waits = places(ring).leaving.has_value();
  if (waits && ++side(ring).failures < kLeaveTries) co_return false;
  side(ring).failures = 0;
  const std::optional<std::uint8_t> instead = std::exchange(side(ring).instead, std::nullopt);
  if (std::exchange(places(ring).leaving, std::nullopt)) co_await save();
  const bool is_denied = !gone && (waits || gone.error().code == ErrorCode::kDenied);
  if (!is_denied) co_return true;
  side(ring).denied[number] = clock_.now();
  log_.warn("place_not_given_up", {{"ring", ring::to_string(ring)},
                                   {"vserver", std::to_string(number)},
                                   {"because", gone.error().message}});
  if (instead) co_await depart(ring, *instead);
  co_return false;
}

// --- moves -------------------------------------------------------------------------------------------------

Task<bool> Balancer::wait_until_served(Ring ring, std::uint8_t number) {
  const Instant end = clock_.now() + kServedWithin;
  while (clock_.now() < end) {
    for (const auto& vserver : rings_.of(ring).vservers()) {
      const bool serving = vserver->state() == ring::Vserver::State::kServing;
      if (vserver->self().vserver == number && serving) co_return true;
    }
    const Instant next = clock_.now() + kRetry;
    co_await clock_.sleep_until(next);
  }
  co_return false;
}

// kDenied if others contradict what the owner says of the place.
Task<Result<void>> Balancer::take_checked(Ring ring, std::uint8_t number, FreePlace place) {
  const Segment part{place.owner.segment.from, place.id};
  const Result<bool> plausible = co_await is_plausible(ring, place.owner, part);
  // It may not own that any more. It is passed over, and not accused.
  if (!plausible) co_return fail(ErrorCode::kDenied, plausible.error().message);
  if (*plausible) co_return co_await take(ring, number);
  ++side(ring).refused;
  const std::string node = place.owner.contact.origin();
  log_.warn("load_not_believed", {{"ring", ring::to_string(ring)}, {"node", node}});
  co_return fail(ErrorCode::kDenied, node + " is contradicted");
}

// The place is noted before it is taken, so that after a crash the node joins there again.
Task<Result<void>> Balancer::take(Ring ring, std::uint8_t number) {
  side(ring).taking = number;
  const Result<void> noted = co_await save();
  Result<void> taken = noted;
  if (noted) taken = co_await rings_.of(ring).take_place(number);
  side(ring).taking.reset();
  const Result<void> saved = co_await save();
  co_return taken ? saved : taken;
}

// The place stays noted as one that has to go unless it has gone, or never will.
Task<Result<void>> Balancer::give_up(Ring ring, std::uint8_t number) {
  places(ring).leaving = number;
  CO_TRY_VOID(co_await save());
  RingId id;
  for (const auto& vserver : rings_.of(ring).vservers()) {
    if (vserver->self().vserver == number) id = vserver->self().id;
  }
  const Instant since = clock_.now();
  const Result<Segment> owned = co_await rings_.give_up_place(ring, number);
  if (owned || owned.error().code == ErrorCode::kDenied) places(ring).leaving.reset();
  const Result<void> saved = co_await save();
  if (!owned) co_return std::unexpected(owned.error());
  rings_.observer().gave_up(ring, id, *owned, since);
  co_return saved;
}

// What is, and the places that are about to be taken. What cannot be written now is written later.
Task<Result<void>> Balancer::save() {
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
    places(ring).taken.clear();
    for (const auto& vserver : rings_.of(ring).vservers())
      places(ring).taken.push_back(vserver->self().vserver);
    const std::optional<std::uint8_t> taking = side(ring).taking;
    if (taking && std::ranges::find(places(ring).taken, *taking) == places(ring).taken.end())
      places(ring).taken.push_back(*taking);
  }
  if (!save_) co_return Result<void>();
  const Result<void> saved = co_await save_(places_.text());
  if (!saved && !std::exchange(saving_again_, true)) tasks_.spawn("save_places", save_again());
  co_return saved;
}

Task<void> Balancer::save_again() {
  while (saving_again_) {
    const Instant next = clock_.now() + kRetry;
    co_await clock_.sleep_until(next);
    const Result<void> saved = co_await save();
    saving_again_ = !saved;
  }
}

}  // namespace tagring::overlay
