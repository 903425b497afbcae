// Whole nodes whose rings are held against their invariant after every event.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "ring/membership.hpp"
#include "ring/vserver.hpp"
#include "sim/world.hpp"

namespace tagring::sim {
namespace {

// Twenty nodes, of which all whom node 0 has in its list of successors stop at once: more than may.
void lose_a_whole_list(World& world, bool inside, Duration after = std::chrono::seconds(30)) {
  for (std::size_t i = 0; i < 20; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }))
      << world.unsettled();
  world.loop.run_for(std::chrono::seconds(30));
  world.watch();
  world.set_inside(inside);
  world.loop.run_for(std::chrono::seconds(30));
  ASSERT_EQ(world.broken(), std::nullopt);
  std::set<std::string> listed;
  for (const ring::Contact& contact :
       world.node(0).rings().of(Ring::kRelay).vservers().front()->successors().contacts())
    listed.insert(contact.host);
  ASSERT_GE(listed.size(), ring::Tuning().successors);
  for (std::size_t i = 1; i < 20; ++i) {
    if (listed.contains("tags.n" + std::to_string(i) + ".example")) world.crash_node(i);
  }
  world.loop.run_for(after);
  EXPECT_GT(world.checks(), 0U);
}

TEST(RingWatch, SeesARingThatLosesMoreThanItMay) {
  World world(31, WorldOptions{.vservers = 1});
  lose_a_whole_list(world, true);
  ASSERT_TRUE(world.broken());
  EXPECT_THAT(*world.broken(), testing::HasSubstr("has no live successor"));
}

TEST(RingWatch, OutsideTheAssumptionsHoldsListsAgainstTheirOrderOnly) {
  World world(31, WorldOptions{.vservers = 1});
  lose_a_whole_list(world, false);
  EXPECT_EQ(world.broken(), std::nullopt);
}

TEST(RingWatch, LooksAtTheRingThatItFindsWhenItIsInsideAgainThoughNothingChanges) {
  World world(31, WorldOptions{.vservers = 1});
  constexpr Duration kUnnoticed(500);
  lose_a_whole_list(world, false, kUnnoticed);
  ASSERT_EQ(world.broken(), std::nullopt);
  const std::uint64_t checks = world.checks();
  world.loop.run_for(kUnnoticed);
  ASSERT_EQ(world.checks(), checks) << "no pointer has changed";
  world.set_inside(true);
  world.loop.run_for(kUnnoticed);
  ASSERT_TRUE(world.broken());
  EXPECT_THAT(*world.broken(), testing::HasSubstr("has no live successor"));
}

}  // namespace
}  // namespace tagring::sim
