// The evaluation: its tables, its arithmetic, and that balancing does what it claims, on small networks.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "evaluation/balancing.hpp"

namespace tagring::evaluation {
namespace {

constexpr std::string_view kNodes =
    "domain\taddress\tweight\n"
    "a.example\t2001:db8:1::1\t5\n"
    "b.example\t2001:db8:2::1\t3\n"
    "c.example\t2001:db8:3::1\t2\n";

std::vector<NodeRow> many_nodes(std::size_t count) {
  return resize_nodes(parse_nodes(built_in_nodes()).value(), count, 3);
}

Network small_network(const Placing& placing, std::size_t nodes = 100) {
  return make_network(many_nodes(nodes), {{1, 9'000}, {10, 500}, {200, 20}, {3'000, 1}}, placing);
}

TEST(Tables, ColumnsAreFoundByName) {
  const auto nodes = parse_nodes("x\tstatuses\tdomain\tsynthetic_ipv6\n1\t7\ta.example\t2001:db8::1\n");
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ(nodes->at(0).domain, "a.example");
  EXPECT_EQ(nodes->at(0).weight, 7);
  EXPECT_EQ(parse_spectrum("tag\tposts\ncats\t3\ndogs\t5\n").value().size(), 2U);
}

TEST(Tables, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_EQ(parse_nodes("domain\taddress\n").error().message, "a table has a header line and rows");
  EXPECT_EQ(parse_nodes("domain\tweight\na\t1\n").error().message, "no column 'address' in the header line");
  EXPECT_EQ(parse_nodes("domain\taddress\tweight\na\t::1\t1\nb\tnowhere\t1\n").error().message,
            "line 3: 'nowhere' is no address");
  EXPECT_EQ(parse_nodes("domain\taddress\tweight\na\t::1\t-1\n").error().message,
            "line 2: '-1' is no number");
  EXPECT_EQ(parse_nodes("domain\taddress\tweight\na\t::1\n").error().message, "line 2: too few columns");
  EXPECT_FALSE(parse_spectrum("posts\ttags\n1\t99000000\n"));
  EXPECT_FALSE(parse_spectrum("posts\ttags\n1\t0\n"));
}

TEST(Tables, TheBuiltInDataIsWhatItsReadmeSays) {
  EXPECT_EQ(parse_nodes(built_in_nodes()).value().size(), 1'020U);
  std::uint64_t tags = 0;
  for (const SpectrumRow& row : parse_spectrum(built_in_spectrum()).value()) tags += row.tags;
  EXPECT_EQ(tags, 1'428'165U);
}

TEST(Tables, MoreNodesThanTheTableHasStandElsewhere) {
  const std::vector<NodeRow> nodes = resize_nodes(parse_nodes(kNodes).value(), 7, 1);
  ASSERT_EQ(nodes.size(), 7U);
  std::set<std::pair<std::string, Prefix64>> places;
  for (const NodeRow& node : nodes) places.emplace(node.domain, node.prefix);
  EXPECT_EQ(places.size(), 7U);
}

TEST(MakeNetwork, CapacityAndLoadAddUpToWhatWasAsked) {
  for (const double split : {0.0, 1.0}) {
    Placing placing;
    placing.split_gib = split;
    const Network network = small_network(placing);
    EXPECT_NEAR(network.total, 34332.27, 0.01);
    EXPECT_NEAR(std::accumulate(network.capacity.begin(), network.capacity.end(), 0.0), 34332.27 / 4 * 4.5,
                0.01);
    EXPECT_EQ(network.sites.size(), 800U);
  }
}

// 3,000 of 21,000 posts are of one hashtag: 1,226 GiB at each of four places, or a 64th of it at 256.
TEST(MakeNetwork, SplittingSpreadsHeavyKeysOverPartitions) {
  Placing placing;
  EXPECT_NEAR(small_network(placing).heaviest_key, 34332.27 / 4 * 3'000 / 21'000, 0.01);
  placing.split_gib = 1;
  EXPECT_NEAR(small_network(placing).heaviest_key, 34332.27 / 4 * 3'000 / 21'000 / 64, 0.01);
}

TEST(Placement, LoadsAreThoseOfAPlacementMadeAnewAfterAnyChanges) {
  const Network network = small_network({});
  Placement placement(network);
  Rng rng(1);
  double moved = 0;
  for (int step = 0; step < 20'000; ++step) {
    const auto site = static_cast<std::uint32_t>(rng.below(network.sites.size()));
    if (!placement.is_active(site)) {
      moved += placement.activate(site);
    } else if (placement.active() > 1) {
      moved += placement.deactivate(site);
    }
  }
  Placement anew(network);
  for (std::uint32_t site = 0; site < network.sites.size(); ++site) {
    if (placement.is_active(site)) anew.activate(site);
  }
  double sum = 0;
  for (std::uint32_t node = 0; node < network.capacity.size(); ++node) {
    EXPECT_NEAR(placement.load(node), anew.load(node), 1e-6);
    EXPECT_EQ(placement.active_of(node), anew.active_of(node));
    sum += placement.load(node);
  }
  EXPECT_NEAR(sum, network.total, 1e-6);
  EXPECT_GT(moved, 0);
}

TEST(Balancing, LeavesFewerBytesAboveCapacityThanNone) {
  Placing placing;
  placing.scheme = ring::IdScheme::kSpread;
  placing.kappa = 32;
  placing.split_gib = 20;
  const Network network = small_network(placing);
  BalancingOptions options;
  options.parameters = {.upper = 1, .lower = 0.85, .normalised = true, .overload = 30, .epsilon = 0};
  options.create_freely = true;
  options.moves_of_round = 32;
  options.rounds = 10;
  const Fit before = fit_of(unbalanced(network));
  const Balanced balanced = balance_network(network, options);
  EXPECT_GT(before.bytes_over_ratio, 0.3);
  EXPECT_LT(balanced.fit.bytes_over_ratio, before.bytes_over_ratio / 5);
}

TEST(Balancing, TheSameSeedGivesTheSamePlacement) {
  const Network network = small_network({});
  BalancingOptions options;
  EXPECT_EQ(balance_network(network, options).fit.bytes_over_ratio,
            balance_network(network, options).fit.bytes_over_ratio);
  const double first = balance_network(network, options).fit.mean_abs_gib;
  options.seed = 2;
  EXPECT_NE(balance_network(network, options).fit.mean_abs_gib, first);
}

// What a move is said to gain, on the figures of the neighbours alone, is what it gains.
TEST(Balancing, AMoveGainsWhatItIsSaidTo) {
  Placing placing;
  placing.scheme = ring::IdScheme::kSpread;
  const Network network = small_network(placing, 60);
  Placement placement(network);
  Rng rng(4);
  for (std::uint32_t site = 0; site < network.sites.size(); ++site) {
    if (rng.chance(0.3)) placement.activate(site);
  }
  balance::Parameters parameters;
  parameters.normalised = false;
  const auto mismatch = [&] {
    double sum = 0;
    for (std::uint32_t node = 0; node < network.capacity.size(); ++node)
      sum += std::abs(parameters.target() * network.capacity[node] - placement.load(node));
    return sum;
  };
  unsigned relocations = 0;
  for (std::uint32_t step = 0; step < 600; ++step) {
    const std::uint32_t node = step % 60;
    const balance::Move move = balance::best_move(parameters, look_around(placement, node), step % 2 == 0);
    if (move.cost >= 0) continue;
    const double before = mismatch();
    if (move.from) placement.deactivate(static_cast<std::uint32_t>(*move.from));
    if (move.to) placement.activate(static_cast<std::uint32_t>(*move.to));
    EXPECT_NEAR(mismatch() - before, move.cost, 1e-6);
    if (move.from && move.to) ++relocations;
  }
  EXPECT_GT(relocations, 20U);
}

TEST(Balancing, AHighEpsilonMovesLess) {
  const Network network = small_network({});
  BalancingOptions options;
  options.create_freely = true;
  const double freely = balance_network(network, options).moved_by_rounds;
  options.parameters.epsilon = 0.5;
  EXPECT_LT(balance_network(network, options).moved_by_rounds, freely);
}

}  // namespace
}  // namespace tagring::evaluation
