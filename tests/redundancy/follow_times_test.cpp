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
  times.note("caturday"_tag, "a", {clock.wall_now(), true});
  EXPECT_TRUE(times.last("caturday"_tag, "a").follows);
  loop.run_for(std::chrono::seconds(1));
  times.note("caturday"_tag, "a", {clock.wall_now(), false});
  times.note("caturdays"_tag, "b", {clock.wall_now(), false});
  EXPECT_FALSE(times.last("caturday"_tag, "a").follows);
  EXPECT_EQ(times.last("caturday"_tag, "a").at, clock.wall_now());
  EXPECT_EQ(times.last("dogs"_tag, "a").at, WallTime{});
  loop.run_for(FollowTimes::kRemembered + Duration(1));
  EXPECT_EQ(times.last("caturday"_tag, "a").at, WallTime{});
}

}  // namespace
}  // namespace tagring::redundancy
