// What strangers send that is not in order: a clear error, and nothing has changed.
#include <fmt/format.h>

#include "node/fixture.hpp"
#include "signatures/signature.hpp"

namespace tagring::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BadInput : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");
  Author stranger = make_author("https://far.example/users/stranger");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"caturday"}};

  static HttpRequest without(HttpRequest request, const std::string& header) {
    Headers rest;
    for (const auto& [name, value] : request.headers) {
      if (name != header) rest.add(name, value);
    }
    request.headers = std::move(rest);
    return request;
  }
  std::size_t fetches() const { return internet.calls.size(); }
};

// What every test below relies on: the same post in order does change the state.
TEST_F(BadInput, APostInOrderIsTakenRelayedAndStored) {
  const std::string before = state();
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  EXPECT_NE(state(), before);
  EXPECT_THAT(rows("SELECT uri||' '||tags FROM posts"), ElementsAre(post.uri + " caturday"));
  EXPECT_THAT(rows("SELECT tag||' '||uri FROM feed"), ElementsAre("caturday " + post.uri));
  EXPECT_THAT(rows("SELECT seq FROM outbox"), IsEmpty());
  EXPECT_THAT(history("caturday"), ElementsAre(post.uri));
}

// --- signatures --------------------------------------------------------------------------------------------

TEST_F(BadInput, UnsignedIsRefusedWithoutFetchingAnything) {
  expect_refused(without(signed_request(alice, create_text(post)), "Signature"), 401, "denied",
                 "request is not signed");
  EXPECT_EQ(fetches(), 0U);
}

TEST_F(BadInput, SignedWithAnotherKeyIsRefused) {
  Author mallory = alice;
  mallory.key = stranger.key;
  expect_refused(signed_request(mallory, create_text(post)), 401, "denied",
                 "the signature does not fit the key " + alice.key_id());
}

TEST_F(BadInput, SignedWithAnRsaKeyIsTakenOnlyWithItsOwnKey) {
  Author bob{.id = "https://home.example/users/bob",
             .key = crypto::PrivateKey::generate(crypto::KeyType::kRsa2048),
             .inbox = "https://home.example/users/bob/inbox"};
  internet.serve(bob);
  post.author = bob.id;
  Author mallory = bob;
  mallory.key = crypto::PrivateKey::generate(crypto::KeyType::kRsa2048);
  expect_refused(signed_request(mallory, create_text(post)), 401, "denied", "the signature does not fit");
  EXPECT_EQ(post_signed(create_text(post), bob).status, 202);
}

TEST_F(BadInput, ABodyThatWasChangedIsRefused) {
  HttpRequest request = signed_request(alice, create_text(post));
  post.tags = {"spam"};
  request.body = create_text(post);
  expect_refused(std::move(request), 401, "denied", "Digest does not fit the body");
}

TEST_F(BadInput, SignedForAnotherHostOrPathIsRefused) {
  HttpRequest other_host = signed_request(alice, create_text(post));
  other_host.headers.set("Host", "tags.other.example");
  expect_refused(std::move(other_host), 421, "denied", "Host is not a name of this node");
  HttpRequest other_path = signed_request(alice, create_text(post));
  other_path.target = "/tag/caturday/inbox";
  expect_refused(std::move(other_path), 401, "denied", "the signature does not fit");
}

TEST_F(BadInput, WhatWasTakenAndComesAgainIsAnsweredAgainAndChangesNothing) {
  const HttpRequest request = signed_request(alice, create_text(post));
  EXPECT_EQ(ask(request).status, 202);
  settle();
  expect_repetition(request);
}

// A server, or a proxy in between, that tries again within the second sends the same signature.
TEST_F(BadInput, WhatCouldNotBeWrittenIsTakenWhenTheVeryRequestComesAgain) {
  const auto rename = [&](const char* statement) {
    const auto execute = [statement](sql::Connection& db) { return db.execute(statement); };
    ASSERT_TRUE(run(stores->database->write(execute)));
  };
  const auto ask_again = [&](const HttpRequest& request) {
    rename("ALTER TABLE posts RENAME TO posts_elsewhere");
    EXPECT_EQ(ask(request).status, 500);
    rename("ALTER TABLE posts_elsewhere RENAME TO posts");
    EXPECT_EQ(ask(request).status, 202);
    settle();
  };
  const HttpRequest request = signed_request(alice, create_text(post));
  ask_again(request);
  EXPECT_THAT(history("caturday"), ElementsAre(post.uri));
  expect_repetition(request);
  ask_again(signed_request(alice, delete_text(post.uri, alice.id)));
  EXPECT_THAT(history("caturday"), IsEmpty());
}

TEST_F(BadInput, WhatWasRefusedAndComesAgainIsRefusedAgain) {
  json::object follow = json::parse_object(follow_text(alice, {origin + "/tag/cats"})).value();
  follow["object"] = "https://tags.other.example/tag/cats";
  const HttpRequest request = signed_request(alice, json::serialize(follow));
  EXPECT_EQ(ask(request).status, 400);
  expect_refused(request, 401, "denied", "received before");
}

TEST_F(BadInput, ADeletedPostDoesNotComeBackByAReplayOfItsCreate) {
  const HttpRequest request = signed_request(alice, create_text(post));
  EXPECT_EQ(ask(request).status, 202);
  EXPECT_EQ(post_signed(delete_text(post.uri, alice.id), alice).status, 202);
  settle();
  expect_repetition(request);
}

TEST_F(BadInput, StaleAndEarlyDatesAreRefused) {
  settle(std::chrono::hours(2));
  expect_refused(signed_at(loop.wall_now() - std::chrono::minutes(61), alice, create_text(post)), 401,
                 "denied", "");
  expect_refused(signed_at(loop.wall_now() + std::chrono::minutes(6), alice, create_text(post)), 401,
                 "denied", "");
  EXPECT_EQ(ask(signed_at(loop.wall_now() - std::chrono::minutes(59), alice, create_text(post))).status, 202);
}

TEST_F(BadInput, WhatWasSignedBeforeTheStartIsRefusedBecauseItMayBeAReplay) {
  const HttpRequest request = signed_request(alice, create_text(post));
  EXPECT_EQ(ask(request).status, 202);
  settle(std::chrono::minutes(5));
  start(config());
  // Whoever signs again is taken; so it is no refusal, which some servers never try again.
  expect_refused(request, 503, "busy", "start");
  EXPECT_EQ(ask(request).headers.find("Retry-After"), "1");
  EXPECT_EQ(ask(signed_request(alice, create_text(post))).status, 202);
}

// --- who speaks --------------------------------------------------------------------------------------------

// Nor is it refused: Mastodon forwards replies and deletions of others, and stops sending anything after ten
// refusals.
TEST_F(BadInput, AKeyOfSomebodyElseDoesNotSpeakForTheActor) {
  const Author bob = make_author("https://home.example/users/bob");
  for (int i = 0; i < 12; ++i) {
    const PostText forwarded{
        .uri = fmt::format("https://home.example/notes/f{}", i), .author = alice.id, .tags = {"cats"}};
    expect_ignored(signed_request(bob, create_text(forwarded)),
                   "somebody else's activity, handed on by who signed");
  }
  EXPECT_THAT(rows("SELECT uri FROM posts"), IsEmpty());
}

TEST_F(BadInput, AKeyThatNamesAnOwnerWhoDoesNotListItIsRefused) {
  // eve's key document says that alice owns it; alice's own document does not know it.
  const std::string key_url = "https://home.example/uploads/key.json";
  internet.serve(
      key_url, json::serialize(json::object{
                   {"id", key_url}, {"owner", alice.id}, {"publicKeyPem", stranger.key.public_key().pem()}}));
  HttpCall call("POST", Url::parse(origin + "/inbox").value(), loop.now());
  call.body = create_text(post);
  signatures::sign_call(call, stranger.key, key_url, loop.wall_now());
  HttpRequest request{
      .method = "POST", .target = "/inbox", .headers = call.headers, .body = call.body, .peer = {}};
  request.headers.set("Host", "tags.home.example");
  expect_refused(std::move(request), 401, "denied", "does not list the key");
}

TEST_F(BadInput, AnActorThatARedirectToAnotherServerSpeaksForIsRefused) {
  // home.example has an open redirector; what it leads to claims to be one of its actors.
  Author forged{.id = "https://home.example/redirect?to=evil",
                .key = stranger.key,
                .inbox = "https://home.example/inbox"};
  internet.serve(forged.id,
                 {.status = 302, .headers = {{"Location", "https://far.example/actor"}}, .body = {}});
  internet.serve("https://far.example/actor", forged.document());
  post.author = forged.id;
  expect_refused(signed_request(forged, create_text(post)), 401, "denied", "redirect");
}

TEST_F(BadInput, AKeyThatCannotBeFetchedIsRefusedForNowAndNotFetchedAgainAtOnce) {
  internet.documents[alice.id] = with_status(503);
  expect_refused(signed_request(alice, create_text(post)), 503, "unavailable", "cannot fetch the key");
  expect_refused(signed_request(alice, create_text(post)), 503, "unavailable", "cannot fetch the key");
  EXPECT_EQ(internet.sent_to(alice.id).size(), 1U);
  internet.serve(alice);
  settle(std::chrono::minutes(2));
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
}

TEST_F(BadInput, ADocumentOfAnotherMediaTypeIsNoKey) {
  internet.documents[alice.id].headers.set("Content-Type", "text/html");
  expect_refused(signed_request(alice, create_text(post)), 401, "invalid", "is not an ActivityPub document");
}

// --- form --------------------------------------------------------------------------------------------------

TEST_F(BadInput, AnIdOnAnotherServerThanTheActorIsRefused) {
  post.uri = "https://far.example/notes/1";
  expect_refused(signed_request(alice, create_text(post)), 400, "invalid", "object.id is on another server");
  EXPECT_EQ(fetches(), 0U);
}

TEST_F(BadInput, GarbageIsRefusedWithoutFetchingAnything) {
  const std::string bomb = std::string(50'000, '[') + std::string(50'000, ']');
  expect_refused(signed_request(alice, bomb), 400, "invalid", "not JSON");
  expect_refused(signed_request(alice, R"({"type":"Create","object":)" + bomb + "}"), 400, "invalid",
                 "not JSON");
  expect_refused(signed_request(alice, "{\"type\":\"Cr\xC3\x28te\"}"), 400, "invalid", "not UTF-8");
  expect_refused(signed_request(alice, "{}"), 400, "invalid", "type is missing");
  expect_refused(signed_request(alice, ""), 400, "invalid", "not JSON");
  EXPECT_EQ(fetches(), 0U);
}

// What people write is no fault of their server.
TEST_F(BadInput, OfThousandsOfTagsInOnePostTheFirstAreTaken) {
  config::Config many = config();
  many.hashtags_of_a_post = 64;
  start(many);
  settle();
  post.tags.clear();
  for (int i = 0; i < 10'000; ++i) post.tags.push_back("tag" + std::to_string(i));
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  EXPECT_THAT(rows("SELECT tags FROM posts"), ElementsAre(testing::HasSubstr("tag0")));
  EXPECT_THAT(rows("SELECT tags FROM posts"), testing::Each(testing::Not(testing::HasSubstr("tag64"))));
}

TEST_F(BadInput, ThousandsOfItemsInOneBatchAreRefused) {
  const Author peer = make_node_author("https://tags.far.example");
  std::string items = R"("https://far.example/1")";
  for (int i = 0; i < 10'001; ++i) items += R"(,"https://far.example/1")";
  const std::string body =
      fmt::format(R"({{"id":"https://tags.far.example/1","type":"Announce","actor":"{}","object":[{}]}})",
                  peer.id, items);
  expect_refused(signed_request(peer, body), 413, "too_large", "more than 10000 items");
}

TEST_F(BadInput, TagsAreReadWhateverTheirShape) {
  const auto with_tag = [&](const std::string& uri, const json::value& tag) {
    post.uri = uri;
    json::object activity = json::parse_object(create_text(post)).value();
    activity["object"].as_object()["tag"] = tag;
    return json::serialize(activity);
  };
  const json::object hashtag = {{"type", "Hashtag"}, {"name", "#dogs"}};
  EXPECT_EQ(post_signed(with_tag("https://home.example/notes/2", hashtag), alice).status, 202);
  settle();
  EXPECT_THAT(rows("SELECT uri||' '||tags FROM posts"), ElementsAre("https://home.example/notes/2 dogs"));
  const json::array mixed = {
      json::array{hashtag}, nullptr, 7, "#x", json::object{{"type", "Mention"}}, hashtag};
  EXPECT_EQ(post_signed(with_tag("https://home.example/notes/3", mixed), alice).status, 202);
  settle();
  EXPECT_EQ(rows("SELECT tags FROM posts"), (std::vector<std::string>{"dogs", "dogs"}));
  for (const json::value& garbage :
       {json::value("#dogs"), json::value(7), json::value(nullptr), json::value(json::array{}),
        json::value(json::object{{"name", "#dogs"}})}) {
    expect_ignored(signed_request(alice, with_tag("https://home.example/notes/4", garbage)),
                   "the post has no hashtags that are relayed here");
  }
}

TEST_F(BadInput, KeywordsOfJsonLdAreReadAsWhatTheyMean) {
  std::string text = create_text(post);
  for (const std::string word : {"id", "type"}) {
    for (std::size_t at = text.find('"' + word + '"'); at != std::string::npos;
         at = text.find('"' + word + '"'))
      text.insert(at + 1, "@");
  }
  EXPECT_EQ(post_signed(text, alice).status, 202);
  settle();
  EXPECT_THAT(rows("SELECT uri||' '||tags FROM posts"), ElementsAre(post.uri + " caturday"));
}

TEST_F(BadInput, OtherMethodsAndPagesAreRefused) {
  HttpRequest request = signed_request(alice, create_text(post));
  request.method = "PUT";
  expect_refused(std::move(request), 405, "invalid", "method not allowed");
  expect_refused(signed_request(alice, create_text(post), "/actor"), 405, "invalid", "method not allowed");
  EXPECT_EQ(get("/inbox").status, 405);
  EXPECT_EQ(get("/tag/cats/inbox").status, 405);
}

// --- whose posts, and which --------------------------------------------------------------------------------

TEST_F(BadInput, PostsThatAreNotPublicAreRefused) {
  const json::value everybody = "https://www.w3.org/ns/activitystreams#Public";
  const json::value followers(alice.id + "/followers");
  const json::value friends = "https://far.example/users/friend";
  for (const auto& [to, cc] :
       {std::pair(followers, everybody), std::pair(followers, json::value(json::array{})),
        std::pair(friends, json::value(json::array{})),
        std::pair(json::value(json::array{}), json::value(json::array{}))}) {
    post.to = to;
    post.cc = cc;
    expect_ignored(signed_request(alice, create_text(post)), "only posts addressed to the public");
  }
}

TEST_F(BadInput, AnInstanceThatMayNotPublishIsPassedOver) {
  for (const std::string host : {"far.example", "nothome.example", "home.example.evil.example"}) {
    const Author author = make_author("https://" + host + "/users/u");
    const PostText other{.uri = "https://" + host + "/1", .author = author.id, .tags = {"caturday"}};
    expect_ignored(signed_request(author, create_text(other)),
                   "this node takes no posts of that author's server");
  }
}

TEST_F(BadInput, AnInstanceBelowTheConfiguredNameMayPublish) {
  const Author author = make_author("https://social.home.example/users/u");
  const PostText other{.uri = "https://social.home.example/1", .author = author.id, .tags = {"caturday"}};
  EXPECT_EQ(post_signed(create_text(other), author).status, 202);
  settle();
  EXPECT_THAT(history("caturday"), ElementsAre(other.uri));
}

// --- edits and deletions -----------------------------------------------------------------------------------

// As of moderators (Lemmy). It is no fault of their server, which counts refusals.
TEST_F(BadInput, DeletionsByOthersAreIgnored) {
  constexpr const char* kWhy = "a removal by another server than the post's";
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  expect_ignored(signed_request(stranger, delete_text(post.uri, stranger.id)), kWhy);
  EXPECT_EQ(status().at("inbox").as_object().at("ignored").as_object().at(kWhy), 1);
  expect_ignored(signed_request(stranger, delete_text(post.uri, alice.id)),
                 "somebody else's activity, handed on by who signed");
  EXPECT_THAT(history("caturday"), ElementsAre(post.uri));
}

TEST_F(BadInput, ADeletionOfAnUnknownPostIsIgnored) {
  expect_ignored(signed_request(alice, delete_text("https://home.example/notes/9", alice.id)),
                 "the post is not known here", "buried");
  EXPECT_THAT(rows("SELECT uri FROM buried"), ElementsAre("https://home.example/notes/9")) << "it may come";
}

TEST_F(BadInput, ADeletedAccountThatNobodyKnowsIsIgnored) {
  internet.documents[stranger.id] = with_status(410);
  expect_ignored(signed_request(stranger, delete_text(stranger.id, stranger.id)), "is gone");
}

TEST_F(BadInput, AnEditOwesExactlyTheDifference) {
  post.tags = {"cats", "dogs"};
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  post.tags = {"birds", "dogs"};
  EXPECT_EQ(post_signed(update_text(post), alice).status, 202);
  settle();
  EXPECT_THAT(rows("SELECT tag||' '||op FROM feed ORDER BY seq"),
              testing::UnorderedElementsAre("cats 0", "dogs 0", "birds 0", "cats 1"));
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  EXPECT_THAT(history("birds"), ElementsAre(post.uri));
}

TEST_F(BadInput, AnEditThatChangesNoTagOwesNothing) {
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  const std::string before = state();
  EXPECT_EQ(post_signed(update_text(post), alice).status, 202);
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  EXPECT_EQ(state(), before);
}

TEST_F(BadInput, AnEditThatHidesAPostTakesItOutOfItsTags) {
  post.tags = {"cats", "dogs"};
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  post.to = alice.id + "/followers";
  post.cc = "https://www.w3.org/ns/activitystreams#Public";
  EXPECT_EQ(post_signed(update_text(post), alice).status, 202);
  settle();
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), IsEmpty());
}

TEST_F(BadInput, ADeletedPostStaysDeletedWhateverComesLater) {
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  EXPECT_EQ(post_signed(delete_text(post.uri, alice.id), alice).status, 202);
  settle();
  const std::string before = state();
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  EXPECT_EQ(post_signed(update_text(post), alice).status, 202);
  settle();
  EXPECT_EQ(state(), before);
  EXPECT_THAT(history("caturday"), IsEmpty());
}

// --- following ---------------------------------------------------------------------------------------------

TEST_F(BadInput, FollowingAnActorOfAnotherServerIsRefused) {
  for (const std::string object :
       {"https://far.example/users/u", "https://tags.home.example.evil.example/tag/cats",
        "https://tags.home.example/tag/", "https://tags.home.example/tag/a/b"}) {
    expect_refused(signed_request(stranger, follow_text(stranger, {object})), 400, "invalid",
                   object + " is no hashtag actor of this node");
  }
}

TEST_F(BadInput, OneForeignActorSpoilsAFollowOfMany) {
  expect_refused(
      signed_request(stranger, follow_text(stranger, {origin + "/tag/cats", "https://far.example/tag/cats"})),
      400, "invalid", "is no hashtag actor of this node");
}

}  // namespace
}  // namespace tagring::node
