// What must hold of a ring as seen by somebody who sees all of it at once: the invariant of corrected Chord
// (P. Zave, "Reasoning about identifier spaces: how to make Chord correct", arXiv 1610.01140) and what
// follows from it.
//
// A member is principal if no member's extended list (itself, then its successors) has neighbours that it
// lies between: everybody who could know it does.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ring/vserver.hpp"

namespace tagring::ring_sim {

// The live members of a ring.
using RingView = std::map<RingId, const ring::Vserver*>;
// Who, in which incarnation.
using Principals = std::set<std::pair<RingId, std::uint64_t>>;

Principals principals(const RingView& view);
// Those of `among` whose list begins with somebody who lives. The others find out when they stabilise next,
// and only then tell who has become their successor.
Principals with_live_head(const RingView& view, const Principals& among);

// A list of successors that is out of order, repeats somebody, or names its owner: that is never so, whatever
// happens.
std::optional<std::string> broken_list(const ring::Vserver& vserver);

// Every member has a live successor; lists are in order, without repetition and without their owner;
// following first live successors ends on one ring from everywhere, and that ring goes round the identifiers
// once. The first of these that does not hold, or nothing.
std::optional<std::string> broken_shape(const RingView& view);

// The rest, which holds from event to event while only faults within the operating assumptions happen: more
// than `successors` principals; none of the `established` ones lost but by its own failure; none of these
// owns a key of one of the `announced`, who have told a live successor of themselves. (A member that others
// do not know yet may still claim what a later one has taken over; only look-ups that start there see it.)
// The first that does not hold, or nothing.
//
// The theory reads a list and adopts it in one step, but messages take time: a list read before somebody
// became principal may be adopted just after. So only those count as established that have been principal for
// longer than any operation takes, and as announced that have had a live head for so long as well.
std::optional<std::string> broken_history(const RingView& view, std::size_t successors,
                                          const Principals& established, const Principals& announced,
                                          const Principals& now);

// True if every pointer is what it stays when nothing happens any more, for a list of `successors`; then
// every key has one owner, who serves it.
bool is_ideal(const RingView& view, std::size_t successors);

}  // namespace tagring::ring_sim
