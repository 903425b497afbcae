#include "followers/throttle.hpp"

#include <gtest/gtest.h>

namespace tagring::followers {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

const std::string kAlice = "https://a.test/users/alice";
const std::string kBob = "https://a.test/users/bob";

TEST(Throttle, OfPixelfedStartsOnceInACooldown) {
  Throttle throttle;
  ASSERT_TRUE(throttle.start(kAlice, minutes(0)));
  throttle.finish(kAlice);
  EXPECT_FALSE(throttle.start(kAlice, minutes(15) - milliseconds(1)));
  EXPECT_TRUE(throttle.start(kAlice, minutes(15)));
}

TEST(Throttle, OfApSidecarIsSingleFlightForAnActorHoweverLongItTakes) {
  Throttle throttle;
  ASSERT_TRUE(throttle.start(kAlice, minutes(0)));
  EXPECT_FALSE(throttle.start(kAlice, minutes(60)));
  throttle.finish(kAlice);
  EXPECT_TRUE(throttle.start(kAlice, minutes(60)));
}

TEST(Throttle, RunsOneAtATimeForAServerAndOtherServersBeside) {
  Throttle throttle;
  ASSERT_TRUE(throttle.start(kAlice, minutes(0)));
  EXPECT_FALSE(throttle.start(kBob, minutes(0)));
  EXPECT_TRUE(throttle.start("https://b.test/users/alice", minutes(0)));
  EXPECT_EQ(throttle.running(), 2U);
  throttle.finish(kAlice);
  EXPECT_TRUE(throttle.start(kBob, minutes(0)));
}

TEST(Throttle, TakesAGroupForOneServer) {
  Throttle throttle({.per_server = 2});
  ASSERT_TRUE(throttle.start("https://a.evil.test/u", minutes(0), "evil.test"));
  EXPECT_FALSE(throttle.start("https://b.evil.test/u", minutes(0), "evil.test"));
  EXPECT_TRUE(throttle.start(kAlice, minutes(0), "a.test"));
  throttle.finish("https://a.evil.test/u");
  ASSERT_TRUE(throttle.start("https://b.evil.test/u", minutes(0), "evil.test"));
  throttle.finish("https://b.evil.test/u");
  EXPECT_FALSE(throttle.start("https://c.evil.test/u", minutes(1), "evil.test"));
  EXPECT_TRUE(throttle.start("https://c.evil.test/u", minutes(15), "evil.test"));
}

TEST(Throttle, BoundsTheActorsOfAServerWithinACooldown) {
  Throttle throttle({.per_server = 2});
  ASSERT_TRUE(throttle.start(kAlice, minutes(0)));
  throttle.finish(kAlice);
  ASSERT_TRUE(throttle.start(kBob, minutes(1)));
  throttle.finish(kBob);
  EXPECT_FALSE(throttle.start("https://a.test/users/carol", minutes(2)));
  EXPECT_TRUE(throttle.start("https://b.test/users/carol", minutes(2)));
  EXPECT_TRUE(throttle.start("https://a.test/users/carol", minutes(15)));
  throttle.finish("https://a.test/users/carol");
  EXPECT_FALSE(throttle.start("https://a.test/users/dave", minutes(15)));
}

TEST(Throttle, BoundsWhatRunsAltogether) {
  Throttle throttle({.concurrent_max = 1});
  ASSERT_TRUE(throttle.start(kAlice, minutes(0)));
  EXPECT_FALSE(throttle.start("https://b.test/users/bob", minutes(0)));
  throttle.finish(kAlice);
  throttle.finish(kAlice);
  EXPECT_EQ(throttle.running(), 0U);
  EXPECT_TRUE(throttle.start("https://b.test/users/bob", minutes(0)));
}

TEST(Throttle, BoundsWhatItRemembers) {
  Throttle throttle({.senders_max = 2});
  for (const std::string server : {"a", "b"}) {
    ASSERT_TRUE(throttle.start("https://" + server + ".test/u", minutes(0)));
    throttle.finish("https://" + server + ".test/u");
  }
  EXPECT_FALSE(throttle.start("https://c.test/u", minutes(0)));
  EXPECT_TRUE(throttle.start("https://c.test/u", minutes(15)));
}

TEST(Throttle, DoesNotStartForWhatIsNoActor) {
  Throttle throttle;
  EXPECT_FALSE(throttle.start("did:key:z6Mk", minutes(0)));
  throttle.finish("did:key:z6Mk");
  EXPECT_EQ(throttle.running(), 0U);
}

}  // namespace
}  // namespace tagring::followers
