#include "evaluation/stretch.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "tests/evaluation/small_ring.hpp"

namespace tagring::evaluation {
namespace {

constexpr double kTemperature = 2;

// Eight nodes of very different size, two places each, 16 GiB.
Network small_network() {
  const std::vector<PlaceOnRing> places = {{0, 1}, {1, 0.5}, {2, 2},   {3, 0.2}, {4, 1.5}, {1, 0.8},
                                           {5, 1}, {6, 1.2}, {7, 0.3}, {0, 2.5}, {3, 0.1}, {2, 1.4},
                                           {5, 1}, {7, 0.9}, {4, 0.6}, {6, 1}};
  return make_ring({0.1, 9, 1, 3, 0.5, 2, 4, 1.5}, places);
}

void draw_many(const Network& network, const std::vector<std::uint32_t>& active, std::uint32_t first,
               const std::vector<std::uint32_t>& may_change) {
  const Placement placement = with(network, active);
  std::map<std::vector<std::uint32_t>, double> expected;  // by what is active of the stretch, in ring order
  double sum = 0;
  for (unsigned set = 0; set < 1U << may_change.size(); ++set) {
    std::vector<std::uint32_t> all;
    for (const std::uint32_t site : active) {
      if (std::ranges::find(may_change, site) == may_change.end()) all.push_back(site);
    }
    std::vector<std::uint32_t> chosen;
    for (std::size_t i = 0; i < may_change.size(); ++i) {
      if ((set >> i & 1) != 0) chosen.push_back(may_change[i]);
    }
    all.insert(all.end(), chosen.begin(), chosen.end());
    sum += expected[chosen] = std::exp(-penalty(with(network, all)) / kTemperature);
  }
  Rng rng(1);
  constexpr int kDraws = 100'000;
  std::map<std::vector<std::uint32_t>, int> seen;
  Stretch stretch(network);
  for (int i = 0; i < kDraws; ++i) {
    ASSERT_TRUE(stretch.open(placement, first, static_cast<std::uint32_t>(may_change.size())));
    stretch.draw(kTemperature, &rng);
    ++seen[stretch.drawn()];
  }
  for (const auto& [set, count] : seen) EXPECT_TRUE(expected.contains(set));
  for (const auto& [set, weight] : expected) {
    const double chance = weight / sum;
    const double deviation = std::sqrt(kDraws * chance * (1 - chance));
    EXPECT_NEAR(seen[set], kDraws * chance, 5 * deviation + 1) << testing::PrintToString(set);
  }
}

TEST(Stretch, DrawsEverySetAsOftenAsItsPenaltyAllows) {
  const Network network = small_network();
  // Place 5 is another of the node at place 1.
  draw_many(network, {0, 3, 7, 8, 13}, 1, {1, 2, 3, 4, 6});
}

TEST(Stretch, MayLieAcrossTheOriginOfTheRing) {
  const Network network = small_network();
  draw_many(network, {1, 4, 6, 12, 15}, 13, {13, 14, 15, 0});
}

// Node 1, which is active at place 1, stands at place 5 as well.
TEST(Stretch, LeavesOtherPlacesOfANodeThatStandsInItAlone) {
  const Network network = small_network();
  Stretch stretch(network);
  Rng rng(2);
  const Placement placement = with(network, {1, 7, 13});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(stretch.open(placement, 0, 7));
    stretch.draw(kTemperature, &rng);
    EXPECT_EQ(std::ranges::count(stretch.drawn(), 5U), 0);
  }
}

TEST(Stretch, EndsBeforeANodeThatStandsInItASecondTime) {
  const Network network = small_network();
  Stretch stretch(network);
  const Placement placement = with(network, {0, 1, 3, 5, 7});
  ASSERT_TRUE(stretch.open(placement, 1, 10));
  EXPECT_EQ(stretch.former(), std::vector<std::uint32_t>{1});
  EXPECT_EQ(stretch.end(), 3U);
}

TEST(Stretch, IsNothingWhereOnlyOneOtherSiteIsActive) {
  const Network network = small_network();
  Stretch stretch(network);
  EXPECT_FALSE(stretch.open(with(network, {2}), 0, 4));
  EXPECT_FALSE(stretch.open(with(network, {2, 9}), 3, 15));
}

}  // namespace
}  // namespace tagring::evaluation
