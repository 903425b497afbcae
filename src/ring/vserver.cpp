#include "ring/vserver.hpp"

#include <algorithm>
#include <ranges>
#include <set>

#include "base/assert.hpp"
#include "base/counted.hpp"
#include "ring/pending.hpp"

namespace tagring::ring {
namespace {

constexpr std::size_t kVerifiedMax = 4096;
constexpr std::size_t kMetMax = 4096;
constexpr std::size_t kHintsAtOnce = 8;
constexpr int kUnheardRounds = 4;  // of stabilising, without a word from the predecessor
constexpr std::size_t kSilentMax = 1024;
constexpr std::size_t kRivalsMax = 16;
constexpr Duration kRivalMemoryMax = std::chrono::hours(1);
constexpr int kRivalRest = 9;

std::string spokesman(const Notify& notify) {
  const Contact& candidate = notify.candidate;
  if (!notify.is_own_word) return candidate.host;
  const Prefix64 from = candidate.address.prefix64();
  return candidate.host + " " + std::string(from.begin(), from.end());
}

}  // namespace

Vserver::Vserver(Environment environment, Ring ring, Contact self, Rng rng)
    : environment_(std::move(environment)),
      ring_(ring),
      self_(std::move(self)),
      rng_(rng),
      successors_(self_.id),
      tasks_(environment_.executor) {}

// --- calls -------------------------------------------------------------------------------------------------

template <class T>
Task<Result<T>> Vserver::call(Contact to, decltype(Request::body) body) {
  const Instant deadline = environment_.clock.now() + environment_.tuning.call_timeout;
  Request request;
  request.ring = ring_;
  request.body = std::move(body);
  Result<Reply> reply = co_await environment_.peers.call(to, std::move(request), deadline);
  if (!reply) co_return std::unexpected(std::move(reply).error());
  make_room(verified_, kVerifiedMax);
  verified_[to.id] = to.incarnation;
  note_member(to);
  T* value = std::get_if<T>(&*reply);
  if (value == nullptr) co_return fail(ErrorCode::kInvalid, "answer does not fit the request");
  co_return std::move(*value);
}

// Whoever has answered is a member, and what others say of the ring does not make it disappear: for who joins
// one of those around its place, and later its successor if nobody stands closer.
void Vserver::note_member(const Contact& contact) {
  if (standing_ == Standing::kJoining && met_.size() < kMetMax)
    met_.insert_or_assign(contact.id - self_.id, contact);
  if (is_member()) note_closer(contact);
}

void Vserver::note_closer(const Contact& contact) {
  if (successors_.empty() || !in_open(self_.id, contact.id, successors_.front().id)) return;
  if (!closer_ || in_open(self_.id, contact.id, closer_->id)) closer_ = contact;
}

template Task<Result<FindReply>> Vserver::call<FindReply>(Contact, decltype(Request::body));
template Task<Result<Neighbours>> Vserver::call<Neighbours>(Contact, decltype(Request::body));
template Task<Result<Done>> Vserver::call<Done>(Contact, decltype(Request::body));

Task<bool> Vserver::answers(Contact peer) {
  const Result<Done> reply = co_await call<Done>(std::move(peer), Ping{});
  co_return reply.has_value();
}

// The contacts that are who they claim to be, in order. Those never called before are pinged, all at once.
Task<std::vector<Contact>> Vserver::verified(std::vector<Contact> contacts) {
  // No more than could be taken of a list, with who gave it; nor is anybody honest in it twice.
  std::set<RingId> seen;
  std::erase_if(contacts, [&](const Contact& contact) {
    return seen.size() > 4 * environment_.tuning.successors || !seen.insert(contact.id).second;
  });
  std::vector<Contact> unknown;
  for (const Contact& contact : contacts) {
    const auto known = verified_.find(contact.id);
    if (known != verified_.end() && known->second == contact.incarnation) continue;
    if (contact.id != self_.id && check_node_id(environment_.tuning.ids, contact)) unknown.push_back(contact);
  }
  if (!unknown.empty()) {
    std::vector<Task<bool>> pings;
    pings.reserve(unknown.size());
    for (const Contact& contact : unknown) pings.push_back(answers(contact));
    co_await all_of(std::move(pings));
  }
  std::erase_if(contacts, [this](const Contact& contact) {
    const auto known = verified_.find(contact.id);
    return known == verified_.end() || known->second != contact.incarnation;
  });
  co_return contacts;
}

// --- join --------------------------------------------------------------------------------------------------

void Vserver::create() {
  TR_ASSERT(standing_ == Standing::kOutside);
  standing_ = Standing::kMember;
  ready_from_ = self_.id;
  environment_.on_segment_change(*this);
}

void Vserver::leave() {
  standing_ = Standing::kOutside;
  ++self_.incarnation;
  successors_.assign({}, 0);
  fingers_.clear();
  candidate_.reset();
  closer_.reset();
  rivals_.clear();
  rival_until_.clear();
  set_predecessor(std::nullopt);
}

// --- stabilise ---------------------------------------------------------------------------------------------

Task<void> Vserver::stabilise() {
  if (!is_member() || pending_) co_return;
  {
    Pending pending(pending_);
    co_await stabilise_pending();
  }
  check_invariants();
  co_await rectify_pending();
}

// In the order of the ring; of two incarnations the one in `first`.
std::vector<Contact> Vserver::clockwise(std::vector<Contact> first, std::span<const Contact> second) const {
  std::map<RingId, Contact> by_distance;
  for (Contact& contact : first) by_distance.try_emplace(contact.id - self_.id, std::move(contact));
  for (const Contact& contact : second) by_distance.try_emplace(contact.id - self_.id, contact);
  std::vector<Contact> both;
  for (auto& [distance, contact] : by_distance) both.push_back(std::move(contact));
  return both;
}

// Adopts [head] ++ head's list. Whom that leaves out of our own stays if it answers: an honest head leaves
// out whom it has found dead, a liar whomever it likes.
Task<void> Vserver::adopt_list(Contact head, std::vector<Contact> named) {
  std::vector<Contact> theirs = co_await verified(std::move(named));
  const auto is_before = [&](const Contact& contact) { return in_open(self_.id, contact.id, head.id); };
  std::ranges::for_each(theirs | std::views::filter(is_before),
                        [this](const auto& one) { note_closer(one); });
  std::erase_if(theirs, is_before);
  theirs.insert(theirs.begin(), head);
  std::vector<Contact> left_out;
  std::ranges::copy_if(successors_.contacts(), std::back_inserter(left_out), [&](const Contact& contact) {
    return std::ranges::find(theirs, contact.id, &Contact::id) == theirs.end();
  });
  std::vector<Task<bool>> pings;
  for (const Contact& contact : left_out) pings.push_back(answers(contact));
  const std::vector<bool> live = co_await all_of(std::move(pings));
  for (std::size_t i = 0; i < left_out.size(); ++i)
    if (live[i]) theirs.push_back(std::move(left_out[i]));
  successors_.assign(clockwise(std::move(theirs)), environment_.tuning.successors);
}

// Adopts head and its list if head answers now. False if it does not; nudges itself if it is busy.
Task<bool> Vserver::adopt(Contact head) {
  Result<Neighbours> reply = co_await call<Neighbours>(head, GetNeighbours{});
  if (!reply && reply.error().code == ErrorCode::kBusy) {
    nudge();
    co_return true;
  }
  if (!reply) co_return false;
  if (is_rival(head, *reply)) note_rival(head);
  co_await adopt_list(head, std::move(reply->successors));
  const std::optional<Contact> between = reply->predecessor;
  if (between && between->id != self_.id && in_open(self_.id, between->id, head.id) &&
      check_node_id(environment_.tuning.ids, *between)) {
    // Possibly a better successor: adopted only if it answers, in a second step of its own.
    Result<Neighbours> better = co_await call<Neighbours>(*between, GetNeighbours{});
    if (better && !successors_.empty() && successors_.front().id == head.id) {
      if (is_rival(*between, *better)) note_rival(*between);
      co_await adopt_list(*between, std::move(better->successors));
      nudge();  // there may be a better one still
    } else if (!better && better.error().code == ErrorCode::kBusy) {
      nudge();
    }
  }
  co_return true;
}

Task<void> Vserver::stabilise_pending() {
  if (closer_ && !successors_.empty()) {
    const Contact closer = *std::exchange(closer_, std::nullopt);
    const bool is_closer = in_open(self_.id, closer.id, successors_.front().id);
    const bool there = is_closer && co_await adopt(closer);
    if (is_closer && !there) verified_.erase(closer.id);
    if (there && successors_.front().id != closer.id) note_closer(closer);  // it is busy
  }
  while (!successors_.empty()) {
    const Contact head = successors_.front();
    const bool there = co_await adopt(head);
    if (there) break;
    forget(head);
  }
  // Everybody in the list has died: the nearest finger is beyond the gap, and from it the way back is short.
  while (successors_.empty() && !fingers_.empty()) {
    const Contact finger = fingers_.begin()->second;
    const bool there = co_await adopt(finger);
    if (there) break;
    forget(finger);
  }
  // Or we were alone until now: who called us last is the way.
  if (successors_.empty() && predecessor_) {
    const Contact way_back = *predecessor_;
    const bool there = co_await adopt(way_back);
    if (!there) set_predecessor(std::nullopt);
  }
  if (successors_.empty()) co_return;
  const Contact head = successors_.front();
  co_await call<Done>(head, Notify{self_});
  co_await remind_predecessor();
}

// Somebody says that it stands between us and our successor: if it answers, it is noted. One of a /64 at
// once.
void Vserver::take_hint(const Contact& successor) {
  const bool is_sound = check_node_id(environment_.tuning.ids, successor).has_value();
  if (!is_sound || successors_.empty() || !in_open(self_.id, successor.id, successors_.front().id)) return;
  if (is_silent(Notify{successor, true}) || hints_.size() >= kHintsAtOnce) return;
  if (hints_.insert(successor.address.prefix64()).second) tasks_.spawn("hint", follow_hint(successor));
}

Task<void> Vserver::follow_hint(Contact successor) {
  const bool real = co_await answers(successor);
  hints_.erase(successor.address.prefix64());
  if (real) co_return nudge();
  note_silent(Notify{std::move(successor), true});
}

// An honest one notifies us each time. One that does not has not heard of us: its successor may not tell it.
Task<void> Vserver::remind_predecessor() {
  const Instant now = environment_.clock.now();
  if (!predecessor_ || now - predecessor_spoke_ < kUnheardRounds * environment_.tuning.stabilise_every)
    co_return;
  predecessor_spoke_ = now;
  co_await call<Done>(*predecessor_, Nudge{self_});
}

void Vserver::forget(const Contact& contact) {
  if (!successors_.empty() && successors_.front().id == contact.id) successors_.pop();
  std::erase_if(fingers_, [&](const auto& finger) { return same_vserver(finger.second, contact); });
  verified_.erase(contact.id);
}

// --- rings that meet ---------------------------------------------------------------------------------------

// Does `other` answer for this vserver's ID? It does not know us then.
bool Vserver::is_rival(const Contact& other, const Neighbours& theirs) const {
  if (!theirs.predecessor) return theirs.successors.empty();  // it is alone, and owns everything
  return in_open(theirs.predecessor->id, self_.id, other.id);
}

void Vserver::note_rival(const Contact& other) {
  const Instant now = environment_.clock.now();
  std::erase_if(rival_until_, [now](const auto& known) { return now >= known.second; });
  const bool is_under_way = std::ranges::find(rivals_, other.id, &Contact::id) != rivals_.end();
  if (is_under_way || rival_until_.contains(other.id)) return;
  if (rivals_.size() + rival_until_.size() >= kRivalsMax) return;
  if (rivals_.empty()) rivals_since_ = now;
  rivals_.push_back(other);
  ++rivals_met_;
  if (ready_from_) served_from_ = ready_from_;
  ready_from_.reset();
  environment_.on_segment_change(*this);
}

Task<bool> Vserver::meet(Contact other) {
  if (!is_member() || other.id == self_.id) co_return false;
  Result<Neighbours> theirs = co_await call<Neighbours>(other, GetNeighbours{});
  if (!theirs || !is_member() || pending_ || !is_rival(other, *theirs)) co_return false;
  {
    Pending pending(pending_);
    theirs->successors.insert(theirs->successors.begin(), other);
    std::vector<Contact> called = co_await verified(std::move(theirs->successors));
    successors_.assign(clockwise(std::move(called), successors_.contacts()), environment_.tuning.successors);
  }
  check_invariants();
  note_rival(other);
  co_await call<Done>(std::move(other), Notify{self_});
  nudge();
  co_return true;
}

// --- rectify -----------------------------------------------------------------------------------------------

Task<void> Vserver::rectify(Notify notify) {
  Pending pending(pending_);
  const Contact& candidate = notify.candidate;
  const bool closer = !predecessor_ || in_open(predecessor_->id, candidate.id, self_.id);
  if (closer) {
    const bool real = co_await answers(candidate);
    if (!real) co_return note_silent(notify);
    // Whose successor the candidate is now had better know: until then look-ups go past the candidate.
    if (predecessor_) tasks_.spawn("nudge", send_nudge(*predecessor_));
    set_predecessor(candidate);
    co_return;
  }
  if (*predecessor_ == candidate || environment_.clock.now() < predecessor_lives_until_) co_return;
  const bool old_lives = co_await answers(*predecessor_);
  if (old_lives) predecessor_lives_until_ = environment_.clock.now() + kLivesFor;
  if (old_lives) co_return;
  verified_.erase(predecessor_->id);
  const bool real = co_await answers(candidate);
  if (!real) co_return note_silent(notify);
  set_predecessor(candidate);
}

// Whoever notifies names whom they like, unsigned. What they say of somebody does not keep that one out, who
// speaks from where it is.
void Vserver::note_silent(const Notify& notify) {
  make_room(silent_, kSilentMax);
  silent_[spokesman(notify)] = environment_.clock.now() + kSilentFor;
}

bool Vserver::is_silent(const Notify& notify) const {
  const auto known = silent_.find(spokesman(notify));
  return known != silent_.end() && environment_.clock.now() < known->second;
}

Task<void> Vserver::send_nudge(Contact to) { co_await call<Done>(std::move(to), Nudge{}); }

Task<void> Vserver::rectify_pending() {
  while (is_member() && !pending_ && candidate_) {
    Notify notify = *std::exchange(candidate_, std::nullopt);
    co_await rectify(std::move(notify));
  }
}

void Vserver::set_predecessor(std::optional<Contact> predecessor) {
  predecessor_ = std::move(predecessor);
  predecessor_lives_until_ = {};
  predecessor_spoke_ = environment_.clock.now();
  // What lies before a closer predecessor is its business now; should it die, that part must be fetched
  // again.
  if (ready_from_ && predecessor_ && in_open(*ready_from_, predecessor_->id, self_.id)) {
    ready_from_ = predecessor_->id;
  }
  if (!is_member()) {
    ready_from_.reset();
    served_from_.reset();
  }
  environment_.on_segment_change(*this);
}

// --- answers -----------------------------------------------------------------------------------------------

Task<Result<Reply>> Vserver::answer(Request request) {
  if (!is_member()) co_return fail(ErrorCode::kNotFound, "not a member of this ring");
  if (const auto* find = std::get_if<Find>(&request.body)) co_return answer_find(find->key);
  if (std::holds_alternative<Ping>(request.body)) co_return Done{};
  if (const auto* nudge = std::get_if<Nudge>(&request.body)) {
    if (nudge->successor) take_hint(*nudge->successor);
    nudge_for_others();
    co_return Done{};
  }
  if (std::holds_alternative<GetNeighbours>(request.body)) {
    if (pending_) co_return fail(ErrorCode::kBusy, "pointers are changing");
    co_return Neighbours{predecessor_, successors_.copy()};
  }
  if (auto* notify = std::get_if<Notify>(&request.body)) {
    const Contact& candidate = notify->candidate;
    const Result<void> checked = check_node_id(environment_.tuning.ids, candidate);
    if (!checked) co_return std::unexpected(checked.error());
    if (candidate.id == self_.id) co_return fail(ErrorCode::kInvalid, "a vserver cannot precede itself");
    if (notify->is_own_word && predecessor_ == candidate) predecessor_spoke_ = environment_.clock.now();
    if (is_silent(*notify)) co_return Done{};
    // Only the closest of several is worth remembering; the others will notify again.
    const bool is_best = !candidate_ || in_open(candidate_->candidate.id, candidate.id, self_.id) ||
                         (notify->is_own_word && candidate.id == candidate_->candidate.id);
    if (is_best) candidate_ = std::move(*notify);
    if (!pending_) tasks_.spawn("rectify", rectify_pending());
    co_return Done{};
  }
  co_return fail(ErrorCode::kInvalid, "not a request to a vserver");
}

// --- ownership ---------------------------------------------------------------------------------------------

Vserver::State Vserver::state() const {
  if (standing_ == Standing::kOutside) return State::kOutside;
  if (standing_ == Standing::kJoining) return State::kJoining;
  return owned() && !missing() ? State::kServing : State::kFetching;
}

std::optional<Segment> Vserver::owned() const {
  if (!is_member()) return std::nullopt;
  if (predecessor_) return Segment{predecessor_->id, self_.id};
  if (successors_.empty()) return Segment{self_.id, self_.id};
  return std::nullopt;
}

std::optional<Segment> Vserver::serving() const {
  const std::optional<Segment> segment = owned();
  if (!segment || !ready_from_ || *ready_from_ == self_.id) {
    const bool whole = segment && ready_from_ && *ready_from_ == self_.id;
    return whole ? segment : std::nullopt;
  }
  if (segment->from == self_.id || in_open(segment->from, *ready_from_, self_.id)) {
    return Segment{*ready_from_, self_.id};
  }
  return segment;
}

std::optional<Segment> Vserver::missing() const {
  const std::optional<Segment> segment = owned();
  if (!segment) return std::nullopt;
  if (!ready_from_) return segment;
  if (*ready_from_ == self_.id || *ready_from_ == segment->from) return std::nullopt;
  return Segment{segment->from, *ready_from_};
}

bool Vserver::has_served() const {
  const std::optional<Segment> gap = missing();
  if (!gap || !served_from_) return false;
  return *served_from_ == self_.id || *served_from_ == gap->from ||
         in_open(*served_from_, gap->from, self_.id);
}

void Vserver::fetched(const Segment& fetched, std::uint64_t rivals_met) {
  const std::optional<Segment> gap = missing();
  if (!gap || rivals_met != rivals_met_) return;
  // The gap may have shrunk while the data came; a gap that grew is fetched again.
  const bool covers =
      *gap == fetched || (gap->to == fetched.to && in_half_open(fetched.from, gap->from, fetched.to));
  if (!covers) return;
  ready_from_ = gap->from;
  served_from_.reset();
  const Instant now = environment_.clock.now();
  const Duration memory =
      std::clamp<Duration>(kRivalRest * (now - rivals_since_), kRivalMemory, kRivalMemoryMax);
  for (const Contact& rival : rivals_) rival_until_[rival.id] = now + memory;
  rivals_.clear();
}

double Vserver::estimated_size() const { return estimate_size(successors_, environment_.tuning.successors); }

// --- for simulations and checks ----------------------------------------------------------------------------

void Vserver::restore(std::optional<Contact> predecessor, std::vector<Contact> successors,
                      std::map<unsigned, Contact> fingers) {
  standing_ = Standing::kMember;
  successors_.assign(successors, environment_.tuning.successors);
  fingers_ = std::move(fingers);
  predecessor_ = std::move(predecessor);
  ready_from_ = predecessor_ ? predecessor_->id : self_.id;
  check_invariants();
}

void Vserver::check_invariants() const {
  RingId reached = self_.id;
  for (const Contact& contact : successors_.contacts()) {
    TR_ASSERT(in_open(reached, contact.id, self_.id));
    reached = contact.id;
  }
  TR_ASSERT(!predecessor_ || predecessor_->id != self_.id);
}

}  // namespace tagring::ring
