// What a subscriber missed, and cannot look at now: one relay alone says so, and the posts' server is silent.

#include "subscriber/catch_up.hpp"

#include <fmt/format.h>

#include "delivery/wire.hpp"
#include "http/http_error.hpp"
#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

constexpr const char* kTag = "caturday";
constexpr std::size_t kNodes = 10;

std::vector<std::size_t> relays_of(World& world, const std::string& tag) {
  std::vector<std::size_t> relays;
  for (unsigned replica = 0; replica < 2; ++replica) {
    const RingId key = replica_key(Tag::from_canonical(tag).key(), replica, 2);
    for (const std::size_t i : world.up())
      if (world.node(i).rings().of(Ring::kRelay).serving(key) != nullptr) relays.push_back(i);
  }
  return relays;
}

// Who plays no part, in the order of their numbers.
std::vector<std::size_t> others(World& world, const std::vector<std::size_t>& relays) {
  std::vector<std::size_t> rest = world.up();
  std::erase_if(rest, [&](std::size_t i) { return i == 0 || std::ranges::find(relays, i) != relays.end(); });
  return rest;
}

// A full page of posts at a host.
HttpResponse inventions_at(const std::string& host, WallTime now) {
  std::vector<delivery::FeedEntry> entries;
  for (std::size_t n = 0; n < subscriber::CatchUp::kPage; ++n) {
    const std::string author = fmt::format("https://{}/users/alice", host);
    entries.push_back({n + 1,
                       {Tag::from_canonical(kTag), delivery::Op::kAdd, fmt::format("{}/never{}", author, n),
                        author, now, true}});
  }
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(json::object{{"items", delivery::to_json(entries)}});
  return response;
}

TEST(CatchUp, WhoNamesPostsThatNobodyCanLookAtHoldsUpNobody) {
  std::optional<std::size_t> liar;
  std::string silent;
  World* at = nullptr;
  WorldOptions options;
  options.lie = [&](std::size_t node, const HttpRequest& request) -> std::optional<HttpResponse> {
    if (node != liar || request.target != subscriber::CatchUp::kPath) return std::nullopt;
    return inventions_at(silent, at->loop.wall_now());
  };
  World world(5, options);
  at = &world;
  for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }));
  const auto relays = relays_of(world, kTag);
  const auto rest = others(world, relays);
  ASSERT_GE(rest.size(), 3U);
  liar = relays.front();
  silent = fmt::format("n{}.example", rest[1]);
  world.set_instance_down(rest[1], true);

  subscribe(world, rest[0], {kTag});
  const subscriber::Subscriptions& subscriber = world.node(rest[0]).subscriber();
  EXPECT_TRUE(world.run_until(std::chrono::seconds(10), [&] { return subscriber.is_settled(); }));
  // It may have known the place from before that node joined, and follow there when it looks again.
  EXPECT_TRUE(world.run_until(std::chrono::minutes(2), [&] {
    return subscriber.follows(Tag::from_canonical(kTag), fmt::format("https://tags.n{}.example", *liar));
  }));
  subscribe(world, rest[0], {"dogs", "moss"});
  EXPECT_TRUE(world.run_until(std::chrono::seconds(10), [&] { return subscriber.is_settled(); }));

  const std::size_t post = world.publish(rest[2], {kTag});
  world.loop.run_for(std::chrono::minutes(1));
  EXPECT_EQ(world.feed(rest[0], kTag), std::multiset{world.posts()[post].uri});
  world.set_instance_down(rest[1], false);
  world.loop.run_for(std::chrono::minutes(5));
  EXPECT_EQ(world.feed(rest[0], kTag), std::multiset{world.posts()[post].uri});
}

TEST(CatchUp, WhatIsInDoubtOutlivesARestart) {
  std::optional<std::size_t> dropper;
  WorldOptions options;
  options.drops_relayed = [&](std::size_t node, const std::string& /*uri*/) { return node == dropper; };
  World world(5, options);
  for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }));
  const auto relays = relays_of(world, kTag);
  const auto rest = others(world, relays);
  ASSERT_GE(rest.size(), 2U);
  dropper = relays.front();
  ASSERT_NE(relays.front(), relays.back());
  const std::size_t post = world.publish(rest[1], {kTag});
  ASSERT_TRUE(world.run_until(std::chrono::minutes(1), [&] { return world.is_quiet(); })) << world.unrest();
  world.set_instance_down(rest[1], true);

  subscribe(world, rest[0], {kTag});
  const auto is_settled = [&] { return world.node(rest[0]).subscriber().is_settled(); };
  ASSERT_TRUE(world.run_until(std::chrono::minutes(1), is_settled));
  world.loop.run_for(std::chrono::minutes(2));
  EXPECT_TRUE(world.feed(rest[0], kTag).empty());
  world.crash_node(rest[0]);
  world.start_node(rest[0]);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  world.set_instance_down(rest[1], false);
  EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();
  EXPECT_EQ(world.feed(rest[0], kTag), std::multiset{world.posts()[post].uri});
}

// So few doubts have room that most of what one relay alone says was missed is forgotten while the posts'
// server is silent.
TEST(CatchUp, WhatHadNoRoomToBeDoubtedIsAskedForAgain) {
  std::optional<std::size_t> dropper;
  WorldOptions options;
  options.drops_relayed = [&](std::size_t node, const std::string& /*uri*/) { return node == dropper; };
  options.bounds.doubts = 2;
  World world(5, options);
  for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }));
  const auto relays = relays_of(world, kTag);
  const auto rest = others(world, relays);
  dropper = relays.front();
  std::multiset<std::string> posts;
  for (int i = 0; i < 7; ++i) posts.insert(world.posts()[world.publish(rest[1], {kTag})].uri);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(1), [&] { return world.is_quiet(); })) << world.unrest();
  world.set_instance_down(rest[1], true);
  subscribe(world, rest[0], {kTag});
  world.loop.run_for(std::chrono::minutes(2));
  EXPECT_TRUE(world.feed(rest[0], kTag).empty());
  world.set_instance_down(rest[1], false);
  EXPECT_TRUE(world.run_until(std::chrono::minutes(20), [&] { return world.feed(rest[0], kTag) == posts; }));
}

// Its administrator has blocked the hashtag, or the node.
TEST(CatchUp, WhoServesNoHashtagIsNotAskedAgainAndAgain) {
  std::optional<std::size_t> owner;
  int asked = 0;
  WorldOptions options;
  options.lie = [&](std::size_t node, const HttpRequest& request) -> std::optional<HttpResponse> {
    if (node != owner || request.target != "/inbox" || !request.body.contains("\"Follow\""))
      return std::nullopt;
    ++asked;
    return error_response({ErrorCode::kDenied, "blocked here"});
  };
  World world(5, options);
  for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }));
  const auto relays = relays_of(world, kTag);
  const auto rest = others(world, relays);
  owner = relays.front();
  subscribe(world, rest[0], {kTag});
  const subscriber::Subscriptions& subscriber = world.node(rest[0]).subscriber();
  EXPECT_TRUE(world.run_until(std::chrono::seconds(10), [&] { return subscriber.is_settled(); }));
  world.loop.run_for(std::chrono::minutes(10));
  EXPECT_EQ(asked, 1);
  const std::size_t post = world.publish(rest[2], {kTag});
  world.loop.run_for(std::chrono::minutes(1));
  EXPECT_EQ(world.feed(rest[0], kTag), std::multiset{world.posts()[post].uri}) << "the other relay brings it";
}

// The owner of one that comes before it in every turn cannot be asked where the hashtag is.
TEST(Renewing, AFormerOwnerIsUnfollowedThoughTheOwnerOfAnotherHashtagIsNotFound) {
  World world(5, WorldOptions{});
  for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }));
  const auto relays = relays_of(world, kTag);
  const std::size_t reader = others(world, relays).front();
  const subscriber::Subscriptions& subscriber = world.node(reader).subscriber();
  subscribe(world, reader, {kTag});
  ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return subscriber.is_settled(); }));
  std::string lost;
  std::set<std::size_t> unreachable;
  for (int i = 0; unreachable.empty() && i < 1000; ++i) {
    lost = fmt::format("a{}", i);
    for (const std::size_t relay : relays_of(world, lost)) unreachable.insert(relay);
    const bool is_apart =
        std::ranges::none_of(relays, [&](std::size_t relay) { return unreachable.contains(relay); });
    if (!is_apart || unreachable.contains(reader)) unreachable.clear();
  }
  ASSERT_FALSE(unreachable.empty());
  ASSERT_LT(lost, kTag);
  world.cut({reader}, unreachable);
  subscribe(world, reader, {lost});
  world.loop.run_for(std::chrono::minutes(2));
  ASSERT_FALSE(subscriber.is_settled());

  const auto follows_former = [&] {
    return subscriber.follows(Tag::from_canonical(kTag),
                              fmt::format("https://tags.n{}.example", relays.front()));
  };
  ASSERT_TRUE(follows_former());
  HttpRequest request;
  request.method = "POST";
  request.target = "/blocks/add";
  request.body = fmt::format(R"({{"kind":"domain","what":"n{}.example","reason":"spam"}})", relays.front());
  const auto answer = world.await(world.node(reader).control(std::move(request)), std::chrono::minutes(1));
  ASSERT_TRUE(answer && answer->status == 200);
  EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return !follows_former(); }));
}

// Both ends of the segment that they share with others may be their own, and the middle is not.
TEST(Reconciling, WhoOwnsMoreThanHalfOfARingAsksAllWhoOwnTheRest) {
  const auto owner_of = [](World& world, const RingId& place) {
    for (const std::size_t i : world.up())
      if (world.node(i).rings().of(Ring::kStorage).owning(place) != nullptr) return i;
    return SIZE_MAX;
  };
  std::size_t tried = 0;
  for (std::uint64_t seed = 0; seed < 30 && tried < 2; ++seed) {
    WorldOptions options{.vservers = 1, .storage_replicas = 2, .reconcile = std::chrono::minutes(1)};
    World world(seed, options);
    for (std::size_t i = 0; i < 3; ++i) world.start_node(i);
    ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
    for (int n = 0; n < 100; ++n) {
      const Tag tag = *Tag::parse(fmt::format("moss{}", n));
      const std::size_t large = owner_of(world, tag.key());
      const std::size_t other = owner_of(world, replica_key(tag.key(), 1, 2));
      const auto& vserver = *world.node(large).rings().of(Ring::kStorage).vservers().front();
      const Segment own = *vserver.serving();
      const bool is_large = own.contains(replica_key(own.from, 1, 2));
      const bool is_next = vserver.successors().front().host == fmt::format("tags.n{}.example", other);
      if (!is_large || is_next || other == large) continue;
      ++tried;
      world.publish(0, {tag.canonical()});
      ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_quiet(); }))
          << world.unrest();
      const auto await = [&](auto task) { return *world.await(std::move(task), std::chrono::seconds(10)); };
      const auto kept = [&] {
        return await(world.history_store(large).page(tag, std::nullopt, 10))->entries.size();
      };
      ASSERT_EQ(kept(), 1U);
      ASSERT_TRUE(await(world.history_store(large).forget(tag, 10, world.loop.wall_now())));
      ASSERT_EQ(kept(), 0U);
      EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return kept() == 1; })) << "seed " << seed;
      break;
    }
  }
  EXPECT_EQ(tried, 2U);
}

}  // namespace
}  // namespace tagring::sim
