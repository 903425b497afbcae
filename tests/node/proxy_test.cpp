// Servers that leave the rings to a node (docs/protocol.md §9.7): "hashtag:" where actors stand.
#include <fmt/format.h>

#include "activitypub/resolver.hpp"
#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class Proxying : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");
  Author server = make_author("https://far.example/actor", "https://far.example/inbox");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {}};

  void allow(bool receives = true) {
    const json::object body = {{"host", "far.example"}, {"publishes", false}, {"receives", receives}};
    EXPECT_EQ(control("/instances/permit", json::serialize(body)).status, 200);
    settle();
  }
  std::string follow(const std::string& object) {
    const std::string text = follow_text(server, {object});
    const HttpResponse response = post_signed(text, server);
    EXPECT_EQ(response.status, 202) << response.body;
    settle();
    return text;
  }
  void publish(const std::string& text) {
    const HttpResponse response = post_signed(text, alice);
    EXPECT_EQ(response.status, 202) << response.body;
    settle();
  }
  std::vector<std::string> types_at(const std::string& inbox) {
    std::vector<std::string> types;
    for (const json::object& sent : internet.posted_to(inbox)) types.push_back(json::id_of(sent, "type"));
    return types;
  }
  // `accept` empty: no header.
  HttpResponse resolve(const std::string& uri, const std::string& accept = {}) {
    HttpRequest request{.method = "GET",
                        .target = fmt::format("{}?uri={}", activitypub::Resolver::kPath, uri),
                        .headers = {{"Host", "tags.home.example"}},
                        .body = {},
                        .peer = {}};
    if (!accept.empty()) request.headers.add("Accept", accept);
    return ask(std::move(request));
  }
};

// --- following ---------------------------------------------------------------------------------------------

TEST_F(Proxying, AFollowOfAHashtagIsAcceptedWithTheWholeFollowAndGetsItsPosts) {
  allow();
  const std::string text = follow("hashtag:Ca%46%C3%A9");
  std::vector<json::object> answers = internet.posted_to(server.inbox);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(json::id_of(answers[0], "type"), "Accept");
  EXPECT_EQ(json::id_of(answers[0], "actor"), origin + "/tag/cafe");
  EXPECT_EQ(answers[0].at("object"), json::value(json::parse_object(text).value()));
  post.tags = {"café"};
  publish(create_text(post));
  const std::vector<json::object> announces = internet.posted_to(server.shared_inbox);
  ASSERT_THAT(announces, SizeIs(1));
  EXPECT_EQ(json::id_of(announces[0], "type"), "Announce");
  EXPECT_EQ(json::id_of(announces[0], "actor"), origin + "/tag/cafe");
  EXPECT_EQ(json::id_of(announces[0], "object"), post.uri);
}

TEST_F(Proxying, AFollowWaitsForTheAdministratorAsThoseOfRelaysDo) {
  follow("hashtag:cats");
  EXPECT_THAT(internet.posted_to(server.inbox), IsEmpty());
  allow();
  EXPECT_THAT(types_at(server.inbox), ElementsAre("Accept"));
}

TEST_F(Proxying, AFollowOfAnInstanceThatMayNotReceiveIsRejected) {
  allow(/*receives=*/false);
  follow("hashtag:cats");
  EXPECT_THAT(types_at(server.inbox), ElementsAre("Reject"));
  EXPECT_THAT(rows("SELECT actor FROM links"), IsEmpty());
}

TEST_F(Proxying, AnUndoInAnySpellingEndsIt) {
  allow();
  follow("hashtag:cats");
  follow("hashtag:dogs");
  EXPECT_THAT(rows("SELECT tag FROM followers"), UnorderedElementsAre("cats", "dogs"));
  EXPECT_EQ(post_signed(undo_follow_text(server, {"HASHTAG:%43ats"}), server).status, 202);
  settle();
  EXPECT_THAT(rows("SELECT tag FROM followers"), ElementsAre("dogs"));
  EXPECT_THAT(rows("SELECT relay FROM links"), ElementsAre(origin + "/tag/dogs"));
  post.tags = {"cats"};
  publish(create_text(post));
  EXPECT_THAT(internet.posted_to(server.shared_inbox), IsEmpty());
}

TEST_F(Proxying, FollowsThatAreNotInOrderAreRefused) {
  allow();
  for (const std::string& uri : {std::string("hashtag:"), std::string("hashtag://cats"),
                                 std::string("hashtag:2026"), std::string("hashtag:caf%E9")}) {
    expect_refused(signed_request(server, follow_text(server, {uri})), 400, "invalid", "");
  }
  expect_refused(signed_request(server, follow_text(server, {"hashtag:cats", "hashtag:dogs"})), 400,
                 "invalid", "not an http(s) URL");
  const Author node_author = make_node_author("https://tags.peer.example");
  expect_refused(signed_request(node_author, follow_text(node_author, {"hashtag:cats"})), 400, "invalid",
                 "nodes find the owners themselves");
  EXPECT_EQ(control("/blocks/add", R"({"kind":"tag","what":"cats","reason":"advertising"})").status, 200);
  expect_refused(signed_request(server, follow_text(server, {"hashtag:cats"})), 403, "denied", "advertising");
}

TEST_F(Proxying, AnInstanceFollowsNoMoreHashtagsThanItMay) {
  config::Config few = config();
  few.tags_per_instance = 2;
  start(few);
  allow();
  follow("hashtag:cats");
  follow("hashtag:dogs");
  follow("hashtag:dogs");  // again
  expect_refused(signed_request(server, follow_text(server, {"hashtag:birds"})), 413, "too_large",
                 "far.example follows 2 hashtags here");
}

// --- publishing --------------------------------------------------------------------------------------------

TEST_F(Proxying, APostAddressedToAHashtagIsRelayedUnderIt) {
  post.tags = {"cats"};
  post.to = json::array{kEverybody, "hashtag:Dogs"};
  post.cc = json::array{"hashtag:%E7%8C%AB", "https://far.example/users/bob", "hashtag:cats"};
  publish(create_text(post));
  for (const std::string tag : {"cats", "dogs", "猫"})
    EXPECT_THAT(history(tag), ElementsAre(post.uri)) << tag;
}

TEST_F(Proxying, AnUpdateMovesAPostFromOneAddressedHashtagToAnother) {
  post.to = json::array{kEverybody, "hashtag:dogs"};
  publish(create_text(post));
  post.to = json::array{kEverybody, "hashtag:birds"};
  publish(update_text(post));
  EXPECT_THAT(history("dogs"), IsEmpty());
  EXPECT_THAT(history("birds"), ElementsAre(post.uri));
}

TEST_F(Proxying, AddressingAHashtagMakesNoPostPublic) {
  post.to = json::array{"hashtag:dogs"};
  expect_ignored(signed_request(alice, create_text(post)), "addressed to the public");
  post.cc = json::array{kEverybody};
  expect_ignored(signed_request(alice, create_text(post)), "addressed to the public");
}

TEST_F(Proxying, WishesLimitsAndBlocksHoldForAddressedHashtags) {
  EXPECT_EQ(control("/blocks/add", R"({"kind":"tag","what":"dogs","reason":"x"})").status, 200);
  post.to = json::array{kEverybody, "hashtag:dogs", "hashtag:cats"};
  publish(create_text(post));
  EXPECT_THAT(history("dogs"), IsEmpty());
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  Author shy = make_author("https://home.example/users/shy");
  shy.summary = "#nobot";
  internet.serve(shy);
  const PostText unwished{.uri = "https://home.example/notes/2",
                          .author = shy.id,
                          .tags = {},
                          .to = json::array{kEverybody, "hashtag:cats"}};
  EXPECT_EQ(post_signed(create_text(unwished), shy).status, 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  json::array many = {kEverybody};
  for (int i = 0; i < 31; ++i) many.push_back(json::value(fmt::format("hashtag:tag{}x", i)));
  post.uri = "https://home.example/notes/3";
  post.to = many;
  expect_ignored(signed_request(alice, create_text(post)), "too many hashtags");
}

// A node of another instance, which does not vouch for the post: the post itself is fetched.
TEST_F(Proxying, AnOwnerFindsTheAddressedHashtagInThePost) {
  const Author peer = make_node_author("https://tags.peer.example");
  const PostText original{.uri = "https://far.example/notes/1",
                          .author = make_author("https://far.example/users/bob").id,
                          .tags = {},
                          .to = json::array{kEverybody, "hashtag:dogs"}};
  internet.serve(original.uri, json::serialize(note_object(original)));
  PostText said = original;
  said.to = kEverybody;
  said.tags = {"dogs"};
  const HttpResponse taken = post_signed(batch_text("Add", peer, origin + "/relay", {said}), peer);
  EXPECT_EQ(taken.status, 200) << taken.body;
  EXPECT_THAT(refusals_of(taken), IsEmpty());
  said.tags = {"cats"};
  const HttpResponse refused = post_signed(batch_text("Add", peer, origin + "/relay", {said}), peer);
  EXPECT_THAT(
      refusals_of(refused),
      ElementsAre(HasSubstr(original.uri + " cats invalid: the post is not public or lacks the tag")));
}

// --- resolving ---------------------------------------------------------------------------------------------

TEST_F(Proxying, AHashtagIsResolvedToTheActorsOfItsOwners) {
  const HttpResponse response = resolve("hashtag%3ACaf%25C3%25A9");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.find("Content-Type"), "application/json");
  const json::object body = json::parse_object(response.body).value();
  EXPECT_EQ(body.at("uri"), json::value("hashtag:cafe"));
  EXPECT_EQ(body.at("tag"), json::value("cafe"));
  EXPECT_EQ(body.at("key"), json::value(Tag::parse("cafe")->key().hex()));
  EXPECT_EQ(body.at("actor"), json::value(origin + "/tag/cafe"));
  const json::array here = {json::value(origin + "/tag/cafe")};
  EXPECT_EQ(body.at("relay"), json::value(here)) << "one node owns every replica here, and is named once";
  EXPECT_EQ(body.at("storage"), json::value(here));
  EXPECT_EQ(resolve("hashtag:cafe", "text/html, application/json").status, 200);
  EXPECT_EQ(resolve("hashtag:cafe", "*/*").status, 200);
}

TEST_F(Proxying, WhoAcceptsActivityPubIsSentToTheActor) {
  for (const std::string accept :
       {"application/activity+json",
        "application/ld+json; profile=\"https://www.w3.org/ns/activitystreams\", application/activity+json",
        "text/html;q=0.5, application/activity+json;q=0.9",
        "application/json;q=0.1, application/activity+json", "application/activity+json, */*"}) {
    const HttpResponse response = resolve("hashtag:%E7%8C%AB", accept);
    EXPECT_EQ(response.status, 303) << accept;
    EXPECT_EQ(response.headers.find("Location"), origin + "/tag/" + Tag::parse("猫")->actor_name());
    EXPECT_EQ(response.headers.find("Vary"), "Accept");
  }
  for (const std::string accept :
       {"application/json, application/activity+json", "application/activity+json;q=0.1, application/json",
        "application/activity+json;q=0"})
    EXPECT_EQ(resolve("hashtag:cats", accept).status, 200) << accept;
}

TEST_F(Proxying, WhatCannotBeResolvedIsAnError) {
  for (const std::string uri : {"", "cats", "hashtag:", "hashtag:2026", "https%3A%2F%2Ffar.example%2F"}) {
    const HttpResponse response = resolve(uri);
    EXPECT_EQ(response.status, 400) << uri;
    EXPECT_THAT(response.body, HasSubstr(R"("error":"invalid")"));
  }
  EXPECT_EQ(control("/blocks/add", R"({"kind":"tag","what":"cats","reason":"x"})").status, 200);
  EXPECT_EQ(resolve("hashtag:cats").status, 404);
  EXPECT_EQ(resolve("hashtag:cats", "application/activity+json").status, 404);
}

TEST_F(Proxying, ANodeThatIsOnNoRingCannotTell) {
  config::Config alone = config();
  alone.create = false;
  start(alone);
  const HttpResponse response = resolve("hashtag:cats");
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body, HasSubstr(R"("error":"unavailable")"));
}

}  // namespace
}  // namespace tagring::node
