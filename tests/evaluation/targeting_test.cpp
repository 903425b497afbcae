// What it costs to own replicas of a chosen hashtag: the formula, and that IDs behave as it says.
#include "evaluation/targeting.hpp"

#include <gtest/gtest.h>

namespace tagring::evaluation {
namespace {

std::vector<NodeRow> nodes(std::size_t count) {
  return resize_nodes(parse_nodes(built_in_nodes()).value(), count, 3);
}

TEST(Targeting, OneOfOneReplicaTakesAsManyIdsAsThereAre) {
  EXPECT_NEAR(target_cost({.vservers = 1, .replicas = 1, .owned = 1}, 500).candidates, 500, 1e-6);
}

TEST(Targeting, MoreReplicasCostMore) {
  double before = 0;
  for (unsigned owned = 1; owned <= 4; ++owned) {
    const double now = target_cost({.replicas = 4, .owned = owned}, 500).candidates;
    EXPECT_GT(now, before);
    before = now;
  }
}

TEST(Targeting, WhatCountsForPaperIdsIsThe64AndForSpreadIdsThe48OrTheDomain) {
  const Target paper{.scheme = ring::IdScheme::kPaper, .vservers = 8, .replicas = 2, .owned = 2};
  Target spread = paper;
  spread.scheme = ring::IdScheme::kSpread;
  EXPECT_GT(target_cost(paper, 1'000).n64, 100U);
  EXPECT_EQ(target_cost(paper, 1'000).n48, 1U);
  EXPECT_EQ(target_cost(spread, 1'000).n48, target_cost(spread, 1'000).n64);
  spread.choice = Choice::kDomains;
  EXPECT_EQ(target_cost(spread, 1'000).n48, 1U);
  EXPECT_GT(target_cost(spread, 1'000).domains, 100U);
  spread.choice = Choice::kNames;
  EXPECT_EQ(target_cost(spread, 1'000).domains, 2U);
}

TEST(Targeting, IdsAsNodesMakeThemSucceedAsTheFormulaSays) {
  for (const ring::IdScheme scheme : {ring::IdScheme::kPaper, ring::IdScheme::kSpread}) {
    const Target target{.scheme = scheme, .replicas = 4, .owned = 2};
    const std::vector<RingId> places = honest_places(nodes(100), scheme, 8);
    TargetCost cost = target_cost(target, places.size());
    EXPECT_NEAR(target_success(target, cost, places, 1'000, 1), cost.success, 0.1);
    cost.candidates /= 10;
    EXPECT_LT(target_success(target, cost, places, 1'000, 1), 0.1);
  }
}

TEST(Targeting, NodesOfOneHosterTakeOnePlaceByPaperIds) {
  std::vector<NodeRow> hoster(10, nodes(1).front());
  for (std::size_t i = 0; i < hoster.size(); ++i) hoster[i].domain = "n" + std::to_string(i) + ".example";
  EXPECT_EQ(honest_places(hoster, ring::IdScheme::kPaper, 8).size(), 8U);
  EXPECT_EQ(honest_places(hoster, ring::IdScheme::kSpread, 8).size(), 80U);
}

}  // namespace
}  // namespace tagring::evaluation
