// Outside the operating assumptions: lost and late messages, which make the living look dead, partitions, and
// failures of more than a whole successor list. Nothing is asked of the ring meanwhile but that it does not
// crash; afterwards it must become one ring again.

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ring_sim/fixture.hpp"

namespace tagring::ring_sim {
namespace {

constexpr std::size_t kHosts = 24;
// Who has lost the ring finds back at a check for splits, every 10 rounds here, and after several of them:
// through a member chosen at random, and perhaps first into another small ring.
constexpr int kRoundsToMerge = 150;

RingOptions options(std::uint8_t vservers = 1) {
  RingOptions result;
  result.vservers = vservers;
  result.membership.split_check_every = std::chrono::seconds(20);
  return result;
}

struct Figures {
  std::vector<int> rounds;
  std::uint64_t merges = 0;

  void add(const RingWorld& world, int taken) {
    rounds.push_back(taken);
    for (const auto& [host, member] : world.members_) merges += member->membership.counters().merges;
  }
  void print(std::string_view what) const {
    double total = 0;
    for (const int taken : rounds) total += taken;
    fmt::print("{}: {} runs, rounds until ideal: mean {:.1f}, longest {}; {} moves between rings\n", what,
               rounds.size(), total / static_cast<double>(rounds.size()), std::ranges::max(rounds), merges);
  }
};

// `limit`: how many rounds recovery may take.
void expect_recovery_from(double loss, Duration delay_max, int limit) {
  Figures figures;
  for (const std::uint64_t seed : seeds(10)) {
    RingWorld world(seed, small_tuning(), options());
    world.build(kHosts);
    world.run();
    world.faults = {.delay_max = delay_max, .loss = loss};
    Rng rng(seed);
    for (int i = 0; i < 60; ++i) {
      world.loop.run_for(std::chrono::seconds(3));
      const std::size_t host = rng.below(kHosts);
      if (!world.is_up(host)) {
        world.start(host);
      } else if (world.view().size() > kHosts / 2) {
        world.crash(host);
      }
    }
    world.faults = {};
    const auto rounds = rounds_until_ideal(world, small_tuning().stabilise_every, limit);
    ASSERT_TRUE(rounds) << "seed " << seed << ": " << broken_shape(world.view()).value_or("not ideal");
    figures.add(world, *rounds);
  }
  figures.print(fmt::format("{} % lost, up to {} ms late", loss * 100, delay_max.count()));
}

TEST(RingFaults, RecoversFromOnePercentLoss) {
  expect_recovery_from(0.01, Duration(50), rounds_bound(kHosts, small_tuning().successors));
}
TEST(RingFaults, RecoversFromFivePercentLoss) { expect_recovery_from(0.05, Duration(50), kRoundsToMerge); }
TEST(RingFaults, RecoversFromTheLivingSuspectedDead) {
  expect_recovery_from(0.02, Duration(1500), kRoundsToMerge);
}

// The members of one part, as a ring of their own.
RingView view_of(const RingWorld& world, const std::map<std::size_t, int>& parts, int part) {
  RingView result;
  for (const auto& [host, member] : world.members_) {
    if (parts.at(host) != part) continue;
    for (const auto& vserver : member->membership.vservers()) {
      if (vserver->is_member()) result.emplace(vserver->self().id, vserver.get());
    }
  }
  return result;
}

void expect_merge_after_partition(std::uint8_t vservers) {
  Figures figures;
  for (const std::uint64_t seed : seeds(6)) {
    RingWorld world(seed, small_tuning(), options(vservers));
    world.build(kHosts / vservers);
    world.run();
    world.loop.run_for(std::chrono::seconds(10));
    std::map<std::size_t, int> parts;
    Rng rng(seed);
    for (const auto& [host, member] : world.members_)
      parts[host] = (host + rng.below(2)) % 2 == 0 || host < 2 ? 1 : 2;
    world.partition(parts);
    world.loop.run_for(std::chrono::minutes(5));
    for (const int part : {1, 2}) {
      EXPECT_TRUE(is_ideal(view_of(world, parts, part), small_tuning().successors))
          << "seed " << seed << ", part " << part;
    }
    world.partition({});
    const auto rounds = rounds_until_ideal(world, small_tuning().stabilise_every, kRoundsToMerge);
    ASSERT_TRUE(rounds) << "seed " << seed << ": " << broken_shape(world.view()).value_or("not ideal");
    figures.add(world, *rounds);
  }
  figures.print(fmt::format("halves parted for 5 minutes, {} vservers per host", vservers));
}

TEST(RingFaults, HalvesBecomeOneRingAfterAPartition) { expect_merge_after_partition(1); }
TEST(RingFaults, HalvesBecomeOneRingAfterAPartitionWithSeveralVservers) { expect_merge_after_partition(3); }

// Cut off with nobody else, a node's vservers are a ring of their own; not several.
TEST(RingFaults, TheVserversOfANodeThatIsCutOffAreOneRing) {
  for (const std::uint64_t seed : seeds(20)) {
    RingWorld world(seed, small_tuning(), options(3));
    world.build(kHosts / 3);
    world.run();
    world.loop.run_for(std::chrono::seconds(10));
    std::map<std::size_t, int> parts;
    for (const auto& [host, member] : world.members_) parts[host] = host == seed % 8 ? 1 : 2;
    world.partition(parts);
    world.loop.run_for(std::chrono::minutes(5));
    EXPECT_TRUE(is_ideal(view_of(world, parts, 1), small_tuning().successors)) << "seed " << seed;
    EXPECT_TRUE(is_ideal(view_of(world, parts, 2), small_tuning().successors)) << "seed " << seed;
  }
}

TEST(RingFaults, SurvivorsBecomeOneRingAfterMoreThanAWholeListHasFailed) {
  Figures figures;
  for (const std::uint64_t seed : seeds(10)) {
    RingWorld world(seed, small_tuning(), options());
    world.build(kHosts);
    world.run();
    world.loop.run_for(std::chrono::seconds(10));
    std::map<RingId, std::size_t> order;
    for (const auto& [host, member] : world.members_) order[member->vserver.self().id] = host;
    std::size_t victims = 2 * small_tuning().successors;
    for (auto it = std::next(order.begin(), static_cast<std::ptrdiff_t>(seed % order.size())); victims > 0;
         --victims) {
      world.crash(it->second);
      if (++it == order.end()) it = order.begin();
    }
    const auto rounds = rounds_until_ideal(world, small_tuning().stabilise_every, kRoundsToMerge);
    ASSERT_TRUE(rounds) << "seed " << seed << ": " << broken_shape(world.view()).value_or("not ideal");
    figures.add(world, *rounds);
  }
  figures.print("8 consecutive of 24 failed, lists of 4");
}

}  // namespace
}  // namespace tagring::ring_sim
