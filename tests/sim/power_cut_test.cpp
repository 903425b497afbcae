// All nodes start at about the same time, and know each other only from before.

#include <fmt/format.h>

#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

constexpr std::size_t kConfigured = 3;

// Where one comes from each of these nodes, from one to the next, again and again: the least place there, of
// each ring that they stand on. Nothing while one of them stands on none.
std::set<RingId> rings_of(World& world, Ring ring, const std::vector<std::size_t>& nodes) {
  std::map<RingId, RingId> next;
  for (const std::size_t i : nodes) {
    const ring::Vserver& vserver = *world.node(i).rings().of(ring).vservers().front();
    if (!vserver.is_member() || vserver.successors().empty()) return {};
    next[vserver.self().id] = vserver.successors().front().id;
  }
  std::set<RingId> rings;
  for (const auto& [from, after] : next) {
    RingId at = from;
    for (std::size_t step = 0; step < nodes.size(); ++step) at = next.at(at);
    RingId least = at;
    for (RingId other = next.at(at); other != at; other = next.at(other)) least = std::min(least, other);
    rings.insert(least);
  }
  return rings;
}

// A network of so many, and of those that all are configured to know, which do not come back. Whether the
// others stand on one ring of each kind, a minute after they started in any order. If the one of the least
// origin has lost its disk, it knows nobody, and is none of them.
bool comes_back(std::uint64_t seed, std::size_t nodes, bool first_forgets = false) {
  WorldOptions options;
  options.vservers = 1;
  options.stabilise = std::chrono::seconds(5);
  World world(seed, options);
  const std::size_t all = kConfigured + nodes;
  for (std::size_t i = 0; i < all; ++i) {
    world.start_node(i);
    world.loop.run_for(std::chrono::milliseconds(100));
  }
  if (!world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); })) return false;
  world.loop.run_for(std::chrono::minutes(2));
  for (std::size_t i = 0; i < all; ++i) world.crash_node(i);
  std::vector<std::size_t> order;
  for (std::size_t i = kConfigured; i < all; ++i) order.push_back(i);
  const std::size_t first = std::ranges::min(order, {}, &World::node_origin);
  if (first_forgets) world.disk(first).restore({});
  Rng rng(seed);
  for (std::size_t i = 0; i < order.size(); ++i) std::swap(order[i], order[i + rng.below(order.size() - i)]);
  for (const std::size_t i : order) {
    world.start_node(i);
    world.loop.run_for(Duration(static_cast<Duration::rep>(rng.below(10'000 / nodes))));
  }
  if (first_forgets) std::erase(order, first);
  world.loop.run_for(std::chrono::seconds(1));  // the last one is there
  return world.run_until(std::chrono::minutes(1), [&] {
    return rings_of(world, Ring::kRelay, order).size() == 1 &&
           rings_of(world, Ring::kStorage, order).size() == 1;
  });
}

TEST(AfterAPowerCut, SixtyNodesAreOneRingWithinAMinute) {
  for (const std::uint64_t seed : {101, 102, 103, 104}) EXPECT_TRUE(comes_back(seed, 60)) << "seed " << seed;
}

TEST(AfterAPowerCut, AHundredAndFortyNodesAreOneRingWithinAMinute) {
  for (const std::uint64_t seed : {201, 202}) EXPECT_TRUE(comes_back(seed, 140)) << "seed " << seed;
}

TEST(AfterAPowerCut, NobodyWaitsForTheFirstThatHasLostItsDisk) { EXPECT_TRUE(comes_back(301, 60, true)); }

TEST(Bootstrap, AFounderWhoseClockIsYearsAheadStillKnowsItsNetwork) {
  WorldOptions options;
  options.configured_nodes = 1;
  options.vservers = 1;
  World world(11, options);
  for (std::size_t i = 0; i < 4; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }));
  world.loop.run_for(std::chrono::seconds(10));  // the address book is on the disk
  world.crash_node(0);
  world.set_clock(0, std::chrono::days(730));
  world.start_node(0);
  bool is_alone = false;
  EXPECT_TRUE(world.run_until(std::chrono::minutes(1), [&] {
    if (!world.is_running(0)) return false;
    bool is_member = true;
    for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
      const ring::Vserver& vserver = *world.node(0).rings().of(ring).vservers().front();
      is_alone = is_alone || vserver.is_alone();
      is_member = is_member && vserver.is_member();
    }
    return is_member;
  }));
  EXPECT_FALSE(is_alone) << "it has founded a second network";
}

// Whoever has given up its places knows those who have not.
TEST(Bootstrap, ANodeWithoutAPlaceIsAWayIn) {
  WorldOptions options;
  options.configured_nodes = 1;
  World world(7, options);
  for (std::size_t i = 0; i < 6; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }));
  overlay::RingService& rings = world.node(0).rings();
  for (std::uint8_t place = 0; place < options.vservers; ++place) {
    bool is_given_up = false;
    const auto gives_up = [&] {
      if (is_given_up) return true;
      const auto done = world.await(rings.give_up_place(Ring::kRelay, place), std::chrono::minutes(1));
      is_given_up = done && *done;
      return is_given_up;
    };
    ASSERT_TRUE(world.run_until(std::chrono::minutes(1), gives_up));
  }
  ASSERT_TRUE(rings.of(Ring::kRelay).vservers().empty());
  world.start_node(6);
  EXPECT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }))
      << world.unsettled();
}

}  // namespace
}  // namespace tagring::sim
