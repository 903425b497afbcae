// Whole nodes on a virtual internet: what is published reaches every subscriber and the history, whatever
// breaks on the way.

#include "sim/world.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace tagring::sim {
namespace {

// Lets time pass until `done`, at most `limit`.
template <class Done>
bool run_until(World& world, Duration limit, Done done) {
  const Instant end = world.loop.now() + limit;
  while (world.loop.now() < end) {
    if (done()) return true;
    world.loop.run_for(std::chrono::milliseconds(500));
  }
  return done();
}

void subscribe(World& world, std::size_t i, std::vector<std::string> tags) {
  const auto wanted =
      world.await(world.node(i).subscriber().want(std::move(tags), "admin"), std::chrono::seconds(10));
  ASSERT_TRUE(wanted && *wanted);
}

std::multiset<std::string> live_posts(const World& world, const std::string& tag) {
  std::multiset<std::string> uris;
  for (const World::Post& post : world.posts()) {
    if (!post.deleted && std::ranges::find(post.tags, tag) != post.tags.end()) uris.insert(post.uri);
  }
  return uris;
}

std::multiset<std::string> uris_of(const std::vector<storage::HistoryEntry>& entries) {
  std::multiset<std::string> uris;
  for (const auto& entry : entries) uris.insert(entry.uri);
  return uris;
}

TEST(World, PostsReachSubscribersAndHistoryAndDeletionsFollow) {
  World world(1, WorldOptions{});
  for (std::size_t i = 0; i < 8; ++i) world.start_node(i);
  ASSERT_TRUE(run_until(world, std::chrono::minutes(2), [&] { return world.is_settled(); }));
  subscribe(world, 3, {"caturday"});
  subscribe(world, 5, {"caturday", "dogs"});
  ASSERT_TRUE(run_until(world, std::chrono::minutes(1), [&] { return world.is_quiet(); }));

  for (std::size_t n = 0; n < 30; ++n) {
    world.publish(n % 8, n % 3 == 0 ? std::vector<std::string>{"caturday", "dogs"}
                                    : std::vector<std::string>{"caturday"});
    world.loop.run_for(std::chrono::milliseconds(200));
  }
  ASSERT_TRUE(run_until(world, std::chrono::minutes(1), [&] { return world.is_quiet(); }));
  EXPECT_EQ(world.feed(3, "caturday"), live_posts(world, "caturday"));
  EXPECT_EQ(world.feed(5, "dogs"), live_posts(world, "dogs"));

  world.remove(0);
  world.remove(7);
  ASSERT_TRUE(run_until(world, std::chrono::minutes(1), [&] { return world.is_quiet(); }));
  EXPECT_EQ(world.feed(5, "caturday"), live_posts(world, "caturday"));
  for (std::size_t i = 0; i < 8; ++i) {
    const auto history = world.history(i, "caturday", 7);
    ASSERT_TRUE(history) << "through node " << i;
    EXPECT_EQ(uris_of(*history), live_posts(world, "caturday")) << "through node " << i;
    EXPECT_TRUE(std::ranges::is_sorted(*history, storage::newer));
  }

  world.start_node(8);  // joined yesterday
  ASSERT_TRUE(run_until(world, std::chrono::minutes(2), [&] { return world.is_settled(); }));
  const auto late = world.history(8, "caturday", 10);
  ASSERT_TRUE(late);
  EXPECT_EQ(uris_of(*late), live_posts(world, "caturday"));
}

}  // namespace
}  // namespace tagring::sim
