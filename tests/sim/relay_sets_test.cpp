// Sets of relays that grow and shrink with the load, with whole nodes: whatever the number of relays is or
// becomes, nothing acknowledged is lost.

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "runs/flash_crowd.hpp"
#include "sim/world.hpp"
#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

constexpr const char* kTag = "caturday";

struct Crowd {
  std::size_t nodes = 16;
  unsigned at_rest = 2;
  int seconds = 60;
  int posts_per_second = 8;
  double loss = 0;
  bool crashes = false;
  bool forgets = false;  // those at rest are restarted in the end, so that nobody there knows of more relays
  bool comers = false;   // others subscribe while there are fewer and fewer relays
};

std::set<std::size_t> relays_at_rest(World& world, const Crowd& crowd) {
  std::set<std::size_t> found;
  const RingId key = Tag::from_canonical(kTag).key();
  for (unsigned place = 0; place < crowd.at_rest; ++place) {
    for (const std::size_t i : world.up()) {
      if (world.node(i).rings().of(Ring::kRelay).owning(replica_key(key, place, crowd.at_rest)) != nullptr)
        found.insert(i);
    }
  }
  return found;
}

// Posts that were published after a node began to subscribe, by the node.
using Comers = std::map<std::size_t, std::size_t>;

// A post a second, while others subscribe.
Comers trickle(World& world, const Crowd& crowd, const std::vector<std::size_t>& subscribers) {
  Comers comers;
  for (int second = 0; second < 240; ++second) {
    const std::size_t next = (second / 15) * 3 % crowd.nodes;
    const bool comes = second % 15 == 0 && std::ranges::find(subscribers, next) == subscribers.end();
    if (comes && comers.emplace(next, world.posts().size()).second) subscribe(world, next, {kTag});
    world.publish(subscribers[static_cast<std::size_t>(second) % subscribers.size()], {kTag});
    world.loop.run_for(std::chrono::seconds(1));
  }
  return comers;
}

// A burst of posts, of which a relay can send a quarter; then silence. Returns the most relays that there
// were.
unsigned survive(std::uint64_t seed, const Crowd& crowd) {
  WorldOptions options;
  options.relay_replicas = crowd.at_rest;
  options.posts_an_hour = 1'000'000;
  options.cooldown_seconds = 20;
  options.stabilise = std::chrono::seconds(5);
  options.deliveries_per_second = 10;
  if (std::getenv("TAGRING_LOG") != nullptr) options.log = to_stderr;
  World world(seed, options);
  Rng rng(seed * 17 + 3);
  for (std::size_t i = 0; i < crowd.nodes; ++i) world.start_node(i);
  EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  const std::vector<std::size_t> subscribers = {1, 4, 7, 10, 13};
  for (const std::size_t i : subscribers) subscribe(world, i, {kTag});
  EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();

  world.faults.loss = crowd.loss;
  unsigned most = 0;
  std::set<std::size_t> down;
  for (int second = 0; second < crowd.seconds; ++second) {
    for (int n = 0; n < crowd.posts_per_second; ++n) {
      world.publish(rng.below(crowd.nodes), {kTag});
      world.loop.run_for(Duration(1000 / crowd.posts_per_second));
    }
    if (second % 10 == 9) world.remove(rng.below(world.posts().size()));
    if (crowd.crashes && second % 12 == 6) {
      const std::size_t i = rng.below(crowd.nodes);
      if (world.is_up(i) && down.empty()) {
        world.crash_node(i);
        down.insert(i);
      }
    }
    if (!down.empty() && second % 12 == 11) {
      world.start_node(*down.begin());
      down.clear();
      world.loop.run_for(std::chrono::seconds(1));
    }
    most = std::max(most, world.relays());
  }
  world.faults = ring_sim::NetworkFaults{};
  for (const std::size_t i : down) world.start_node(i);
  if (crowd.forgets) {
    for (const std::size_t i : relays_at_rest(world, crowd)) {
      world.crash_node(i);
      world.start_node(i);
    }
  }
  world.loop.run_for(std::chrono::seconds(1));
  const Comers comers = crowd.comers ? trickle(world, crowd, subscribers) : Comers();
  const auto sent = [&] {
    most = std::max(most, world.relays());
    return world.is_quiet();
  };
  EXPECT_TRUE(world.run_until(std::chrono::minutes(30), sent)) << world.unrest() << ", seed " << seed;
  EXPECT_TRUE(world.run_until(std::chrono::minutes(60), [&] { return world.relays() <= crowd.at_rest; }))
      << "seed " << seed << ": still " << world.relays() << " relays";
  world.loop.run_for(std::chrono::minutes(12));  // what is known of more relays is forgotten
  EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); }))
      << world.unrest() << ", seed " << seed;
  for (const std::size_t i : subscribers) {
    EXPECT_EQ(world.feed(i, kTag), live_posts(world, kTag)) << "seed " << seed << ", node " << i;
    EXPECT_LE(world.node(i).subscriber().subscriptions(), crowd.at_rest) << "seed " << seed << ", node " << i;
  }
  for (const auto& [node, first] : comers) {
    const std::multiset<std::string> feed = world.feed(node, kTag);
    for (std::size_t i = first; i < world.posts().size(); ++i) {
      EXPECT_TRUE(feed.contains(world.posts()[i].uri))
          << "seed " << seed << ", node " << node << ", post " << i;
    }
  }
  return most;
}

TEST(RelaySets, GrowUnderLoadAndShrinkAgainAndNothingAcknowledgedIsLost) {
  for (const std::uint64_t seed : drawn({1, 2})) EXPECT_GE(survive(seed, Crowd{}), 8U) << "seed " << seed;
}

TEST(RelaySets, OfNetworksWithOneRelayAtRestGrowToo) {
  Crowd crowd;
  crowd.at_rest = 1;
  EXPECT_GE(survive(3, crowd), 4U);
}

TEST(RelaySets, LoseNothingOfWhatComesWhileTheyShrink) {
  Crowd crowd;
  crowd.at_rest = 1;
  crowd.comers = true;
  EXPECT_GE(survive(21, crowd), 4U);
}

TEST(RelaySets, ShrinkAlsoWhenThoseAtRestHaveForgottenThem) {
  Crowd crowd;
  crowd.forgets = true;
  crowd.comers = true;
  EXPECT_GE(survive(32, crowd), 8U);
}

TEST(RelaySets, LoseNothingWhenMachinesCrashAndMessagesGetLostWhileTheyChange) {
  Crowd crowd;
  crowd.loss = 0.01;
  crowd.crashes = true;
  for (const std::uint64_t seed : drawn({10, 11})) EXPECT_GE(survive(seed, crowd), 4U) << "seed " << seed;
}

}  // namespace
}  // namespace tagring::sim
