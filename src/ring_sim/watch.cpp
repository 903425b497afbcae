#include "ring_sim/watch.hpp"

#include <algorithm>
#include <utility>

namespace tagring::ring_sim {
namespace {

std::uint64_t hash_of_pointers(const ring::Membership& membership) {
  std::uint64_t hash = 0;
  const auto mix = [&](const ring::Contact& contact) {
    hash = (hash ^ contact.id.top() ^ contact.incarnation) * 0x100000001B3U;
  };
  for (const auto& vserver : membership.vservers()) {
    hash = (hash ^ (vserver->is_member() ? 1U : 2U)) * 0x100000001B3U;
    mix(vserver->self());
    mix(vserver->predecessor().value_or(ring::Contact{}));
    for (const ring::Contact& contact : vserver->successors().contacts()) mix(contact);
  }
  return hash;
}

// Brings `since` up to `present`: who is not in it any more goes, who is new has become so `now`.
void update(std::map<Principals::value_type, Instant>* since, const Principals& present, Instant now) {
  std::erase_if(*since, [&](const auto& entry) { return !present.contains(entry.first); });
  for (const auto& principal : present) since->emplace(principal, now);
}

std::optional<std::string> broken_lists(const ring::Membership& membership) {
  for (const auto& vserver : membership.vservers()) {
    if (auto broken = broken_list(*vserver)) return broken;
  }
  return std::nullopt;
}

}  // namespace

Principals RingWatch::settled(const Since& since, Instant now) const {
  Principals result;
  for (const auto& [principal, start] : since) {
    if (now - start > operation_) result.insert(principal);
  }
  return result;
}

void RingWatch::after_event(OwnerId owner, const ring::Membership* membership, Instant now,
                            const std::function<RingView()>& view) {
  if (broken_) return;
  bool changed = std::exchange(looks_, false);
  if (membership != nullptr) {
    std::uint64_t& known = pointers_[owner];
    const std::uint64_t hash = hash_of_pointers(*membership);
    changed = changed || hash != known;
    known = hash;
  }
  if (!changed || ++changes_ % check_every_ != 0) return;
  ++checks_;
  if (!inside_) {
    if (membership != nullptr) broken_ = broken_lists(*membership);
    return;
  }
  const RingView all = view();
  const Principals present = principals(all);
  broken_ = broken_shape(all);
  enough_ = enough_ || present.size() > successors_;
  if (!broken_ && enough_) {
    broken_ = broken_history(all, successors_, settled(principal_since_, now), settled(announced_since_, now),
                             present);
  }
  update(&principal_since_, present, now);
  update(&announced_since_, with_live_head(all, present), now);
}

void RingWatch::set_inside(bool inside) {
  inside_ = inside;
  looks_ = inside;
  principal_since_.clear();
  announced_since_.clear();
  enough_ = false;
}

bool RingWatch::may_crash(RingView view, const std::vector<RingId>& gone, Instant now) const {
  for (const RingId& id : gone) view.erase(id);
  if (broken_shape(view)) return false;
  // Who has just become principal may cease to be: somebody may still adopt a list without it.
  const Principals lasting = settled(principal_since_, now);
  const Principals present = principals(view);
  const auto remain = std::ranges::count_if(present, [&](const auto& p) { return lasting.contains(p); });
  return static_cast<std::size_t>(remain) > successors_;
}

}  // namespace tagring::ring_sim
