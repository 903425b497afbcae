// Sets of storage owners that grow and shrink with what a hashtag's history weighs, with whole nodes: history
// is complete and in order through every node before, during and after, and what is removed stays so.

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "node/storage_place.hpp"
#include "sim/world.hpp"

namespace tagring::sim {
namespace {

constexpr const char* kTag = "caturday";

struct Numbers {
  unsigned replicas = 0;
  unsigned reach = 0;
};

// The most that a node knows of.
Numbers numbers(World& world) {
  std::uint64_t version = 0;
  Numbers found;
  for (const std::size_t i : world.up()) {
    for (const json::value& set : world.node(i).status().at("storage_sets").get_array()) {
      if (set.at("version").to_number<std::uint64_t>() <= version) continue;
      version = set.at("version").to_number<std::uint64_t>();
      found = {set.at("replicas").to_number<unsigned>(), set.at("reach").to_number<unsigned>()};
    }
  }
  return found;
}

// What a reader must see now, and what not. Posts that are on their way, or being removed, may be there or
// not.
void expect_history(World& world, std::size_t reader, const std::set<std::string>& must,
                    const std::set<std::string>& must_not) {
  const auto history = world.history(reader, kTag, 40);
  ASSERT_TRUE(history) << "node " << reader << " cannot read the history";
  EXPECT_TRUE(std::ranges::is_sorted(*history, storage::newer));
  std::multiset<std::string> seen;
  for (const storage::HistoryEntry& entry : *history) seen.insert(entry.uri);
  for (const std::string& uri : must) EXPECT_EQ(seen.count(uri), 1U) << uri << " through node " << reader;
  for (const std::string& uri : must_not) EXPECT_EQ(seen.count(uri), 0U) << uri << " through node " << reader;
}

// How many of the hashtag's posts each node has, tombstones included.
std::vector<std::size_t> held(World& world, std::size_t nodes) {
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < nodes; ++i) {
    std::size_t count = 0;
    for (unsigned slot = 0; slot < storage::kSlots; slot += 16) {
      const auto page =
          world.await(world.history_store(i).page(storage::Shelf{kTag, slot}.name(), std::nullopt, 10'000),
                      std::chrono::seconds(10));
      count += page && *page ? (*page)->entries.size() : 0;
    }
    counts.push_back(count);
  }
  return counts;
}

class Grown {
 public:
  struct Options {
    std::size_t nodes = 24;
    unsigned at_rest = 4;
    double loss = 0;
    bool crashes = false;
  };

  Grown(std::uint64_t seed, Options options) : options_(options), rng_(seed * 31 + 7) {
    WorldOptions world;
    world.vservers = 1;
    world.storage_replicas = options.at_rest;
    world.posts_an_hour = 1'000'000;
    world.stabilise = std::chrono::seconds(5);
    world.storage_cooldown_seconds = 60;
    world.reconcile = std::chrono::minutes(5);
    world.storage_capacity = [this](std::size_t) { return capacity_; };
    world.log = std::getenv("TAGRING_LOG") != nullptr;
    world_.emplace(seed, world);
    for (std::size_t i = 0; i < options.nodes; ++i) world_->start_node(i);
    EXPECT_TRUE(world_->run_until(std::chrono::minutes(5), [&] { return world_->is_settled(); }));
  }

  World& world() { return *world_; }

  // While nothing goes wrong, posts are with their owners after half a minute.
  void note_old() {
    for (const World::Post& post : world_->posts()) {
      const bool is_old = world_->loop.now() - post.published > std::chrono::seconds(30);
      if (post.deletion_sent) must_.erase(post.uri);
      if (is_old && post.acknowledged && !post.deletion_sent) must_.insert(post.uri);
    }
  }
  // Of posts that were acknowledged long ago, and removed long ago.
  void check(std::size_t reader) { expect_history(*world_, reader, must_, must_not_); }

  // Publishes for so long, removes now and then, and reads through some node all the time.
  void publish(int seconds) {
    world_->faults.loss = options_.loss;
    std::optional<std::size_t> down;
    for (int second = 0; second < seconds; ++second) {
      for (int n = 0; n < 2; ++n) {
        world_->publish(rng_.below(options_.nodes), {kTag});
        world_->loop.run_for(std::chrono::milliseconds(500));
      }
      if (second % 10 == 9) world_->remove(rng_.below(world_->posts().size()));
      if (options_.crashes && second % 20 == 6 && !down) {
        const std::size_t i = rng_.below(options_.nodes);
        world_->crash_node(i);
        down = i;
      }
      if (down && second % 20 == 16) {
        world_->start_node(*down);
        down.reset();
      }
      if (options_.loss > 0 || options_.crashes || second % 15 != 14) continue;
      note_old();
      check(rng_.below(options_.nodes));
    }
    world_->faults = NetworkFaults{};
    if (down) world_->start_node(*down);
    settle();
  }

  // Until everything is where it belongs; then all of it must be seen by everybody.
  void settle() {
    EXPECT_TRUE(world_->run_until(std::chrono::minutes(30), [&] { return world_->is_quiet(); }))
        << world_->unrest();
    for (const World::Post& post : world_->posts()) {
      if (post.deleted) must_.erase(post.uri);
      (post.deleted ? must_not_ : must_).insert(post.uri);
    }
    for (std::size_t reader = 0; reader < options_.nodes; reader += 5) check(reader);
  }

  // All nodes are given more room, one after the other.
  void give_room() {
    capacity_ = std::uint64_t{1} << 30U;
    for (std::size_t i = 0; i < options_.nodes; ++i) {
      world_->crash_node(i);
      world_->start_node(i);
      world_->loop.run_for(std::chrono::seconds(5));
      EXPECT_TRUE(world_->run_until(std::chrono::minutes(5), [&] { return world_->is_settled(); }));
      if (i % 6 == 5) check((i + 3) % options_.nodes);
    }
  }

 private:
  Options options_;
  std::uint64_t capacity_ = 36'000;  // a tenth of it: 60 posts
  Rng rng_;
  std::optional<World> world_;
  std::set<std::string> must_;
  std::set<std::string> must_not_;
};

TEST(StorageSets, DoubleWhenAHashtagOutgrowsItsOwnersAndHistoryStaysWhole) {
  Grown grown(1, {});
  grown.publish(150);
  const Numbers now = numbers(grown.world());
  EXPECT_GE(now.replicas, 8U);
  EXPECT_EQ(now.reach, now.replicas);
  const std::vector<std::size_t> counts = held(grown.world(), 24);
  EXPECT_GT(std::ranges::count_if(counts, [](std::size_t count) { return count > 0; }), 4);
  EXPECT_LT(std::ranges::max(counts), grown.world().posts().size()) << "nobody has all of it any more";
}

TEST(StorageSets, ARemovalAfterADoublingReachesPostsFromBefore) {
  Grown grown(2, {});
  grown.publish(100);
  ASSERT_GE(numbers(grown.world()).replicas, 8U);
  for (std::size_t post = 0; post < 40; post += 2) grown.world().remove(post);
  grown.settle();
  // At every owner that has the post, not only at one whom readers believe.
  for (std::size_t i = 0; i < 24; ++i) {
    for (unsigned slot = 0; slot < storage::kSlots; slot += 16) {
      const auto page = grown.world().await(
          grown.world().history_store(i).page(storage::Shelf{kTag, slot}.name(), std::nullopt, 10'000),
          std::chrono::seconds(10));
      ASSERT_TRUE(page && *page);
      for (const storage::HistoryEntry& entry : (*page)->entries) {
        const auto post = std::ranges::find(grown.world().posts(), entry.uri, &World::Post::uri);
        if (post->deleted) EXPECT_TRUE(entry.removed) << entry.uri << " at node " << i << ", shelf " << slot;
      }
    }
  }
}

TEST(StorageSets, LoseNothingWhenMachinesCrashAndMessagesGetLostWhileTheyDouble) {
  Grown::Options options;
  options.loss = 0.01;
  options.crashes = true;
  Grown grown(3, options);
  grown.publish(150);
  EXPECT_GE(numbers(grown.world()).replicas, 8U);
}

TEST(StorageSets, HalveWhenThereIsRoomAgainAndMergeWhatWasApart) {
  Grown grown(4, {});
  grown.publish(150);
  ASSERT_GE(numbers(grown.world()).replicas, 8U);
  grown.give_room();
  const bool at_rest = grown.world().run_until(std::chrono::minutes(30), [&] {
    const Numbers now = numbers(grown.world());
    return now.replicas == 4 && now.reach == 4;
  });
  EXPECT_TRUE(at_rest) << numbers(grown.world()).replicas << " of " << numbers(grown.world()).reach;
  grown.settle();
  grown.publish(10);
  const std::vector<std::size_t> counts = held(grown.world(), 24);
  EXPECT_LE(std::ranges::count_if(counts, [](std::size_t count) { return count > 0; }), 8)
      << "owners that are none any more have dropped what they had handed over";
  EXPECT_EQ(std::ranges::max(counts), grown.world().posts().size());
}

TEST(StorageSets, OfNetworksThatKeepOneOrTwoCopiesAreDividedToo) {
  for (const unsigned at_rest : {1U, 2U}) {
    SCOPED_TRACE(at_rest);
    Grown::Options options;
    options.at_rest = at_rest;
    Grown grown(5 + at_rest, options);
    grown.publish(100);
    EXPECT_GE(numbers(grown.world()).replicas, 2 * at_rest);
  }
}

}  // namespace
}  // namespace tagring::sim
