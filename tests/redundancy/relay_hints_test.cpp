#include "redundancy/relay_hints.hpp"

#include <gtest/gtest.h>

#include "ring_sim/loop.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::redundancy {
namespace {

struct Fixture : testing::Test {
  ring_sim::Loop loop{1};
  ring_sim::LoopClock clock{loop, 0};
  std::function<void(const Tag&)> on_more = [](const Tag&) {};
  redundancy::RelayHints counts{2, clock, [this](const Tag& tag) { on_more(tag); }};

  redundancy::OverloadToken token(unsigned relays) const {
    return {"caturday"_tag, relays, "https://tags.example/actor", clock.wall_now(), "signature"};
  }
};
using RelayHintsTest = Fixture;

TEST_F(RelayHintsTest, HoldsTheNumberAtRestUntilARelayTellsAnother) {
  EXPECT_EQ(counts.of("caturday"_tag), 2U);
  EXPECT_FALSE(counts.was_raised("caturday"_tag));
  counts.read_answer(
      {{"relays", to_json(redundancy::RelayClaims{{"caturday"_tag, {8, 0}}, {"dogs"_tag, {4, 0}}})}},
      {"caturday"_tag});
  EXPECT_EQ(counts.of("caturday"_tag), 8U);
  EXPECT_EQ(counts.of("dogs"_tag), 2U) << "the answer was not about dogs";
  counts.read_answer({}, {"caturday"_tag});
  EXPECT_EQ(counts.of("caturday"_tag), 2U);
  EXPECT_TRUE(counts.was_raised("caturday"_tag));
}

TEST_F(RelayHintsTest, ForgetsWhatNobodyRepeats) {
  counts.learn("caturday"_tag, 4);
  loop.run_for(std::chrono::minutes(11));
  EXPECT_EQ(counts.of("caturday"_tag), 2U);
}

TEST_F(RelayHintsTest, TriesTwiceAsManyWhenOneIsOverloadedAndKeepsTheTokenToShow) {
  unsigned calls = 0;
  on_more = [&](const Tag& tag) { calls += tag == "caturday"_tag ? 1 : 0; };
  counts.read_answer({{"overloaded", to_json(std::vector{token(2)})}}, {"caturday"_tag});
  EXPECT_EQ(counts.of("caturday"_tag), 4U);
  EXPECT_EQ(calls, 1U);
  ASSERT_EQ(counts.tokens({"caturday"_tag, "dogs"_tag}).size(), 1U);
  counts.learn(token(2));  // of the smaller set
  EXPECT_EQ(counts.of("caturday"_tag), 4U);
  loop.run_for(redundancy::OverloadToken::kLifetime + Duration(1));
  EXPECT_TRUE(counts.tokens({"caturday"_tag}).empty());
}

TEST_F(RelayHintsTest, WhoAnnouncesIsHeardOfWhatItAnnouncesAndOnlyOfMore) {
  counts.hear({{"caturday"_tag, {8, 0}}, {"dogs"_tag, {256, 0}}}, {"caturday"_tag, "owls"_tag});
  EXPECT_EQ(counts.of("caturday"_tag), 8U);
  EXPECT_EQ(counts.of("dogs"_tag), 2U) << "no post was about dogs";
  EXPECT_EQ(counts.of("owls"_tag), 2U);
  counts.hear({{"caturday"_tag, {4, 0}}}, {"caturday"_tag});
  EXPECT_EQ(counts.of("caturday"_tag), 8U);
}

TEST_F(RelayHintsTest, OnlyPowersOfTwoFromThoseAtRestToTheLimitAreCounts) {
  for (const unsigned relays : {2U, 4U, 256U}) EXPECT_TRUE(counts.is_count(relays)) << relays;
  for (const std::int64_t relays : {-2, 0, 1, 3, 512}) EXPECT_FALSE(counts.is_count(relays)) << relays;
}

TEST_F(RelayHintsTest, DoesNotGoBeyondTheLimits) {
  counts.learn("caturday"_tag, 1);
  EXPECT_EQ(counts.of("caturday"_tag), 2U);
  counts.learn("caturday"_tag, 3);
  EXPECT_EQ(counts.of("caturday"_tag), 2U);
  counts.learn("caturday"_tag, 256);
  counts.learn(token(256));
  EXPECT_EQ(counts.of("caturday"_tag), 256U);
}

TEST(RelayClaims, LeaveOutWhatIsMalformed) {
  const auto list = json::parse(R"([{"tag":"#Caturday","relays":4,"index":3},{"tag":"dogs","relays":3},
      {"tag":"a","relays":4,"index":4},{"tag":"","relays":4},{"tag":"b"},7])");
  const redundancy::RelayClaims claims = redundancy::claims_from_json(&*list);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims.at("caturday"_tag).relays, 4U);
  EXPECT_EQ(claims.at("caturday"_tag).index, 3U);
}

TEST(OverloadToken, SurvivesTheWireAndIsRefusedWhenMalformed) {
  const redundancy::OverloadToken token{"caturday"_tag, 4, "https://tags.example/actor",
                                        WallTime(Duration(1234)), "sig"};
  const Result<redundancy::OverloadToken> read = redundancy::token_from_json(to_json(token));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->signed_text("net"), token.signed_text("net"));
  EXPECT_NE(read->signed_text("net"), token.signed_text("other"));
  for (const char* missing : {"tag", "relays", "actor", "at", "signature"}) {
    json::object object = to_json(token);
    object.erase(missing);
    EXPECT_FALSE(redundancy::token_from_json(object)) << missing;
  }
  json::object other = to_json(token);
  other["actor"] = "https://tags.example/users/eve";
  EXPECT_FALSE(redundancy::token_from_json(other));
}

}  // namespace
}  // namespace tagring::redundancy
