// What the tests of the ring share.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/assert.hpp"
#include "ring_sim/churn.hpp"

namespace tagring::ring_sim {

inline ring::Tuning small_tuning() { return RingChurn::small_ring_tuning(); }

// The seeds 1 … count, or the one in TAGRING_SEED.
inline std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* given = std::getenv("TAGRING_SEED")) return {std::strtoull(given, nullptr, 10)};
  std::vector<std::uint64_t> all;
  for (std::uint64_t seed = 1; seed <= count; ++seed) all.push_back(seed);
  return all;
}

// Runs a coroutine on behalf of a member and waits for it, letting time pass.
template <class T>
std::optional<T> await(RingWorld& world, OwnerId owner, Task<T> task) {
  return world.loop.await(owner, std::move(task), std::chrono::minutes(10), Duration(10));
}

}  // namespace tagring::ring_sim
