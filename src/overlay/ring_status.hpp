// Where this node stands on both rings, as Node::status() tells it.
#pragma once

#include "base/json.hpp"
#include "overlay/balancer.hpp"
#include "overlay/ring_service.hpp"

namespace tagring::overlay {

// By the ring's name: {"member", "leaving", "left", "serving", "share", "vservers", "load", "capacity",
// "moves", …}. "leaving": the node was told to leave both rings, and has places here still; "left": none any
// more. "serving": all of its vservers know what they own and have it, and other nodes reach them. "share":
// of the ring, 0 to 1. Loads and capacities of the relay ring are bytes a second, of the storage ring bytes.
json::object rings_status(RingService& rings, const Balancer& balancer);

}  // namespace tagring::overlay
