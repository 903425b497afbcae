#include "signatures/replay_cache.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tagring::signatures {
namespace {

const WallTime kNow = *from_rfc3339("2026-11-21T10:00:00Z");

std::vector<SeenSignature> seen_at(WallTime when, const std::string& signature,
                                   const std::string& domain = "home.example",
                                   const std::vector<std::string>& texts = {"text"}) {
  SignatureClaim claim;
  claim.signed_at = when;
  claim.signature = signature;
  claim.signing_strings = texts;
  return {SeenSignature(domain, claim)};
}

TEST(ReplayCache, KnowsASignatureAgain) {
  ReplayCache cache(std::chrono::hours(1));
  EXPECT_TRUE(cache.insert(seen_at(kNow, "a"), kNow));
  EXPECT_FALSE(cache.insert(seen_at(kNow, "a"), kNow + std::chrono::minutes(59)));
  EXPECT_TRUE(cache.insert(seen_at(kNow, "b"), kNow));
}

TEST(ReplayCache, KnowsARequestOfWhichASignatureWasTakenOff) {
  ReplayCache cache(std::chrono::hours(1));
  std::vector<SeenSignature> both = seen_at(kNow, "a");
  both.push_back(seen_at(kNow - std::chrono::seconds(3), "b").front());
  EXPECT_TRUE(cache.insert(both, kNow));
  EXPECT_FALSE(cache.insert(std::span(both).subspan(1), kNow));
  EXPECT_FALSE(cache.insert(std::span(both).first(1), kNow));
  EXPECT_EQ(cache.size(), 2U);
}

TEST(ReplayCache, ForgetsARequestThatWasNotActedOn) {
  ReplayCache cache(std::chrono::hours(1));
  std::vector<SeenSignature> both = seen_at(kNow, "a");
  both.push_back(seen_at(kNow - std::chrono::seconds(3), "b").front());
  EXPECT_TRUE(cache.insert(both, kNow));
  EXPECT_TRUE(cache.insert(seen_at(kNow, "c"), kNow));
  cache.forget(both);
  cache.forget(both);
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_TRUE(cache.insert(both, kNow));
  EXPECT_FALSE(cache.insert(seen_at(kNow, "c"), kNow));
}

TEST(ReplayCache, ForgetsWhatTheWindowRefusesAnyway) {
  ReplayCache cache(std::chrono::hours(1));
  EXPECT_TRUE(cache.insert(seen_at(kNow, "a"), kNow));
  const WallTime later = kNow + std::chrono::minutes(61);
  EXPECT_TRUE(cache.insert(seen_at(later, "b"), later));
  EXPECT_EQ(cache.size(), 1U);
}

TEST(ReplayCache, StaysWithinItsSizeAndForgetsTheOldestFirst) {
  ReplayCache cache(std::chrono::hours(1), 100);
  for (const int domains : {1, 10}) {
    const auto domain = [&](int i) { return fmt::format("{}.example", i % domains); };
    for (int i = 0; i < 1000; ++i) {
      const WallTime when = kNow + std::chrono::seconds(i / 10);
      EXPECT_TRUE(cache.insert(seen_at(when, fmt::format("{} of {}", i, domains), domain(i)), kNow));
      EXPECT_LE(cache.size(), 100U);
    }
    const WallTime last = kNow + std::chrono::seconds(99);
    EXPECT_FALSE(cache.insert(seen_at(last, fmt::format("999 of {}", domains), domain(999)), kNow));
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(
          cache.insert(seen_at(kNow, fmt::format("same second {} of {}", i, domains), domain(i)), kNow));
      EXPECT_LE(cache.size(), 100U);
    }
  }
}

TEST(ReplayCache, WhoFillsItPushesOutTheirOwnOnly) {
  ReplayCache cache(std::chrono::hours(1), 100);
  EXPECT_TRUE(cache.insert(seen_at(kNow - std::chrono::minutes(1), "a"), kNow));
  for (int i = 0; i < 1000; ++i) {
    const WallTime when = kNow + std::chrono::seconds(i);
    EXPECT_TRUE(cache.insert(seen_at(when, std::to_string(i), "many.example"), kNow));
    EXPECT_LE(cache.size(), 1 + 100 / ReplayCache::kShares);
  }
  EXPECT_FALSE(cache.insert(seen_at(kNow - std::chrono::minutes(1), "a"), kNow));
}

TEST(ReplayCache, WhereAllIsTakenWhoHasMostMakesRoom) {
  ReplayCache cache(std::chrono::hours(1), 100);
  EXPECT_TRUE(cache.insert(seen_at(kNow - std::chrono::minutes(1), "a"), kNow));
  for (int i = 0; i < 1000; ++i) {
    const WallTime when = kNow + std::chrono::seconds(i);
    EXPECT_TRUE(cache.insert(seen_at(when, std::to_string(i), fmt::format("{}.example", i % 20)), kNow));
  }
  EXPECT_EQ(cache.size(), 100U);
  EXPECT_FALSE(cache.insert(seen_at(kNow - std::chrono::minutes(1), "a"), kNow));
}

TEST(ReplayCache, TakesWhatWasBesideAnotherTextForNoneOfThisOne) {
  ReplayCache cache(std::chrono::hours(1));
  EXPECT_TRUE(cache.insert(seen_at(kNow, "a", "home.example", {"another"}), kNow));
  EXPECT_TRUE(cache.insert(seen_at(kNow, "a"), kNow));
  EXPECT_FALSE(cache.insert(seen_at(kNow, "a"), kNow));
}

// Not all of the request is signed where the query is left out.
TEST(ReplayCache, KnowsASignatureOfOneOfSeveralTexts) {
  ReplayCache cache(std::chrono::hours(1));
  EXPECT_TRUE(cache.insert(seen_at(kNow, "a", "home.example", {"text"}), kNow));
  EXPECT_FALSE(cache.insert(seen_at(kNow, "a", "home.example", {"text?query", "text"}), kNow));
}

}  // namespace
}  // namespace tagring::signatures
