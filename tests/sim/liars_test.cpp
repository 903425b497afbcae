// Whole nodes of which a part lies. "tagring sim liars" takes the same figures of larger networks.
#include "runs/liars.hpp"

#include <gtest/gtest.h>

namespace tagring::sim {
namespace {

runs::LiarRunOptions small() {
  runs::LiarRunOptions options;
  options.nodes = 10;
  options.hashtags = 5;
  options.attack = std::chrono::minutes(4);
  return options;
}

// What the counting rests on: where nobody lies nothing is amiss, although nodes restart, one comes late, and
// authors remove posts.
TEST(Liars, WhereNobodyLiesEveryPostIsReadAsItIs) {
  runs::LiarRunOptions options = small();
  options.malicious = 0;
  const runs::LiarRunResult result = runs::run_liars(options);
  EXPECT_EQ(result.hashtags_counted, options.hashtags);
  EXPECT_GT(result.posts, 10U);
  EXPECT_GT(result.removed, 0U);
  EXPECT_GT(result.pairs, 100U);
  EXPECT_TRUE(result.rested);
  EXPECT_EQ(result.lost, 0U);
  EXPECT_EQ(result.invented, 0U);
  EXPECT_EQ(result.altered, 0U);
  EXPECT_EQ(result.third_party_requests_per_minute, 0);
  EXPECT_TRUE(result.lies.empty());
}

TEST(Liars, OfEachRoleTellLies) {
  runs::LiarRunOptions options = small();
  options.malicious = 0.3;
  const runs::LiarRunResult result = runs::run_liars(options);
  EXPECT_EQ(result.liars, 3U);
  EXPECT_GT(result.hashtags_counted, 0U);
  for (const char* role : {"relay", "storage", "keeper", "publisher"})
    EXPECT_GT(result.lies.contains(role) ? result.lies.at(role) : 0, 50U) << role;
}

TEST(Liars, OfOneRoleTellNoOthers) {
  runs::LiarRunOptions options = small();
  options.malicious = 0.3;
  options.roles = {.relay = false, .storage = false, .keeper = false, .publisher = true};
  const runs::LiarRunResult result = runs::run_liars(options);
  ASSERT_EQ(result.lies.size(), 1U);
  EXPECT_GT(result.lies.at("publisher"), 50U);
}

TEST(Liars, OfOneSeedDoTheSame) {
  runs::LiarRunOptions options = small();
  options.malicious = 0.3;
  options.roles = {.relay = true, .storage = false, .keeper = false, .publisher = false};
  options.attack = std::chrono::minutes(1);
  const runs::LiarRunResult once = runs::run_liars(options);
  const runs::LiarRunResult again = runs::run_liars(options);
  EXPECT_EQ(once.trace, again.trace);
  EXPECT_EQ(once.lies, again.lies);
  options.seed = 2;
  EXPECT_NE(once.trace, runs::run_liars(options).trace);
}

}  // namespace
}  // namespace tagring::sim
