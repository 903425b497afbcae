// The checker of worlds that a seed draws, held against what it must see.

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "delivery/wire.hpp"
#include "fediverse/builders.hpp"
#include "handover/transfer.hpp"
#include "hashtag/tag.hpp"
#include "ring/vserver.hpp"
#include "runs/swarm_checks.hpp"
#include "runs/swarm_inboxes.hpp"
#include "runs/swarm_plan.hpp"
#include "storage/storage_calls.hpp"
#include "tests/sim/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::sim {
namespace {

delivery::TagEvent told(delivery::Op op, const std::string& uri) { return {"dogs"_tag, op, uri, "", {}}; }

const auto kAdd = delivery::Op::kAdd;
const auto kRemove = delivery::Op::kRemove;

TEST(SwarmChecks, ARemovalComesOnceAndLast) {
  EXPECT_EQ(runs::wrong_order({told(kAdd, "a"), told(kAdd, "b"), told(kRemove, "a"), told(kRemove, "c")}),
            "");
  EXPECT_EQ(runs::wrong_order({told(kAdd, "a"), told(kAdd, "a")}), "tells of a twice");
  EXPECT_EQ(runs::wrong_order({told(kRemove, "a"), told(kAdd, "a")}), "tells of a after its removal");
  EXPECT_EQ(runs::wrong_order({told(kRemove, "a"), told(kRemove, "a")}), "tells of a after its removal");
}

TEST(SwarmChecks, WhatIsPutBackComesAgainWithALaterTime) {
  const auto told_at = [](delivery::Op op, int changed, int announced = 0) {
    delivery::TagEvent event = told(op, "a");
    event.changed = WallTime(Duration(changed));
    event.announced = WallTime(Duration(announced == 0 ? changed : announced));
    return event;
  };
  const std::vector<delivery::TagEvent> there = {told_at(kAdd, 0), told_at(kRemove, 5), told_at(kAdd, 7)};
  EXPECT_EQ(runs::wrong_order(there), "");
  EXPECT_EQ(living_of(there).size(), 1U);
  EXPECT_EQ(runs::wrong_order({told_at(kRemove, 5), told_at(kAdd, 5)}), "tells of a after its removal");
  delivery::TagEvent again = told_at(kRemove, 7);
  EXPECT_EQ(runs::wrong_order({told_at(kRemove, 5), again}), "tells of a after its removal");
  again.announced = belief::kWasOut;
  EXPECT_EQ(runs::wrong_order({told_at(kRemove, 5), again}), "") << "it was back at 6, elsewhere: for nodes";
  EXPECT_EQ(runs::wrong_order({told_at(kAdd, 5), told_at(kAdd, 7)}), "tells of a twice");
  EXPECT_EQ(runs::wrong_order({told_at(kAdd, 5), told_at(kAdd, 7, 5)}), "") << "for nodes";
}

TEST(SwarmChecks, APostThatWasToldTwiceIsLeftWhenItIsRemovedOnce) {
  EXPECT_EQ(living_of({told(kAdd, "a"), told(kAdd, "a"), told(kRemove, "a")}).size(), 1U);
  EXPECT_TRUE(living_of({told(kAdd, "a"), told(kRemove, "a")}).empty());
}

TEST(WorldLog, EachLineBeginsWithTheTimeAndTheNode) {
  std::vector<std::string> lines;
  WorldOptions options;
  options.log = [&](const std::string& line) { lines.push_back(line); };
  World world(21, options);
  for (std::size_t i = 0; i < 3; ++i) world.start_node(i);
  world.set_clock(2, std::chrono::hours(5));
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  for (const std::size_t i : world.up()) {
    const std::string begin =
        fmt::format("at=[0-9]+[.][0-9]{{3}} node={} time=2026-01-01T0{}:.* level=.*", i, i == 2 ? 5 : 0);
    EXPECT_THAT(lines, testing::Contains(testing::MatchesRegex(begin)));
  }
  EXPECT_THAT(lines, testing::Each(testing::StartsWith("at=")));
}

runs::SwarmPlan plan_of(std::uint64_t seed) {
  Rng rng(seed);
  Rng more = rng.fork("more");
  Rng later = rng.fork("later");
  return runs::draw_swarm(rng, more, later, {.scarce = true});
}

TEST(SwarmPlan, EverySizeIsSmallInAPartOfTheWorlds) {
  std::map<std::string, int> small;
  const node::Bounds usual;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const runs::SwarmPlan plan = plan_of(seed);
    const node::Bounds& bounds = plan.world.bounds;
    small["handed"] += bounds.handed_page < usual.handed_page ? 1 : 0;
    small["missed"] += bounds.missed_page < usual.missed_page ? 1 : 0;
    small["owed"] += bounds.owed_rows < usual.owed_rows ? 1 : 0;
    small["moved"] += bounds.moved_rows < usual.moved_rows ? 1 : 0;
    small["batch"] += bounds.batch < usual.batch ? 1 : 0;
    small["doubts"] += bounds.doubts < usual.doubts ? 1 : 0;
    small["disputes"] += bounds.disputes < usual.disputes ? 1 : 0;
    small["compared"] += bounds.compared.entries < usual.compared.entries ? 1 : 0;
    small["deliveries"] += plan.deliveries > 0 ? 1 : 0;
    small["bearable"] += plan.bearable_posts > 0 ? 1 : 0;
    EXPECT_GT(bounds.compared.entries, bounds.compared.leaf) << seed;
  }
  EXPECT_EQ(small.size(), 10U);
  for (const auto& [name, count] : small) {
    EXPECT_GT(count, 20) << name;
    EXPECT_LT(count, 120) << name;
  }
}

// That of the key of #dogs.
std::size_t owner_of_dogs(World& world, Ring ring) {
  for (const std::size_t i : world.up()) {
    if (world.node(i).rings().of(ring).serving("dogs"_tag.key()) != nullptr) return i;
  }
  return 0;
}

// The only owner of #dogs leaves, and hands nine posts over, two at a time. `loses`: what is behind the first
// page does not arrive. What is wrong then, and how many pages were asked for.
std::pair<std::string, int> hand_over(bool loses) {
  int pages = 0;
  WorldOptions options{.relay_replicas = 1, .storage_replicas = 1, .reconcile = std::chrono::hours(10)};
  options.bounds.handed_page = 2;
  options.lie = [&](std::size_t, const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.target != handover::Transfer::kPath || !request.body.contains(R"("kind":"history")"))
      return std::nullopt;
    ++pages;
    if (!loses || request.body.contains(R"("after":"")")) return std::nullopt;
    HttpResponse nothing;
    nothing.body = R"({"items":[]})";
    return nothing;
  };
  World world(21, options);
  for (std::size_t i = 0; i < 5; ++i) world.start_node(i);
  EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); }));
  for (int n = 0; n < 9; ++n) world.publish(0, {"dogs"});
  EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); }));
  pages = 0;
  EXPECT_TRUE(world.leave_node(owner_of_dogs(world, Ring::kStorage)));
  EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); }));
  const int asked = pages;
  return {runs::SwarmChecks(world, options, {"dogs"}, Rng(5)).at_rest(Duration(1), false), asked};
}

TEST(SwarmPlan, PostsOfASecondPageAreSeenToBeLost) {
  const auto [wrong, pages] = hand_over(false);
  EXPECT_EQ(wrong, "");
  EXPECT_GE(pages, 5);
  EXPECT_THAT(hand_over(true).first, testing::HasSubstr("lacks https://n0.example/users/alice/"));
}

// A small world at rest, with a post under #dogs that lives, one that was removed and one that was edited.
struct AtRest : testing::Test {
  void SetUp() override {
    for (std::size_t i = 0; i < 5; ++i) world.start_node(i);
    ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
    subscribe(world, 3, {"dogs"});
    checks.wants(3, "dogs");
    ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); }));
    for (int n = 0; n < 3; ++n) world.publish(1, {"dogs"});
    world.loop.run_for(std::chrono::seconds(10));
    world.remove(0);
    world.edit(1, {"music"});
    ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();
    checks.note_rest();
    world.publish(2, {"dogs"});
    ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); }));
    ASSERT_EQ(checks.at_rest(std::chrono::minutes(5)), "");
    ASSERT_EQ(checks.glance(), "");
    ASSERT_EQ(checks.still(), "");
  }

  std::size_t owner(Ring ring) { return owner_of_dogs(world, ring); }
  // One that stores nothing of #dogs.
  std::size_t bystander() {
    std::vector<std::size_t> others = world.up();
    std::erase_if(others, [&](std::size_t i) {
      ring::Membership& ring = world.node(i).rings().of(Ring::kStorage);
      return ring.serving(replica_key("dogs"_tag.key(), 0, 2)) != nullptr ||
             ring.serving(replica_key("dogs"_tag.key(), 1, 2)) != nullptr;
    });
    return others.front();
  }
  // What one owner has of a post in place of the truth.
  void corrupt(std::size_t post, std::optional<storage::HistoryEntry> entry) {
    const auto done = world.await(
        world.history_store(owner(Ring::kStorage)).correct("dogs"_tag, world.posts()[post].uri, entry, false),
        std::chrono::seconds(5));
    ASSERT_TRUE(done && *done);
  }
  std::string found() { return checks.at_rest(Duration(1)); }
  template <class T>
  void store(Task<Result<T>> task) {
    const auto done = world.await(std::move(task), std::chrono::seconds(5));
    ASSERT_TRUE(done && *done);
  }
  // Node 4 hears it of node 2.
  void hear(std::string body) {
    HttpRequest request;
    request.method = "POST";
    request.target = "/inbox";
    request.body = std::move(body);
    inboxes.note(4, request);
  }
  static delivery::TagEvent event_of(const World::Post& post) {
    return {"dogs"_tag, delivery::Op::kAdd, post.uri, World::author_of(post.origin), post.dated};
  }
  std::string announce(const World::Post& post) {
    const std::string actor = World::node_origin(2) + "/actor";
    return delivery::announce_activity(actor + "/1", actor, {event_of(post)}, world.loop.wall_now(), {});
  }
  std::string take_back(const World::Post& post) {
    const std::string actor = World::node_origin(2) + "/actor";
    return delivery::undo_announce_activity(actor + "/1", actor, {event_of(post)}, {});
  }

  runs::Inboxes inboxes;
  WorldOptions options{
      .relay_replicas = 2,
      .storage_replicas = 2,
      .reconcile = std::chrono::hours(10),
      .onlooker = [this](std::size_t node, const HttpRequest& request) { inboxes.note(node, request); }};
  World world{21, options};
  runs::SwarmChecks checks{world, options, {"dogs", "music"}, Rng(5), &inboxes};
};

TEST_F(AtRest, OneOwnerLacksAPost) {
  corrupt(2, std::nullopt);
  EXPECT_THAT(found(), testing::HasSubstr("lacks https://n1.example/users/alice/2"));
}

TEST_F(AtRest, OneOwnerLacksATombstone) {
  corrupt(0, std::nullopt);
  EXPECT_THAT(found(), testing::HasSubstr("lacks https://n1.example/users/alice/0"));
}

TEST_F(AtRest, OneOwnerHasAPostAsLivingThatWasEdited) {
  const World::Post& post = world.posts()[1];
  corrupt(1, storage::HistoryEntry{"dogs"_tag, post.uri, World::author_of(1), post.dated, false});
  EXPECT_NE(found(), "");
  EXPECT_NE(checks.still(), "");
}

TEST_F(AtRest, OneOwnerHasAnotherDate) {
  const World::Post& post = world.posts()[2];
  corrupt(2,
          storage::HistoryEntry{"dogs"_tag, post.uri, World::author_of(1), post.dated + Duration(1), false});
  EXPECT_THAT(found(), testing::HasSubstr("another author or date"));
}

TEST_F(AtRest, ANodeHasWhatNeverWas) {
  const std::string uri = World::author_of(1) + "/999";
  const auto done = world.await(
      world.history_store(4).put({{"dogs"_tag, uri, World::author_of(1), world.posts()[2].dated, false}}),
      std::chrono::seconds(5));
  ASSERT_TRUE(done && *done);
  EXPECT_THAT(found(), testing::HasSubstr("never was"));
}

// What was signed before the removal is remembered until then.
TEST_F(AtRest, WhatIsSignedFollowsTheDisk) {
  world.remove(2);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();
  EXPECT_EQ(found(), "");
}

TEST_F(AtRest, ARelayHasForgottenWhoFollows) {
  const auto done = world.await(
      world.relay_store(owner(Ring::kRelay)).unfollow({{"dogs"_tag, World::node_origin(3) + "/actor"}}),
      std::chrono::seconds(5));
  ASSERT_TRUE(done && *done);
  EXPECT_THAT(found(), testing::HasSubstr("does not know that node 3 follows"));
}

TEST_F(AtRest, ASubscriberFollowsWhereNobodyOwns) {
  const auto done = world.await(
      world.relay_store(3).save_subscriptions({{"dogs"_tag, "https://tags.n99.example", "x", true}}),
      std::chrono::seconds(5));
  ASSERT_TRUE(done && *done);
  EXPECT_THAT(found(), testing::HasSubstr("node 3 follows #dogs at"));
}

TEST_F(AtRest, ASubscriberHasForgottenOnItsDiskWhereItFollows) {
  const std::string relay = world.node(3).subscriber().owners_of("dogs"_tag).front();
  store(world.relay_store(3).drop_subscriptions({{"dogs"_tag, relay}}));
  EXPECT_THAT(found(), testing::HasSubstr("node 3 follows #dogs at"));
}

TEST_F(AtRest, ARelayHasAFollowerWhoIsNobody) {
  store(world.relay_store(owner(Ring::kRelay))
            .follow({{"dogs"_tag, "https://tags.n99.example/actor", "https://tags.n99.example/inbox", "x",
                      delivery::Via::kNode}}));
  EXPECT_THAT(found(), testing::HasSubstr("believes that https://tags.n99.example/actor follows"));
}

TEST_F(AtRest, ANodeWantsOnItsDiskWhatItDoesNotKnowOf) {
  store(world.relay_store(4).want({"dogs"_tag}, "admin"));
  EXPECT_THAT(found(), testing::HasSubstr("node 4 wants #dogs on its disk, does not in memory"));
}

TEST_F(AtRest, ANodeFollowsWhatNobodyAskedFor) {
  subscribe(world, 4, {"music"});
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); }));
  EXPECT_THAT(found(), testing::HasSubstr("relays #music, believes that node 4 follows"));
}

// The only relay follows nobody.
TEST(SwarmChecks, ANodeWantsWhatNobodyAskedFor) {
  const WorldOptions options{.relay_replicas = 1, .storage_replicas = 1};
  World world(21, options);
  for (std::size_t i = 0; i < 5; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  const std::size_t relay = owner_of_dogs(world, Ring::kRelay);
  subscribe(world, relay, {"dogs"});
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); }));
  EXPECT_EQ(runs::SwarmChecks(world, options, {"dogs"}, Rng(5)).at_rest(Duration(1)),
            fmt::format("node {} wants #dogs on its disk, does in memory, does not by what was said", relay));
}

TEST_F(AtRest, ASubscriberHasNotAllThatItMissed) {
  const std::string relay = world.node(3).subscriber().owners_of("dogs"_tag).front();
  store(world.relay_store(3).save_subscriptions({{"dogs"_tag, relay, "x", false}}));
  EXPECT_EQ(found(), "node 3 follows #dogs at " + relay + ", and has not all that it missed there");
}

TEST_F(AtRest, OwnersKeepASetThatAnotherOwnerDoesNotKeep) {
  const std::size_t coordinator = owner(Ring::kStorage);
  json::object request = redundancy::to_json({"dogs"_tag, 1, 2, 2, world.loop.wall_now()});
  request["action"] = "set";
  for (const std::size_t i : world.up()) {
    if (i != coordinator)
      world.forge_later(coordinator, i, std::string(storage::StorageCalls::kPath), json::serialize(request));
  }
  world.loop.run_for(std::chrono::seconds(10));
  EXPECT_THAT(found(), testing::AllOf(testing::HasSubstr("which owns it, "),
                                      testing::HasSubstr("version 1 of 2 owners, reach 2")));
}

// In digests it counts still.
TEST_F(AtRest, ANodeComparesMoreThanItHas) {
  const World::Post& post = world.posts()[2];
  storage::HistoryStore& history = world.history_store(bystander());
  store(history.put({{"dogs"_tag, post.uri, World::author_of(1), post.dated}}));
  store(history.let_go("dogs"_tag, 1, world.loop.wall_now()));
  EXPECT_THAT(found(), testing::HasSubstr("counts 1 posts under #dogs, and has 0"));
}

TEST_F(AtRest, AnOwnerHasASetOnItsDiskThatItDoesNotKeep) {
  store(world.history_store(owner(Ring::kStorage)).save_set({"dogs"_tag, 1, 4, 4, world.loop.wall_now()}));
  EXPECT_THAT(found(), testing::HasSubstr("of #dogs version 1 of 4 owners, reach 4 on its disk, and no set"));
}

TEST_F(AtRest, WhatIsSignedIsNoMoreThanWhatIsOnTheDisk) {
  const World::Post& post = world.posts()[0];
  corrupt(0, storage::HistoryEntry{"dogs"_tag, post.uri, World::author_of(1), post.dated, true, false,
                                   storage::kBeforeAll});
  EXPECT_THAT(found(), testing::ContainsRegex("which owns #dogs, signs of hour [0-9]+ 4 posts, and has 3"));
}

TEST_F(AtRest, APublisherKnowsAPostUnderAnotherHashtag) {
  const World::Post& post = world.posts()[2];
  store(world.relay_store(1).publish({post.uri, World::author_of(1), post.dated, tags_of({"dogs", "music"})},
                                     2));
  EXPECT_THAT(found(), testing::HasSubstr("node 1 knows " + post.uri + " under \"dogs music\""));
}

TEST_F(AtRest, SomethingIsOwedOnTheDisk) {
  store(world.relay_store(4).owe(Ring::kStorage, {event_of(world.posts()[2])}, 2));
  EXPECT_THAT(found(), testing::HasSubstr("node 4 has on its disk that it owes the Add of https://n1."));
}

TEST_F(AtRest, InboxesAreLookedInto) {
  const auto is_of = [&](std::size_t post, bool removed) {
    return std::ranges::any_of(inboxes.told(), [&](const auto& entry) {
      return entry.first.node == 3 && entry.first.tag == "dogs" && entry.first.removed == removed &&
             entry.first.uri == world.posts()[post].uri;
    });
  };
  EXPECT_TRUE(is_of(2, false));
  EXPECT_TRUE(is_of(0, true));
  EXPECT_TRUE(is_of(1, true));
  EXPECT_FALSE(is_of(2, true));
}

TEST_F(AtRest, SomebodyIsToldOfAPostTwice) {
  checks.wants_no_more(4, "dogs");  // once
  hear(announce(world.posts()[3]));
  EXPECT_EQ(found(), "");
  hear(announce(world.posts()[3]));
  EXPECT_THAT(found(),
              testing::HasSubstr("told node 4 of https://n2.example/users/alice/3 under #dogs, 2 times"));
}

TEST_F(AtRest, SomebodyIsToldWhoNeverAsked) {
  hear(announce(world.posts()[3]));
  EXPECT_THAT(found(), testing::HasSubstr("which it never wanted"));
}

TEST_F(AtRest, SomebodyIsToldOfAnotherAuthor) {
  World::Post post = world.posts()[3];
  post.origin = 1;
  hear(announce(post));
  EXPECT_THAT(found(), testing::HasSubstr("alice/3 under #dogs, with another author or date"));
}

TEST_F(AtRest, SomebodyIsToldOfAnEndThatNeverCame) {
  hear(take_back(world.posts()[0]));
  EXPECT_EQ(found(), "");
  hear(take_back(world.posts()[2]));
  EXPECT_THAT(found(), testing::HasSubstr("told node 4 of the end of https://n1.example/users/alice/2"));
}

// Somebody on a server without a node follows #dogs and #music at node 3 before two posts, of which the first
// is removed then.
struct WithPeople : AtRest {
  void SetUp() override {
    AtRest::SetUp();
    for (const char* tag : {"dogs", "music"}) world.wish(server, {0, 3, tag}, true);
    ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();
    removed = world.publish(1, {"dogs"});
    post = world.publish(2, {"dogs", "music"});
    world.loop.run_for(std::chrono::seconds(10));
    world.remove(removed);
    ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();
    ASSERT_EQ(checks.at_rest(std::chrono::minutes(5)), "");
  }
  static std::string actor(const char* tag) { return World::node_origin(3) + "/tag/" + tag; }
  // The server hears what no node has said.
  void announce(const char* tag, std::size_t number) {
    const World::Post& said = world.posts()[number];
    world.forge_to_people(server, json::serialize(fediverse::make_announce(
                                      actor(tag) + "/more", actor(tag), said.uri, said.dated,
                                      fediverse::Audience::kPublic, said.dated)));
  }

  std::size_t server = world.add_people(true);
  std::size_t removed = 0;
  std::size_t post = 0;
};

TEST_F(WithPeople, EachPostIsAnnouncedOnceAndItsEnd) {
  const auto& boosts = world.people().at(server).boosts();
  for (const std::size_t number : {removed, post}) {
    const auto is_of_it = [&](const auto& entry) { return entry.second.uri == world.posts()[number].uri; };
    EXPECT_EQ(std::ranges::count_if(boosts, is_of_it), 1) << number;
  }
  const std::size_t before = boosts.size();
  world.wish(server, {0, 3, "dogs"}, false);
  EXPECT_THAT(world.unrest(), testing::HasSubstr("is not taken"));
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();
  world.publish(2, {"dogs"});
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();
  EXPECT_EQ(boosts.size(), before);
}

TEST_F(WithPeople, ThePostThatNobodyAnnouncedIsMissed) {
  world.set_people_down(server, true);
  const std::size_t missed = world.publish(2, {"dogs"});
  world.loop.run_for(std::chrono::seconds(5));
  EXPECT_THAT(found(), testing::HasSubstr("shows p0, of what is followed at node 3, nothing of " +
                                          world.posts()[missed].uri));
}

TEST_F(WithPeople, APostIsShownTwice) {
  announce("dogs", post);
  EXPECT_THAT(found(), testing::ContainsRegex("shows p0, of what is followed at node 3, .*/[0-9] 2 times"));
}

TEST_F(WithPeople, APostIsToldOfByWhomNobodyFollows) {
  announce("haiku", post);
  EXPECT_THAT(found(), testing::HasSubstr("haiku, whom nobody follows there"));
}

TEST_F(WithPeople, APostIsShownThatIsGone) {
  announce("dogs", removed);
  EXPECT_THAT(found(), testing::HasSubstr(world.posts()[removed].uri + ", and not of its end"));
}

TEST_F(WithPeople, APostIsTakenBackThatIsThere) {
  for (const auto& [id, boost] : std::map(world.people().at(server).boosts())) {
    if (boost.uri != world.posts()[post].uri) continue;
    world.forge_to_people(server, json::serialize(fediverse::make_undo_announce("https://tags.n3.example/1",
                                                                                boost.actor, id, boost.uri)));
  }
  EXPECT_THAT(found(), testing::HasSubstr("the end of " + world.posts()[post].uri + ", which is there"));
}

TEST_F(AtRest, AFeedHasWhatIsGoneAndLacksWhatIsThere) {
  const World::Post& post = world.posts()[2];
  const auto done =
      world.await(world.relay_store(3).accept(
                      {{"dogs"_tag, delivery::Op::kRemove, post.uri, World::author_of(1), post.dated}}, 0),
                  std::chrono::seconds(5));
  ASSERT_TRUE(done && *done);
  EXPECT_THAT(found(), testing::HasSubstr("lacks 1: " + post.uri));
}

}  // namespace
}  // namespace tagring::sim
