#include "belief/doubt_queue.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "base/log.hpp"
#include "ring_sim/loop.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::belief {
namespace {

class DoubtQueueTest : public testing::Test {
 protected:
  ~DoubtQueueTest() override { loop.drop(kOwner); }

  Task<void> consider(Tag tag) {
    considered.push_back(std::move(tag));
    most_at_once = std::max(most_at_once, ++at_once);
    const Instant end = clock.now() + std::chrono::seconds(1);
    co_await clock.sleep_until(end);
    --at_once;
  }
  void add_many(const std::string& host, int count) {
    for (int i = 0; i < count; ++i) queue.add(Tag::from_canonical(fmt::format("{}{}", host, i)), host);
  }

  static constexpr ring_sim::OwnerId kOwner = 1;
  ring_sim::Loop loop{3};
  ring_sim::LoopClock clock{loop, kOwner};
  Workers workers;
  Log log{[](LogLevel, const std::string&) {}};
  const Runtime runtime{clock, loop.executor(kOwner), workers, log, Rng(1)};
  std::vector<Tag> considered;
  std::size_t at_once = 0;
  std::size_t most_at_once = 0;
  DoubtQueue queue{[this](Tag tag) { return consider(std::move(tag)); }, runtime};
};

TEST_F(DoubtQueueTest, WhoNamesThousandsOfHashtagsHasFewConsideredAndOthersHaveTheirs) {
  add_many("a.flood.example", 5'000);
  add_many("b.flood.example", 5'000);
  queue.add("cats"_tag, "far.example");
  loop.run_for(std::chrono::minutes(1));
  ASSERT_EQ(considered.size(), DoubtQueue::kOfDomainMax + 1);
  EXPECT_THAT(considered, testing::Contains("cats"_tag));
  EXPECT_EQ(most_at_once, DoubtQueue::kAtOnceMax);
}

TEST_F(DoubtQueueTest, ManyDomainsWaitInAQueueThatIsBounded) {
  for (int i = 0; i < 1'000; ++i)
    queue.add(Tag::from_canonical(fmt::format("tag{}", i)), fmt::format("flood{}.example", i));
  loop.run_for(std::chrono::hours(1));
  EXPECT_EQ(considered.size(), DoubtQueue::kWaitingMax);
  queue.add("cats"_tag, "far.example");
  loop.run_for(std::chrono::seconds(2));
  EXPECT_EQ(considered.back(), "cats"_tag);
}

TEST_F(DoubtQueueTest, DomainsThatNameMuchGiveWayToOneThatNamesLittleAndTakeTurnsWithIt) {
  constexpr std::size_t kMany = 2 * DoubtQueue::kWaitingMax / DoubtQueue::kOfDomainMax;
  for (std::size_t i = 0; i < kMany; ++i) add_many(fmt::format("flood{}.example", i), 100);
  queue.add("cats"_tag, "far.example");
  loop.run_for(std::chrono::seconds(1 + kMany / DoubtQueue::kAtOnceMax));
  EXPECT_THAT(considered, testing::Contains("cats"_tag));
  loop.run_for(std::chrono::minutes(1));
  EXPECT_EQ(considered.size(), DoubtQueue::kWaitingMax);
}

TEST_F(DoubtQueueTest, WhatGaveWayIsConsideredForAnotherWhoNamesIt) {
  constexpr std::size_t kMany = DoubtQueue::kWaitingMax / DoubtQueue::kOfDomainMax;
  for (std::size_t i = 0; i < kMany; ++i)
    add_many(fmt::format("flood{}.example", i), DoubtQueue::kOfDomainMax);
  queue.add("cats"_tag, "far.example");  // one of the last domain gives way
  const Tag newest =
      Tag::from_canonical(fmt::format("flood{}.example{}", kMany - 1, DoubtQueue::kOfDomainMax - 1));
  queue.add(newest, "near.example");
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(considered, testing::Contains(newest));
}

TEST_F(DoubtQueueTest, AHashtagIsConsideredOnceInAWhile) {
  queue.add("cats"_tag, "far.example");
  queue.add("cats"_tag, "other.example");
  loop.run_for(std::chrono::seconds(2));
  EXPECT_EQ(considered.size(), 1U);
  loop.run_for(DoubtQueue::kAgainAfter);
  queue.add("cats"_tag, "far.example");
  loop.run_for(std::chrono::seconds(2));
  EXPECT_EQ(considered.size(), 2U);
}

}  // namespace
}  // namespace tagring::belief
