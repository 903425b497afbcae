// Hosts that are left alone: those that do not answer, and those that have nothing of what others name.
#include "belief/asked_hosts.hpp"

#include <gtest/gtest.h>

#include "ring_sim/loop.hpp"

namespace tagring::belief {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

const std::string kHost = "b.example";

class AskedHostsTest : public testing::Test {
 protected:
  void pass(Duration time) { loop.run_for(time); }
  // How often it is asked in that time, and has nothing.
  int asked_in_vain(Duration time) {
    int times = 0;
    for (const Instant end = clock.now() + time; clock.now() < end; pass(minutes(1))) {
      if (hosts.is_left_alone(kHost)) continue;
      ++times;
      hosts.found_nothing("https://" + kHost + "/1");
    }
    return times;
  }
  ring_sim::Loop loop{1};
  ring_sim::LoopClock clock{loop, 1};
  AskedHosts hosts{clock};
};

TEST_F(AskedHostsTest, OneThatHasNothingOfWhatIsNamedIsAskedEverMoreSeldom) {
  EXPECT_EQ(asked_in_vain(minutes(10)), 1);
  EXPECT_TRUE(hosts.has_nothing(kHost));
  EXPECT_EQ(asked_in_vain(hours(24)), 8);
}

TEST_F(AskedHostsTest, WhereSomethingWasPeoplePublish) {
  hosts.found(kHost);
  EXPECT_EQ(asked_in_vain(minutes(10)), 10);
  pass(hours(24));
  EXPECT_EQ(asked_in_vain(minutes(10)), 1) << "not any more";
  hosts.found(kHost);
  EXPECT_FALSE(hosts.is_left_alone(kHost));
}

TEST_F(AskedHostsTest, WhatIsGoneIsNotAskedForAgainForAMomentOrLongerWhereNothingElseIs) {
  const std::string post = "https://" + kHost + "/1";
  hosts.found_nothing(post);
  pass(minutes(3));
  EXPECT_TRUE(hosts.was_gone(post));
  EXPECT_FALSE(hosts.was_gone("https://" + kHost + "/2"));
  hosts.found(kHost);
  EXPECT_FALSE(hosts.was_gone(post));
  hosts.found_nothing(post);
  EXPECT_TRUE(hosts.was_gone(post));
}

TEST_F(AskedHostsTest, AsMuchAsWasThereMayBeGone) {
  EXPECT_FALSE(hosts.make_up_for_gone(kHost));
  hosts.found(kHost);
  EXPECT_FALSE(hosts.make_up_for_gone(kHost)) << "an author is no post";
  hosts.found_post(kHost);
  hosts.found_post(kHost);
  EXPECT_TRUE(hosts.make_up_for_gone(kHost));
  EXPECT_TRUE(hosts.make_up_for_gone(kHost));
  EXPECT_FALSE(hosts.make_up_for_gone(kHost));
}

TEST_F(AskedHostsTest, OneThatDidNotAnswerIsLeftAloneForAMoment) {
  hosts.silent(kHost);
  EXPECT_TRUE(hosts.is_left_alone(kHost));
  EXPECT_TRUE(hosts.is_silent(kHost));
  hosts.found_nothing("https://b2.example/1");
  EXPECT_FALSE(hosts.is_silent("b2.example")) << "it answered";
  pass(std::chrono::seconds(10));
  EXPECT_FALSE(hosts.is_left_alone(kHost));
  hosts.silent(kHost);
  hosts.answered(kHost);
  EXPECT_FALSE(hosts.is_left_alone(kHost)) << "to something else";
}

}  // namespace
}  // namespace tagring::belief
