// Copies that stand together, on rings of few vservers. Positions are in sixteenths of the ring; four copies
// are four sixteenths apart.
#include "balance/layout.hpp"

#include <gtest/gtest.h>

#include "balance/kchoices.hpp"

namespace tagring::balance {
namespace {

RingId sixteenth(unsigned n) { return replica_key({}, n % 16, 16); }

Owned vserver(std::uint64_t node, unsigned from, unsigned to) {
  return {{sixteenth(from), sixteenth(to)}, {node, node, node}};
}

// Of each hashtag's copies.
double on_one_node(std::vector<Owned> known, unsigned copies = 4) {
  return Layout{copies, known.front().by, known}.together_here();
}

TEST(Layout, SegmentsThatLieOverEachOtherACopysDistanceApartHaveTwoCopies) {
  EXPECT_DOUBLE_EQ(on_one_node({vserver(1, 0, 2), vserver(1, 4, 6)}), 0.5);
  EXPECT_DOUBLE_EQ(on_one_node({vserver(1, 0, 2), vserver(1, 5, 7)}), 0.25);
  EXPECT_DOUBLE_EQ(on_one_node({vserver(1, 0, 2), vserver(1, 6, 8)}), 0);
  EXPECT_DOUBLE_EQ(on_one_node({vserver(1, 15, 1), vserver(1, 3, 4)}), 0.25) << "past the ring's beginning";
  EXPECT_DOUBLE_EQ(on_one_node({vserver(1, 0, 2), vserver(1, 4, 6)}, 2), 0) << "half the ring apart";
}

TEST(Layout, OneSegmentLongerThanTheDistanceHasTwoCopiesToo) {
  EXPECT_DOUBLE_EQ(on_one_node({vserver(1, 3, 8)}), 0.25);
  EXPECT_DOUBLE_EQ(on_one_node({vserver(1, 3, 15)}), 2) << "three, of each hashtag";
  EXPECT_DOUBLE_EQ(on_one_node({vserver(1, 3, 3)}), 3) << "all";
}

// Node 1 goes to where node 5, a quarter of the ring further, has the next copy.
TEST(Layout, CopiesInOneNetworkOrDomainStandTogetherToo) {
  Layout layout{4,
                {1, 1, 1},
                {vserver(1, 0, 2), vserver(2, 2, 4), vserver(6, 4, 6), vserver(3, 6, 8), vserver(4, 8, 12),
                 vserver(7, 12, 14), vserver(5, 14, 0)}};
  const auto parted = [&] { return layout.change(sixteenth(2), sixteenth(7)).parted; };
  EXPECT_DOUBLE_EQ(parted(), 0);
  layout.known.back().by.network = 1;
  EXPECT_DOUBLE_EQ(parted(), -0.25);
  layout.known.back().by.domain = 1;
  EXPECT_DOUBLE_EQ(parted(), -0.5);
}

TEST(Layout, WhoFollowsTheVserverThatGoesInheritsItsKeys) {
  const Layout before{4, {1, 1, 1}, {vserver(1, 0, 4), vserver(2, 4, 8), vserver(3, 8, 0)}};
  const Layout after = before.moved(sixteenth(4), sixteenth(12));
  ASSERT_EQ(after.known.size(), 3U);
  EXPECT_EQ(after.known[0].keys, vserver(2, 0, 8).keys);
  EXPECT_EQ(after.known[1].keys, vserver(3, 12, 0).keys);
  EXPECT_EQ(after.known[2].keys, vserver(1, 8, 12).keys);
  EXPECT_EQ(after.known[2].by.node, 1U);
}

// Five nodes; node 1 has two copies of the hashtags in its first half quarter.
struct Crowded {
  Crowded() {
    around.self = {.load = 40, .capacity = 100};
    around.layout = {4, {1, 1, 1}, {}};
    around.layout.known = {vserver(1, 0, 2),  vserver(2, 2, 4),   vserver(1, 4, 6), vserver(3, 6, 8),
                           vserver(4, 8, 12), vserver(5, 12, 14), vserver(2, 14, 0)};
    around.active = {place(0, 2, {30, 100}, 2), place(1, 6, {20, 100}, 3)};
    around.free = {place(2, 10, {40, 100}, 4), place(3, 11, {40, 100}, 4)};
  }
  static Place place(std::size_t index, unsigned at, Bearer successor, std::uint64_t whose) {
    Place made{.index = index, .load = 20, .successor = successor, .successor_node = whose};
    made.id = sixteenth(at);
    return made;
  }
  [[nodiscard]] Move move() const { return best_spread({}, around); }

  Surroundings around;
};

// From 6 to 11 it would have 8 to 11, of which the first two parts are where 0 to 2 is, or where 4 to 6 is.
TEST(BestSpread, NobodyMovesWhereItWouldStandNoBetter) {
  Crowded crowded;
  EXPECT_TRUE(crowded.move().is_none());
}

struct Apart : Crowded {
  // 14 to 15 is where none of its other keys are.
  Apart() { around.free.push_back(place(4, 15, {30, 100}, 2)); }
};

TEST(BestSpread, TheNodeGoesWhereItHasNoOtherCopy) {
  const Move move = Apart().move();
  EXPECT_EQ(move.from, 1U);
  EXPECT_EQ(move.to, 4U);
  EXPECT_EQ(move.carried, 40);
}

TEST(BestSpread, NobodyIsOverloadedForIt) {
  Apart apart;
  apart.around.active[1].successor = {90, 100};
  apart.around.active[0].successor = {90, 100};
  EXPECT_TRUE(apart.move().is_none());
}

TEST(BestSpread, NobodyTakesMuchMoreForIt) {
  Apart apart;
  apart.around.free.back().load = 27;
  EXPECT_FALSE(apart.move().is_none());
  apart.around.free.back().load = 40;
  EXPECT_TRUE(apart.move().is_none());
}

TEST(BestSpread, WhereThereAreFewerNodesThanCopiesNobodyMoves) {
  Apart apart;
  for (Owned& owned : apart.around.layout.known) {
    if (owned.by.node > 3) owned.by = {3, 3, 3};
  }
  EXPECT_TRUE(apart.move().is_none());
}

// As all are who have a hoster in common.
TEST(BestSpread, ThatAllAreInOneNetworkKeepsNobody) {
  Apart apart;
  for (Owned& owned : apart.around.layout.known) owned.by.network = 1;
  EXPECT_EQ(apart.move().to, 4U);
}

TEST(BestSpread, WhatIsApartStays) {
  Apart apart;
  apart.around.layout.known[2].by = {6, 6, 6};
  apart.around.layout.known.back().by = {7, 7, 7};
  EXPECT_TRUE(apart.move().is_none());
}

}  // namespace
}  // namespace tagring::balance
