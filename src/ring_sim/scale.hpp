// How a ring behaves as it grows: calls of a look-up, messages of the upkeep, and how fast it heals. It
// begins ideal, built by formula, and then runs the protocol that ships.
#pragma once

#include <cstdint>
#include <optional>

#include "ring_sim/world.hpp"

namespace tagring::ring_sim {

struct RingScale {
  std::size_t hosts = 1'000;
  std::uint8_t vservers = 1;
  unsigned lookups = 1'000;
  // Of the upkeep that is watched, and then of the healing after a hundredth of the hosts crashed and as many
  // joined. Zero: look-ups only.
  Duration upkeep = Duration::zero();
};

struct RingScaleResult {
  double calls_mean = 0;  // of a cold look-up: no routing cache; the owner's own answer included
  unsigned calls_max = 0;
  unsigned failed = 0;             // look-ups without an owner, or with a wrong one
  double messages_per_host = 0;    // sent for upkeep, per second
  std::optional<Duration> healed;  // virtual time until the ring was ideal; nothing if it was not in time
  std::uint64_t events = 0;
};

RingScaleResult run_ring_scale(std::uint64_t seed, const RingScale& scale);

}  // namespace tagring::ring_sim
