// What ordinary and secure look-ups share.
#pragma once

#include <set>

#include "ring/vserver.hpp"

namespace tagring::ring {

// What an owner claims of the ring around `key`, without what lies before any of `members`, who have
// answered: a segment holds no member but its owner.
Segment clip(Segment claimed, const RingId& key, const std::set<RingId>& members);

}  // namespace tagring::ring
