// That copies come to stand apart, on small networks.
#include "evaluation/spreading.hpp"

#include <gtest/gtest.h>

namespace tagring::evaluation {
namespace {

struct Means {
  Spread before;
  Spread after;
};

Means means_of(unsigned copies, std::size_t nodes) {
  constexpr unsigned kNetworks = 10;
  Means means;
  for (unsigned seed = 1; seed <= kNetworks; ++seed) {
    Spreading options;
    options.seed = seed;
    options.copies = copies;
    options.nodes = resize_nodes(parse_nodes(built_in_nodes()).value(), nodes, seed);
    const std::vector<Spread> rounds = spread_copies(options);
    for (const auto& [sum, one] :
         {std::pair(&means.before, &rounds.front()), std::pair(&means.after, &rounds.back())}) {
      sum->nodes += one->nodes / kNetworks;
      sum->networks += one->networks / kNetworks;
      sum->largest += one->largest / kNetworks;
      sum->moves += one->moves / kNetworks;
    }
  }
  return means;
}

TEST(Spreading, OfFewNodesEachHasOneCopyOfNearlyEveryHashtagAfterAMoveOrTwo) {
  const Means means = means_of(4, 8);
  EXPECT_LT(means.before.nodes, 0.7);
  EXPECT_GT(means.after.nodes, 0.98);
  EXPECT_GT(means.after.networks, 0.97);
  EXPECT_LT(means.after.largest, means.before.largest + 0.2) << "share of the ring, in means";
  EXPECT_LT(means.after.moves, 2);
}

TEST(Spreading, WithTwoCopiesAndMoreNodesNearlyNobodyMoves) {
  const Means means = means_of(2, 40);
  EXPECT_GT(means.after.nodes, 0.995);
  EXPECT_LT(means.after.moves, 0.2);
}

TEST(Spreading, FewerNodesThanCopiesStayWhereTheyAre) { EXPECT_EQ(means_of(4, 3).after.moves, 0); }

}  // namespace
}  // namespace tagring::evaluation
