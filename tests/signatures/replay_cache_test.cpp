#include "signatures/replay_cache.hpp"

#include <gtest/gtest.h>

namespace tagring::signatures {
namespace {

const WallTime kNow = *from_rfc3339("2026-11-21T10:00:00Z");

std::vector<SignatureClaim> claim_at(WallTime when, std::string signature) {
  SignatureClaim claim;
  claim.signed_at = when;
  claim.signature = std::move(signature);
  return {claim};
}

TEST(ReplayCache, KnowsASignatureAgain) {
  ReplayCache cache(std::chrono::hours(1));
  EXPECT_TRUE(cache.insert(claim_at(kNow, "a"), kNow));
  EXPECT_FALSE(cache.insert(claim_at(kNow, "a"), kNow + std::chrono::minutes(59)));
  EXPECT_TRUE(cache.insert(claim_at(kNow, "b"), kNow));
}

TEST(ReplayCache, KnowsARequestOfWhichASignatureWasTakenOff) {
  ReplayCache cache(std::chrono::hours(1));
  std::vector<SignatureClaim> both = claim_at(kNow, "a");
  both.push_back(claim_at(kNow - std::chrono::seconds(3), "b").front());
  EXPECT_TRUE(cache.insert(both, kNow));
  EXPECT_FALSE(cache.insert(std::span(both).subspan(1), kNow));
  EXPECT_FALSE(cache.insert(std::span(both).first(1), kNow));
  EXPECT_EQ(cache.size(), 2U);
}

TEST(ReplayCache, ForgetsARequestThatWasNotActedOn) {
  ReplayCache cache(std::chrono::hours(1));
  std::vector<SignatureClaim> both = claim_at(kNow, "a");
  both.push_back(claim_at(kNow - std::chrono::seconds(3), "b").front());
  EXPECT_TRUE(cache.insert(both, kNow));
  EXPECT_TRUE(cache.insert(claim_at(kNow, "c"), kNow));
  cache.forget(both);
  cache.forget(both);
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_TRUE(cache.insert(both, kNow));
  EXPECT_FALSE(cache.insert(claim_at(kNow, "c"), kNow));
}

TEST(ReplayCache, ForgetsWhatTheWindowRefusesAnyway) {
  ReplayCache cache(std::chrono::hours(1));
  EXPECT_TRUE(cache.insert(claim_at(kNow, "a"), kNow));
  const WallTime later = kNow + std::chrono::minutes(61);
  EXPECT_TRUE(cache.insert(claim_at(later, "b"), later));
  EXPECT_EQ(cache.size(), 1U);
}

TEST(ReplayCache, StaysWithinItsSizeAndForgetsTheOldestFirst) {
  ReplayCache cache(std::chrono::hours(1), 100);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(cache.insert(claim_at(kNow + std::chrono::seconds(i / 10), std::to_string(i)), kNow));
    EXPECT_LE(cache.size(), 100U);
  }
  EXPECT_FALSE(cache.insert(claim_at(kNow + std::chrono::seconds(99), "999"), kNow));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(cache.insert(claim_at(kNow, "same second " + std::to_string(i)), kNow));
    EXPECT_LE(cache.size(), 100U);
  }
}

}  // namespace
}  // namespace tagring::signatures
