// The number of relays of a hashtag, as one of them sees it. At rest there are two.
#include "redundancy/relay_set.hpp"

#include <gtest/gtest.h>

namespace tagring::redundancy {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using State = RelaySet::State;

class RelaySetTest : public testing::Test {
 protected:
  RelaySet set{{.at_rest = 2, .cooldown = minutes(1)}};
  Instant now{std::chrono::hours(1)};

  void grow(unsigned relays, bool overloaded = true) { set.grow(relays, overloaded, 0, now); }
};

TEST_F(RelaySetTest, IsAtRestUntilOneRelayIsOverloaded) {
  EXPECT_EQ(set.state(now), State::kAtRest);
  EXPECT_TRUE(set.is_forgettable(now));
  grow(4);
  EXPECT_EQ(set.state(now), State::kRaised);
  EXPECT_EQ(set.relays(), 4U);
  EXPECT_FALSE(set.is_forgettable(now));
}

TEST_F(RelaySetTest, ADoublingHasTenSecondsToWorkBeforeTheNext) {
  grow(4);
  EXPECT_TRUE(set.is_settling(now + seconds(9)));
  EXPECT_FALSE(set.is_settling(now + seconds(10)));
}

TEST_F(RelaySetTest, BelievesNobodyElseThatTheLastDoublingDidNotHelpBeforeHalfOfThat) {
  EXPECT_FALSE(set.has_just_changed(now));
  grow(4);
  EXPECT_TRUE(set.has_just_changed(now + seconds(4)));
  EXPECT_FALSE(set.has_just_changed(now + seconds(5)));
}

TEST_F(RelaySetTest, IsHalvedOnlyAfterTheCooldown) {
  grow(4);
  EXPECT_FALSE(set.may_halve(now + seconds(59)));
  EXPECT_TRUE(set.may_halve(now + seconds(60)));
}

TEST_F(RelaySetTest, WaitsTwiceAsLongEachTimeItCannotBeHalved) {
  grow(4);
  now += minutes(1);
  set.postpone_halving(now);
  EXPECT_FALSE(set.may_halve(now + seconds(119)));
  EXPECT_TRUE(set.may_halve(now + seconds(120)));
  for (int i = 0; i < 10; ++i) set.postpone_halving(now);
  EXPECT_TRUE(set.may_halve(now + RelaySet::kCooldownMax)) << "and an hour at most";
}

TEST_F(RelaySetTest, AHalvingThatTurnsOutAMistakeDoublesTheCooldown) {
  grow(4);
  set.shrink(2, now);
  grow(4);
  EXPECT_FALSE(set.may_halve(now + seconds(119)));
  EXPECT_TRUE(set.may_halve(now + seconds(120)));
}

TEST_F(RelaySetTest, WhatOthersTellIsNoMistakeOfThisNode) {
  grow(4);
  set.shrink(2, now);
  grow(4, /*overloaded=*/false);
  EXPECT_TRUE(set.may_halve(now + seconds(60)));
}

TEST_F(RelaySetTest, RemembersTheLargerSetForTenMinutesAfterAHalving) {
  grow(8);
  set.shrink(4, now);
  now += minutes(5);
  set.shrink(2, now);
  EXPECT_EQ(set.lately(now + minutes(9)), 8U);
  EXPECT_FALSE(set.is_forgettable(now + minutes(9)));
  EXPECT_EQ(set.lately(now + minutes(10)), 2U);
  EXPECT_TRUE(set.is_forgettable(now + minutes(11)));
}

TEST_F(RelaySetTest, GoesWhenAllOfTheSmallerSetHaveVotedWithinAMinute) {
  grow(4);
  const std::vector<std::string> smaller = {"https://a.example", "https://b.example"};
  set.vote("https://a.example", now);
  EXPECT_FALSE(set.has_votes(smaller, now));
  set.vote("https://b.example", now + seconds(30));
  EXPECT_TRUE(set.has_votes(smaller, now + seconds(59)));
  EXPECT_FALSE(set.has_votes(smaller, now + seconds(60))) << "the first vote is too old";
}

TEST_F(RelaySetTest, AChangeMakesVotesVoid) {
  grow(4);
  set.vote("https://a.example", now);
  grow(8);
  EXPECT_FALSE(set.has_votes({"https://a.example"}, now));
}

TEST_F(RelaySetTest, AsksEveryTimeInTheFirstMinuteAndThenEveryHalf) {
  grow(4);
  now += minutes(1);
  EXPECT_TRUE(set.ask_to_halve(now));
  EXPECT_TRUE(set.ask_to_halve(now + seconds(5)));
  EXPECT_TRUE(set.has_asked(now + seconds(6)));
  now += seconds(61);
  EXPECT_TRUE(set.ask_to_halve(now));
  EXPECT_FALSE(set.ask_to_halve(now + seconds(29)));
  EXPECT_TRUE(set.ask_to_halve(now + seconds(30)));
}

TEST_F(RelaySetTest, BelievesALargerNumberAtOnce) { EXPECT_EQ(set.hear(8, true, now), 8U); }

TEST_F(RelaySetTest, ButNotRightAfterAHalving) {
  grow(4);
  set.shrink(2, now);
  EXPECT_EQ(set.hear(4, false, now + seconds(59)), std::nullopt);
  EXPECT_EQ(set.hear(4, false, now + seconds(60)), 4U);
}

TEST_F(RelaySetTest, BelievesASmallerNumberAfterAMinuteOfContradiction) {
  grow(8);
  EXPECT_EQ(set.hear(4, false, now), std::nullopt);
  EXPECT_EQ(set.hear(4, false, now + seconds(60)), std::nullopt);
  EXPECT_EQ(set.hear(8, false, now + seconds(60)), std::nullopt);  // somebody agrees: anew
  EXPECT_EQ(set.hear(4, false, now + seconds(61)), std::nullopt);
  EXPECT_EQ(set.hear(4, false, now + seconds(122)), 4U);
}

TEST_F(RelaySetTest, ARelayAtRestKeepsTheNumberAndBelievesNoSmallerOne) {
  grow(8);
  EXPECT_EQ(set.hear(4, true, now), std::nullopt);
  EXPECT_EQ(set.hear(4, true, now + minutes(5)), std::nullopt);
}

TEST_F(RelaySetTest, ASpareHoldsTheListForAMinute) {
  set.become_spare(4, now);
  EXPECT_EQ(set.state(now), State::kSpare);
  EXPECT_EQ(set.spare_of(), 4U);
  EXPECT_EQ(set.state(now + minutes(1)), State::kAtRest);
}

TEST_F(RelaySetTest, AListIsGoodForFifteenSecondsAndForNoLargerSet) {
  EXPECT_FALSE(set.holds_list(2, now));
  set.note_list(2, now);
  EXPECT_TRUE(set.holds_list(2, now + seconds(14)));
  EXPECT_FALSE(set.holds_list(4, now + seconds(14)));
  EXPECT_FALSE(set.holds_list(2, now + seconds(15)));
}

TEST_F(RelaySetTest, WarnsItsSparesEveryTwentySeconds) {
  EXPECT_TRUE(set.warn_spares(now));
  EXPECT_FALSE(set.warn_spares(now + seconds(19)));
  EXPECT_TRUE(set.warn_spares(now + seconds(20)));
}

TEST_F(RelaySetTest, WhoIsNoRelayAnyMoreDeliversWhatItTook) {
  grow(4);
  set.shrink(2, now);
  set.retire(now);
  EXPECT_EQ(set.state(now), State::kDraining);
  EXPECT_EQ(set.drain_to(70, now + seconds(9)), std::nullopt) << "something may still be written";
  EXPECT_FALSE(set.wants_last_list(now + seconds(9)));
  EXPECT_TRUE(set.wants_last_list(now + seconds(10)));
  EXPECT_EQ(set.drain_to(77, now + seconds(10)), std::nullopt)
      << "somebody may have come who is not known here";
  set.note_last_list();
  EXPECT_EQ(set.drain_to(77, now + seconds(10)), 77U);
  EXPECT_EQ(set.drain_to(99, now + seconds(20)), 77U) << "what came later is others'";
  set.finish_draining();
  EXPECT_EQ(set.state(now), State::kAtRest);
}

TEST_F(RelaySetTest, WhoIsARelayAgainDrainsNoLonger) {
  set.retire(now);
  set.grow(4, true, 42, now);
  EXPECT_EQ(set.state(now), State::kRaised);
  EXPECT_EQ(set.feed_from(), 42U);
}

}  // namespace
}  // namespace tagring::redundancy
