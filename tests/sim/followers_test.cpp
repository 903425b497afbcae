// FEP-8fcf between whole nodes: owners that lost followers, or kept some who had left, are repaired by
// ordinary posts.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "delivery/wire.hpp"
#include "instances/follower_sync.hpp"
#include "sim/fixture.hpp"
#include "sim/world.hpp"

namespace tagring::sim {
namespace {

constexpr std::size_t kNodes = 6;
constexpr Duration kGrace = std::chrono::minutes(11);  // a little more than the plan's
constexpr Duration kRepair = instances::FollowerSync::kDelayMax + std::chrono::seconds(60);

std::string origin_of_node(std::size_t i) { return fmt::format("https://tags.n{}.example", i); }

struct Repair {
  explicit Repair(std::uint64_t seed, unsigned replicas = 1) : world(seed, options(replicas)) {
    for (int i = 0; i < 28; ++i) tags.push_back(fmt::format("tag{}", i));
    for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
    EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
    for (const std::size_t i : subscribers) {
      const auto wanted =
          world.await(world.node(i).subscriber().want(tags_of(tags), "admin"), std::chrono::seconds(30));
      EXPECT_TRUE(wanted && *wanted);
    }
    quiet();
    world.loop.run_for(kGrace);
  }
  // With a single owner of each hashtag nobody else makes up for what one has lost.
  static WorldOptions options(unsigned replicas) {
    WorldOptions options;
    options.relay_replicas = replicas;
    options.vservers = 1;
    return options;
  }
  void quiet() {
    EXPECT_TRUE(world.run_until(std::chrono::minutes(30), [&] { return world.is_quiet(); }))
        << world.unrest();
  }
  // Publishes one post under all hashtags, and waits until what its headers show is repaired. How many
  // messages that took.
  std::uint64_t post() {
    const std::uint64_t before = world.messages;
    world.publish(0, tags);
    world.loop.run_for(kRepair);
    if (world.faults.loss == 0) quiet();  // else there may never be a moment without something under way
    return world.messages - before;
  }
  std::set<std::string> followed(std::size_t subscriber, std::size_t owner) {
    std::set<std::string> tags_there;
    for (const auto& follow : world.node(subscriber).subscriber().followed_at(origin_of_node(owner)).accepted)
      tags_there.insert(
          fediverse::NodeUrls(origin_of_node(subscriber)).tag_of_actor(follow.follower)->canonical());
    return tags_there;
  }
  bool forge(std::size_t subscriber, std::size_t owner, bool undo, const std::vector<std::string>& which) {
    const std::string id = fmt::format("{}/follows/forged{}", origin_of_node(subscriber), ++forged);
    const std::string actor = origin_of_node(subscriber) + "/actor";
    return world.forge(subscriber, owner,
                       undo ? delivery::undo_follow_activity(id, actor, origin_of_node(owner), tags_of(which))
                            : delivery::follow_activity(id, actor, origin_of_node(owner), tags_of(which)));
  }
  std::int64_t total(const char* counter) {
    std::int64_t sum = 0;
    for (const std::size_t i : subscribers)
      sum += world.node(i).status().at("followers_sync").at(counter).to_number<std::int64_t>();
    return sum;
  }
  bool follows_at(std::size_t subscriber, std::size_t owner) {
    return std::ranges::any_of(tags, [&](const std::string& tag) {
      return world.node(subscriber).subscriber().follows(Tag::from_canonical(tag), origin_of_node(owner));
    });
  }
  // Every owner's list is what each subscriber knows. Who is an owner no more, and has missed that it was
  // left, is told when it delivers again.
  void expect_agreement() {
    for (const std::size_t subscriber : subscribers) {
      for (std::size_t owner = 0; owner < kNodes; ++owner) {
        if (owner == subscriber || !follows_at(subscriber, owner)) continue;
        const json::object body = {{"actor", origin_of_node(owner) + "/actor"}};
        HttpRequest request{.method = "POST",
                            .target = "/followers/check",
                            .headers = {},
                            .body = json::serialize(body),
                            .peer = {}};
        const auto report =
            world.await(world.node(subscriber).control(std::move(request)), std::chrono::minutes(1));
        EXPECT_TRUE(report && report->body.find("\"agree\":true") != std::string::npos)
            << "node " << subscriber << " and owner " << owner << ": " << (report ? report->body : "");
      }
    }
  }
  void expect_all_posts_everywhere() {
    std::multiset<std::string> all;
    for (const World::Post& post : world.posts()) all.insert(post.uri);
    for (const std::size_t i : subscribers) {
      for (const std::string& tag : tags) EXPECT_EQ(world.feed(i, tag), all) << "node " << i << " #" << tag;
    }
  }

  World world;
  std::vector<std::string> tags;
  const std::set<std::size_t> subscribers = {3, 4, 5};
  int forged = 0;
};

TEST(FollowersInTheWorld, AgreeWhenNothingGoesWrong) {
  Repair run(1);
  run.post();
  run.post();
  EXPECT_GT(run.total("equal"), 0);
  EXPECT_EQ(run.total("different"), 0);
  EXPECT_EQ(run.total("headers_ignored"), 0);
  EXPECT_EQ(run.total("lists"), 0);
  run.expect_all_posts_everywhere();
}

// Every owner has forgotten half of what its subscribers follow, and believes in follows that were undone.
TEST(FollowersInTheWorld, OneOrdinaryPostRepairsWhatOwnersLostAndWhatTheyKept) {
  for (const std::uint64_t seed : drawn({11, 12, 13})) {
    SCOPED_TRACE(seed);
    Repair run(seed);
    const std::uint64_t in_peace = run.post();
    std::vector<std::string> strange;
    for (int i = 0; i < 60; ++i) strange.push_back(fmt::format("strange{}", i));
    std::size_t lost = 0;
    std::size_t pairs = 0;
    for (const std::size_t subscriber : run.subscribers) {
      for (std::size_t owner = 0; owner < kNodes; ++owner) {
        const std::set<std::string> there = run.followed(subscriber, owner);
        if (owner == subscriber || there.size() < 2) continue;
        ++pairs;
        const std::vector<std::string> half(there.begin(),
                                            std::next(there.begin(), static_cast<long>(there.size() / 2)));
        lost += half.size();
        EXPECT_TRUE(run.forge(subscriber, owner, /*undo=*/true, half));
        EXPECT_TRUE(run.forge(subscriber, owner, /*undo=*/false, strange));  // those that it owns are taken
      }
    }
    ASSERT_GT(lost, 0U);
    const std::uint64_t with_repair = run.post();
    EXPECT_EQ(run.total("removed"), static_cast<std::int64_t>(lost));
    EXPECT_GT(run.total("undone"), 0);
    const std::int64_t different = run.total("different");
    const std::int64_t undone = run.total("undone");
    const std::uint64_t after = run.post();
    EXPECT_EQ(run.total("different"), different) << "one post was not enough";
    EXPECT_EQ(run.total("undone"), undone);
    run.expect_agreement();
    run.expect_all_posts_everywhere();
    fmt::print(
        "seed {}: {} pairs of owner and subscriber, {} lost and {} superfluous subscriptions; messages for "
        "a post before {}, with the repair {}, after {}\n",
        seed, pairs, lost, undone, in_peace, with_repair, after);
  }
}

// An owner sends nothing to whom it has forgotten altogether, and so no header: its proxy had answered 404
// for an hour, say.
TEST(FollowersInTheWorld, WhoWasForgottenUnderAllHashtagsFindsOutByItself) {
  Repair run(17);
  run.post();
  for (const std::size_t subscriber : run.subscribers) {
    for (std::size_t owner = 0; owner < kNodes; ++owner) {
      const std::set<std::string> there = run.followed(subscriber, owner);
      if (owner != subscriber && !there.empty())
        EXPECT_TRUE(run.forge(subscriber, owner, /*undo=*/true, {there.begin(), there.end()}));
    }
  }
  run.post();
  run.world.loop.run_for(instances::FollowerSync::kLookEvery);
  run.quiet();
  run.expect_agreement();
  run.expect_all_posts_everywhere();
}

// What a header shows may have to wait (here because a list was just fetched), and no other need come.
TEST(FollowersInTheWorld, WhoIsHeardToDifferIsLookedAt) {
  Repair run(18);
  run.world.loop.run_for(instances::FollowerSync::kLookEvery / 2 - std::chrono::minutes(60));
  for (const bool first : {true, false}) {
    for (const std::size_t subscriber : run.subscribers) {
      for (std::size_t owner = 0; owner < kNodes; ++owner) {
        const std::set<std::string> there = run.followed(subscriber, owner);
        if (owner == subscriber || there.size() < 2) continue;
        EXPECT_TRUE(run.forge(subscriber, owner, /*undo=*/true, {first ? *there.begin() : *there.rbegin()}));
      }
    }
    run.post();
  }
  EXPECT_GT(run.total("throttled"), 0);
  run.world.loop.run_for(instances::FollowerSync::kLookEvery / 2 + std::chrono::hours(1));
  run.quiet();
  run.expect_agreement();
  run.expect_all_posts_everywhere();
}

// The same while messages are lost.
TEST(FollowersInTheWorld, AreRepairedAlsoOverABadNetwork) {
  for (const std::uint64_t seed : drawn({21, 22, 23})) {
    SCOPED_TRACE(seed);
    Repair run(seed, /*replicas=*/2);
    run.world.faults.loss = 0.02;
    for (const std::size_t subscriber : run.subscribers) {
      for (std::size_t owner = 0; owner < kNodes; ++owner) {
        const std::set<std::string> there = run.followed(subscriber, owner);
        if (owner == subscriber || there.size() < 2) continue;
        run.forge(subscriber, owner, /*undo=*/true, {*there.begin()});
      }
    }
    // A list that could not be read is asked for again after the cooldown.
    for (int i = 0; i < 3; ++i) {
      run.post();
      run.world.loop.run_for(std::chrono::minutes(15));
    }
    run.world.faults.loss = 0;
    for (int i = 0; i < 2; ++i) {
      run.post();
      run.world.loop.run_for(std::chrono::minutes(15));
    }
    run.expect_agreement();
    run.expect_all_posts_everywhere();
  }
}

}  // namespace
}  // namespace tagring::sim
