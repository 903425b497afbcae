// How many storage owners a hashtag has, as owners say: most of them, if enough have spoken.
#include "redundancy/storage_hints.hpp"

#include <gtest/gtest.h>

#include "ring_sim/loop.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::redundancy {
namespace {

class StorageHintsTest : public testing::Test {
 protected:
  void says(const std::string& owner, std::uint64_t version, unsigned replicas) {
    const StorageSet set{"cats"_tag, version, replicas, replicas, clock.wall_now()};
    hints.read_answer({{"stores", to_json(std::vector{set})}}, {"cats"_tag}, owner);
  }
  void says_at_rest(const std::string& owner) { hints.read_answer({}, {"cats"_tag}, owner); }
  [[nodiscard]] unsigned replicas() const { return hints.known("cats"_tag).replicas; }

  ring_sim::Loop loop{1};
  ring_sim::LoopClock clock{loop, 0};
  StorageHints hints{4, clock};
};

TEST_F(StorageHintsTest, TheFirstToSpeakIsBelievedUntilOthersHave) {
  EXPECT_EQ(replicas(), 4U);
  says("a", 3, 16);
  EXPECT_EQ(replicas(), 16U);
}

TEST_F(StorageHintsTest, OneIsNotBelievedAgainstTwo) {
  says("liar", std::uint64_t{1} << 53U, 256);
  says_at_rest("b");
  EXPECT_EQ(replicas(), 256U) << "one of two may just have become an owner";
  says_at_rest("c");
  EXPECT_EQ(replicas(), 4U);
  says("liar", std::uint64_t{1} << 53U, 256);
  EXPECT_EQ(replicas(), 4U) << "however often it is said";
}

TEST_F(StorageHintsTest, OneThatSaysLessHidesNothing) {
  for (const char* owner : {"a", "b", "c"}) says(owner, 3, 16);
  says_at_rest("liar");
  EXPECT_EQ(replicas(), 16U);
}

TEST_F(StorageHintsTest, WhatNobodyHasRepeatedForAnHourIsForgotten) {
  says("a", 3, 16);
  loop.run_for(std::chrono::minutes(61));
  EXPECT_EQ(replicas(), 4U);
}

TEST_F(StorageHintsTest, WhoHasRefusedIsHeardAndTheOthersAreDoubted) {
  says("liar", 5, 256);
  loop.run_for(std::chrono::seconds(2));
  says_at_rest("b");
  hints.doubt("cats"_tag);
  EXPECT_EQ(replicas(), 4U);
}

TEST_F(StorageHintsTest, WhatThisNodeKeepsCountsWhateverOthersSay) {
  hints.keep({"cats"_tag, 3, 16, 16, clock.wall_now()});
  for (const char* owner : {"a", "b", "c"}) says_at_rest(owner);
  EXPECT_EQ(replicas(), 16U);
}

}  // namespace
}  // namespace tagring::redundancy
