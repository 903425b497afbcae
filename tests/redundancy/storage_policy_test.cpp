// When a coordinator changes the number of storage owners, of which there are four at rest.
#include "redundancy/storage_policy.hpp"

#include <gtest/gtest.h>

#include "tests/tag_literal.hpp"

namespace tagring::redundancy {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Change = StoragePolicy::Change;
using State = StoragePolicy::State;
using Step = StoragePolicy::Step;

constexpr double kBearable = 100;
const StoragePolicy policy({.at_rest = 4, .settle = minutes(1), .cooldown = hours(24)});

StorageSet set_of(unsigned replicas, unsigned read_factor) {
  return {"cats"_tag, 7, replicas, read_factor, {}};
}

StorageReport report(std::map<unsigned, double> bytes, double bearable = kBearable) {
  return {set_of(8, 8), std::move(bytes), bearable, 7};
}

TEST(StoragePolicy, KnowsTheStateOfASetByItsTwoNumbers) {
  EXPECT_EQ(policy.state(set_of(4, 4)), State::kAtRest);
  EXPECT_EQ(policy.state(set_of(8, 8)), State::kRaised);
  EXPECT_EQ(policy.state(set_of(4, 8)), State::kMerging);
}

TEST(StoragePolicy, AnOwnerAsksForMoreWhenAPartitionIsMoreThanItCanBear) {
  EXPECT_FALSE(policy.asks_for_more(100, kBearable, 4));
  EXPECT_TRUE(policy.asks_for_more(101, kBearable, 4));
  EXPECT_FALSE(policy.asks_for_more(150, kBearable, 8)) << "what came before stays: half as much again";
  EXPECT_TRUE(policy.asks_for_more(151, kBearable, 8));
  EXPECT_FALSE(policy.asks_for_more(1e9, kBearable, kRelaysMax)) << "there cannot be more";
}

TEST(StoragePolicy, NoSetIsDoubledRightAfterAChangeNorBeyondTheRing) {
  EXPECT_TRUE(policy.may_double(set_of(8, 8), minutes(1), 32, 100));
  EXPECT_FALSE(policy.may_double(set_of(8, 8), seconds(59), 32, 100));
  EXPECT_FALSE(policy.may_double(set_of(8, 8), minutes(1), 16, 100)) << "no partition of eight replicas";
  EXPECT_FALSE(policy.may_double(set_of(8, 8), minutes(1), 32, 8)) << "no more vservers than replicas";
}

TEST(StoragePolicy, AnotherOwnerMustHaveAtLeastHalfAsMuch) {
  EXPECT_TRUE(policy.confirms(report({{0, 120}}), kBearable, 8, 0, 240));
  EXPECT_FALSE(policy.confirms(report({{0, 119}}), kBearable, 8, 0, 240));
  EXPECT_FALSE(policy.confirms(report({{32, 400}}), kBearable, 8, 0, 240)) << "of another partition";
}

TEST(StoragePolicy, WhatTheOtherOwnerMustHaveIsNotForTheOneThatAsksToSay) {
  EXPECT_FALSE(policy.confirms(report({{0, 0}}), kBearable, 4, 0, 0));
  EXPECT_FALSE(policy.confirms(report({{0, 49}}), kBearable, 4, 0, -1));
  EXPECT_TRUE(policy.confirms(report({{0, 50}}), kBearable, 4, 0, 0))
      << "half of what the coordinator can bear";
  EXPECT_FALSE(policy.confirms(report({{0, 74}}), kBearable, 8, 0, 0))
      << "half as much again in a set of eight";
  EXPECT_TRUE(policy.confirms(report({{0, 20}}, 40), kBearable, 4, 0, 0)) << "half of what the other one can";
  const double worth = StoragePolicy::kWorthDividing;
  EXPECT_TRUE(policy.confirms(report({{0, worth}}, 1e9), 1e9, 4, 0, worth)) << "the one that asks is small";
  EXPECT_FALSE(policy.confirms(report({{0, worth - 1}}, 0), 1e9, 4, 0, 0));
}

// Eight replicas are two partitions, 0 and 32; half as many have one, with twice what each can bear alone.
TEST(StoragePolicy, IsHalvedWhenAllCouldBearWhatTheyTakeUpAndHalfAsMuchAgain) {
  EXPECT_TRUE(policy.may_halve(set_of(8, 8), {report({{0, 33}}), report({{32, 33}})}));
  EXPECT_FALSE(policy.may_halve(set_of(8, 8), {report({{0, 33}}), report({{32, 34}})}));
}

TEST(StoragePolicy, TheFullestReplicaAndTheWeakestOwnerCount) {
  const StorageReport weak = report({{0, 30}}, 50);
  EXPECT_FALSE(policy.may_halve(set_of(8, 8), {report({{0, 30}}), weak, report({{32, 30}})}));
  EXPECT_FALSE(policy.may_halve(set_of(8, 8), {report({{0, 5}}), report({{0, 50}}), report({{32, 30}})}));
}

TEST(StoragePolicy, IsNotHalvedWhenNobodyAnswersForAPartition) {
  EXPECT_FALSE(policy.may_halve(set_of(8, 8), {report({{32, 0}})}));
}

TEST(StoragePolicy, TriesToHalveOnlyAfterTheCooldown) {
  EXPECT_EQ(policy.next_step(set_of(8, 8), hours(24)), Step::kNothing);
  EXPECT_EQ(policy.next_step(set_of(8, 8), hours(25)), Step::kTryToHalve);
  EXPECT_EQ(policy.next_step(set_of(4, 4), hours(25)), Step::kNothing);
  EXPECT_EQ(policy.next_step(set_of(4, 8), seconds(0)), Step::kFinishMerge);
}

TEST(StoragePolicy, ReadersAskAsManyAsBeforeUntilTheSetIsMerged) {
  const auto doubled = policy.changed(set_of(4, 4), Change::kDouble, 4, {});
  EXPECT_EQ(doubled->replicas, 8U);
  EXPECT_EQ(doubled->read_factor, 8U);
  EXPECT_EQ(doubled->version, 8U);
  const auto halved = policy.changed(*doubled, Change::kHalve, 8, {});
  EXPECT_EQ(halved->replicas, 4U);
  EXPECT_EQ(halved->read_factor, 8U);
  const auto merged = policy.changed(*halved, Change::kMerged, 8, {});
  EXPECT_EQ(merged->read_factor, 4U);
}

TEST(StoragePolicy, ReadersAskAsManyAsAnyOwnerKnowsOf) {
  EXPECT_EQ(policy.changed(set_of(4, 4), Change::kDouble, 32, {})->read_factor, 32U);
}

TEST(StoragePolicy, NoSetIsSmallerThanAtRestOrLargerThanThereArePlaces) {
  EXPECT_FALSE(policy.changed(set_of(4, 4), Change::kHalve, 4, {}));
  EXPECT_FALSE(policy.changed(set_of(kRelaysMax, kRelaysMax), Change::kDouble, 4, {}));
}

TEST(StoragePolicy, WhoStaysTakesUpThePartitionsBehindItsOwn) {
  EXPECT_EQ(policy.taken_up_by(0, set_of(4, 16)), (std::vector<unsigned>{16, 32, 48}));
  EXPECT_EQ(policy.taken_up_by(32, set_of(8, 16)), (std::vector<unsigned>{48}));
  EXPECT_TRUE(StoragePolicy::stays(32, set_of(8, 16)));
  EXPECT_FALSE(StoragePolicy::stays(48, set_of(8, 16)));
}

TEST(StoragePolicy, ASetIsMergedWhenEveryOwnerHasComeToItsVersion) {
  StorageReport late = report({});
  late.merged = 6;
  EXPECT_TRUE(StoragePolicy::is_merged(set_of(4, 8), {report({}), report({})}));
  EXPECT_FALSE(StoragePolicy::is_merged(set_of(4, 8), {report({}), late}));
}

}  // namespace
}  // namespace tagring::redundancy
