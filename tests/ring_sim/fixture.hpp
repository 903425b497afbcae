// What the tests of the ring share.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/assert.hpp"
#include "sim/ring_world.hpp"

namespace tagring::sim {

inline ring::Tuning small_tuning() {
  ring::Tuning tuning;
  tuning.successors = 4;
  tuning.stabilise_every = std::chrono::seconds(2);
  tuning.fix_finger_every = std::chrono::seconds(10);
  tuning.call_timeout = std::chrono::seconds(1);
  return tuning;
}

// The seeds 1 … count, or the one in TAGRING_SEED.
inline std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* given = std::getenv("TAGRING_SEED")) return {std::strtoull(given, nullptr, 10)};
  std::vector<std::uint64_t> all;
  for (std::uint64_t seed = 1; seed <= count; ++seed) all.push_back(seed);
  return all;
}

// Lets `limit` periods of stabilising pass at most; how many it took until the ring was ideal.
inline std::optional<int> rounds_until_ideal(RingWorld& world, Duration round, int limit) {
  for (int rounds = 0; rounds <= limit && !world.broken(); ++rounds) {
    if (world.is_ideal()) return rounds;
    world.loop.run_for(round);
  }
  return std::nullopt;
}

// How many rounds an undisturbed ring may take to become ideal.
inline int rounds_bound(std::size_t members, std::size_t successors) {
  return static_cast<int>(2 * successors + std::ceil(std::log2(static_cast<double>(members))));
}

// Runs a coroutine on behalf of a member and waits for it, letting time pass.
template <class T>
std::optional<T> await(RingWorld& world, OwnerId owner, Task<T> task) {
  auto slot = std::make_shared<std::optional<T>>();
  boost::asio::co_spawn(world.loop.executor(owner), std::move(task),
                        [slot](std::exception_ptr error, T value) {
                          TR_ASSERT(!error);
                          slot->emplace(std::move(value));
                        });
  for (int i = 0; i < 60'000 && !*slot; ++i) world.loop.run_for(Duration(10));
  return std::move(*slot);
}

}  // namespace tagring::sim
