// What ordinary and secure look-ups share.
#pragma once

#include <cstddef>
#include <set>

#include "ring/vserver.hpp"

namespace tagring::ring {

inline constexpr std::size_t kNamedMax = 5;  // contacts that are read of one reply: as many as ours have
inline constexpr int kTimeouts = 8;          // after as many a look-up makes no more calls
inline constexpr int kNudgesAtOnce = 10;     // of others, before they wait for their turns

// What an owner claims of the ring around `key`, without what lies before any of `members`, who have
// answered: a segment holds no member but its owner.
Segment clip(Segment claimed, const RingId& key, const std::set<RingId>& members);

}  // namespace tagring::ring
