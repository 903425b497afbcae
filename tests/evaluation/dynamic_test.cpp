// Networks in motion: where bytes lie while owners change, and that balancing keeps up.
#include "evaluation/dynamic.hpp"

#include <gtest/gtest.h>
#include <numeric>

namespace tagring::evaluation {
namespace {

constexpr double kGib = 1e-9;  // what may differ

// Four nodes of one vserver, a quarter of the keys before each.
Network four_nodes(double gib) {
  Network network;
  for (std::uint32_t node = 0; node < 4; ++node) {
    network.capacity.push_back(gib);
    network.sites.push_back(
        {node, 0, (std::uint64_t{node} << 62U) + (std::uint64_t{1} << 61U), gib * (node + 1)});
    network.of_node.push_back({node});
  }
  network.total = 4 * gib;
  return network;
}

Holdings held_by_their_owners(const Network& network, unsigned replicas) {
  Holdings holdings(network, replicas);
  for (std::uint32_t gap = 0; gap < network.sites.size(); ++gap) holdings.start_with(gap, gap);
  return holdings;
}

TEST(Holdings, AMoveTakesAsLongAsTheLineNeedsAndWhoHadItKeepsItMeanwhile) {
  const Network network = four_nodes(10);
  Holdings holdings = held_by_their_owners(network, 2);
  holdings.own(0, 1, Cause::kBalancing);
  EXPECT_TRUE(holdings.is_moving(1));
  holdings.carry(4);
  holdings.carry(4);
  EXPECT_NEAR(holdings.stored()[0], 10, kGib);
  EXPECT_NEAR(holdings.stored()[1], 18, kGib);
  holdings.carry(4);
  EXPECT_FALSE(holdings.is_moving(1));
  EXPECT_NEAR(holdings.stored()[0], 0, kGib);
  EXPECT_NEAR(holdings.stored()[1], 20, kGib);
  EXPECT_NEAR(holdings.moved(Cause::kBalancing), 10, kGib);
}

TEST(Holdings, WhatADeadNodeHadComesFromAReplicaAndAReturningOneFetchesOnlyWhatIsNew) {
  const Network network = four_nodes(10);
  Holdings holdings = held_by_their_owners(network, 2);
  holdings.leave(0);
  holdings.own(0, 1, Cause::kChurn);
  for (int step = 0; step < 3; ++step) holdings.carry(5);
  EXPECT_NEAR(holdings.stored()[1], 20, kGib);
  EXPECT_NEAR(holdings.moved(Cause::kChurn), 10, kGib);
  holdings.add(0, 2);
  holdings.come(0);
  holdings.own(0, 0, Cause::kChurn);
  holdings.settle(0);
  holdings.carry(5);
  EXPECT_NEAR(holdings.moved(Cause::kChurn), 12, kGib);
  EXPECT_NEAR(holdings.stored()[0], 12, kGib);
  EXPECT_NEAR(holdings.stored()[1], 10, kGib);
}

TEST(Holdings, WithoutAReplicaADeadNodesBytesWaitForIt) {
  const Network network = four_nodes(10);
  Holdings holdings = held_by_their_owners(network, 1);
  holdings.leave(0);
  holdings.own(0, 1, Cause::kChurn);
  holdings.carry(100);
  EXPECT_NEAR(holdings.moved(Cause::kChurn), 0, kGib);
  EXPECT_EQ(holdings.waiting(), 1U);
  holdings.come(0);
  holdings.carry(100);
  EXPECT_NEAR(holdings.stored()[1], 20, kGib);
}

DynamicOptions small_options() {
  DynamicOptions options;
  options.nodes = resize_nodes(parse_nodes(built_in_nodes()).value(), 80, 3);
  options.spectrum = {{1, 9'000}, {10, 500}, {200, 20}, {3'000, 1}};
  options.outages = parse_outages(built_in_outages()).value();
  options.stream = parse_stream(built_in_stream()).value();
  options.stream.of_hour.resize(240);
  options.setting = dynamic_setting();
  return options;
}

TEST(RunNetwork, BalancingLeavesLessAboveCapacityThanThePlacementOfTheStart) {
  DynamicOptions options = small_options();
  // A hashtag that did not exist becomes a tenth of all posts.
  const double posts = std::accumulate(options.stream.of_hour.begin(), options.stream.of_hour.end(), 0.0);
  options.stream.tags.push_back({0, {{3, posts / 20}, {4, posts / 20}}});
  const Dynamic balanced = run_network(options);
  options.balances = false;
  const Dynamic left_alone = run_network(options);
  const auto mean_over = [](const Dynamic& run) {
    double sum = 0;
    for (const Hour& hour : run.hours) sum += hour.owned_over;
    return sum / static_cast<double>(run.hours.size());
  };
  EXPECT_EQ(balanced.hours.size(), 240U);
  EXPECT_GT(balanced.moves, 0U);
  EXPECT_EQ(left_alone.moves, 0U);
  EXPECT_LT(mean_over(balanced), mean_over(left_alone));
  EXPECT_NEAR(balanced.posted_gib, 34332.27 * 10 / 365, 60);  // part of the new hashtag comes on top
  EXPECT_GT(balanced.splits, 0U);
}

TEST(RunNetwork, ANarrowLineMovesLess) {
  DynamicOptions options = small_options();
  options.stream.of_hour.resize(48);
  const Dynamic wide = run_network(options);
  options.mbit_per_second = 0.5;
  const Dynamic narrow = run_network(options);
  const auto moved = [](const Dynamic& run) {
    return std::accumulate(run.moved_gib.begin(), run.moved_gib.end(), 0.0);
  };
  EXPECT_LT(moved(narrow), moved(wide));
  EXPECT_LE(moved(narrow), 80 * 48 * 3600 * 0.5e6 / 8 / (1 << 30));
}

TEST(RunNetwork, TheLongestTimeAboveIsCounted) {
  Dynamic run;
  for (const double over : {0.0, 0.03, 0.05, 0.01, 0.03})
    run.hours.push_back({.owned_over = over, .stored_over = 0, .nodes_over = 0, .nodes_up = 0, .fill = 0});
  EXPECT_EQ(run.longest_over(0.02), 2U);
}

}  // namespace
}  // namespace tagring::evaluation
