// Worlds that nobody chose: a seed draws a network, what people do on it and what breaks, and says whether
// the network kept its word. For `tagring sim world`, the tests and hours of soaking.
//
// Drawn: 3 to 60 nodes, vservers, owners of a key on both rings, how many nodes each knows from the start,
// latencies, pauses of the database; which of the faults there are at all (each in half of the worlds, so
// that their combinations differ), and when: messages lost or told twice, crashes, power cuts, partitions in
// both directions or in one, clocks that are wrong or jump, disks that fill, instances that are down.
// Meanwhile people publish, remove and subscribe.
//
// Then all faults end, and the world has to come to rest: one ring of each kind; every subscriber has every
// living post once, and none that is gone; the history that any node gives is right; and every owner of every
// hashtag holds on its disk what the model holds, so that no replica hides the fault of another.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.hpp"

namespace tagring::sim {

struct SwarmRun {
  std::string world;        // what was drawn, in words
  std::string what;         // of it all did not hold; empty: everything did
  Duration simulated{};     // time
  std::uint64_t steps = 0;  // events
  std::uint64_t trace = 0;  // the same for the same seed
};

// `log`: what the nodes say goes to standard error.
SwarmRun run_swarm(std::uint64_t seed, bool log = false);

}  // namespace tagring::sim
