#include "sim/ring_watch.hpp"

#include <utility>

namespace tagring::sim {
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

}  // namespace

void RingWatch::after_event(OwnerId owner, const ring::Membership* membership, Instant now,
                            const std::function<RingView()>& view) {
  if (broken_) return;
  bool changed = std::exchange(crashed_, false);
  if (membership != nullptr) {
    std::uint64_t& known = pointers_[owner];
    const std::uint64_t hash = hash_of_pointers(*membership);
    changed = changed || hash != known;
    known = hash;
  }
  if (!changed) return;
  ++checks_;
  const RingView all = view();
  const Principals present = principals(all);
  Principals established;
  for (const auto& [principal, since] : principal_since_) {
    if (now - since > operation_) established.insert(principal);
  }
  broken_ = broken_shape(all);
  if (!broken_) broken_ = broken_history(all, successors_, established, present);
  std::erase_if(principal_since_, [&](const auto& entry) { return !present.contains(entry.first); });
  for (const auto& principal : present) principal_since_.emplace(principal, now);
}

bool may_crash(RingView view, const std::vector<RingId>& gone, std::size_t successors) {
  for (const RingId& id : gone) view.erase(id);
  return !broken_shape(view) && principals(view).size() > successors;
}

}  // namespace tagring::sim
