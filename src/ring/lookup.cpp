// Finding owners, and the upkeep of the table that makes it fast (paper §5.4). The last hop never comes from
// a finger: an owner is who confirms that it owns the key.

#include "ring/lookup.hpp"

#include <algorithm>
#include <ranges>
#include <set>

namespace tagring::ring {
Segment clip(Segment claimed, const RingId& key, const std::set<RingId>& members) {
  for (const RingId& member : members) {
    if (in_open(claimed.from, member, key)) claimed.from = member;
  }
  return claimed;
}

FindReply Vserver::answer_find(const RingId& key) const {
  FindReply reply;
  const std::optional<Segment> segment = owned();
  if (segment && segment->contains(key)) {
    reply.owned = segment;
    return reply;
  }
  if (!successors_.empty() && in_half_open(self_.id, key, successors_.front().id)) {
    // Entries of the list in order, so that a dead owner does not end the search.
    const auto contacts = successors_.contacts();
    reply.closer.assign(contacts.begin(),
                        contacts.begin() + std::min<std::ptrdiff_t>(4, std::ssize(contacts)));
    return reply;
  }
  reply.closer = closest_preceding(key, 4);
  // Whom the list has for the owner: the closest ones that precede it may be dead, or lie.
  const auto contacts = successors_.contacts();
  const auto owner = std::ranges::find_if(
      contacts, [&](const Contact& contact) { return in_half_open(self_.id, key, contact.id); });
  if (owner != contacts.end()) reply.closer.push_back(*owner);
  if (reply.closer.empty() && predecessor_) reply.closer.push_back(*predecessor_);
  return reply;
}

std::vector<Contact> Vserver::closest_preceding(const RingId& key, std::size_t count) const {
  std::vector<Contact> found;
  const auto consider = [&](const Contact& contact) {
    if (in_open(self_.id, contact.id, key)) found.push_back(contact);
  };
  for (const Contact& contact : successors_.contacts()) consider(contact);
  for (const auto& [bit, contact] : fingers_) consider(contact);
  std::ranges::sort(found, [&](const Contact& a, const Contact& b) {
    return clockwise_distance(a.id, key) < clockwise_distance(b.id, key);
  });
  const auto repeated = std::ranges::unique(found, {}, &Contact::id);
  found.erase(repeated.begin(), repeated.end());
  if (found.size() > count) found.resize(count);
  return found;
}

Task<Result<Owner>> Vserver::lookup(RingId key, std::vector<Contact> via, LookupCost* cost) {
  const std::optional<Segment> own = owned();
  if (via.empty() && own && own->contains(key)) co_return Owner{self_, *own};
  // A secure one follows. Who joins may know many who are dead, and has no other way in.
  const bool is_joining = !via.empty() && standing_ != Standing::kOutside;
  const bool has_another = environment_.tuning.secure_lookups && !is_joining;

  // Contacts still to ask, the best last; answers of the latest go on top.
  std::vector<Contact> to_ask = via.empty() ? answer_find(key).closer : std::move(via);
  std::ranges::reverse(to_ask);
  std::set<RingId> asked;
  if (standing_ != Standing::kOutside) asked.insert(self_.id);  // else another node may stand there
  std::set<RingId> answered;
  if (is_member()) answered.insert(self_.id);
  std::size_t calls = 0;
  const Instant deadline = environment_.clock.now() + kTimeouts * environment_.tuning.call_timeout;
  while (!to_ask.empty() && calls < environment_.tuning.lookup_calls_max) {
    if (has_another && environment_.clock.now() >= deadline) break;
    const Contact next = std::move(to_ask.back());
    to_ask.pop_back();
    if (!asked.insert(next.id).second) continue;
    if (!check_node_id(environment_.tuning.ids, next)) continue;
    ++calls;
    if (cost != nullptr) ++cost->calls;
    const Result<FindReply> reply = co_await call<FindReply>(next, Find{key});
    if (!reply) {
      if (cost != nullptr) ++cost->failed;
      std::erase_if(fingers_, [&](const auto& finger) { return same_vserver(finger.second, next); });
      if (!successors_.empty() && same_vserver(successors_.front(), next)) nudge();
      continue;
    }
    if (reply->owned && reply->owned->to == next.id && reply->owned->contains(key)) {
      co_return Owner{next, clip(*reply->owned, key, answered)};
    }
    answered.insert(next.id);
    for (const Contact& closer : reply->closer | std::views::take(kNamedMax) | std::views::reverse)
      to_ask.push_back(closer);
  }
  co_return fail(ErrorCode::kUnavailable, "no owner of " + key.short_hex() + " answered");
}

Task<void> Vserver::fix_finger() {
  // While the list reaches round the whole ring it is the better table.
  if (successors_.empty() || successors_.contacts().size() < environment_.tuning.successors) {
    fingers_.clear();
    co_return;
  }
  if (next_finger_ == 0) next_finger_ = RingId::kBits;
  const unsigned bit = --next_finger_;
  const RingId target = self_.id + RingId::power_of_two(bit);
  if (in_half_open(self_.id, target, successors_.front().id)) {
    // This and all smaller distances end at the successor.
    std::erase_if(fingers_, [bit](const auto& finger) { return finger.first <= bit; });
    next_finger_ = RingId::kBits;
    co_return;
  }
  const auto known = fingers_.find(bit);
  Result<Owner> owner =
      co_await find_finger(target, known == fingers_.end() ? std::nullopt : std::optional(known->second));
  if (owner && owner->contact.id != self_.id && !environment_.is_avoided(owner->contact)) {
    fingers_.insert_or_assign(bit, std::move(owner->contact));
  } else {
    fingers_.erase(bit);
  }
}

// A liar on the way can only offer somebody farther away than the finger that is known, or than the right
// one.
Task<Result<Owner>> Vserver::find_finger(RingId target, std::optional<Contact> known) {
  Result<Owner> found = co_await lookup(target);
  if (!environment_.tuning.secure_lookups) co_return found;
  if (known) {
    const Owner before{*known, Segment{target, known->id}};
    if (found && is_as_close(*found, before, target)) co_return found;
    const bool lives = co_await answers(*known);
    if (lives) co_return before;
  }
  Result<Owner> sure = co_await secure_lookup(target);
  if (!sure || (found && is_as_close(*found, *sure, target))) co_return found;
  co_return sure;
}

// --- upkeep ------------------------------------------------------------------------------------------------

Duration Vserver::jittered(Duration base) {
  const auto count = static_cast<std::uint64_t>(base.count());
  return Duration(static_cast<Duration::rep>(count / 2 + rng_.below(count + 1)));
}

void Vserver::start() {
  tasks_.reopen();
  nudged_ = nudged_by_others_ = false;
  tasks_.spawn("stabilise", stabilise_for_ever());
  tasks_.spawn("fix_fingers", fix_fingers_for_ever());
}

Task<void> Vserver::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> Vserver::stabilise_for_ever() {
  for (;;) {
    co_await stabilise();
    const Instant next = environment_.clock.now() + jittered(environment_.tuning.stabilise_every);
    co_await environment_.clock.sleep_until(next);
  }
}

Task<void> Vserver::fix_fingers_for_ever() {
  for (;;) {
    const Instant next = environment_.clock.now() + jittered(environment_.tuning.fix_finger_every);
    co_await environment_.clock.sleep_until(next);
    co_await fix_finger();
  }
}

void Vserver::nudge() {
  if (nudged_) return;
  nudged_ = true;
  tasks_.spawn("nudge", stabilise_soon());
}

// Anybody can ask for it; when many join, many have reason to.
void Vserver::nudge_for_others() {
  if (nudged_by_others_) return;
  const Instant now = environment_.clock.now();
  const Instant turn = std::max(now, next_for_others_ - kNudgesAtOnce * kNudgedEvery);
  next_for_others_ = std::max(now, next_for_others_) + kNudgedEvery;
  if (turn == now) return nudge();
  nudged_by_others_ = true;
  tasks_.spawn("nudge", nudge_at(turn));
}

Task<void> Vserver::nudge_at(Instant turn) {
  co_await environment_.clock.sleep_until(turn);
  nudged_by_others_ = false;
  nudge();
}

Task<void> Vserver::stabilise_soon() {
  const Instant next = environment_.clock.now() + jittered(environment_.tuning.retry_when_busy);
  co_await environment_.clock.sleep_until(next);
  nudged_ = false;
  co_await stabilise();
}

}  // namespace tagring::ring
