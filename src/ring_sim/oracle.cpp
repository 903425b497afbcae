#include "ring_sim/oracle.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace tagring::ring_sim {
namespace {

bool is_live(const RingView& view, const ring::Contact& contact) {
  const auto it = view.find(contact.id);
  return it != view.end() && it->second->self().incarnation == contact.incarnation;
}

const ring::Vserver* best_successor(const RingView& view, const ring::Vserver& vserver) {
  for (const ring::Contact& contact : vserver.successors().contacts()) {
    if (is_live(view, contact)) return view.at(contact.id);
  }
  return nullptr;
}

// Calls `visit` with each member strictly inside (from, to), in order.
template <class Visit>
void for_each_between(const RingView& view, const RingId& from, const RingId& to, Visit visit) {
  auto it = view.upper_bound(from);
  for (std::size_t count = 0; count < view.size(); ++count, ++it) {
    if (it == view.end()) it = view.begin();
    if (!in_open(from, it->first, to)) return;
    visit(*it->second);
  }
}

}  // namespace

std::optional<std::string> broken_list(const ring::Vserver& vserver) {
  const RingId self = vserver.self().id;
  RingId reached = self;
  for (const ring::Contact& contact : vserver.successors().contacts()) {
    if (contact.id == self || !in_open(reached, contact.id, self))
      return fmt::format("the list of {} is not in order at {}", self.short_hex(), contact.id.short_hex());
    reached = contact.id;
  }
  return std::nullopt;
}

Principals principals(const RingView& view) {
  Principals result;
  for (const auto& [id, vserver] : view) result.emplace(id, vserver->self().incarnation);
  for (const auto& [id, vserver] : view) {
    RingId reached = id;
    for (const ring::Contact& contact : vserver->successors().contacts()) {
      for_each_between(view, reached, contact.id, [&](const ring::Vserver& skipped) {
        result.erase({skipped.self().id, skipped.self().incarnation});
      });
      // A list that names a former incarnation does not count as knowing the present one.
      if (view.contains(contact.id) && !is_live(view, contact))
        result.erase({contact.id, view.at(contact.id)->self().incarnation});
      reached = contact.id;
    }
  }
  return result;
}

Principals with_live_head(const RingView& view, const Principals& among) {
  Principals result;
  for (const auto& [id, incarnation] : among) {
    const auto contacts = view.at(id)->successors().contacts();
    if (!contacts.empty() && is_live(view, contacts.front())) result.emplace(id, incarnation);
  }
  return result;
}

std::optional<std::string> broken_shape(const RingView& view) {
  if (view.size() < 2) return std::nullopt;
  std::map<RingId, RingId> next;
  for (const auto& [id, vserver] : view) {
    if (auto disorder = broken_list(*vserver)) return disorder;
    const ring::Vserver* best = best_successor(view, *vserver);
    if (best != nullptr) {
      next[id] = best->self().id;
    } else if (!vserver->is_alone()) {  // a creator that nobody has notified yet
      return fmt::format("{} has no live successor", id.short_hex());
    }
  }
  // Follow best successors from everywhere. They lead into a cycle each time; it must be the same one.
  std::map<RingId, int> walk_of;
  int walk = 0;
  std::optional<RingId> ring;
  for (const auto& [start, unused] : next) {
    ++walk;
    RingId at = start;
    while (next.contains(at) && !walk_of.contains(at)) {
      walk_of[at] = walk;
      at = next[at];
    }
    if (!next.contains(at) || walk_of[at] != walk) continue;
    if (ring) return fmt::format("two rings: through {} and {}", ring->short_hex(), at.short_hex());
    ring = at;
    int wraps = 0;
    RingId member = at;
    do {
      if (next[member] <= member) ++wraps;
      member = next[member];
    } while (member != at);
    if (wraps != 1) return fmt::format("the ring through {} goes round {} times", at.short_hex(), wraps);
  }
  return std::nullopt;
}

std::optional<std::string> broken_history(const RingView& view, std::size_t successors,
                                          const Principals& established, const Principals& announced,
                                          const Principals& now) {
  for (const auto& [id, incarnation] : established) {
    const auto it = view.find(id);
    const bool lives = it != view.end() && it->second->self().incarnation == incarnation;
    if (lives && !now.contains({id, incarnation}))
      return fmt::format("{} lives but is not principal any more", id.short_hex());
  }
  if (now.size() <= successors)
    return fmt::format("{} principals are too few for lists of {}", now.size(), successors);
  std::optional<std::string> broken;
  for (const auto& [id, vserver] : view) {
    const std::optional<Segment> owned = vserver->owned();
    if (!owned || !established.contains({id, vserver->self().incarnation})) continue;
    for_each_between(view, owned->from, id, [&](const ring::Vserver& other) {
      if (announced.contains({other.self().id, other.self().incarnation}))
        broken = fmt::format("{} owns keys of {}", id.short_hex(), other.self().id.short_hex());
    });
  }
  return broken;
}

bool is_ideal(const RingView& view, std::size_t successors) {
  if (view.size() < 2) return true;
  std::vector<const ring::Vserver*> order;
  for (const auto& [id, vserver] : view) order.push_back(vserver);
  const std::size_t n = order.size();
  for (std::size_t i = 0; i < n; ++i) {
    const ring::Vserver& vserver = *order[i];
    const auto& predecessor = vserver.predecessor();
    if (!predecessor || *predecessor != order[(i + n - 1) % n]->self()) return false;
    if (vserver.serving() != vserver.owned()) return false;
    const auto contacts = vserver.successors().contacts();
    if (contacts.size() < std::min(n - 1, successors)) return false;
    for (std::size_t step = 0; step < contacts.size(); ++step) {
      if (contacts[step] != order[(i + 1 + step) % n]->self()) return false;
    }
  }
  return true;
}

}  // namespace tagring::ring_sim
