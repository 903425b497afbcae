// The ring under joins and crashes within the operating assumptions of corrected Chord, with its invariants
// checked after every event.

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ring_sim/fixture.hpp"

namespace tagring::ring_sim {
namespace {

void expect_correct(const RingChurn& setting, std::uint64_t count) {
  int total = 0;
  int longest = 0;
  std::uint64_t events = 0;
  const auto all = seeds(count);
  for (const std::uint64_t seed : all) {
    const RingChurnResult outcome = run_ring_churn(seed, setting);
    ASSERT_FALSE(outcome.broken) << "seed " << seed << ": " << *outcome.broken;
    ASSERT_TRUE(outcome.ideal_rounds) << "seed " << seed << " did not become ideal";
    EXPECT_LE(*outcome.ideal_rounds, outcome.rounds_bound) << "seed " << seed;
    total += *outcome.ideal_rounds;
    longest = std::max(longest, *outcome.ideal_rounds);
    events += outcome.events;
  }
  fmt::print("{} runs, {} events; rounds until ideal: mean {:.1f}, longest {}\n", all.size(), events,
             static_cast<double>(total) / static_cast<double>(all.size()), longest);
}

TEST(RingChurn, KeepsTheInvariantsAndBecomesIdealAfterwards) { expect_correct({}, 40); }

TEST(RingChurn, KeepsTheInvariantsWithSeveralVserversPerHost) {
  RingChurn setting;
  setting.hosts = 16;
  setting.options.vservers = 3;
  expect_correct(setting, 15);
}

// Watching for splits must not make anybody leave a ring that is whole.
TEST(RingChurn, KeepsTheInvariantsWhileWatchingForSplits) {
  RingChurn setting;
  setting.options.membership.split_check_every = std::chrono::seconds(3);
  expect_correct(setting, 15);
}

// Whose successor has died tells the next one when it stabilises, and not before (seed of a long run).
TEST(RingChurn, MayOwnKeysOfAMemberThatHasNotToldItsLiveSuccessor) {
  RingChurn setting;
  setting.duration = std::chrono::hours(24);
  setting.events = 500'000;
  const RingChurnResult outcome = run_ring_churn(356, setting);
  EXPECT_FALSE(outcome.broken) << *outcome.broken;
  EXPECT_GT(outcome.crashes, 100U);
}

TEST(RingChurn, SameSeedGivesTheSameTrace) {
  RingChurn setting;
  setting.duration = std::chrono::minutes(1);
  const RingChurnResult a = run_ring_churn(99, setting);
  const RingChurnResult b = run_ring_churn(99, setting);
  const RingChurnResult c = run_ring_churn(100, setting);
  EXPECT_EQ(a.trace, b.trace);
  EXPECT_NE(a.trace, c.trace);
}

// Runs until `host` is a member, and no event longer.
void run_until_member(RingWorld& world, std::size_t host) {
  bool joined = false;
  for (int i = 0; i < 100'000 && !joined; ++i) {
    world.loop.run_for(Duration(1));
    joined = world.members_.at(host)->vserver.is_member();
  }
  ASSERT_TRUE(joined);
}

TEST(RingJoin, SurvivesTheFailureOfAllButOneOfTheSuccessors) {
  for (const std::uint64_t seed : seeds(10)) {
    RingWorld world(seed, small_tuning());
    world.build(16);
    world.run();
    world.start(16);
    run_until_member(world, 16);
    const auto successors = world.members_.at(16)->vserver.successors().copy();
    ASSERT_EQ(successors.size(), small_tuning().successors) << "seed " << seed;
    for (std::size_t host = 0; host < 16; ++host) {
      const RingId id = world.members_.at(host)->vserver.self().id;
      for (std::size_t i = 0; i + 1 < successors.size(); ++i) {
        if (successors[i].id == id) world.crash(host);
      }
    }
    EXPECT_EQ(broken_shape(world.view()), std::nullopt) << "seed " << seed;
    EXPECT_TRUE(rounds_until_ideal(world, small_tuning().stabilise_every, 30)) << "seed " << seed;
  }
}

// The list a joiner copies has a dead entry: the gap stays a gap.
TEST(RingJoin, SkipsNobodyWhereAnEntryOfTheCopiedListIsDead) {
  for (const std::uint64_t seed : seeds(20)) {
    RingWorld world(seed, small_tuning());
    world.build(16);
    world.run();
    world.watch();
    world.loop.run_for(std::chrono::seconds(10));
    world.crash(seed % 16);
    world.start(16);
    run_until_member(world, 16);
    EXPECT_EQ(world.broken(), std::nullopt) << "seed " << seed;
  }
}

Task<Result<ring::Reply>> ask(ring::Vserver* vserver, decltype(ring::Request::body) body) {
  ring::Request request;
  request.body = std::move(body);
  co_return co_await vserver->answer(std::move(request));
}

TEST(RingAnswers, AreBusyAboutPointersThatAreChanging) {
  RingWorld world(1, small_tuning());
  world.build(8);
  world.run();
  RingWorld::Member& member = *world.members_.at(0);
  while (!member.vserver.is_pending()) world.loop.run_for(Duration(1));
  // A question that runs before anything else does.
  std::optional<Result<ring::Reply>> reply;
  std::optional<Result<ring::Reply>> ping;
  const auto store = [](auto& result) {
    return [&result](std::exception_ptr, Result<ring::Reply> value) { result.emplace(std::move(value)); };
  };
  boost::asio::co_spawn(world.loop.executor(member.owner), ask(&member.vserver, ring::GetNeighbours{}),
                        store(reply));
  boost::asio::co_spawn(world.loop.executor(member.owner), ask(&member.vserver, ring::Ping{}), store(ping));
  world.loop.run_for(Duration(0));
  ASSERT_TRUE(member.vserver.is_pending());
  ASSERT_TRUE(reply && ping);
  ASSERT_FALSE(reply->has_value());
  EXPECT_EQ(reply->error().code, ErrorCode::kBusy);
  EXPECT_TRUE(ping->has_value());
}

// Whom `member` takes for its predecessor a second after `candidate` has notified it.
ring::Contact predecessor_after(RingWorld& world, RingWorld::Member& member, ring::Contact candidate) {
  const auto reply = await(world, member.owner, ask(&member.vserver, ring::Notify{std::move(candidate)}));
  EXPECT_TRUE(reply && *reply);
  world.loop.run_for(std::chrono::seconds(1));
  return member.vserver.predecessor().value_or(ring::Contact{});
}

TEST(RingAnswers, KeepALivingPredecessorWhateverSomebodyFartherSays) {
  RingWorld world(4, small_tuning());
  world.build(8);  // and nobody stabilises
  RingWorld::Member& member = *world.members_.at(0);
  const ring::Contact predecessor = *member.vserver.predecessor();
  for (std::size_t host = 1; host < 8; ++host) {
    EXPECT_EQ(predecessor_after(world, member, world.members_.at(host)->vserver.self()), predecessor);
  }
}

TEST(RingAnswers, BelieveNoNotifyOfTheDead) {
  RingWorld world(4, small_tuning());
  world.build(8);
  std::map<RingId, std::size_t> order;
  for (const auto& [host, member] : world.members_) order[member->vserver.self().id] = host;
  const auto at = [&](std::size_t place) {
    return std::next(order.begin(), static_cast<std::ptrdiff_t>(place))->second;
  };
  RingWorld::Member& member = *world.members_.at(at(3));
  const ring::Contact dead = world.members_.at(at(2))->vserver.self();
  const ring::Contact farther = world.members_.at(at(1))->vserver.self();
  world.crash(at(2));
  EXPECT_EQ(predecessor_after(world, member, farther), farther);
  EXPECT_EQ(predecessor_after(world, member, dead), farther);
}

Task<bool> stabilise_once(ring::Vserver* vserver) {
  co_await vserver->stabilise();
  co_return true;
}

TEST(RingStabilise, TakesNobodyForItsSuccessorWhoDoesNotAnswer) {
  RingWorld world(5, small_tuning());
  world.build(8);  // and nobody stabilises by itself
  std::map<RingId, std::size_t> order;
  for (const auto& [host, member] : world.members_) order[member->vserver.self().id] = host;
  const std::size_t first = order.begin()->second;
  const std::size_t second = std::next(order.begin())->second;
  const std::size_t third = std::next(order.begin(), 2)->second;
  world.crash(second);
  RingWorld::Member& member = *world.members_.at(first);
  // The third still names the dead one as its predecessor.
  ASSERT_TRUE(await(world, member.owner, stabilise_once(&member.vserver)));
  EXPECT_EQ(member.vserver.successors().front(), world.members_.at(third)->vserver.self());
  world.loop.run_for(std::chrono::seconds(1));
  EXPECT_EQ(world.members_.at(third)->vserver.predecessor(), member.vserver.self());
}

Task<bool> leave_and_return(ring::Vserver* vserver, ring::Contact known) {
  co_await vserver->stop();
  vserver->leave();
  for (;;) {
    const Result<void> joined = co_await vserver->join({known});
    if (joined) co_return true;
  }
}

TEST(RingLeave, WhoComesBackIsANewMember) {
  RingWorld world(2, small_tuning());
  world.build(8);
  world.run();
  world.loop.run_for(std::chrono::seconds(10));
  RingWorld::Member& member = *world.members_.at(3);
  const ring::Contact before = member.vserver.self();
  ASSERT_TRUE(
      await(world, member.owner, leave_and_return(&member.vserver, world.members_.at(5)->vserver.self())));
  const ring::Contact after = member.vserver.self();
  EXPECT_EQ(before.id, after.id);
  EXPECT_GT(after.incarnation, before.incarnation);
  member.vserver.start();
  EXPECT_TRUE(rounds_until_ideal(world, small_tuning().stabilise_every, 30));
}

}  // namespace
}  // namespace tagring::ring_sim
