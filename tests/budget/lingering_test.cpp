#include "budget/lingering.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "ring_sim/loop.hpp"

namespace tagring::budget {
namespace {

class LingeringTest : public testing::Test {
 protected:
  ~LingeringTest() override { loop.drop(kOwner); }

  Task<Result<void>> drop(std::vector<std::string> names) {
    dropped.push_back(std::move(names));
    if (fails) co_return fail(ErrorCode::kUnavailable, "the disk is full");
    co_return Result<void>();
  }
  [[nodiscard]] std::uint64_t used() const { return manager.used(Resource::kWanted); }

  static constexpr ring_sim::OwnerId kOwner = 1;
  ring_sim::Loop loop{3};
  ring_sim::LoopClock clock{loop, kOwner};
  Workers workers;
  Log log{[](LogLevel, const std::string&) {}};
  const Runtime runtime{clock, loop.executor(kOwner), workers, log, Rng(1)};
  Manager manager{default_budgets(), clock};
  bool fails = false;
  std::vector<std::vector<std::string>> dropped;
  Lingering lingering{{Resource::kWanted, std::chrono::minutes(5), std::chrono::seconds(10)},
                      manager,
                      [this](std::vector<std::string> names) { return drop(std::move(names)); },
                      runtime};
};

TEST_F(LingeringTest, WhatIsLetGoOfCountsOnceUntilItIsDropped) {
  for (int i = 0; i < 3; ++i) lingering.let_go("cats", "far.example");
  lingering.let_go("dogs", "");
  EXPECT_EQ(used(), 1U);
  EXPECT_TRUE(lingering.is_of("cats", "far.example"));
  EXPECT_FALSE(lingering.is_of("cats", "other.example"));
  loop.run_for(std::chrono::minutes(6));
  EXPECT_EQ(dropped, (std::vector<std::vector<std::string>>{{"cats", "dogs"}}));
  EXPECT_EQ(used(), 0U);
}

TEST_F(LingeringTest, WhoComesBackKeepsIt) {
  lingering.let_go("cats", "far.example");
  loop.run_for(std::chrono::minutes(4));
  lingering.take_up("cats");
  EXPECT_EQ(used(), 0U);
  loop.run_for(std::chrono::minutes(2));
  EXPECT_TRUE(dropped.empty());
  lingering.let_go("cats", "far.example");
  loop.run_for(std::chrono::minutes(4));
  EXPECT_TRUE(dropped.empty()) << "its time begins anew";
  loop.run_for(std::chrono::minutes(2));
  EXPECT_EQ(dropped.size(), 1U);
}

TEST_F(LingeringTest, WhatComesLittleByLittleIsDroppedTogether) {
  for (int i = 0; i < 100; ++i) {
    lingering.let_go("tag" + std::to_string(i), "far.example");
    loop.run_for(std::chrono::milliseconds(100));
  }
  loop.run_for(std::chrono::minutes(6));
  EXPECT_LE(dropped.size(), 3U);
  EXPECT_EQ(used(), 0U);
}

TEST_F(LingeringTest, WhatCouldNotBeDroppedIsTriedAgain) {
  fails = true;
  lingering.let_go("cats", "far.example");
  loop.run_for(std::chrono::minutes(6));
  EXPECT_EQ(used(), 1U) << "it is there yet";
  fails = false;
  loop.run_for(std::chrono::minutes(5));
  EXPECT_EQ(dropped.size(), 2U);
  EXPECT_EQ(used(), 0U);
}

}  // namespace
}  // namespace tagring::budget
