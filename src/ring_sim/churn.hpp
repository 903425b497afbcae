// A ring whose members join, crash and come back at random within the operating assumptions of corrected
// Chord; then peace, in which it must become ideal. The invariants are checked after every event.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ring/vserver.hpp"
#include "ring_sim/world.hpp"

namespace tagring::ring_sim {

struct RingChurn {
  std::size_t hosts = 24;
  RingOptions options;
  ring::Tuning tuning = small_ring_tuning();
  // Whichever comes first ends the unrest.
  Duration duration = std::chrono::minutes(3);
  std::uint64_t events = ~std::uint64_t{0};
  std::uint64_t check_every = 1;  // the ring is looked at after every n-th change of a pointer
  std::function<void(std::uint64_t events)> on_progress = [](std::uint64_t) {};

  // Lists of four, so that a few crashes already matter.
  static ring::Tuning small_ring_tuning();
};

struct RingChurnResult {
  std::optional<std::string> broken;  // the first broken invariant
  std::optional<int> ideal_rounds;    // periods of stabilising until it was ideal; nothing if it was not
  int rounds_bound = 0;               // what that may take: 2 r + log2 N
  std::uint64_t events = 0;
  std::uint64_t checks = 0;
  std::uint64_t crashes = 0;
  std::uint64_t trace = 0;
};

RingChurnResult run_ring_churn(std::uint64_t seed, const RingChurn& churn);

// Lets `limit` periods pass at most; how many it took until the ring was ideal.
std::optional<int> rounds_until_ideal(RingWorld& world, Duration round, int limit);
// How many rounds an undisturbed ring may take to become ideal.
int rounds_bound(std::size_t members, std::size_t successors);

}  // namespace tagring::ring_sim
