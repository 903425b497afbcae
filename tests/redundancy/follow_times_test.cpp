#include "redundancy/follow_times.hpp"

#include <gtest/gtest.h>

#include "ring_sim/loop.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::redundancy {
namespace {

TEST(FollowTimes, TheLastRequestWinsAndIsForgottenAfterAnHour) {
  ring_sim::Loop loop(1);
  ring_sim::LoopClock clock(loop, 0);
  FollowTimes times(clock);
  times.note("caturday"_tag, "a", "a.example", {clock.wall_now(), true});
  EXPECT_TRUE(times.last("caturday"_tag, "a", "a.example").follows);
  loop.run_for(std::chrono::seconds(1));
  times.note("caturday"_tag, "a", "a.example", {clock.wall_now(), false});
  times.note("caturdays"_tag, "b", "b.example", {clock.wall_now(), false});
  EXPECT_FALSE(times.last("caturday"_tag, "a", "a.example").follows);
  EXPECT_EQ(times.last("caturday"_tag, "a", "a.example").at, clock.wall_now());
  EXPECT_EQ(times.last("dogs"_tag, "a", "a.example").at, WallTime{});
  loop.run_for(FollowTimes::kRemembered + Duration(1));
  EXPECT_EQ(times.last("caturday"_tag, "a", "a.example").at, WallTime{});
}

// An attacker may have any number of actors, and hosts, but few domains.
TEST(FollowTimes, OneDomainPushesOutNoneOfAnothers) {
  ring_sim::Loop loop(1);
  ring_sim::LoopClock clock(loop, 0);
  FollowTimes times(clock);
  times.note("caturday"_tag, "a", "a.example", {clock.wall_now(), true});
  for (std::size_t n = 0; n < FollowTimes::kSizeMax + 10; ++n)
    times.note("caturday"_tag, std::to_string(n), "z.example", {clock.wall_now(), false});
  EXPECT_EQ(times.size(), FollowTimes::kSizeMax);
  EXPECT_TRUE(times.last("caturday"_tag, "a", "a.example").follows);
  times.note("caturday"_tag, "b", "b.example", {clock.wall_now(), true});
  EXPECT_TRUE(times.last("caturday"_tag, "b", "b.example").follows);
  loop.run_for(FollowTimes::kRemembered + std::chrono::minutes(2));
  times.note("caturday"_tag, "b", "b.example", {clock.wall_now(), true});
  EXPECT_EQ(times.size(), 1U) << "what is old takes no memory";
}

}  // namespace
}  // namespace tagring::redundancy
