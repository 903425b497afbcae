// An owner that has no room lets go of old posts, and the others keep theirs.

#include <fmt/format.h>

#include "tests/sim/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::sim {
namespace {

std::int64_t figure(World& world, std::size_t node, const char* of, const char* name) {
  return world.node(node).status().at(of).at(name).to_number<std::int64_t>();
}

// Of the one that let go they differ in every round.
TEST(LettingGo, WhatOneOwnerLetGoIsNotBroughtBackAndTheRestIs) {
  WorldOptions options{.storage_replicas = 2, .reconcile = std::chrono::seconds(30)};
  World world(31, options);
  for (std::size_t i = 0; i < 4; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  for (std::size_t n = 0; n < 3; ++n) world.publish(n, {"moss"});
  ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_quiet(); })) << world.unrest();
  const auto known = world.history(0, "moss", 10);
  ASSERT_TRUE(known && known->size() == 3);
  const auto await = [&](auto task) { return *world.await(std::move(task), std::chrono::seconds(10)); };
  const auto has = [&](std::size_t node, const storage::HistoryEntry& entry) {
    return (*await(world.history_store(node).find({{"moss"_tag, entry.uri}}))).front().has_value();
  };
  std::vector<std::size_t> owners;
  for (const std::size_t i : world.up()) {
    if (has(i, known->front())) owners.push_back(i);
  }
  ASSERT_EQ(owners.size(), 2U);

  std::vector<storage::HistoryEntry> old;
  for (std::size_t n = 0; n < 300; ++n) {
    old.push_back({"moss"_tag, fmt::format("https://n0.example/posts/old{}", n), "https://n0.example/users/a",
                   known->back().published - std::chrono::hours(n + 1)});
  }
  for (const std::size_t owner : owners) ASSERT_TRUE(await(world.history_store(owner).put(old)));
  const std::size_t small = owners.front();
  const std::size_t large = owners.back();
  ASSERT_TRUE(await(world.history_store(small).let_go("moss"_tag, 250, WallTime::max())));
  storage::HistoryEntry removed = old.back();
  removed.removed = true;
  ASSERT_TRUE(await(world.history_store(large).put({removed})));
  ASSERT_TRUE(await(world.history_store(small).correct("moss"_tag, known->front().uri, {}, false)));

  EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return has(small, known->front()); }));
  world.loop.run_for(std::chrono::minutes(5));
  EXPECT_FALSE(has(small, old.back()));
  EXPECT_LE(figure(world, small, "disputes", "raised"), 2);
  EXPECT_EQ(figure(world, large, "disputes", "raised"), 0);
  const auto sent = [&] {
    return figure(world, small, "reconciled", "posts") + figure(world, large, "reconciled", "posts");
  };
  const std::int64_t before = sent();
  EXPECT_LE(before, 4 * 64);
  world.loop.run_for(std::chrono::minutes(5));
  EXPECT_EQ(sent(), before);
}

}  // namespace
}  // namespace tagring::sim
