// A node under a blocked domain (docs/protocol.md §4.4): it keeps its place on the rings, and gets no data.
#include <fmt/format.h>

#include "node/peer_fixture.hpp"
#include "sim/world.hpp"

namespace tagring::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class BlockedNode : public PeerTest {
 protected:
  void block() {
    EXPECT_EQ(control("/blocks/add", R"({"kind":"domain","what":"peer.example","reason":"spam"})").status,
              200);
    settle();
  }
  // A hashtag with a replica at the other node, and one here.
  std::string shared_tag() {
    for (int i = 0; i < 1000; ++i) {
      std::string name = fmt::format("cats{}", i);
      const RingId key = Tag::from_canonical(name).key();
      unsigned theirs = 0;
      for (unsigned replica = 0; replica < 2; ++replica)
        theirs += in_half_open(self(Ring::kRelay).id, replica_key(key, replica, 2), near.id) ? 1 : 0;
      if (theirs == 1) return name;
    }
    ADD_FAILURE() << "no such hashtag";
    return "cats";
  }
  std::vector<std::string> types_sent_to_peer() {
    std::vector<std::string> types;
    for (const json::object& sent : internet.posted_to(at("/inbox")))
      types.push_back(json::id_of(sent, "type"));
    return types;
  }

  Author alice = make_author("https://home.example/users/alice");
};

TEST_F(BlockedNode, IsANeighbourOnTheRingsAsAnyOther) {
  block();
  join(near);
  for (const Ring which : {Ring::kRelay, Ring::kStorage}) {
    ASSERT_TRUE(vserver(which).predecessor());
    EXPECT_EQ(*vserver(which).predecessor(), near);
    ASSERT_THAT(vserver(which).successors().contacts(), SizeIs(1));
    EXPECT_EQ(vserver(which).successors().front(), near);
    EXPECT_EQ(call(which, ring::Ping{}).status, 200);
    EXPECT_THAT(call(which, ring::Find{near.id}).body, HasSubstr(peer_host))
        << "others find its keys through us";
  }
}

TEST_F(BlockedNode, IsHeldForNoSuccessorWhoseDataIsTakenOver) {
  join(near);
  block();
  const HttpResponse response =
      call(Ring::kStorage, ring::TakeOver{near, Segment{self(Ring::kStorage).id, near.id}});
  EXPECT_EQ(response.status, 403);
  EXPECT_THAT(response.body, HasSubstr(R"("error":"denied")"));
  EXPECT_THAT(response.body, HasSubstr("tags.peer.example is blocked here"));
  EXPECT_EQ(calls_to("/tagring/v1/transfer"), 0U);
}

// What a neighbour may have and bring. Nothing is blocked here.
class Neighbour : public BlockedNode {
 protected:
  HttpRequest transfer(const RingId& from, const RingId& to, const std::string& kind,
                       const std::string& question = {}) {
    json::object body = {
        {"protocol", 1},      {"network", "tagring"}, {"ring", "storage"}, {"requester", to_json(near)},
        {"from", from.hex()}, {"to", to.hex()},       {"kind", kind},      {"after_tag", ""},
        {"after", ""},        {"nonce", ++nonce}};
    if (!question.empty()) body["question"] = json::parse(question).value();
    return signed_request(peer, json::serialize(body), "/tagring/v1/transfer");
  }
  std::vector<std::string> kinds_asked() {
    std::vector<std::string> kinds;
    for (const HttpCall& one : internet.calls) {
      if (one.url.origin() + std::string(one.url.path()) != at("/tagring/v1/transfer")) continue;
      kinds.push_back(json::get_string(json::parse_object(one.body).value(), "kind").value_or(""));
    }
    return kinds;
  }
  HttpResponse say_that_it_leaves() {
    internet.calls.clear();
    return call(Ring::kStorage, ring::TakeOver{near, Segment{near.id, near.id}});
  }
  int nonce = 0;
};

TEST_F(Neighbour, GetsNoMoreThanItOwns) {
  join(near);
  const RingId own = self(Ring::kStorage).id;
  EXPECT_EQ(ask(transfer(own, near.id, "history")).status, 200);
  EXPECT_EQ(ask(transfer(own + RingId::power_of_two(9), near.id, "history")).status, 200)
      << "or a part of it";
  for (const RingId& from : {near.id, own - RingId::power_of_two(0), near.id + RingId::power_of_two(200)})
    expect_refused(transfer(from, near.id, "history"), 503, "busy", "you do not own that segment");
  const auto question = [&](const RingId& first, const RingId& last) {
    return fmt::format(R"({{"since":0,"ranges":[{{"first":"{}~0","last":"{}~0","posts":0,"digest":"0"}}]}})",
                       first.hex(), last.hex());
  };
  EXPECT_EQ(ask(transfer(own, near.id, "hours", question(near.id, near.id))).status, 200);
  expect_refused(transfer(own, near.id, "hours", question(own, own)), 403, "denied", "outside the segment");
}

TEST_F(Neighbour, IsAskedWhetherItLeavesBeforeAnythingIsCopied) {
  join(near);
  const RingId own = self(Ring::kStorage).id;
  internet.answers[at("/tagring/v1/transfer")] = [](const HttpCall&) {
    return with_status(409, R"({"error":"conflict","message":"that vserver does not leave"})");
  };
  EXPECT_EQ(say_that_it_leaves().status, 409) << "anybody can say so";
  EXPECT_THAT(kinds_asked(), ElementsAre("leaving"));

  std::vector<std::string> asked_from;
  internet.answers[at("/tagring/v1/transfer")] = [&](const HttpCall& one) {
    const json::object question = json::parse_object(one.body).value();
    if (question.at("kind") == "leaving")
      return with_status(200, json::serialize(json::object{{"from", own.hex()}, {"to", near.id.hex()}}));
    asked_from.push_back(json::get_string(question, "from").value_or(""));
    return with_status(200, R"({"items":[]})");
  };
  EXPECT_EQ(say_that_it_leaves().status, 200);
  EXPECT_EQ(asked_from.front(), own.hex()) << "what it says itself that it hands over";

  // Whose answer was lost asks again. Later it may have more.
  const std::size_t pages = asked_from.size();
  EXPECT_EQ(say_that_it_leaves().status, 200);
  EXPECT_EQ(asked_from.size(), pages) << "it has just been copied";
  settle(std::chrono::minutes(2));
  EXPECT_EQ(say_that_it_leaves().status, 200);
  EXPECT_EQ(asked_from.size(), 2 * pages);
}

TEST_F(Neighbour, HandsOverNoMoreThanTheRingSaysItOwns) {
  join(near);
  const RingId own = self(Ring::kStorage).id;
  RingId named = near.id;
  std::set<std::string> asked_from;
  internet.answers[at("/tagring/v1/transfer")] = [&](const HttpCall& one) {
    const json::object question = json::parse_object(one.body).value();
    if (question.at("kind") == "leaving")
      return with_status(200, json::serialize(json::object{{"from", named.hex()}, {"to", near.id.hex()}}));
    if (question.at("kind") == "sets") asked_from.insert(json::get_string(question, "from").value_or(""));
    return with_status(200, R"({"items":[]})");
  };
  EXPECT_EQ(say_that_it_leaves().status, 200);
  named = own - RingId::power_of_two(9);
  settle(std::chrono::minutes(2));
  EXPECT_EQ(say_that_it_leaves().status, 200);
  EXPECT_THAT(asked_from, ElementsAre(own.hex()));
}

TEST_F(Neighbour, IsTakenOverFromOnceAtATime) {
  join(near);
  internet.calls.clear();
  std::vector<Task<HttpResponse>> questions;
  for (int i = 0; i < 10; ++i) {
    ring::Envelope envelope;
    envelope.network = "tagring";
    envelope.to = self(Ring::kStorage).id;
    envelope.incarnation = self(Ring::kStorage).incarnation;
    envelope.request = {Ring::kStorage, ring::TakeOver{near, Segment{near.id, near.id}}};
    questions.push_back(node->answer({.method = "POST",
                                      .target = std::string(overlay::RingService::kPath),
                                      .headers = {{"Host", "tags.home.example"}},
                                      .body = encode(envelope),
                                      .peer = {}}));
  }
  int busy = 0;
  for (const HttpResponse& response : run(all_of(std::move(questions))))
    busy += response.status == 503 ? 1 : 0;
  EXPECT_EQ(busy, 9);
  EXPECT_THAT(kinds_asked(), ElementsAre("leaving"));
}

TEST_F(BlockedNode, GetsNoTransfer) {
  join(near);
  const json::object body = {{"protocol", 1},
                             {"network", "tagring"},
                             {"ring", "storage"},
                             {"requester", to_json(near)},
                             {"from", self(Ring::kStorage).id.hex()},
                             {"to", near.id.hex()},
                             {"kind", "history"},
                             {"after_tag", ""},
                             {"after", ""},
                             {"nonce", 1}};
  EXPECT_EQ(post_signed(json::serialize(body), peer, "/tagring/v1/transfer").status, 200);
  block();
  expect_refused(signed_request(peer, json::serialize(body), "/tagring/v1/transfer"), 403, "denied",
                 "tags.peer.example is blocked here");
}

// Else nobody's set with an owner that another owner blocks could change.
TEST_F(BlockedNode, IsHeardAboutTheSetsThatItCoordinates) {
  join(near);
  block();
  std::string tag = "cats";
  for (int i = 0; !in_half_open(self(Ring::kStorage).id, Tag::from_canonical(tag).key(), near.id); ++i)
    tag = fmt::format("cats{}", i);
  const json::object body = {{"action", "set"}, {"tag", tag},  {"version", 1}, {"replicas", 4},
                             {"reach", 4},      {"at", 1'000}, {"nonce", 1}};
  const HttpResponse response = post_signed(json::serialize(body), peer, "/tagring/v1/stores");
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(json::get_int(json::parse_object(response.body).value(), "version"), 1);
}

TEST_F(BlockedNode, IsNotAskedForWhatItsSuccessorComesToOwn) {
  // A vserver of it between the first one and us; when that dies, its keys are ours, and the first one is the
  // successor, which has their data.
  for (unsigned number = 1; number < 256 && !further; ++number) {
    const RingId id = id_of(static_cast<std::uint8_t>(number));
    if (!in_open(near.id, id, self(Ring::kRelay).id)) continue;
    further = near;
    further->vserver = static_cast<std::uint8_t>(number);
    further->id = id;
  }
  ASSERT_TRUE(further);
  const ring::Contact dying = *further;
  const auto gain = [&] {
    further = dying;
    join(near);
    join(dying);
    EXPECT_EQ(*vserver(Ring::kStorage).predecessor(), dying);
    further.reset();
    internet.calls.clear();
    join(near);
    EXPECT_EQ(*vserver(Ring::kStorage).predecessor(), near);
    settle(std::chrono::seconds(20));
    EXPECT_FALSE(vserver(Ring::kStorage).missing()) << "it must serve with what there is";
    return calls_to("/tagring/v1/transfer");
  };
  EXPECT_GT(gain(), 0U);
  start(config());
  block();
  EXPECT_EQ(gain(), 0U);
}

TEST_F(BlockedNode, IsSentNoPostsButStillTheirRemoval) {
  join(near);
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {shared_tag()}};
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  EXPECT_THAT(types_sent_to_peer(), Contains("Add"));
  block();
  internet.calls.clear();
  post.uri = "https://home.example/notes/2";
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  EXPECT_THAT(types_sent_to_peer(), Not(Contains("Add")));
  EXPECT_THAT(rows("SELECT uri FROM outbox"), IsEmpty()) << "nothing waits for it";
  EXPECT_EQ(post_signed(delete_text("https://home.example/notes/1", alice.id), alice).status, 202);
  settle();
  EXPECT_THAT(types_sent_to_peer(), Contains("Remove"));
}

TEST_F(BlockedNode, IsNotFollowedAndNotAskedForHistory) {
  join(near);
  const std::string tag = shared_tag();
  EXPECT_EQ(control("/subscribe", fmt::format(R"({{"tags":["{}"]}})", tag)).status, 200);
  settle();
  EXPECT_THAT(types_sent_to_peer(), Contains("Follow"));
  EXPECT_THAT(history(tag), IsEmpty());
  EXPECT_GT(calls_to("/tagring/v1/history"), 0U);
  EXPECT_THAT(get("/tagring/v1/resolve?uri=hashtag:" + tag).body, HasSubstr(peer_host));
  internet.calls.clear();
  block();
  settle(std::chrono::seconds(60));
  EXPECT_THAT(types_sent_to_peer(), ElementsAre("Undo"));
  EXPECT_THAT(rows("SELECT tag FROM subscriptions"), IsEmpty());
  EXPECT_THAT(history(tag), IsEmpty());
  EXPECT_EQ(calls_to("/tagring/v1/history"), 0U);
  EXPECT_THAT(get("/tagring/v1/resolve?uri=hashtag:" + tag).body, Not(HasSubstr(peer_host)));
}

TEST_F(BlockedNode, BringsNothingButRemovals) {
  const PostText foreign{
      .uri = "https://other.example/notes/1", .author = "https://other.example/users/u", .tags = {"cats"}};
  internet.serve(foreign.uri, json::serialize(note_object(foreign)));
  make_author(foreign.author);
  const auto bring = [&](const std::string& type) {
    return refusals_of(post_signed(batch_text(type, peer, origin + "/relay", {foreign}), peer));
  };
  EXPECT_THAT(bring("Add"), IsEmpty());
  settle();
  EXPECT_THAT(history("cats"), ElementsAre(foreign.uri));
  block();
  EXPECT_THAT(bring("Add"), ElementsAre(StartsWith(foreign.uri + " cats denied")));
  internet.documents.erase(foreign.uri);
  EXPECT_THAT(bring("Remove"), IsEmpty());
  settle();
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(BlockedNode, IsNoWayIntoTheRing) {
  block();
  config::Config joining = config();
  joining.bootstrap = {"https://tags.peer.example", "https://tags.other.example"};
  joining.create = false;
  start(joining);
  settle();
  EXPECT_EQ(calls_to("/.well-known/nodeinfo"), 0U);
  EXPECT_THAT(internet.sent_to("https://tags.other.example/.well-known/nodeinfo"), Not(IsEmpty()));
}

// Whole nodes, every invariant of both rings checked after each event.
TEST(BlockedNodes, KeepTheRingsInOrderThroughCrashesAndJoins) {
  sim::WorldOptions options;
  options.vservers = 8;  // more than a successor list holds, so that there are fingers, too
  sim::World world(11, options);
  for (std::size_t i = 0; i < 6; ++i) world.start_node(i);
  const auto wait = [&](auto done) {
    const Instant end = world.loop.now() + std::chrono::minutes(20);
    while (!done() && world.loop.now() < end) world.loop.run_for(std::chrono::seconds(1));
    return done();
  };
  ASSERT_TRUE(wait([&] { return world.is_settled(); }));
  world.loop.run_for(std::chrono::seconds(30));  // until everybody stands in the lists of others
  world.watch();
  // Node 1 and node 3 block node 2, which blocks node 3.
  const auto block = [&](std::size_t who, const std::string& domain) {
    HttpRequest request;
    request.method = "POST";
    request.target = "/blocks/add";
    request.body = json::serialize(json::object{{"kind", "domain"}, {"what", domain}, {"reason", "x"}});
    const auto response = world.await(world.node(who).control(std::move(request)), std::chrono::seconds(30));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 200) << response->body;
  };
  block(1, "n2.example");
  block(3, "n2.example");
  block(2, "n3.example");
  const std::size_t early = world.publish(0, {"cats"});
  ASSERT_TRUE(wait([&] { return world.posts()[early].acknowledged && world.is_quiet(); }));
  ASSERT_TRUE(wait([&] { return world.may_crash(2); }));
  world.crash_node(2);
  world.start_node(6);
  ASSERT_TRUE(wait([&] { return world.is_settled(); }));
  world.start_node(2);
  ASSERT_TRUE(wait([&] { return world.is_settled(); }));
  const std::size_t late = world.publish(0, {"cats"});
  ASSERT_TRUE(wait([&] { return world.posts()[late].acknowledged && world.is_quiet(); }));
  for (const std::size_t reader : {0U, 1U, 3U, 6U}) {
    const auto history = world.history(reader, "cats", 10);
    ASSERT_TRUE(history) << reader;
    EXPECT_THAT(*history, SizeIs(2)) << reader;
  }
  const auto fingers_to = [&](std::size_t of, const std::string& host) {
    std::size_t count = 0;
    for (const auto& vserver : world.node(of).rings().of(Ring::kRelay).vservers()) {
      for (const auto& [bit, contact] : vserver->fingers()) count += contact.host == host ? 1 : 0;
    }
    return count;
  };
  world.loop.run_for(std::chrono::minutes(2));
  EXPECT_GT(fingers_to(0, "tags.n2.example"), 0U);
  EXPECT_EQ(fingers_to(1, "tags.n2.example"), 0U);
  EXPECT_EQ(fingers_to(2, "tags.n3.example"), 0U);
  EXPECT_EQ(world.broken(), std::nullopt);
  EXPECT_GT(world.checks(), 0U);
}

}  // namespace
}  // namespace tagring::node
