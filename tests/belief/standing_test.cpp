// Who was wrong is asked about less for a while, and longer each time.
#include "belief/standing.hpp"

#include <gtest/gtest.h>

#include "ring_sim/loop.hpp"

namespace tagring::belief {
namespace {

const std::string kA = "https://tags.a.example";

class StandingTest : public testing::Test {
 protected:
  void pass(Duration time) { loop.run_for(time); }
  ring_sim::Loop loop{1};
  ring_sim::LoopClock clock{loop, 1};
  Standing standing{clock};
};

TEST_F(StandingTest, WhoWasWrongIsDoubtfulForAWhileAndLongerEachTime) {
  for (int wrong = 0; wrong < 2; ++wrong) standing.note(kA, false);
  EXPECT_FALSE(standing.is_doubtful(kA)) << "a post may be deleted a moment after it was told of";
  Duration pause = std::chrono::minutes(10);
  for (int wrong = 0; wrong < 3; ++wrong, pause *= 2) {
    standing.note(kA, false);
    pass(pause - std::chrono::seconds(1));
    EXPECT_TRUE(standing.is_doubtful(kA));
    EXPECT_EQ(standing.doubtful(), 1U);
    pass(std::chrono::seconds(2));
    EXPECT_FALSE(standing.is_doubtful(kA));
  }
}

TEST_F(StandingTest, WhoIsProvedToHaveDroppedPostsIsDoubtfulUntilThenWhateverElseItSays) {
  standing.prove(kA, clock.now() + std::chrono::hours(2));
  standing.prove(kA, clock.now() + std::chrono::hours(1));
  for (int i = 0; i < 100; ++i) standing.note(kA, true);
  pass(std::chrono::minutes(119));
  EXPECT_TRUE(standing.is_proved(kA));
  EXPECT_TRUE(standing.is_doubtful(kA));
  EXPECT_EQ(standing.doubtful(), 1U);
  pass(std::chrono::minutes(2));
  EXPECT_FALSE(standing.is_proved(kA));
  EXPECT_FALSE(standing.is_doubtful(kA));
}

TEST_F(StandingTest, WhoIsRightFourTimesInFiveIsBelievedToErr) {
  for (int i = 0; i < 3; ++i) standing.note(kA, false);
  for (int i = 0; i < 11; ++i) standing.note(kA, true);
  EXPECT_TRUE(standing.is_doubtful(kA));
  standing.note(kA, true);
  EXPECT_FALSE(standing.is_doubtful(kA));
}

TEST_F(StandingTest, ADayLaterAllIsForgotten) {
  for (int i = 0; i < 9; ++i) standing.note(kA, false);
  pass(std::chrono::hours(25));
  standing.note(kA, true);
  EXPECT_FALSE(standing.is_doubtful(kA));
}

}  // namespace
}  // namespace tagring::belief
