// Who was wrong is asked about less for a while, and longer each time.
#include "belief/standing.hpp"

#include <gtest/gtest.h>

#include "ring_sim/loop.hpp"

namespace tagring::belief {
namespace {

const std::string kA = "https://tags.a.example";
constexpr Duration kMinute = std::chrono::minutes(1);

class StandingTest : public testing::Test {
 protected:
  void pass(Duration time) { loop.run_for(time); }
  // Of as many posts, each another one.
  void is_wrong(int posts = 1) {
    for (int i = 0; i < posts; ++i)
      standing.note(kA, "https://post.example/" + std::to_string(++posts_), /*right=*/false);
  }
  void is_right(int posts) {
    for (int i = 0; i < posts; ++i)
      standing.note(kA, "https://post.example/" + std::to_string(++posts_), /*right=*/true);
  }
  ring_sim::Loop loop{1};
  ring_sim::LoopClock clock{loop, 1};
  Standing standing{clock};

 private:
  int posts_ = 0;
};

TEST_F(StandingTest, WhoWasWrongIsDoubtfulForAWhileAndLongerEachTime) {
  is_wrong(2);
  EXPECT_FALSE(standing.is_doubtful(kA)) << "a post may be deleted a moment after it was told of";
  Duration pause = std::chrono::minutes(10);
  for (int wrong = 0; wrong < 3; ++wrong, pause *= 2) {
    is_wrong();
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
  is_right(100);
  pass(std::chrono::minutes(119));
  EXPECT_TRUE(standing.is_proved(kA));
  EXPECT_TRUE(standing.is_doubtful(kA));
  EXPECT_EQ(standing.doubtful(), 1U);
  pass(std::chrono::minutes(2));
  EXPECT_FALSE(standing.is_proved(kA));
  EXPECT_FALSE(standing.is_doubtful(kA));
}

TEST_F(StandingTest, WhoIsRightFourTimesInFiveIsBelievedToErr) {
  is_wrong(3);
  is_right(11);
  EXPECT_TRUE(standing.is_doubtful(kA));
  is_right(1);
  EXPECT_FALSE(standing.is_doubtful(kA));
}

TEST_F(StandingTest, ToBeWrongAboutOnePostIsToBeWrongOnceHoweverOftenItIsSaid) {
  for (int i = 0; i < 100; ++i) standing.note(kA, "https://post.example/one", /*right=*/false);
  is_wrong(1);
  EXPECT_FALSE(standing.is_doubtful(kA)) << "a post is owed to several owners, and sent again";
  is_wrong(1);
  EXPECT_TRUE(standing.is_doubtful(kA));
}

TEST_F(StandingTest, ToBeRightAboutOnePostIsToBeRightOnceHoweverOftenItIsSaid) {
  is_wrong(3);
  for (int i = 0; i < 500; ++i) standing.note(kA, "https://post.example/one", /*right=*/true);
  EXPECT_TRUE(standing.is_doubtful(kA));
  is_right(10);
  EXPECT_TRUE(standing.is_doubtful(kA));
  is_right(1);
  EXPECT_FALSE(standing.is_doubtful(kA));
}

TEST_F(StandingTest, WhoIsDoubtfulIsHeardAboutAStrangerOnceAMinute) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(standing.may_name_stranger(kA, "a.example")) << "nobody doubts it";
  is_wrong(3);
  EXPECT_TRUE(standing.may_name_stranger(kA, "a.example"));
  pass(kMinute - std::chrono::seconds(1));
  EXPECT_FALSE(standing.may_name_stranger(kA, "b.example"));
  pass(std::chrono::seconds(1));
  EXPECT_FALSE(standing.may_name_stranger(kA, "a.example")) << "which may be silent: others wait";
  EXPECT_TRUE(standing.may_name_stranger(kA, "b.example")) << "what it owes is taken at last";
  EXPECT_FALSE(standing.may_name_stranger(kA, "c.example"));
  pass(2 * kMinute);
  EXPECT_TRUE(standing.may_name_stranger(kA, "b.example")) << "it may be the only one";
}

TEST_F(StandingTest, WhoNamedWhatWasNotAtAHostIsNotBelievedAboutItNorAboutAnyIfItIsDoubtful) {
  EXPECT_TRUE(standing.is_believed_about(kA, "a.example"));
  standing.note(kA, "https://a.example/1", /*right=*/true);
  EXPECT_TRUE(standing.is_believed_about(kA, "a.example"));
  standing.note(kA, "https://a.example/2", /*right=*/false);
  EXPECT_FALSE(standing.is_believed_about(kA, "a.example"));
  EXPECT_TRUE(standing.is_believed_about(kA, "b.example"));
  EXPECT_TRUE(standing.is_believed_about("https://tags.b.example", "a.example"));
  is_wrong(2);
  EXPECT_FALSE(standing.is_believed_about(kA, "b.example"));
  pass(std::chrono::hours(25));
  is_wrong();
  EXPECT_TRUE(standing.is_believed_about(kA, "a.example"));
}

TEST_F(StandingTest, ADayLaterAllIsForgotten) {
  is_wrong(9);
  pass(std::chrono::hours(25));
  is_right(1);
  EXPECT_FALSE(standing.is_doubtful(kA));
}

}  // namespace
}  // namespace tagring::belief
