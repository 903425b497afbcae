// The node as a FASP: what servers that share their posts tell of, and what becomes of it.
#include <fmt/format.h>

#include "node/fasp_fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr const char* kAnnouncements = "/data_sharing/v0/announcements";

class FaspSharing : public FaspTest {
 protected:
  FaspPeer& peer = enroll("social.example");
  Author carol = make_author("https://social.example/users/carol");
  PostText post{.uri = "https://social.example/notes/1", .author = carol.id, .tags = {"cats"}};

  void SetUp() override {
    settle();
    activate(peer, "data_sharing");
    serve_post(post);
  }
  void serve_post(const PostText& served) {
    internet.serve(served.uri, json::serialize(note_object(served)));
  }
  static std::string event(const std::string& type, const std::vector<std::string>& uris,
                           const std::string& category = "content", const std::string& subscription = "") {
    const std::string id = !subscription.empty() ? subscription : category == "content" ? "1" : "2";
    return json::serialize(json::object{{"source", json::object{{"subscription", json::object{{"id", id}}}}},
                                        {"category", category},
                                        {"eventType", type},
                                        {"objectUris", json::array(uris.begin(), uris.end())}});
  }
  static std::string old_posts(const std::vector<std::string>& uris, bool more, const std::string& id = "3") {
    return json::serialize(
        json::object{{"source", json::object{{"backfillRequest", json::object{{"id", id}}}}},
                     {"category", "content"},
                     {"moreObjectsAvailable", more},
                     {"objectUris", json::array(uris.begin(), uris.end())}});
  }
  int announce(const std::string& body) {
    const int status = ask_as(peer, "POST", kAnnouncements, body).status;
    settle();
    return status;
  }
  int tell(const std::string& type, const std::string& category = "content") {
    return announce(event(type, {category == "content" ? post.uri : carol.id}, category));
  }
  // After that the node has looked again.
  static constexpr Duration kCached = std::chrono::minutes(6);
  // What would be left if nothing had been announced.
  void expect_nothing_published() {
    EXPECT_THAT(rows("SELECT uri FROM posts"), IsEmpty());
    EXPECT_THAT(rows("SELECT uri FROM fasp_posts"), IsEmpty());
    EXPECT_THAT(rows("SELECT uri FROM fasp_news"), IsEmpty());
    EXPECT_THAT(rows("SELECT author FROM consents"), IsEmpty());
    EXPECT_THAT(history("cats"), IsEmpty());
  }
};

TEST_F(FaspSharing, WhatIsOverTheLimitComesLater) {
  config::Config strict = config();
  strict.posts_an_hour = 1;
  start(strict);
  settle();
  tell("new");
  post.uri += "0";
  serve_post(post);
  tell("new");
  EXPECT_THAT(rows("SELECT uri FROM put_off"), ElementsAre(post.uri));
  settle(std::chrono::hours(2));
  EXPECT_THAT(history("cats"), SizeIs(2));
  EXPECT_THAT(rows("SELECT uri FROM fasp_posts"), Contains(post.uri)) << "it is looked at again";
  carol.indexable = false;
  internet.serve(carol);
  tell("update");
  EXPECT_THAT(rows("SELECT uri FROM posts WHERE tags <> ''"), ::testing::Not(Contains(post.uri)));
}

// --- subscriptions -----------------------------------------------------------------------------------------

TEST_F(FaspSharing, AsksForPostsAndAccountsOnceItIsActivated) {
  const std::vector<HttpCall> asked = calls_to(peer, "/data_sharing/v0/event_subscriptions");
  ASSERT_THAT(asked, SizeIs(2));
  const json::object first = json::parse_object(asked[0].body).value();
  EXPECT_EQ(json::get_string(first, "category"), "content");
  EXPECT_EQ(json::get_string(first, "subscriptionType"), "lifecycle");
  EXPECT_EQ(json::get_int(first, "maxBatchSize"), 100);
  EXPECT_EQ(json::get_string(json::parse_object(asked[1].body).value(), "category"), "account");
  EXPECT_THAT(rows("SELECT content_subscription||' '||account_subscription FROM fasp_servers"),
              ElementsAre("1 2"));
  start(config());
  settle(std::chrono::minutes(5));
  EXPECT_THAT(calls_to(peer, "/data_sharing/v0/event_subscriptions"), SizeIs(2));
}

TEST_F(FaspSharing, TriesAgainWhereASubscriptionFailed) {
  FaspPeer& other = enroll("other.example");
  other.statuses["/data_sharing/v0/event_subscriptions"] = 500;
  activate(other, "data_sharing");
  EXPECT_THAT(rows("SELECT content_subscription FROM fasp_servers WHERE host = 'other.example'"),
              ElementsAre(""));
  other.statuses.clear();
  settle(std::chrono::minutes(2));
  EXPECT_THAT(rows("SELECT content_subscription FROM fasp_servers WHERE host = 'other.example'"),
              ElementsAre("1"));
}

TEST_F(FaspSharing, AServerThatRefusesASubscriptionIsAskedForItMoreAndMoreSeldom) {
  FaspPeer& other = enroll("other.example");
  const std::string subscriptions = "/data_sharing/v0/event_subscriptions";
  other.statuses[subscriptions] = 403;
  activate(other, "data_sharing");
  settle(std::chrono::hours(3));
  EXPECT_GT(calls_to(other, subscriptions).size(), 8U);
  EXPECT_LT(calls_to(other, subscriptions).size(), 26U);
}

TEST_F(FaspSharing, AsksNothingOfAServerThatHasNotActivatedIt) {
  FaspPeer& other = enroll("other.example");
  settle(std::chrono::minutes(5));
  EXPECT_THAT(other.calls, IsEmpty());
  expect_unchanged(other, request(other, "POST", kAnnouncements, old_posts({post.uri}, true)), 403);
  EXPECT_EQ(control("/fasp/backfill", R"({"host":"other.example"})").status, 403);
}

TEST_F(FaspSharing, SaysThatAServerThatIsRemovedCouldNotBeTold) {
  peer.statuses["/data_sharing/v0/event_subscriptions/2"] = 503;
  EXPECT_THAT(control("/fasp/remove", R"({"host":"social.example"})").body, HasSubstr(R"("told":false)"));
}

TEST_F(FaspSharing, EndsItsSubscriptionsWhenTheServerIsRemoved) {
  EXPECT_THAT(control("/fasp/remove", R"({"host":"social.example"})").body, HasSubstr(R"("told":true)"));
  EXPECT_THAT(calls_to(peer, "/data_sharing/v0/event_subscriptions/1"), SizeIs(1));
  EXPECT_THAT(calls_to(peer, "/data_sharing/v0/event_subscriptions/2"), SizeIs(1));
}

TEST_F(FaspSharing, SaysThatAServerDoesNotKnowTheNodeAnyMore) {
  EXPECT_THAT(control("/fasp").body, HasSubstr(R"("refused":false)"));
  peer.statuses["/data_sharing/v0/backfill_requests"] = 401;
  EXPECT_NE(control("/fasp/backfill", R"({"host":"social.example"})").status, 200);
  EXPECT_THAT(control("/fasp").body, HasSubstr(R"("refused":true)"));
  peer.statuses.clear();
  EXPECT_EQ(control("/fasp/backfill", R"({"host":"social.example"})").status, 200);
  EXPECT_THAT(control("/fasp").body, HasSubstr(R"("refused":false)"));
}

// --- posts -------------------------------------------------------------------------------------------------

TEST_F(FaspSharing, PublishesWhatIsAnnounced) {
  EXPECT_EQ(tell("new"), 204);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM fasp_posts"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM fasp_news"), IsEmpty());
}

TEST_F(FaspSharing, AuthorsMayBeGivenInAList) {
  json::object note = note_object(post);
  note["attributedTo"] = json::array{json::object{{"type", "Person"}, {"id", carol.id}}};
  internet.serve(post.uri, json::serialize(note));
  EXPECT_EQ(tell("new"), 204);
  EXPECT_THAT(rows("SELECT uri||' '||author FROM posts"), ElementsAre(post.uri + " " + carol.id));
}

TEST_F(FaspSharing, FollowsEditsAndDeletions) {
  tell("new");
  post.tags = {"dogs"};
  serve_post(post);
  tell("update");
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  tell("delete");
  EXPECT_THAT(history("dogs"), IsEmpty());
  EXPECT_THAT(rows("SELECT uri FROM fasp_posts"), IsEmpty());
  tell("new");  // it cannot come back
  EXPECT_THAT(history("dogs"), IsEmpty());
}

// [Mastodon answers for three minutes from a cache, and dates no post before its first edit]
TEST_F(FaspSharing, AnOldDocumentTurnsBackNoEdit) {
  control("/instances/permit", R"({"host":"social.example","publishes":true,"receives":false})");
  post.tags = {"cats", "dogs"};
  const std::string old_document = json::serialize(note_object(post));
  EXPECT_EQ(post_signed(create_text(post), carol).status, 202);
  settle();
  post.tags = {"dogs", "emus"};
  json::object update = json::parse_object(update_text(post)).value();
  update["object"].as_object()["updated"] = to_rfc3339(loop.wall_now());
  EXPECT_EQ(post_signed(json::serialize(update), carol).status, 202);
  settle();
  internet.serve(post.uri, old_document);
  internet.documents[post.uri].headers.add("Cache-Control", "max-age=180, public");
  tell("update");
  EXPECT_THAT(internet.sent_to(post.uri), ::testing::Not(IsEmpty()));
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("emus"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM fasp_posts"), ElementsAre(post.uri));
}

TEST_F(FaspSharing, TakesOutWhatIsNotPublicAnyMore) {
  tell("new");
  post.to = carol.id + "/followers";
  serve_post(post);
  tell("update");
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(FaspSharing, LeavesPostsAloneThatAreNotPublicOrHaveNoHashtags) {
  post.to = carol.id + "/followers";
  post.cc = "https://www.w3.org/ns/activitystreams#Public";  // unlisted
  serve_post(post);
  EXPECT_EQ(tell("new"), 204);
  post.cc = json::array();
  serve_post(post);
  tell("new");
  post = {.uri = post.uri, .author = carol.id, .tags = {}};
  serve_post(post);
  tell("new");
  internet.documents.erase(post.uri);
  tell("new");
  expect_nothing_published();
}

TEST_F(FaspSharing, LeavesPostsAloneWhoseAuthorsHaveNotAgreed) {
  config::Config all = config();
  all.archive_all = true;  // is about the instances of the node
  start(all);
  settle();
  for (const auto& [indexable, summary] : std::vector<std::pair<bool, std::string>>{
           {false, ""}, {true, "<p>#nobot</p>"}, {true, "<p>#noindex</p>"}}) {
    carol.indexable = indexable;
    carol.summary = summary;
    internet.serve(carol);
    EXPECT_EQ(tell("new"), 204);
    settle(kCached);
    expect_nothing_published();
  }
  internet.documents.erase(carol.id);
  tell("new");
  expect_nothing_published();
}

TEST_F(FaspSharing, TakesOutThePostsOfWhoeverTakesTheConsentBack) {
  tell("new");
  carol.indexable = false;
  internet.serve(carol);
  EXPECT_EQ(tell("update", "account"), 204);
  EXPECT_THAT(history("cats"), IsEmpty());
}

// [Mastodon answers for three minutes from a cache]
TEST_F(FaspSharing, TheProfileByWhichTheFirstPostWasTakenIsLookedAtAgainAlsoAfterARestart) {
  tell("new");
  ASSERT_THAT(history("cats"), ElementsAre(post.uri));
  start(config());
  carol.summary = "<p>#nobot</p>";  // for a minute already
  internet.serve(carol);
  settle(kCached);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(rows("SELECT uri FROM posts WHERE tags <> ''"), IsEmpty());
}

TEST_F(FaspSharing, WhatItsServerAlsoBringsItselfIsRelayedStillWhenItMayBeFoundNoMore) {
  control("/instances/permit", R"({"host":"social.example","publishes":true,"receives":false})");
  EXPECT_EQ(post_signed(create_text(post), carol).status, 202);
  settle();
  tell("new");
  ASSERT_THAT(history("cats"), ElementsAre(post.uri));
  carol.indexable = false;
  internet.serve(carol);
  tell("update");
  settle(kCached);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(rows("SELECT tags FROM posts"), ElementsAre("cats"));
}

TEST_F(FaspSharing, WhatASignedUpdateWithdrewCountsMoreThanTheOldProfileThatIsStillShown) {
  tell("new");
  ASSERT_THAT(history("cats"), ElementsAre(post.uri));
  carol.indexable = false;  // and the document that is served stays as it was
  const json::object update = {{"id", carol.id + "#updates/1"},
                               {"type", "Update"},
                               {"actor", carol.id},
                               {"object", json::parse_object(carol.document()).value()}};
  EXPECT_EQ(post_signed(json::serialize(update), carol).status, 202);
  settle();
  EXPECT_THAT(history("cats"), IsEmpty());
  post.uri += "0";
  serve_post(post);
  tell("new");
  EXPECT_THAT(rows("SELECT uri FROM posts"), ::testing::Not(Contains(post.uri)));
}

TEST_F(FaspSharing, TakesOutThePostsOfDeletedAccountsOnceTheyAreGone) {
  tell("new");
  tell("delete", "account");
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));  // still there
  internet.documents.erase(carol.id);
  tell("delete", "account");
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(FaspSharing, AsksAboutNoAccountsThatItDoesNotKnow) {
  const std::size_t before = internet.calls.size();
  EXPECT_EQ(tell("new", "account"), 204);
  EXPECT_EQ(tell("update", "account"), 204);
  EXPECT_EQ(internet.calls.size(), before);
}

TEST_F(FaspSharing, APostThatClaimsAnotherIdIsNotPublished) {
  internet.serve("https://social.example/notes/2", json::serialize(note_object(post)));
  EXPECT_EQ(announce(event("new", {"https://social.example/notes/2"})), 204);
  expect_nothing_published();
}

// --- posts of others ---------------------------------------------------------------------------------------

TEST_F(FaspSharing, LooksAtPostsOfOtherServersOnlyIfTheyTakePart) {
  const Author alice = make_author("https://home.example/users/alice");
  const Author mallory = make_author("https://far.example/users/mallory");
  const PostText own{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};
  const PostText foreign{.uri = "https://far.example/notes/1", .author = mallory.id, .tags = {"cats"}};
  serve_post(own);
  serve_post(foreign);
  EXPECT_EQ(announce(event("new", {foreign.uri, own.uri})), 204);
  EXPECT_THAT(history("cats"), ElementsAre(own.uri));
  EXPECT_THAT(internet.sent_to(foreign.uri), IsEmpty());
}

TEST_F(FaspSharing, IsNotBelievedAboutDeletionsElsewhere) {
  const Author alice = make_author("https://home.example/users/alice");
  const PostText own{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};
  serve_post(own);
  EXPECT_EQ(post_signed(create_text(own), alice).status, 202);
  settle();
  EXPECT_EQ(announce(event("delete", {own.uri})), 204);
  EXPECT_THAT(history("cats"), ElementsAre(own.uri));
  internet.documents.erase(own.uri);
  EXPECT_EQ(announce(event("delete", {own.uri})), 204);
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(FaspSharing, BlocksAndDenialsCount) {
  control("/blocks/add", json::serialize(json::object{{"kind", "author"}, {"what", carol.id}}));
  EXPECT_EQ(tell("new"), 204);
  expect_nothing_published();
  control("/blocks/remove", json::serialize(json::object{{"kind", "author"}, {"what", carol.id}}));
  control("/instances/permit", R"({"host":"social.example","publishes":false,"receives":false})");
  EXPECT_EQ(tell("new"), 204);
  expect_nothing_published();
}

TEST_F(FaspSharing, APostThatSeveralServersTellOfIsPublishedOnce) {
  FaspPeer& other = enroll("other.example");
  activate(other, "data_sharing");
  control("/instances/permit", R"({"host":"social.example","publishes":true,"receives":false})");
  tell("new");
  EXPECT_EQ(ask_as(other, "POST", kAnnouncements, event("new", {post.uri})).status, 204);
  settle();
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM feed"), SizeIs(1));
}

// --- what is refused ---------------------------------------------------------------------------------------

TEST_F(FaspSharing, RefusesAnnouncementsItDidNotAskFor) {
  const auto refuse = [&](const std::string& body, int status) {
    SCOPED_TRACE(body.substr(0, 200));
    expect_unchanged(peer, request(peer, "POST", kAnnouncements, body), status);
  };
  refuse(event("new", {post.uri}, "content", "2"), 404);  // that of accounts
  EXPECT_THAT(log_lines, Contains(AllOf(HasSubstr("fasp_refused"), HasSubstr("server=social.example"),
                                        HasSubstr("no such subscription"))));
  refuse(old_posts({post.uri}, true, "1"), 404);
  refuse(event("trending", {post.uri}), 422);
  refuse(event("new", {post.uri}, "poems", "1"), 422);
  refuse(event("new", {}), 422);
  refuse(event("new", {"mailto:carol@social.example"}), 422);
  refuse("[]", 422);
  refuse("", 422);
  std::vector<std::string> many;
  for (int i = 0; i <= 100; ++i) many.push_back(fmt::format("https://social.example/notes/{}", i));
  refuse(event("new", many), 413);
  refuse(event("new", {"https://social.example/" + std::string(3000, 'x')}), 413);
}

// Mastodon tells its subscriptions one after the other, and stops at the first error.
TEST_F(FaspSharing, ASubscriptionOfABygoneTimeIsAnsweredAndDeleted) {
  const std::string before = state();
  const HttpResponse answer = ask_as(peer, "POST", kAnnouncements, event("new", {post.uri}, "content", "9"));
  EXPECT_EQ(answer.status, 204);
  settle();
  EXPECT_EQ(state(), before) << "what it tells is not taken";
  std::vector<HttpCall> ended = calls_to(peer, "/data_sharing/v0/event_subscriptions/9");
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].method, "DELETE");
}

TEST_F(FaspSharing, WhatIsSwitchedOffIsDeletedAtTheServer) {
  EXPECT_EQ(ask_as(peer, "DELETE", "/capabilities/data_sharing/0/activation").status, 204);
  settle();
  for (const char* id : {"1", "2"}) {
    const std::vector<HttpCall> ended =
        calls_to(peer, std::string("/data_sharing/v0/event_subscriptions/") + id);
    ASSERT_THAT(ended, SizeIs(1)) << id;
    EXPECT_EQ(ended[0].method, "DELETE");
  }
}

// An error would be for all that Mastodon tells after this one.
TEST_F(FaspSharing, WhoStillTellsOfPostsAfterSwitchingItOffIsAskedAgainToStop) {
  const std::string subscription = "/data_sharing/v0/event_subscriptions/1";
  peer.statuses[subscription] = 500;
  EXPECT_EQ(ask_as(peer, "DELETE", "/capabilities/data_sharing/0/activation").status, 204);
  settle();
  ASSERT_THAT(calls_to(peer, subscription), SizeIs(1));
  peer.statuses.clear();
  const std::string before = state();
  EXPECT_EQ(tell("new"), 204);
  EXPECT_EQ(state(), before) << "what it tells is not taken";
  EXPECT_THAT(calls_to(peer, subscription), SizeIs(2));
}

// Mastodon does that within one second, with the same signature.
TEST_F(FaspSharing, PassesOverAnAnnouncementThatIsSentAgain) {
  const HttpRequest once = request(peer, "POST", kAnnouncements, event("new", {post.uri}));
  EXPECT_EQ(ask(once).status, 204);
  settle();
  expect_unchanged(peer, once, 204);
}

TEST_F(FaspSharing, RefusesAnAnnouncementInTheNameOfAnotherServer) {
  FaspPeer& other = enroll("other.example");
  activate(other, "data_sharing");
  HttpRequest forged = request(peer, "POST", kAnnouncements, event("new", {post.uri}), {.key = &other.key});
  expect_unchanged(peer, forged, 401);
}

TEST_F(FaspSharing, TakesNoMoreThanItCanLookAt) {
  internet.answers["https://social.example/slow"] = [](const HttpCall&) { return with_status(503); };
  int taken = 0;
  for (int batch = 0; batch < 60; ++batch) {
    std::vector<std::string> uris;
    for (int i = 0; i < 100; ++i)
      uris.push_back(fmt::format("https://social.example/slow?{}", batch * 100 + i));
    const HttpRequest announcement = request(peer, "POST", kAnnouncements, event("new", uris));
    const HttpResponse response = ask(announcement);
    if (response.status == 429) {
      EXPECT_EQ(response.headers.find("Retry-After"), "60");
      EXPECT_EQ(ask(announcement).status, 429) << "what was refused is not taken for known";
      break;
    }
    EXPECT_EQ(response.status, 204);
    ++taken;
  }
  EXPECT_EQ(taken, 50);
}

// --- durability --------------------------------------------------------------------------------------------

TEST_F(FaspSharing, WhatWasAcknowledgedIsLookedAtAfterACrash) {
  EXPECT_EQ(ask_as(peer, "POST", kAnnouncements, event("new", {post.uri})).status, 204);
  start(config());
  settle();
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

TEST_F(FaspSharing, TriesAgainWhileTheServerOfAPostIsOutOfReachOrBusy) {
  for (const int status : {503, 429}) {
    post.uri = fmt::format("https://social.example/notes/{}", status);
    serve_post(post);
    internet.answers[post.uri] = [status](const HttpCall&) { return with_status(status); };
    EXPECT_EQ(tell("new"), 204);
    EXPECT_THAT(rows("SELECT uri FROM fasp_news"), ElementsAre(post.uri));
    EXPECT_THAT(control("/queues").body,
                AllOf(HasSubstr(R"({"kind":"fetches","destination":"social.example",)"),
                      HasSubstr(fmt::format("answered {}", status))));
    internet.answers.erase(post.uri);
    settle(std::chrono::minutes(3));
    EXPECT_THAT(rows("SELECT uri FROM fasp_news"), IsEmpty());
  }
  EXPECT_THAT(history("cats"), SizeIs(2));
}

TEST_F(FaspSharing, WhatMayBeFoundNoMoreLeavesTheArchiveWhateverItsRelaysTake) {
  config::Config all = config();
  all.archive_all = true;  // is about the instances of the node
  start(all);
  settle();
  tell("new");
  ASSERT_THAT(history("cats"), ElementsAre(post.uri));
  const auto rename = [&](const char* statement) {
    const auto job = [statement](sql::Connection& db) { return db.execute(statement); };
    ASSERT_TRUE(run(stores->database->write(job)));
  };
  rename("ALTER TABLE feed RENAME TO feed_elsewhere");  // no relay takes anything
  carol.indexable = false;
  internet.serve(carol);
  tell("update");
  EXPECT_THAT(history("cats"), IsEmpty());
  rename("ALTER TABLE feed_elsewhere RENAME TO feed");
  carol.indexable = true;
  internet.serve(carol);
  tell("update");
  settle(kCached);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri)) << "not for ever";
}

// --- looking again -----------------------------------------------------------------------------------------

TEST_F(FaspSharing, AnAuthorWhoHasJustAgreedIsNotRefusedForGood) {
  carol.indexable = false;  // as a cache still says
  internet.serve(carol);
  EXPECT_EQ(tell("new"), 204);
  EXPECT_THAT(history("cats"), IsEmpty());
  carol.indexable = true;
  internet.serve(carol);
  start(config());
  settle(kCached);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM fasp_news"), IsEmpty());
}

TEST_F(FaspSharing, WhatAnAuthorHasEditedWhoHasJustAgreedAgainIsNotGoneForGood) {
  tell("new");
  settle(kCached);
  carol.indexable = false;  // as a cache still says
  internet.serve(carol);
  json::object edited = note_object(post);
  edited["updated"] = to_rfc3339(loop.wall_now());
  internet.serve(post.uri, json::serialize(edited));
  tell("update");
  EXPECT_THAT(history("cats"), IsEmpty());
  carol.indexable = true;
  internet.serve(carol);
  settle(kCached);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM fasp_posts"), ElementsAre(post.uri));
}

TEST_F(FaspSharing, AnEditIsSeenOnceTheCacheIsOver) {
  tell("new");
  tell("update");
  PostText untagged{.uri = "https://social.example/notes/2", .author = carol.id, .tags = {}};
  serve_post(untagged);
  EXPECT_EQ(announce(event("update", {untagged.uri})), 204);
  post.tags = {"dogs"};
  serve_post(post);
  untagged.tags = {"birds"};
  serve_post(untagged);
  settle(kCached);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  EXPECT_THAT(history("birds"), ElementsAre(untagged.uri));
  EXPECT_THAT(rows("SELECT uri FROM fasp_news"), IsEmpty());
  const std::size_t fetched = internet.sent_to(post.uri).size();
  settle(kCached);
  EXPECT_EQ(internet.sent_to(post.uri).size(), fetched) << "once is enough";
}

TEST_F(FaspSharing, AnEditThatIsToldWhileThePostIsLookedAtIsSeen) {
  const HttpResponse old_text = internet.documents.at(post.uri);
  bool told = false;
  internet.answers[post.uri] = [&](const HttpCall&) -> Result<HttpResponse> {
    if (std::exchange(told, true)) return internet.documents.at(post.uri);
    post.tags = {"dogs"};
    serve_post(post);
    boost::asio::co_spawn(loop.executor(kOwner),
                          node->answer(request(peer, "POST", kAnnouncements, event("update", {post.uri}))),
                          [](std::exception_ptr, const HttpResponse&) {});
    return old_text;
  };
  database_pause = Duration(20);
  tell("new");
  settle(kCached);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
}

TEST_F(FaspSharing, AnEditThatWaitsUntilThePostIsLookedAtIsSeenOnceTheCacheIsOver) {
  internet.answers[post.uri] = [](const HttpCall&) { return with_status(503); };
  tell("new");
  tell("update");
  internet.answers.erase(post.uri);
  settle(std::chrono::minutes(2));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  post.tags = {"dogs"};
  serve_post(post);
  settle(kCached);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM fasp_news"), IsEmpty());
}

class FaspChecks : public FaspSharing {
 protected:
  void SetUp() override {
    start(slow());
    settle();
    FaspSharing::SetUp();
    tell("new");
    ASSERT_THAT(history("cats"), ElementsAre(post.uri));
  }
  static config::Config slow() {
    config::Config config = NodeTest::config();
    config.stabilise = std::chrono::minutes(10);  // the ring is not what is tested
    return config;
  }
  static constexpr Duration kSoon = std::chrono::minutes(5);
};

TEST_F(FaspChecks, EveryPostIsLookedAtAgainWithinAWeek) {
  const std::size_t before = internet.sent_to(post.uri).size();
  settle(std::chrono::days(6) - kSoon);
  EXPECT_EQ(internet.sent_to(post.uri).size(), before);
  post.tags = {"dogs"};
  serve_post(post);
  settle(kSoon + kSoon);
  EXPECT_EQ(internet.sent_to(post.uri).size(), before + 1);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
}

TEST_F(FaspChecks, WhatIsGoneOrNotAgreedToAnyMoreIsTakenOut) {
  PostText second{.uri = "https://social.example/notes/2", .author = carol.id, .tags = {"birds"}};
  serve_post(second);
  announce(event("new", {second.uri}));
  internet.documents.erase(post.uri);
  carol.indexable = false;
  internet.serve(carol);
  settle(std::chrono::days(6) + std::chrono::hours(2));
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("birds"), IsEmpty());
  EXPECT_THAT(rows("SELECT uri FROM fasp_posts"), IsEmpty());
}

// As a proxy says while the server behind it starts again.
TEST_F(FaspChecks, WhatIsMissingOnceIsNotGone) {
  const HttpResponse shown = internet.documents.at(post.uri);
  internet.documents.erase(post.uri);
  settle(std::chrono::days(6) + kSoon);
  internet.serve(post.uri, shown);
  settle(std::chrono::hours(2));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM fasp_posts"), ElementsAre(post.uri));
  internet.documents.erase(post.uri);
  settle(std::chrono::days(6) + std::chrono::hours(2));
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(FaspChecks, WhatCannotBeSeenForTwoWeeksIsTakenOut) {
  internet.answers[post.uri] = [](const HttpCall&) { return with_status(403); };
  settle(std::chrono::days(13));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  settle(std::chrono::days(2));
  EXPECT_THAT(history("cats"), IsEmpty());
  internet.answers.erase(post.uri);
  tell("update");
  EXPECT_THAT(history("cats"), ElementsAre(post.uri)) << "its server is back";
}

// By the date, a node that was off is like one whose clock was set ahead.
TEST_F(FaspChecks, WhatWasNotAskedForDoesNotCountAsNotSeen) {
  internet.answers[post.uri] = [](const HttpCall&) { return with_status(503); };
  clock.set_skew(std::chrono::days(15));
  settle(kSoon);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  clock.set_skew(std::chrono::days(30));
  start(slow());
  settle(kSoon);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM fasp_posts"), ElementsAre(post.uri));
}

TEST_F(FaspChecks, WhatIsDeniedDoesNotComeBack) {
  control("/instances/permit", R"({"host":"social.example","publishes":false,"receives":false})");
  settle();
  EXPECT_THAT(history("cats"), IsEmpty());
  settle(std::chrono::days(6) + kSoon);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(rows("SELECT uri FROM fasp_posts"), IsEmpty());
}

TEST_F(FaspChecks, WhatIsGoneWhenABlockIsLiftedIsNotShownAgain) {
  PostText second{.uri = "https://social.example/notes/2", .author = carol.id, .tags = {"birds"}};
  serve_post(second);
  announce(event("new", {second.uri}));
  ASSERT_THAT(history("birds"), ElementsAre(second.uri));
  const std::string domain = R"({"kind":"domain","what":"social.example"})";
  control("/blocks/add", domain);
  internet.documents.erase(second.uri);
  settle(std::chrono::days(6) + std::chrono::hours(2));
  control("/blocks/remove", domain);
  settle();
  EXPECT_THAT(history("birds"), IsEmpty());
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM fasp_posts"), ElementsAre(post.uri));
}

// --- old posts ---------------------------------------------------------------------------------------------

TEST_F(FaspSharing, FetchesOldPostsStepByStepUntilThereAreEnough) {
  const HttpResponse begun = control("/fasp/backfill", R"({"host":"social.example","count":3})");
  ASSERT_EQ(begun.status, 200) << begun.body;
  const auto asked = calls_to(peer, "/data_sharing/v0/backfill_requests");
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].body, R"({"category":"content","maxCount":3})");
  EXPECT_EQ(control("/fasp/backfill", R"({"host":"social.example"})").status, 409);
  const std::string on = "/data_sharing/v0/backfill_requests/3/continuation";
  settle(std::chrono::minutes(2));
  EXPECT_THAT(calls_to(peer, on), IsEmpty());  // nothing has come yet
  EXPECT_EQ(announce(old_posts({post.uri, "https://social.example/gone"}, true)), 204);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  settle(std::chrono::minutes(2));
  ASSERT_THAT(calls_to(peer, on), SizeIs(1));
  EXPECT_EQ(calls_to(peer, on)[0].body, "");
  EXPECT_EQ(announce(old_posts({"https://social.example/3", "https://social.example/4"}, true)), 204);
  EXPECT_THAT(internet.sent_to("https://social.example/3"), SizeIs(1));
  EXPECT_THAT(internet.sent_to("https://social.example/4"), IsEmpty());  // one more than was asked for
  settle(std::chrono::minutes(2));
  EXPECT_THAT(calls_to(peer, on), SizeIs(1));
  EXPECT_THAT(control("/fasp").body, HasSubstr(R"("backfill":{"wanted":3,"received":3,"done":true})"));
  expect_unchanged(peer, request(peer, "POST", kAnnouncements, old_posts({post.uri}, false)), 404);
}

TEST_F(FaspSharing, WhoeverAsksForOldPostsTwiceAtOnceAsksOnce) {
  EXPECT_THAT(control_twice("/fasp/backfill", R"({"host":"social.example"})"),
              UnorderedElementsAre(200, 409));
  EXPECT_THAT(calls_to(peer, "/data_sharing/v0/backfill_requests"), SizeIs(1));
}

TEST_F(FaspSharing, AServerThatDoesNotGoOnIsAskedEachHourAndThenNoMore) {
  const std::string on = "/data_sharing/v0/backfill_requests/3/continuation";
  control("/fasp/backfill", R"({"host":"social.example","count":1000})");
  peer.statuses[on] = 401;
  EXPECT_EQ(announce(old_posts({post.uri}, true)), 204);
  settle(std::chrono::hours(6));
  EXPECT_GT(calls_to(peer, on).size(), 4U);
  EXPECT_LT(calls_to(peer, on).size(), 9U);
  peer.statuses.clear();
  settle(std::chrono::hours(2));
  EXPECT_EQ(announce(old_posts({post.uri}, true)), 204) << "it has come back";
  peer.statuses[on] = 503;
  settle(std::chrono::hours(47));
  EXPECT_THAT(control("/fasp").body, HasSubstr(R"("done":false)"));
  settle(std::chrono::hours(3));
  EXPECT_THAT(control("/fasp").body, HasSubstr(R"("done":true)"));
  peer.calls.clear();
  settle(std::chrono::hours(3));
  EXPECT_THAT(calls_to(peer, on), IsEmpty());
}

TEST_F(FaspSharing, AnEndOfOldPostsIsAnEnd) {
  control("/fasp/backfill", R"({"host":"social.example","count":1000})");
  EXPECT_EQ(announce(old_posts({post.uri}, false)), 204);
  settle(std::chrono::minutes(2));
  EXPECT_THAT(calls_to(peer, "/data_sharing/v0/backfill_requests/3/continuation"), IsEmpty());
  EXPECT_THAT(control("/fasp").body, HasSubstr(R"("done":true)"));
  for (const char* count : {"0", "-5", "100001"}) {
    const std::string body = fmt::format(R"({{"host":"social.example","count":{}}})", count);
    EXPECT_EQ(control("/fasp/backfill", body).status, 413) << count;
  }
  EXPECT_EQ(control("/fasp/backfill", R"({"host":"nobody.example"})").status, 404);
}

}  // namespace
}  // namespace tagring::node
