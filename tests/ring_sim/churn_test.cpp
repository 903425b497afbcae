// The ring under churn, loss and delay, with the invariants of corrected Chord checked after every event.

#include <cstdlib>
#include <gtest/gtest.h>

#include "sim/ring_world.hpp"

namespace tagring::sim {
namespace {

ring::Tuning small_tuning() {
  ring::Tuning tuning;
  tuning.successors = 4;
  tuning.stabilise_every = std::chrono::seconds(2);
  tuning.fix_finger_every = std::chrono::seconds(10);
  tuning.call_timeout = std::chrono::seconds(1);
  return tuning;
}

struct Outcome {
  std::optional<std::string> broken;
  bool ideal = false;
  std::uint64_t events = 0;
  std::uint64_t trace = 0;
};

// Joins and crashes at random within the operating assumptions; then peace, in which the ring must become
// ideal.
Outcome churn(std::uint64_t seed, std::size_t hosts, Duration duration) {
  RingWorld world(seed, small_tuning());
  world.faults.delay_max = Duration(40);
  Outcome outcome;
  Rng rng(seed * 7 + 1);
  world.build(8);
  world.run();
  world.watch();
  const Instant end = world.loop.now() + duration;
  while (world.loop.now() < end && !world.broken()) {
    world.loop.run_for(Duration(static_cast<Duration::rep>(50 + rng.below(1500))));
    const std::size_t host = rng.below(hosts);
    if (!world.is_up(host)) {
      world.start(host);
    } else if (rng.chance(0.6) && world.may_crash(host)) {
      world.crash(host);
    }
  }
  for (int round = 0; round < 60 && !world.broken() && !outcome.ideal; ++round) {
    world.loop.run_for(small_tuning().stabilise_every);
    outcome.ideal = world.is_ideal();
  }
  outcome.broken = world.broken();
  outcome.events = world.loop.events();
  outcome.trace = world.loop.trace();
  return outcome;
}

TEST(RingSim, KeepsItsInvariantsUnderChurnAndBecomesIdealAfterwards) {
  const char* given = std::getenv("TAGRING_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  std::uint64_t events = 0;
  for (std::uint64_t seed = first; seed < first + (given != nullptr ? 1 : 40); ++seed) {
    const Outcome outcome = churn(seed, 24, std::chrono::minutes(3));
    ASSERT_FALSE(outcome.broken) << "seed " << seed << ": " << *outcome.broken;
    ASSERT_TRUE(outcome.ideal) << "seed " << seed << " did not become ideal";
    events += outcome.events;
  }
  RecordProperty("events", static_cast<int>(events));
}

TEST(RingSim, SameSeedGivesTheSameTrace) {
  const Outcome a = churn(99, 24, std::chrono::minutes(1));
  const Outcome b = churn(99, 24, std::chrono::minutes(1));
  const Outcome c = churn(100, 24, std::chrono::minutes(1));
  EXPECT_EQ(a.trace, b.trace);
  EXPECT_NE(a.trace, c.trace);
}

}  // namespace
}  // namespace tagring::sim
