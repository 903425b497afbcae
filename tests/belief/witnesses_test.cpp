// Two relays that say the same are believed; one is not, however often it says so.
#include "belief/witnesses.hpp"

#include <gtest/gtest.h>

#include "ring_sim/loop.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::belief {
namespace {

const std::string kA = "https://tags.a.example";
const std::string kAAgain = "https://other.a.example";
const std::string kB = "https://tags.b.example";
const std::string kC = "https://tags.c.example";

TagEvent event(const std::string& uri = "https://post.example/1") {
  return {"cats"_tag, Op::kAdd, uri, "https://post.example/u", WallTime(Duration(1'763'691'840'000)), true};
}

class WitnessesTest : public testing::Test {
 protected:
  void pass(Duration time) { loop.run_for(time); }
  ring_sim::Loop loop{1};
  ring_sim::LoopClock clock{loop, 1};
  Witnesses witnesses{2, clock};
};

TEST_F(WitnessesTest, TwoRegisteredDomainsAgree) {
  witnesses.note(event(), kA, 1);
  EXPECT_FALSE(witnesses.agree_on(event()));
  witnesses.note(event(), kB, 2);
  EXPECT_TRUE(witnesses.agree_on(event()));
}

// Of the relays of a hashtag one that does not lie stood opposite to them all the time.
TEST_F(WitnessesTest, TwoThatStoodAtOnePlaceOneAfterTheOtherAreNoTwo) {
  witnesses.note(event(), kA, 1);
  witnesses.note(event(), kB, 1);
  EXPECT_FALSE(witnesses.agree_on(event()));
  witnesses.note(event(), kC, 2);
  EXPECT_TRUE(witnesses.agree_on(event()));
}

TEST_F(WitnessesTest, WhoStandsAtBothPlacesIsOne) {
  witnesses.note(event(), kA, redundancy::kBothHalves);
  EXPECT_FALSE(witnesses.agree_on(event()));
  witnesses.note(event(), kB, 1);
  EXPECT_TRUE(witnesses.agree_on(event()));
}

TEST_F(WitnessesTest, WhereThereIsOneRelayItIsBelieved) {
  Witnesses lone{1, clock};
  lone.note(event(), kA, 1);
  EXPECT_TRUE(lone.agree_on(event()));
}

TEST_F(WitnessesTest, OneDomainIsOneWitnessWhateverItsHosts) {
  for (const std::string& origin : {kA, kA, kAAgain})
    for (const redundancy::RelayHalves half : {1U, 2U}) witnesses.note(event(), origin, half);
  EXPECT_FALSE(witnesses.agree_on(event()));
}

// Two that were told by the same one would bear it out.
TEST_F(WitnessesTest, WhoWasOnlyToldOfARemovalIsNone) {
  TagEvent removal = event();
  removal.op = Op::kRemove;
  removal.changed = kBeforeAll;
  witnesses.note(removal, kA, 1);
  witnesses.note(removal, kB, 2);
  EXPECT_FALSE(witnesses.agree_on(removal));
}

TEST_F(WitnessesTest, WhatDiffersInAnythingIsAnotherStatement) {
  witnesses.note(event(), kA, 1);
  TagEvent other = event();
  other.published += Duration(1);
  witnesses.note(other, kB, 2);
  other = event();
  other.op = Op::kRemove;
  witnesses.note(other, kB, 2);
  other = event();
  other.indexable = false;
  witnesses.note(other, kB, 2);
  other = event();
  other.author = "https://post.example/v";
  witnesses.note(other, kB, 2);
  other = event();
  other.tag = "dogs"_tag;
  witnesses.note(other, kB, 2);
  EXPECT_FALSE(witnesses.agree_on(event()));
}

TEST_F(WitnessesTest, AreHeardTogetherAlsoWhenMinutesLieBetween) {
  witnesses.note(event(), kA, 1);
  pass(std::chrono::minutes(6));
  witnesses.note(event("https://post.example/2"), kA, 1);  // time goes on
  witnesses.note(event(), kB, 2);
  EXPECT_TRUE(witnesses.agree_on(event()));
}

TEST_F(WitnessesTest, ForgetWhatWasSaidBeforeAQuietTime) {
  witnesses.note(event(), kA, 1);
  witnesses.note(event("https://post.example/2"), kA, 1);
  witnesses.note(event("https://post.example/2"), kB, 2);
  pass(std::chrono::hours(3));
  EXPECT_FALSE(witnesses.agree_on(event("https://post.example/2")));
  witnesses.note(event(), kB, 2);
  EXPECT_FALSE(witnesses.agree_on(event()));
}

TEST_F(WitnessesTest, ForgetWhatWasSaidLongAgo) {
  witnesses.note(event(), kA, 1);
  for (int i = 0; i < 3; ++i) {
    pass(std::chrono::minutes(6));
    witnesses.note(event("https://post.example/2"), kA, 1);
  }
  witnesses.note(event(), kB, 2);
  EXPECT_FALSE(witnesses.agree_on(event()));
}

}  // namespace
}  // namespace tagring::belief
