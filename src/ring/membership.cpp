#include "ring/membership.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace tagring::ring {
namespace {
constexpr std::uint64_t kSecureSplitCheck = 4;  // one check of so many goes several ways
constexpr std::size_t kSplitContacts = 3;       // through whom one check for a split goes
constexpr std::size_t kPinged = 16;             // of those who may be there, while a ring is sought
constexpr Duration kSettling = std::chrono::seconds(1);
// With who answers and lets nobody in, times Options::search: of the first of those that look for the ring,
// and of the others at least and at most. So most of them find the ring that the first has founded.
constexpr int kPatienceOfFirst = 20;
constexpr int kPatienceMin = 22;
constexpr int kPatienceMax = 40;

// Sets a variable for as long as it lasts, also if whoever waits meanwhile is cancelled.
template <class T>
class Meanwhile {
 public:
  Meanwhile(T& variable, T value) : variable_(variable) { variable_ = value; }
  ~Meanwhile() { variable_ = T(); }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;

 private:
  T& variable_;
};

// Nodes that lose it at different times find the ring of whoever lost it first.
Duration draw_patience(Duration search, Rng rng) {
  const auto spread = static_cast<std::uint64_t>(((kPatienceMax - kPatienceMin) * search).count());
  return kPatienceMin * search + Duration(static_cast<Duration::rep>(rng.below(spread)));
}

}  // namespace

Membership::Membership(Vserver::Environment environment, Options options, Ring ring,
                       std::vector<Contact> contacts, Bootstrap bootstrap, Rng rng)
    : environment_(environment),
      options_(options),
      ring_(ring),
      bootstrap_(std::move(bootstrap)),
      rng_(rng),
      patience_(draw_patience(options_.search, rng.fork("patience"))),
      routes_(options.route_lifetime),
      secured_(options.secure_lifetime),
      origin_(contacts.empty() ? std::string() : contacts.front().origin()),
      tasks_(environment.executor) {
  for (Contact& contact : contacts) {
    const auto& places = options_.places;
    const bool joins = !places || std::ranges::find(*places, contact.vserver) != places->end();
    auto& list = joins ? vservers_ : idle_;
    const std::uint64_t number = contact.vserver;
    list.push_back(
        std::make_unique<Vserver>(environment, ring, std::move(contact), rng_.fork("vserver", number)));
  }
}

void Membership::start(Founding founding) { tasks_.spawn("bring_up", bring_up(founding)); }

Task<void> Membership::stop_joining() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> Membership::stop() {
  co_await stop_joining();
  for (Vserver* vserver : snapshot()) co_await vserver->stop();
}

std::vector<Vserver*> Membership::snapshot() const {
  std::vector<Vserver*> all;
  for (const auto& vserver : vservers_) all.push_back(vserver.get());
  return all;
}

// --- joining -----------------------------------------------------------------------------------------------

Task<void> Membership::bring_up(Founding founding) {
  const Instant began = environment_.clock.now();
  Instant met = began;       // somebody answered
  Instant deserted = began;  // there was nobody, or this node was a member itself
  std::ptrdiff_t failures = 0;
  bool watches = false;
  outranked_since_ = began;
  for (;;) {
    Found found = co_await find_others();
    std::vector<Contact> known = std::move(found.members);
    note_seekers(found);
    // Those who were members once may never be again.
    const bool is_met = !is_seeking() || co_await is_one_there(known);
    const Instant now = environment_.clock.now();
    if (is_met) met = now;
    const bool is_deserted = known.empty() || (!is_met && now - met >= 2 * options_.search);
    if (is_deserted || !is_seeking()) deserted = now;
    if (is_deserted && may_found(founding, found, began)) found_ring();
    // Whoever is asked first may say that the place is its own, and let nobody have it.
    if (!known.empty()) std::ranges::rotate(known, known.begin() + failures++ % std::ssize(known));
    const bool joined = co_await join_all(std::move(known));
    if (joined && !watches) co_await watch_for_splits();  // for ever
    if (joined) co_return;
    // Not everybody who answers lets others in. But if nobody else looks for the ring, it may live, and be
    // out of reach of this node alone.
    const Duration patience = comes_first() ? kPatienceOfFirst * options_.search : patience_;
    const bool is_in_vain = environment_.clock.now() - deserted >= patience && founding != Founding::kAtOnce;
    if (is_in_vain && found.is_sought() && may_found(founding, found, began)) found_ring();
    // A place that cannot be reached now may stay so; the others may be on another ring meanwhile.
    if (!is_seeking() && !std::exchange(watches, true)) tasks_.spawn("watch_for_splits", watch_for_splits());
    const Instant next = environment_.clock.now() + options_.join_retry;
    co_await environment_.clock.sleep_until(next);
  }
}

void Membership::note_seekers(const Found& found) {
  const Instant now = environment_.clock.now();
  const auto first = std::ranges::min_element(found.seekers);
  if (first != found.seekers.end() && std::exchange(first_, *first) != *first) first_since_ = now;
  if (!found.is_sought() || !is_seeking() || comes_first()) outranked_since_ = now;
}

// Others than the last time, if there are many.
Task<bool> Membership::is_one_there(std::vector<Contact> contacts) {
  std::vector<Task<bool>> pings;
  while (!contacts.empty() && pings.size() < kPinged) {
    std::swap(contacts[rng_.below(contacts.size())], contacts.back());
    pings.push_back(vservers_.front()->answers(std::move(contacts.back())));
    contacts.pop_back();
  }
  const std::vector<bool> answers = co_await all_of(std::move(pings));
  co_return std::ranges::find(answers, true) != answers.end();
}

void Membership::found_ring() {
  vservers_.front()->create();
  vservers_.front()->start();
}

bool Membership::may_found(Founding founding, const Found& found, Instant began) const {
  const Instant now = environment_.clock.now();
  if (founding == Founding::kNever || !is_seeking()) return false;
  if (founding == Founding::kAtOnce) return true;
  if (founding == Founding::kInTheEnd && now - began >= 4 * options_.search) return true;
  if (!found.is_sought()) return false;
  if (comes_first()) return now - began >= options_.search;
  if (now - outranked_since_ >= patience_) return true;  // maybe by another one every time
  return now - first_since_ >= 2 * options_.search;      // it may have begun later than this node
}

// True once every vserver is a member. One that cannot join ends the round, since that may have taken long.
// It is the last in the next, for its neighbours may be the only ones that are out of reach.
Task<bool> Membership::join_all(std::vector<Contact> known) {
  std::vector<Vserver*> turns = snapshot();
  const auto last = std::ranges::find(turns, kept_out_);
  if (last != turns.end()) std::ranges::rotate(turns, last + 1);
  for (Vserver* vserver : turns) {
    if (vserver->is_member()) continue;
    std::vector<Contact> via = known;
    if (const Vserver* member = any_member()) via.insert(via.begin(), member->self());
    if (via.empty()) co_return false;
    const Result<void> joined = co_await vserver->join(std::move(via));
    if (!joined) {
      kept_out_ = vserver;
      co_return false;
    }
    vserver->start();
  }
  co_return true;
}

Vserver* Membership::any_member() {
  for (const auto& vserver : vservers_) {
    if (vserver->is_member()) return vserver.get();
  }
  return nullptr;
}

bool Membership::is_member() const {
  return std::ranges::all_of(vservers_, [](const auto& vserver) { return vserver->is_member(); });
}

bool Membership::is_seeking() const {
  return !vservers_.empty() &&
         std::ranges::none_of(vservers_, [](const auto& vserver) { return vserver->is_member(); });
}

// --- look-up -----------------------------------------------------------------------------------------------

Task<Result<Owner>> Membership::find_owner(RingId key) {
  if (const Vserver* own = owning(key)) {
    ++counters_.cached;
    co_return Owner{own->self(), *own->owned()};
  }
  std::optional<Owner> cached = routes_.find(key, environment_.clock.now());
  if (cached && is_believed(*cached, key)) {
    ++counters_.cached;
    co_return std::move(*cached);
  }
  // Start at the own vserver that stands closest before the key.
  Vserver* nearest = nullptr;
  for (const auto& vserver : vservers_) {
    if (!vserver->is_member()) continue;
    if (nearest == nullptr ||
        clockwise_distance(vserver->self().id, key) < clockwise_distance(nearest->self().id, key)) {
      nearest = vserver.get();
    }
  }
  std::vector<Contact> via;
  if (nearest == nullptr && vservers_.empty() && !idle_.empty()) {
    // A node without a vserver asks through others.
    nearest = idle_.front().get();
    via = co_await entrances();
  }
  if (nearest == nullptr || (!nearest->is_member() && via.empty()))
    co_return fail(ErrorCode::kUnavailable, "this node has not joined the ring yet");
  Result<Owner> owner = co_await look_up(nearest, key, std::move(via));
  if (owner) routes_.put(*owner, environment_.clock.now());
  if (!owner) entrances_.clear();  // they may all be gone
  co_return owner;
}

Task<Result<Owner>> Membership::look_up(Vserver* from, RingId key, std::vector<Contact> via) {
  LookupCost cost;
  Result<Owner> owner = co_await from->lookup(key, via, &cost);
  ++counters_.lookups;
  if (environment_.tuning.secure_lookups && (!owner || !is_believed(*owner, key))) {
    const Result<Owner> sure = co_await from->secure_lookup(key, std::move(via), &cost);
    ++counters_.secure;
    if (sure && (!owner || !is_as_close(*owner, *sure, key))) owner = sure;
    if (sure) {
      secured_.forget(key);
      secured_.put(*owner, environment_.clock.now());
    }
  }
  counters_.lookup_calls += cost.calls;
  co_return owner;
}

bool Membership::is_believed(const Owner& owner, const RingId& key) const {
  if (!environment_.tuning.secure_lookups) return true;
  const std::optional<Owner> known = secured_.find(key, environment_.clock.now());
  return known && is_as_close(owner, *known, key);
}

Vserver* Membership::find(const RingId& id) const {
  for (const auto* list : {&vservers_, &idle_}) {
    for (const auto& vserver : *list) {
      if (vserver->self().id == id) return vserver.get();
    }
  }
  return nullptr;
}

Vserver* Membership::serving(const RingId& key) {
  for (const auto& vserver : vservers_) {
    if (vserver.get() == closing_) continue;
    const std::optional<Segment> segment = vserver->serving();
    if (segment && segment->contains(key)) return vserver.get();
  }
  return nullptr;
}

Vserver* Membership::owning(const RingId& key) {
  for (const auto& vserver : vservers_) {
    const std::optional<Segment> segment = vserver->owned();
    if (segment && segment->contains(key)) return vserver.get();
  }
  return nullptr;
}

bool Membership::keeps(const RingId& key) {
  const Vserver* vserver = owning(key);
  return vserver != nullptr && vserver != closing_;
}

// --- places ------------------------------------------------------------------------------------------------

std::vector<Contact> Membership::free_places() const {
  std::vector<Contact> contacts;
  for (const auto& vserver : idle_) contacts.push_back(vserver->self());
  return contacts;
}

std::unique_ptr<Vserver> Membership::remove(std::vector<std::unique_ptr<Vserver>>* from,
                                            std::uint8_t number) {
  const auto at = std::ranges::find_if(
      *from, [number](const auto& vserver) { return vserver->self().vserver == number; });
  if (at == from->end()) return nullptr;
  std::unique_ptr<Vserver> vserver = std::move(*at);
  from->erase(at);
  return vserver;
}

Task<Result<void>> Membership::take_place(std::uint8_t number) {
  if (changing_) co_return fail(ErrorCode::kBusy, "this node's places are changing");
  const Meanwhile changing(changing_, true);
  Found found = co_await find_others();
  std::vector<Contact> via = std::move(found.members);
  if (const Vserver* member = any_member()) via.insert(via.begin(), member->self());
  std::unique_ptr<Vserver> place = remove(&idle_, number);
  if (!place) co_return fail(ErrorCode::kConflict, "that place is not free");
  Vserver* vserver = place.get();
  vservers_.push_back(std::move(place));
  const Result<void> joined = co_await vserver->join(std::move(via));
  if (joined) {
    vserver->start();
  } else {
    idle_.push_back(remove(&vservers_, number));
  }
  co_return joined;
}

Task<Result<void>> Membership::give_up_place(std::uint8_t number,
                                             std::function<Task<Result<void>>(Vserver*)> hand_over) {
  if (changing_) co_return fail(ErrorCode::kBusy, "this node's places are changing");
  const Meanwhile changing(changing_, true);
  const auto at = std::ranges::find_if(
      vservers_, [number](const auto& vserver) { return vserver->self().vserver == number; });
  if (at == vservers_.end()) co_return fail(ErrorCode::kConflict, "this node does not stand there");
  Vserver* vserver = at->get();
  const Meanwhile<const Vserver*> closing(closing_, vserver);
  // What was taken before is on disk by then.
  const Instant settled = environment_.clock.now() + kSettling;
  co_await environment_.clock.sleep_until(settled);
  const Result<void> handed_over = co_await hand_over(vserver);
  if (handed_over) idle_.push_back(remove(&vservers_, number));
  routes_.clear();
  co_return handed_over;
}

void Membership::stay_away() {
  std::ranges::move(vservers_, std::back_inserter(idle_));
  vservers_.clear();
}

// --- splits ------------------------------------------------------------------------------------------------

Task<void> Membership::watch_for_splits() {
  for (;;) {
    const auto base = static_cast<std::uint64_t>(options_.split_check_every.count());
    const Duration pause(static_cast<Duration::rep>(base / 2 + rng_.below(base + 1)));
    const Instant next = environment_.clock.now() + pause;
    co_await environment_.clock.sleep_until(next);
    co_await check_split();
  }
}

// Each vserver looks for another ring through nodes known from elsewhere, and through another vserver of this
// node: when a node was cut off alone, its vservers may be left on rings of their own.
Task<void> Membership::check_split() {
  if (changing_) co_return;
  const Meanwhile changing(changing_, true);
  Found found = co_await find_others();
  std::vector<Contact> known = std::move(found.members);
  // Several, because each may have died since it was known.
  for (std::size_t i = 0; i < std::min(kSplitContacts, known.size()); ++i)
    std::swap(known[i], known[i + rng_.below(known.size() - i)]);
  known.resize(std::min(kSplitContacts, known.size()));
  // If a liar is on the ordinary way, it is there every time. One vserver that finds out will do: the others
  // follow it.
  bool secure = environment_.tuning.secure_lookups && rng_.below(kSecureSplitCheck) == 0;
  bool met = false;
  for (Vserver* vserver : snapshot()) {
    bool meets = co_await meet_others(vserver, known, std::exchange(secure, false));
    const Vserver& own = *vservers_[rng_.below(vservers_.size())];
    if (!meets && &own != vserver && own.is_member()) {
      meets = co_await meet_others(vserver, {own.self()}, false);
    }
    met = met || meets;
  }
  if (!met) co_return;
  ++counters_.merges;
  routes_.clear();
  secured_.clear();
}

// Looks up the vserver's own ID through `via`. If anyone but itself says that it owns it, that one does not
// know of it: it is on another ring, or on another turn of this one.
Task<bool> Membership::meet_others(Vserver* vserver, std::vector<Contact> via, bool secure) {
  if (via.empty() || !vserver->is_member()) co_return false;
  const RingId& id = vserver->self().id;
  Result<Owner> owner =
      co_await (secure ? vserver->secure_lookup(id, std::move(via)) : vserver->lookup(id, std::move(via)));
  if (!owner) co_return false;
  co_return co_await vserver->meet(std::move(owner->contact));
}

// Of the members, those of other nodes. Where this node stands nowhere, another may stand in its places: the
// one whose name it has now.
Task<Membership::Found> Membership::find_others() {
  Found found = co_await bootstrap_();
  std::erase_if(found.members, [this](const Contact& contact) {
    return contact.origin() == origin_ || (!vservers_.empty() && find(contact.id) != nullptr);
  });
  std::erase(found.seekers, origin_);
  co_return found;
}

// Not asked for anew at each look-up: whoever publishes much looks up much.
Task<std::vector<Contact>> Membership::entrances() {
  if (entrances_.empty() || environment_.clock.now() >= entrances_until_) {
    Found found = co_await find_others();
    entrances_ = std::move(found.members);
    entrances_until_ = environment_.clock.now() + options_.route_lifetime;
  }
  co_return entrances_;
}

}  // namespace tagring::ring
