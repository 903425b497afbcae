// A node that gets another name: what its followers, relays and readers are told, and what the node that
// takes its place says.
#include "instances/moving.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using instances::Moving;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const std::string kThere = "https://tags.new.example";

class MovingNode : public NodeTest {
 protected:
  Author ann = make_author("https://social.example/users/ann", "https://social.example/inbox");
  Author bea = make_author("https://social.example/users/bea", "https://social.example/inbox");
  Author cid = make_author("https://gts.example/users/cid");
  Author successor = make_node_author(kThere);

  // As the new node does, if it is configured to.
  void serve_successor(const std::string& also_known_as, const std::string& address = "2001:db8:2::1") {
    json::object actor = json::parse_object(successor.document()).value();
    if (!also_known_as.empty()) actor["alsoKnownAs"] = json::array{also_known_as};
    internet.serve(successor.id, json::serialize(actor));
    internet.serve(kThere + "/.well-known/nodeinfo",
                   fmt::format(R"({{"links": [{{"rel": "http://nodeinfo.diaspora.software/ns/schema/2.1",)"
                               R"("href": "{}/nodeinfo/2.1"}}]}})",
                               kThere));
    internet.serve(
        kThere + "/nodeinfo/2.1",
        fmt::format(R"({{"metadata": {{"tagring": {{"network": "tagring", "address": "{}"}}}}}})", address));
  }
  HttpResponse move(const std::string& to = kThere) {
    return control("/move", json::serialize(json::object{{"to", to}}));
  }
  void move_well() {
    serve_successor(origin + "/actor");
    const HttpResponse done = move();
    ASSERT_EQ(done.status, 200) << done.body;
    settle();
  }
  void follow(const Author& author, const std::string& tag) {
    EXPECT_EQ(post_signed(follow_text(author, {origin + "/tag/" + tag}), author).status, 202);
    settle();
  }
  std::vector<std::string> types_at(const std::string& inbox) {
    std::vector<std::string> types;
    for (const json::object& sent : internet.posted_to(inbox)) types.push_back(json::id_of(sent, "type"));
    return types;
  }
  // "tag/cats → https://…/tag/cats" of each Move that came there.
  std::vector<std::string> moves_at(const std::string& inbox) {
    std::vector<std::string> moves;
    for (const json::object& sent : internet.posted_to(inbox)) {
      if (json::id_of(sent, "type") != "Move") continue;
      EXPECT_EQ(json::id_of(sent, "object"), json::id_of(sent, "actor"));
      moves.push_back(json::id_of(sent, "object").substr(origin.size() + 1) + " → " +
                      json::id_of(sent, "target"));
    }
    return moves;
  }
  std::string moved_to(const std::string& path) {
    return json::id_of(json::parse_object(get(path).body).value(), "movedTo");
  }
  std::vector<std::string> followers() { return rows("SELECT tag||' '||actor FROM followers ORDER BY 1"); }
};

TEST_F(MovingNode, EachActorSendsAMoveToEachInboxOfItsFollowersOnce) {
  Author pleroma = make_author("https://pleroma.example/relay", "https://pleroma.example/inbox");
  pleroma.type = "Application";
  internet.serve(pleroma);
  const Author other = make_node_author("https://tags.other.example");
  EXPECT_EQ(
      control("/instances/permit", R"({"host": "pleroma.example", "publishes": true, "receives": true})")
          .status,
      200);
  EXPECT_EQ(post_signed(follow_text(pleroma, {origin + "/actor"}), pleroma).status, 202);
  EXPECT_EQ(post_signed(follow_text(other, {origin + "/tag/cats"}), other).status, 200);
  for (const Author* author : {&ann, &bea, &cid}) follow(*author, "cats");
  follow(ann, "dogs");
  move_well();
  EXPECT_THAT(
      moves_at("https://social.example/inbox"),
      UnorderedElementsAre("tag/cats → " + kThere + "/tag/cats", "tag/dogs → " + kThere + "/tag/dogs"));
  EXPECT_THAT(moves_at(cid.inbox), ElementsAre("tag/cats → " + kThere + "/tag/cats"));
  EXPECT_THAT(moves_at(pleroma.shared_inbox), ElementsAre("actor → " + kThere + "/actor"));
  EXPECT_THAT(moves_at(other.shared_inbox), IsEmpty()) << "nodes follow owners, not names";
  const HttpCall sent = internet.sent_to(cid.inbox).back();
  EXPECT_THAT(sent.headers.find("Signature").value_or(""), HasSubstr(origin + "/tag/cats#main-key"));
  EXPECT_TRUE(json::get_flag(status().at("moved").as_object(), "told"));
  EXPECT_EQ(move().status, 200) << "it is so already";
  settle(std::chrono::hours(1));
  EXPECT_THAT(moves_at(cid.inbox), SizeIs(1));
}

TEST_F(MovingNode, ItsDocumentsNameTheNewActors) {
  EXPECT_EQ(moved_to("/tag/cats"), "");
  move_well();
  EXPECT_EQ(moved_to("/tag/cats"), kThere + "/tag/cats");
  EXPECT_EQ(moved_to("/actor"), kThere + "/actor");
  EXPECT_THAT(get("/tag/cats").body, HasSubstr(R"("movedTo":{"@id":"as:movedTo","@type":"@id"})"));
}

// Servers that look at the account again, and so hear that it has moved, must find it under its name.
TEST_F(MovingNode, WebFingerAndThePagesSendPeopleOn) {
  move_well();
  const std::string account = get("/.well-known/webfinger?resource=acct:cats@tags.home.example").body;
  EXPECT_THAT(account, AllOf(HasSubstr(R"("subject":"acct:cats@tags.home.example")"),
                             HasSubstr("\"href\":\"" + origin + "/tag/cats\""),
                             HasSubstr("\"href\":\"" + kThere + "/tags/cats\"")));
  const HttpResponse page = get("/tags/cats?max_id=7");
  EXPECT_EQ(page.status, 302);
  EXPECT_EQ(page.headers.find("Location"), kThere + "/tags/cats?max_id=7");
  EXPECT_EQ(get("/").status, 302);
  EXPECT_EQ(get("/admin").status, 200);
  HttpRequest by_server;
  by_server.target = "/tags/cats";
  by_server.headers.add("Accept", "application/activity+json");
  EXPECT_EQ(ask(by_server).headers.find("Location"), "/tag/cats");
}

TEST_F(MovingNode, FeedReadersAreToldTheNewAddress) {
  EXPECT_EQ(get("/tags/cats.rss").status, 200);
  move_well();
  for (const char* feed : {"/tags/cats.rss", "/tags/%E7%8C%AB.atom"}) {
    const HttpResponse answer = get(feed);
    EXPECT_EQ(answer.status, 301) << feed;
    EXPECT_EQ(answer.headers.find("Location"), kThere + feed);
  }
}

TEST_F(MovingNode, ANodeThatDoesNotNameThisOneIsNotMovedTo) {
  follow(ann, "cats");
  internet.documents.erase(successor.id);
  EXPECT_THAT(move().body, HasSubstr("Set the new node up first"));
  for (const std::string& other : {std::string(), std::string("https://tags.else.example/actor")}) {
    serve_successor(other);
    const HttpResponse refused = move();
    EXPECT_EQ(refused.status, 403);
    EXPECT_THAT(refused.body, HasSubstr(R"(put moved_from = \"https://tags.home.example\" under [node])"));
  }
  internet.serve(successor.id, R"({"id": "https://tags.new.example/actor", "type": "Application"})");
  EXPECT_THAT(move().body, HasSubstr("is no actor of a tagring node"));
  serve_successor(origin + "/actor");
  json::object onward = json::parse_object(internet.documents.at(successor.id).body).value();
  onward["movedTo"] = "https://tags.else.example/actor";
  internet.serve(successor.id, json::serialize(onward));
  EXPECT_THAT(move().body, HasSubstr("has itself moved to https://tags.else.example/actor"));
  EXPECT_THAT(move(origin).body, HasSubstr("is this node itself"));
  EXPECT_THAT(move("tags.new.example").body, HasSubstr("is not a name like"));
  settle();
  EXPECT_EQ(moved_to("/tag/cats"), "");
  EXPECT_THAT(moves_at("https://social.example/inbox"), IsEmpty());
}

TEST_F(MovingNode, AMoveIsSentUntilItIsTakenAlsoAfterARestart) {
  follow(cid, "cats");
  std::size_t refused = 0;
  internet.answers[cid.inbox] = [&](const HttpCall&) { return ++refused, with_status(503); };
  move_well();
  EXPECT_GT(refused, 0U);
  start(config());
  EXPECT_EQ(moved_to("/tag/cats"), kThere + "/tag/cats");
  internet.answers.clear();
  internet.calls.clear();
  settle(std::chrono::hours(1));
  EXPECT_THAT(moves_at(cid.inbox), SizeIs(1));
  start(config());
  settle(std::chrono::hours(1));
  EXPECT_THAT(moves_at(cid.inbox), SizeIs(1));
}

TEST_F(MovingNode, AStopAmongTheMovesLosesNone) {
  const std::vector<std::string> tags = {"ant", "bee", "cat", "dog", "eel", "fox", "gnu"};
  for (const std::string& tag : tags) follow(cid, tag);
  serve_successor(origin + "/actor");
  ASSERT_EQ(move().status, 200);
  prepare(config());  // before it has told anybody
  ASSERT_TRUE(run(node->start()));
  EXPECT_EQ(moved_to("/tag/ant"), kThere + "/tag/ant");
  settle(3 * Moving::kPace);
  EXPECT_LT(moves_at(cid.inbox).size(), tags.size());
  start(config());
  settle();
  std::set<std::string> ids;
  for (const json::object& sent : internet.posted_to(cid.inbox))
    if (json::id_of(sent, "type") == "Move") ids.insert(json::id_of(sent));
  EXPECT_THAT(ids, SizeIs(tags.size()));
}

TEST_F(MovingNode, NobodyCanFollowItAnyMoreButWhoDoesStays) {
  follow(ann, "cats");
  move_well();
  follow(cid, "cats");
  EXPECT_THAT(types_at(cid.inbox), ElementsAre("Reject"));
  const Author mastodon = make_author("https://else.example/actor", "https://else.example/inbox");
  EXPECT_EQ(post_signed(follow_text(mastodon, {kEverybody}), mastodon).status, 202);
  settle();
  EXPECT_THAT(types_at(mastodon.inbox), ElementsAre("Reject"));
  follow(ann, "cats");
  EXPECT_THAT(types_at(ann.inbox), ElementsAre("Accept", "Accept"));
  EXPECT_THAT(followers(), ElementsAre("cats " + ann.id));
  const Author alice = make_author("https://home.example/users/alice");
  EXPECT_EQ(
      post_signed(create_text({.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}}),
                  alice)
          .status,
      202);
  settle();
  EXPECT_THAT(types_at("https://social.example/inbox"), Contains("Announce"));
}

TEST_F(MovingNode, AMoveThatIsCalledOffIsSentToNobodyElse) {
  follow(ann, "cats");
  follow(cid, "cats");
  EXPECT_EQ(control("/move/cancel", "{}").status, 404);
  internet.answers[cid.inbox] = [](const HttpCall&) { return with_status(503); };
  move_well();
  EXPECT_EQ(control("/move/cancel", "{}").status, 200);
  internet.answers.clear();
  internet.calls.clear();
  settle(std::chrono::hours(1));
  EXPECT_THAT(moves_at(cid.inbox), IsEmpty());
  EXPECT_EQ(moved_to("/tag/cats"), "");
  follow(cid, "dogs");
  EXPECT_THAT(types_at(cid.inbox), ElementsAre("Accept"));
  EXPECT_FALSE(status().contains("moved"));
  start(config());
  EXPECT_EQ(moved_to("/tag/cats"), "");
}

TEST_F(MovingNode, WhoCallsAMoveOffIsToldToRestartANodeThatHasLeftTheRings) {
  move_well();
  EXPECT_THAT(control("/move/cancel", "{}").body, HasSubstr("\"rejoins\":false"));
  move_well();
  EXPECT_EQ(control("/leave", "{}").status, 200);
  EXPECT_THAT(control("/move/cancel", "{}").body, HasSubstr("\"rejoins\":true"));
}

TEST_F(MovingNode, RelaysAndGroupsAreNamedForTheirAdministrators) {
  Author mastodon = make_author("https://else.example/actor", "https://else.example/inbox");
  mastodon.type = "Application";
  internet.serve(mastodon);
  EXPECT_EQ(post_signed(follow_text(mastodon, {kEverybody}), mastodon, "/inbox").status, 202);
  EXPECT_EQ(post_signed(follow_text(mastodon, {kEverybody}), mastodon, "/tag/cats/inbox").status, 202);
  EXPECT_EQ(post_signed(follow_text(mastodon, {origin + "/relay"}), mastodon, "/inbox").status, 202);
  serve_successor(origin + "/actor");
  EXPECT_THAT(move().body,
              AllOf(HasSubstr(R"({"host":"else.example","style":"mastodon","add":")" + kThere + "/inbox\"}"),
                    HasSubstr(R"("add":")" + kThere + "/tag/cats/inbox\"}"),
                    HasSubstr(R"("add":")" + kThere + "/relay\"}")));
  EXPECT_THAT(control("/instances").body, HasSubstr("\"moved_to\":\"" + kThere + "\""));
}

// --- the end -----------------------------------------------------------------------------------------------

class LongMove : public MovingNode {
 protected:
  LongMove() {
    start(patient());
    settle(std::chrono::minutes(30));
  }
  // Looks at the ring seldom, so that days pass quickly.
  static config::Config patient() {
    config::Config config = NodeTest::config();
    config.stabilise = std::chrono::minutes(10);
    return config;
  }
  // As if the node had been switched off all that time, and some minutes more.
  void pass(Duration time) {
    json::object move = json::parse_object(run(stores->meta.get("move")).value().value()).value();
    for (const char* key : {"since", "next"}) move[key] = json::get_int(move, key).value() - time.count();
    ASSERT_TRUE(run(stores->meta.set("move", json::serialize(move))));
    start(patient());
    settle(std::chrono::minutes(40));
  }
  bool is_member() {
    return status().at("rings").at("relay").at("member").as_bool() &&
           status().at("rings").at("storage").at("member").as_bool();
  }
};

TEST_F(LongMove, WhoStaysIsAskedAgainAndLetGoAfterThirtyDays) {
  follow(ann, "cats");
  follow(cid, "cats");
  const Author mastodon = make_author("https://home.example/actor", "https://home.example/inbox");
  EXPECT_EQ(post_signed(follow_text(mastodon, {kEverybody}), mastodon).status, 202);
  move_well();
  EXPECT_EQ(post_signed(undo_follow_text(ann, {origin + "/tag/cats"}), ann).status, 202);
  pass(Moving::kAgainAfter - std::chrono::hours(1));
  EXPECT_THAT(moves_at(cid.inbox), SizeIs(1));
  pass(std::chrono::hours(1));
  EXPECT_THAT(moves_at("https://social.example/inbox"), SizeIs(1)) << "she has left";
  EXPECT_THAT(moves_at(cid.inbox), SizeIs(2));
  EXPECT_TRUE(is_member());
  pass(Moving::kTerm);
  settle(std::chrono::hours(1));  // until the date is believed
  EXPECT_THAT(types_at(cid.inbox), ElementsAre("Accept", "Move", "Move", "Reject"));
  EXPECT_THAT(types_at(mastodon.inbox), ElementsAre("Accept", "Reject"));
  EXPECT_THAT(followers(), IsEmpty());
  EXPECT_FALSE(is_member());
  start(patient());
  settle(std::chrono::hours(3));
  EXPECT_FALSE(is_member());
  EXPECT_EQ(moved_to("/tag/cats"), kThere + "/tag/cats") << "its documents are still there";
  EXPECT_THAT(control("/doctor").body, HasSubstr("it can be switched off"));
}

TEST_F(LongMove, NobodyIsLetGoByADateThatIsWrongAtTheStart) {
  follow(cid, "cats");
  move_well();
  clock.set_skew(Moving::kTerm);
  start(patient());
  settle(std::chrono::minutes(3));
  clock.set_skew(Duration::zero());
  settle(std::chrono::hours(2));
  EXPECT_THAT(followers(), ElementsAre("cats " + cid.id));
  EXPECT_TRUE(is_member());
}

// Two nodes of one domain and network have the same IDs.
TEST_F(LongMove, WhoWouldStandInTheSamePlacesGetsThemAtOnce) {
  EXPECT_TRUE(is_member());
  const std::string neighbour = "https://tags2.home.example";
  for (std::string url : {"/actor", "/.well-known/nodeinfo", "/nodeinfo/2.1"}) {
    serve_successor(origin + "/actor", "2001:db8:1::7");
    std::string body = internet.documents.at(kThere + url).body;
    for (std::size_t at = body.find(kThere); at != std::string::npos; at = body.find(kThere))
      body.replace(at, kThere.size(), neighbour);
    internet.serve(neighbour + url, body);
  }
  ASSERT_EQ(move(neighbour).status, 200);
  settle(std::chrono::minutes(1));
  EXPECT_FALSE(is_member());
  start(patient());
  settle(std::chrono::hours(1));
  EXPECT_FALSE(is_member());
  EXPECT_EQ(get("/readyz").status, 200) << "it is as it should be";
  EXPECT_THAT(control("/doctor").body,
              AllOf(HasSubstr("leave it running until"), Not(HasSubstr("stop the node"))));
  EXPECT_THAT(control("/move/cancel", "{}").body, HasSubstr("\"rejoins\":true"));
  start(patient());
  settle(std::chrono::hours(1));
  EXPECT_TRUE(is_member());
}

// --- the new node ------------------------------------------------------------------------------------------

class NewNode : public MovingNode {
 protected:
  static constexpr const char* kOld = "https://tags.old.example";
  NewNode() {
    config::Config config = NodeTest::config();
    config.moved_from = kOld;
    start(config);
  }
};

TEST_F(NewNode, ItsActorsNameTheOldOnes) {
  const json::object node_actor = json::parse_object(get("/actor").body).value();
  EXPECT_EQ(node_actor.at("alsoKnownAs"), (json::array{"https://tags.old.example/actor"}));
  EXPECT_THAT(get("/tag/xn--z7x").body,
              AllOf(HasSubstr(R"("alsoKnownAs":["https://tags.old.example/tag/xn--z7x"])"),
                    HasSubstr(R"("alsoKnownAs":{"@id":"as:alsoKnownAs","@type":"@id"})")));
}

TEST_F(NewNode, TheOldOneIsToldWhoFollowsHere) {
  follow(cid, "cats");
  const std::vector<json::object> told = internet.posted_to("https://tags.old.example/inbox");
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(json::id_of(told[0], "type"), "Remove");
  EXPECT_EQ(json::id_of(told[0], "actor"), origin + "/tag/cats");
  EXPECT_EQ(json::id_of(told[0], "object"), cid.id);
  EXPECT_EQ(json::id_of(told[0], "target"), "https://tags.old.example/tag/cats/followers");
}

TEST_F(MovingNode, WhoFollowsTheNewActorGetsNothingFromTheOldOne) {
  follow(ann, "cats");
  follow(cid, "cats");
  const Author there = make_author(kThere + "/tag/cats");
  const auto remove = [&](const Author& by) {
    static int last = 0;
    const json::object text = {{"@context", "https://www.w3.org/ns/activitystreams"},
                               {"id", fmt::format("{}#removes/{}", by.id, ++last)},
                               {"type", "Remove"},
                               {"actor", by.id},
                               {"object", cid.id},
                               {"target", origin + "/tag/cats/followers"}};
    return post_signed(json::serialize(text), by).body;
  };
  EXPECT_THAT(remove(there), HasSubstr("ignored")) << "it has not moved there";
  move_well();
  EXPECT_THAT(remove(ann), HasSubstr("ignored"));
  EXPECT_THAT(followers(), SizeIs(2));
  EXPECT_EQ(remove(there), "");
  EXPECT_THAT(followers(), ElementsAre("cats " + ann.id));
}

TEST_F(MovingNode, ACopyOfTheDatabaseUnderTheNewNameHasNotMoved) {
  move_well();
  config::Config config = NodeTest::config();
  config.host = "tags.new.example";
  config.moved_from = origin;
  start(config);
  HttpRequest request;
  request.target = "/tag/cats";
  request.headers.add("Host", "tags.new.example");
  const std::string body = ask(request).body;
  EXPECT_THAT(body, AllOf(HasSubstr(R"("alsoKnownAs":["https://tags.home.example/tag/cats"])"),
                          Not(HasSubstr("movedTo"))));
}

}  // namespace
}  // namespace tagring::node
