// Worlds that nobody chose: a seed draws a network, what people do on it and what breaks, and says whether
// the network kept its word. For `tagring sim world`, the tests and hours of soaking.
//
// Drawn: 3 to 60 nodes, vservers, owners of a key on both rings, kappa, how many nodes each knows from the
// start, latencies, pauses of the database; which of the faults there are at all (each in a
// part of the worlds, so that their combinations differ), and when: messages lost or told twice, connections
// that break, crashes, power cuts, partitions in both directions or in one, clocks that are wrong, jump or
// drift, disks that fill or fail, a disk that is that of yesterday, instances that are down or crash, nodes
// that come and leave, and that choose their places; pages, batches and memories so small that a few posts
// are too many, and capacities for which sets of owners grow (runs/swarm_plan.cpp); people on other servers,
// who follow hashtags at nodes (runs/swarm_people.hpp). In a tenth of the worlds only those faults that the
// theory of the ring allows, in a ring that is large enough for it: its invariant is held against every event
// there, and in the others while nothing breaks. Meanwhile people publish, edit, remove, subscribe and end
// it, and read: whatever they are shown must have been so.
//
// Then all faults end, and the world has to come to rest: one ring of each kind; every subscriber has every
// living post once, and none that is gone, and so have people who follow; the history that any node gives is
// right; and every owner holds on its disk what the model says (runs/swarm_checks.hpp), so that no replica
// hides the fault of another.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.hpp"
#include "runs/swarm_options.hpp"

namespace tagring::runs {

struct SwarmRun {
  std::string world;        // what was drawn, in words
  std::string what;         // of it all did not hold; empty: everything did
  Duration simulated{};     // time
  std::uint64_t steps = 0;  // events
  std::uint64_t trace = 0;  // the same for the same seed
};

SwarmRun run_swarm(std::uint64_t seed, const SwarmOptions& options);

}  // namespace tagring::runs
