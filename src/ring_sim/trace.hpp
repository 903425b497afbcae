// A ring whose hosts go down and come back as those of a trace did, while everybody looks owners up: how
// often does one not find the owner?
//
// Hosts end without a word and do not answer any more, so that calls to them time out. Nothing keeps the run
// within the operating assumptions of corrected Chord.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ring_sim/world.hpp"

namespace tagring::ring_sim {

struct RingTrace {
  struct Change {
    Duration at{};  // since the start
    std::size_t host = 0;
    bool up = false;
  };

  std::size_t hosts = 1'000;  // all are up at the start
  std::vector<Change> changes;
  Duration length{};
  // Of the whole ring, on average; half for keys that nobody has asked for, half for a few that are asked for
  // all the time.
  Duration lookup_every = std::chrono::seconds(1);
  std::function<void(Duration passed)> on_progress = [](Duration) {};
};

struct RingTraceResult {
  std::uint64_t crashes = 0;
  std::uint64_t joins = 0;
  std::uint64_t lookups = 0;       // that came to an end before the host that made them did
  std::uint64_t failed_first = 0;  // no owner found, or one that was not, at the first attempt
  std::uint64_t failed = 0;        // nor at the second, a second later
  std::size_t up_at_least = 0;     // hosts
  bool ideal = false;              // once the trace was over
  std::uint64_t events = 0;
};

// The look-ups that nodes make, with their cache, secure ones included, until the owner itself says that it
// owns the key.
RingTraceResult run_ring_trace(std::uint64_t seed, const RingTrace& trace);

}  // namespace tagring::ring_sim
