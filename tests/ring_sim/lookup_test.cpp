// Look-ups in ideal rings: they end at the true owner, after the number of calls that fingers promise.

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ring_sim/fixture.hpp"

namespace tagring::ring_sim {
namespace {

void expect_short_lookups(std::size_t hosts, unsigned lookups) {
  RingWorld world(7, ring::Tuning{});
  world.faults.delay_max = Duration(5);
  world.build(hosts);
  Rng rng(8);
  unsigned calls = 0;
  unsigned most = 0;
  for (unsigned i = 0; i < lookups; ++i) {
    RingWorld::Member& member = *world.members_.at(rng.below(hosts));
    const RingId key = random_id(rng);
    ring::LookupCost cost;
    const auto owner = await(world, member.owner, member.vserver.lookup(key, {}, &cost));
    ASSERT_TRUE(owner && *owner) << key.hex();
    EXPECT_EQ((*owner)->contact, world.true_owner(key).self());
    EXPECT_TRUE((*owner)->segment.contains(key));
    EXPECT_EQ(cost.failed, 0U);
    calls += cost.calls;
    most = std::max(most, cost.calls);
  }
  const double mean = static_cast<double>(calls) / lookups;
  const double log = std::log2(static_cast<double>(hosts));
  fmt::print("{} vservers: {:.2f} calls per look-up (half of log2 N: {:.2f}), at most {}\n", hosts, mean,
             log / 2, most);
  EXPECT_LE(mean, log / 2 + 1.2);
  EXPECT_LE(most, 2 * log);
}

TEST(RingLookup, FindsTheOwnerAmongAHundred) { expect_short_lookups(100, 500); }
TEST(RingLookup, FindsTheOwnerAmongAThousand) { expect_short_lookups(1'000, 500); }
TEST(RingLookupSlow, FindsTheOwnerAmongTenThousand) { expect_short_lookups(10'000, 500); }

// Fingers that were never built grow by themselves.
TEST(RingLookup, FingersGrowInARingThatStartedFromNothing) {
  ring::Tuning tuning = small_tuning();
  tuning.fix_finger_every = std::chrono::milliseconds(500);
  RingWorld world(3, tuning);
  for (std::size_t host = 0; host < 40; ++host) {
    world.start(host);
    world.loop.run_for(std::chrono::seconds(1));
  }
  ASSERT_TRUE(rounds_until_ideal(world, tuning.stabilise_every, 60));
  world.loop.run_for(std::chrono::minutes(3));
  for (const auto& [host, member] : world.members_) {
    const ring::Vserver& vserver = member->vserver;
    EXPECT_GE(vserver.fingers().size(), 2U);
    for (const auto& [bit, finger] : vserver.fingers()) {
      EXPECT_EQ(finger, world.true_owner(vserver.self().id + RingId::power_of_two(bit)).self());
    }
  }
}

}  // namespace
}  // namespace tagring::ring_sim
