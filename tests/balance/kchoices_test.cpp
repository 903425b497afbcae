// The decisions of k-choices, on figures small enough to work out by hand. Targets are 65 % of capacity.
#include "balance/kchoices.hpp"

#include <array>
#include <gtest/gtest.h>
#include <utility>

namespace tagring::balance {
namespace {

TEST(KChoices, TakingLoadFromTheOverloadedIsGoodAndToOverloadOneselfIsBad) {
  const Bearer empty{.load = 0, .capacity = 100};
  const Place relief{.index = 0, .load = 65, .successor = {.load = 130, .capacity = 100}};
  // Both end on their targets: the successor was 0.65 too high, the node 0.65 too low.
  EXPECT_DOUBLE_EQ(join_cost({}, empty, relief), -1.3);
  const Place burden{.index = 0, .load = 200, .successor = {.load = 265, .capacity = 100}};
  // 2.00 better there, from 0.65 too low to 1.35 too high here.
  EXPECT_DOUBLE_EQ(join_cost({}, empty, burden), -1.3);
  EXPECT_GT(join_cost({.overload = 10}, empty, Place{0, 200, {200, 300}, false}), 0);
}

TEST(KChoices, CostsCountRelativeToWhoBearsThemUnlessAsPrinted) {
  const Bearer small{.load = 0, .capacity = 10};
  const Place place{.index = 0, .load = 20, .successor = {.load = 670, .capacity = 1000}};
  EXPECT_DOUBLE_EQ(join_cost({}, small, place), 1.35 - 0.65 - 0.02);
  EXPECT_DOUBLE_EQ(join_cost({.normalised = false}, small, place), 13.5 - 6.5 - 20);
}

TEST(KChoices, LeavingUndoesJoining) {
  const Bearer before{.load = 30, .capacity = 100};
  const Place joining{.index = 3, .load = 25, .successor = {.load = 90, .capacity = 50}};
  const Bearer after{.load = 55, .capacity = 100};
  const Place leaving{.index = 3, .load = 25, .successor = {.load = 65, .capacity = 50}};
  EXPECT_DOUBLE_EQ(join_cost({}, before, joining), -departure_cost({}, after, leaving));
}

TEST(KChoices, APlaceBeforeAVserverOfOnesOwnCostsNothing) {
  const Bearer self{.load = 500, .capacity = 100};
  EXPECT_EQ(join_cost({}, self, {.index = 0, .load = 100, .successor = self, .own = true}), 0);
}

TEST(KChoices, WithoutCapacityNoLoadIsWorthHaving) {
  const Bearer none{.load = 0, .capacity = 0};
  EXPECT_GT(join_cost({}, none, {.index = 0, .load = 0.5, .successor = {1'000, 10}}), 0);
  const Bearer burdened{.load = 0.5, .capacity = 0};
  EXPECT_LT(departure_cost({}, burdened, {.index = 0, .load = 0.5, .successor = {1'000, 10}}), 0);
}

TEST(KChoices, TheCheapestPlaceIsChosen) {
  const Bearer self{.load = 0, .capacity = 100};
  const std::array<Place, 3> places = {Place{4, 10, {70, 100}}, Place{7, 60, {200, 100}},
                                       Place{9, 60, {60, 100}}};
  EXPECT_EQ(best_join({}, self, places)->index, 7U);
  EXPECT_EQ(best_join({}, self, {}), std::nullopt);
}

TEST(KChoices, AMoveMustGainWhatItsCarryingCosts) {
  const Bearer self{.load = 50, .capacity = 100};
  EXPECT_TRUE(is_worth({}, self, {.cost = -0.01, .carried = 1'000}));
  EXPECT_FALSE(is_worth({}, self, {.cost = 0, .carried = 0}));
  EXPECT_TRUE(is_worth({.epsilon = 0.1}, self, {.cost = -0.11, .carried = 100}));
  EXPECT_FALSE(is_worth({.epsilon = 0.1}, self, {.cost = -0.09, .carried = 100}));
}

Surroundings beside(Bearer successor) {
  Surroundings around;
  around.self = {10, 100};
  Place place;
  place.index = 5;
  place.load = 50;
  place.successor = successor;
  place.successor_node = 1;
  around.free = {place};
  return around;
}

TEST(BestMove, WithReliefOnlyWhoIsOverloadedForLongIsRelieved) {
  const Parameters restless{.overload = 10};
  const Parameters calm{.overload = 10, .relief = 0.5};
  const Bearer busy{90, 100};
  const Bearer overloaded{140, 100};
  EXPECT_EQ(best_move(restless, beside({94, 100}), true).to, 5U);
  EXPECT_EQ(best_move(calm, beside(busy), true).to, std::nullopt);
  EXPECT_EQ(best_move(calm, beside(overloaded), true).to, 5U);
  EXPECT_EQ(best_move(calm, beside({140, 100, false}), true).to, std::nullopt) << "since a moment ago";
}

TEST(BestMove, WhatIsCarriedMustRelieveEnough) {
  // 5 above U, for 50 carried.
  const Bearer hardly{100, 100};
  EXPECT_EQ(best_move({.overload = 100, .relief = 0.05}, beside(hardly), true).to, 5U);
  EXPECT_EQ(best_move({.overload = 100, .relief = 0.2}, beside(hardly), true).to, std::nullopt);
}

TEST(BestMove, TheLastPlaceIsNotGivenUpHoweverMuchItBears) {
  Surroundings around = beside({0, 1'000});
  around.self = {200, 100};
  around.active = std::exchange(around.free, {});
  EXPECT_EQ(best_move({}, around, true).from, std::nullopt);
  around.active.push_back(around.active[0]);
  around.active[1].index = 6;
  EXPECT_NE(best_move({}, around, true).from, std::nullopt);
}

TEST(BestMove, OfEqualPlacesTheNodeStays) {
  Surroundings around = beside({50, 100});
  around.self = {65, 100};
  around.active = around.free;
  around.active[0].index = 1;
  EXPECT_EQ(best_move({}, around, false).to, std::nullopt);
}

}  // namespace
}  // namespace tagring::balance
