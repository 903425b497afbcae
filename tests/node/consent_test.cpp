// What authors of this node's instances wish, and that it takes effect.
#include <boost/asio/detached.hpp>

#include "node/fixture.hpp"
#include "publisher/consents.hpp"

namespace tagring::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Consenting : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");
  Author fan = make_author("https://far.example/users/fan", "https://far.example/inbox");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats", "dogs"}};

  void profile(bool indexable, const std::string& summary = {}) {
    alice.indexable = indexable;
    alice.summary = summary;
    internet.serve(alice);
  }
  // The author's server tells that the profile has changed.
  void tell() {
    const json::object update = {{"@context", "https://www.w3.org/ns/activitystreams"},
                                 {"id", alice.id + "#updates/" + std::to_string(++told_)},
                                 {"type", "Update"},
                                 {"actor", alice.id},
                                 {"object", json::parse_object(alice.document()).value()}};
    EXPECT_EQ(post_signed(json::serialize(update), alice).status, 202);
    settle();
  }
  void publish(const std::string& text) {
    EXPECT_EQ(post_signed(text, alice).status, 202);
    settle();
  }
  std::vector<std::string> announced() {
    std::vector<std::string> types;
    for (const json::object& sent : internet.posted_to("https://far.example/inbox"))
      types.push_back(json::id_of(sent, "type"));
    return types;
  }
  void execute(const char* statement) {
    const auto job = [statement](sql::Connection& db) { return db.execute(statement); };
    ASSERT_TRUE(run(stores->database->write(job)));
  }
  void follow_cats() {
    EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/cats"}), fan).status, 202);
    settle();
  }

 private:
  int told_ = 0;
};

TEST_F(Consenting, WithoutIndexableAPostIsRelayedAndNotArchived) {
  profile(false);
  follow_cats();
  publish(create_text(post));
  EXPECT_THAT(announced(), ElementsAre("Announce"));
  EXPECT_THAT(history("cats"), IsEmpty());
}

// What was sent first may be tried again for hours: the edit comes before it then.
TEST_F(Consenting, AnEditThatOvertakesItsPostCounts) {
  profile(true);
  follow_cats();
  const auto edit = [&](const char* updated, PostText now, bool may_announce = true) {
    json::object text = json::parse_object(create_text(now, "Update")).value();
    text["object"].as_object()["updated"] = updated;
    if (!may_announce)
      text["object"].as_object()["interactionPolicy"] =
          json::object{{"canAnnounce", json::object{{"automaticApproval", json::array()}}}};
    internet.serve(now.uri, json::serialize(text.at("object").as_object()));
    publish(json::serialize(text));
  };
  PostText bare = post;
  bare.tags = {};
  PostText secret = post;
  secret.to = json::value(alice.id + "/followers");
  int number = 0;
  for (const auto& [now, may_announce] :
       {std::pair(bare, true), std::pair(secret, true), std::pair(post, false)}) {
    PostText later = now;
    later.uri = post.uri + std::to_string(++number);
    edit("2025-12-31T13:00:00Z", later, may_announce);
    if (number == 2) start(config());
    settle();
    PostText first = post;
    first.uri = later.uri;
    publish(create_text(first));
    EXPECT_THAT(announced(), IsEmpty()) << number;
    EXPECT_THAT(history("cats"), IsEmpty()) << number;
  }
  post.uri += "1";
  edit("2025-12-31T14:00:00Z", post);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri)) << "which is later still";
  EXPECT_THAT(announced(), ElementsAre("Announce"));
}

TEST_F(Consenting, TheAdministratorMayArchiveAll) {
  config::Config all = config();
  all.archive_all = true;
  start(all);
  settle();
  profile(false);
  publish(create_text(post));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

TEST_F(Consenting, ArchivingAllBeginsWithTheNextPostOfWhoWasKnownBefore) {
  profile(false);
  publish(create_text(post));
  EXPECT_THAT(history("cats"), IsEmpty());
  config::Config all = config();
  all.archive_all = true;
  start(all);
  settle();
  post.uri += "0";
  publish(create_text(post));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

TEST_F(Consenting, WhoSaysNoBotIsNotRelayed) {
  profile(true, "<p>#nobot</p>");
  follow_cats();
  const HttpResponse response = post_signed(create_text(post), alice);
  EXPECT_EQ(response.status, 202);
  EXPECT_THAT(response.body, ::testing::HasSubstr("the author does not wish to be relayed"));
  settle();
  EXPECT_THAT(announced(), IsEmpty());
  EXPECT_THAT(history("cats"), IsEmpty());
}

// Keys are remembered for hours, and servers tell of changes only whom they know to be interested.
TEST_F(Consenting, AFirstPostIsJudgedByTheProfileOfNowAndNotByThatOfTheKey) {
  const auto use_key = [&] {
    EXPECT_EQ(post_signed(follow_text(alice, {origin + "/tag/birds"}), alice).status, 202);
    settle(std::chrono::hours(1));
  };
  use_key();
  profile(false);
  publish(create_text(post));
  EXPECT_THAT(history("cats"), IsEmpty());
  alice = make_author("https://home.example/users/bob");
  profile(true, "#nobot");
  use_key();
  profile(true);
  post = {.uri = "https://home.example/notes/2", .author = alice.id, .tags = {"cats"}};
  publish(create_text(post));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  // It is that of the key if there is no other.
  alice = make_author("https://home.example/users/eve");
  use_key();
  internet.documents[alice.id] = with_status(503);
  const PostText third{.uri = "https://home.example/notes/3", .author = alice.id, .tags = {"dogs"}};
  publish(create_text(third));
  EXPECT_THAT(history("dogs"), ElementsAre(third.uri));
}

TEST_F(Consenting, WithdrawingIndexableEmptiesTheArchiveAndLeavesAnnouncementsAlone) {
  follow_cats();
  publish(create_text(post));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  profile(false);
  tell();
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), IsEmpty());
  EXPECT_THAT(announced(), ElementsAre("Announce"));
}

TEST_F(Consenting, SayingNoBotTakesBackEverything) {
  follow_cats();
  publish(create_text(post));
  profile(true, "#nobots");
  tell();
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(announced(), ElementsAre("Announce", "Undo"));
}

TEST_F(Consenting, OptingInTakesEffectForPostsFromThenOn) {
  profile(false);
  publish(create_text(post));
  profile(true);
  tell();
  post.uri = "https://home.example/notes/2";
  publish(create_text(post));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

// Mastodon answers for three minutes from a cache, whatever changed.
TEST_F(Consenting, WhatASignedUpdateWithdrawsCountsThoughTheServerStillShowsTheOldProfile) {
  follow_cats();
  publish(create_text(post));
  for (const auto& [indexable, summary] : {std::pair(false, ""), std::pair(true, "#nobot")}) {
    alice.indexable = indexable;
    alice.summary = summary;
    tell();  // and the document that is served stays as it was
    EXPECT_THAT(history("cats"), IsEmpty());
    post.uri += "0";
    EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
    settle();
    EXPECT_THAT(history("cats"), IsEmpty());
  }
  EXPECT_THAT(announced(), ElementsAre("Announce", "Announce", "Undo", "Undo"));
}

// A delivery that failed is tried again after those that came later.
TEST_F(Consenting, WhatASignedUpdateWithdrewIsNotGivenBackByAnOlderOneThatComesLate) {
  profile(true);
  publish(create_text(post));
  profile(false);
  tell();
  EXPECT_THAT(history("cats"), IsEmpty());
  alice.indexable = true;  // the older Update; the profile itself goes on saying no
  tell();
  post.uri += "0";
  publish(create_text(post));
  EXPECT_THAT(history("cats"), IsEmpty());
  settle(2 * publisher::Consents::kLifetime);
  post.uri += "1";
  publish(create_text(post));
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(Consenting, WhoChangesTheirMindTwiceInAMomentIsHeardWhenTheProfileIsLookedAt) {
  profile(true);
  publish(create_text(post));
  for (const bool indexable : {false, true}) {
    profile(indexable);
    tell();
  }
  settle(2 * publisher::Consents::kLifetime);
  post.uri += "0";
  publish(create_text(post));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

TEST_F(Consenting, WhoTakesARefusalBackInAMomentIsHeardWhenTheProfileIsLookedAt) {
  publish(create_text(post));
  for (const char* summary : {"#nobot", ""}) {
    profile(true, summary);
    tell();
  }
  EXPECT_THAT(rows("SELECT relay FROM consents"), ElementsAre("0"));
  settle(2 * publisher::Consents::kLifetime);
  EXPECT_THAT(rows("SELECT relay FROM consents"), ElementsAre("1"));
  post.uri += "0";
  publish(create_text(post));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

// What is passed over does not come again.
TEST_F(Consenting, WhoHasLiftedARefusalUntoldLosesNoPost) {
  profile(true, "#nobot");
  publish(create_text(post));
  EXPECT_THAT(history("cats"), IsEmpty());
  settle(std::chrono::hours(1));
  profile(true);
  std::vector<std::string> uris;
  for (int i = 0; i < 2; ++i) {
    post.uri += "1";
    uris.push_back(post.uri);
    boost::asio::co_spawn(loop.executor(kOwner), node->answer(signed_request(alice, create_text(post))),
                          boost::asio::detached);
  }
  settle();
  EXPECT_THAT(history("cats"), testing::UnorderedElementsAreArray(uris));
}

TEST_F(Consenting, WhoseRefusalWasLiftedUntoldLosesNoPostAfterARestartEither) {
  profile(true, "#nobot");
  publish(create_text(post));
  settle(std::chrono::hours(1));
  internet.answers[alice.id] = [](const HttpCall&) { return with_status(503); };
  post.uri += "0";
  const HttpResponse response = post_signed(create_text(post), alice);
  EXPECT_THAT(response.body, ::testing::HasSubstr("does not wish")) << "as it was, as far as is known";
  internet.answers.clear();
  profile(true);
  start(config());
  post.uri += "0";
  publish(create_text(post));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

TEST_F(Consenting, WhatASignedUpdateWithdrawsCountsAfterARestartToo) {
  follow_cats();
  publish(create_text(post));
  alice.summary = "#nobot";
  tell();  // and the document that is served stays as it was
  start(config());
  for (int i = 0; i < 3; ++i) {
    post.uri += "0";
    publish(create_text(post));
  }
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(announced(), ElementsAre("Announce", "Undo"));
  // What is shown after those minutes counts.
  settle(publisher::Consents::kLifetime * 2);
  post.uri += "0";
  publish(create_text(post));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

TEST_F(Consenting, WhatASignedUpdateWithdrawsIsNotUndoneByWhatMayBeFromACacheOfBefore) {
  publish(create_text(post));
  internet.answers[alice.id] = [document = alice.document()](const HttpCall&) {
    HttpResponse response = with_status(200, document);
    response.headers.add("Content-Type", "application/activity+json");
    response.headers.add("Cache-Control", "max-age=300, public");
    return Result<HttpResponse>(response);
  };
  alice.summary = "#nobot";
  tell();
  settle(std::chrono::minutes(5) - std::chrono::seconds(10));  // looked at, and shown as it was
  for (int i = 0; i < 2; ++i) {
    post.uri += "0";
    publish(create_text(post));
  }
  EXPECT_THAT(history("cats"), IsEmpty());
  // What is shown after that is as it is.
  settle(publisher::Consents::kLifetime * 3);
  post.uri += "0";
  publish(create_text(post));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

TEST_F(Consenting, WhoWithdrawsUntoldAndWritesNothingMoreIsLookedAtAgainEvenAfterARestart) {
  publish(create_text(post));
  start(config());
  settle();
  profile(false);
  settle(std::chrono::minutes(10));
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(Consenting, WhoseServerNeverTellsIsLookedAtEveryFewDays) {
  publish(create_text(post));
  settle(std::chrono::days(1));
  profile(false);
  const std::size_t asked = internet.sent_to(alice.id).size();
  settle(std::chrono::days(4));
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_LT(internet.sent_to(alice.id).size() - asked, 4U) << "at a bounded cost";
}

TEST_F(Consenting, WhatALookCouldNotTakeOutIsTakenOutByTheNextAnHourLater) {
  publish(create_text(post));
  profile(false);
  execute("ALTER TABLE outbox RENAME TO outbox_elsewhere");
  settle(2 * publisher::Consents::kLifetime);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  execute("ALTER TABLE outbox_elsewhere RENAME TO outbox");
  settle(publisher::Consents::kFailedFor);
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(Consenting, AServerThatHangsHoldsUpNoLooksAtOthers) {
  for (int i = 0; i < 30; ++i) {
    Author slow = make_author("https://slow.home.example/users/u" + std::to_string(i));
    const PostText one{.uri = slow.id + "/1", .author = slow.id, .tags = {"dogs"}};
    EXPECT_EQ(post_signed(create_text(one), slow).status, 202);
    internet.documents[slow.id] = with_status(503);
  }
  publish(create_text(post));
  settle(std::chrono::days(1));
  profile(false);
  const auto asked = [&] {
    std::size_t all = 0;
    for (int i = 0; i < 30; ++i)
      all += internet.sent_to("https://slow.home.example/users/u" + std::to_string(i)).size();
    return all;
  };
  const std::size_t before = asked();
  settle(std::chrono::days(4));
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_LT(asked() - before, 30U) << "and is asked ever more seldom, not once for each author";
}

TEST_F(Consenting, WhoseProfileIsNotShownIsLookedAtEverMoreSeldom) {
  const Author bob = make_author("https://home.example/users/bob");
  EXPECT_EQ(post_signed(create_text({.uri = bob.id + "/1", .author = bob.id, .tags = {"dogs"}}), bob).status,
            202);
  publish(create_text(post));
  settle(std::chrono::minutes(10));
  internet.documents[alice.id] = with_status(403);
  internet.calls.clear();
  settle(std::chrono::days(12));
  EXPECT_LT(internet.sent_to(alice.id).size(), 20U);
  EXPECT_GT(internet.sent_to(bob.id).size(), 3U) << "others there are looked at as before";
  profile(false);
  settle(std::chrono::days(4));
  EXPECT_THAT(history("cats"), IsEmpty());
}

class Blocking : public Consenting {
 protected:
  using Tags = std::vector<std::string>;
  void SetUp() override {
    Consenting::SetUp();
    const json::object block = {
        {"id", fan.id + "/blocks/1"}, {"type", "Block"}, {"actor", fan.id}, {"object", origin + "/tag/cats"}};
    EXPECT_EQ(post_signed(json::serialize(block), fan).status, 202);
    start(config());
  }
  Tags blocked() { return rows("SELECT tag FROM refusals"); }
  // Months pass, as far as looks are concerned.
  void look() {
    const auto due = [](sql::Connection& db) { return db.run("UPDATE profile_looks SET due = 0"); };
    EXPECT_EQ(run(stores->database->write(due)).value(), 1);
    settle(std::chrono::minutes(2));
  }
};

TEST_F(Blocking, LastsForAsLongAsTheAccountIsThere) {
  const std::size_t asked = internet.sent_to(fan.id).size();
  settle(std::chrono::days(1));
  EXPECT_EQ(internet.sent_to(fan.id).size(), asked);
  look();
  EXPECT_EQ(internet.sent_to(fan.id).size(), asked + 1);
  EXPECT_THAT(blocked(), ElementsAre("cats"));
  internet.documents[fan.id] = with_status(410);
  look();
  EXPECT_THAT(blocked(), ElementsAre("cats")) << "once may be a mistake";
  look();
  EXPECT_THAT(blocked(), IsEmpty());
  EXPECT_THAT(rows("SELECT author FROM profile_looks"), IsEmpty());
  EXPECT_EQ(status().at("budget").as_object().at("author_blocks").as_object().at("used"), 0);
}

TEST_F(Blocking, LastsForAYearOfSilence) {
  internet.documents[fan.id] = with_status(503);
  for (unsigned i = 0; i < publisher::Consents::kLooksInVainMax; ++i) look();
  EXPECT_THAT(blocked(), ElementsAre("cats"));
  look();
  EXPECT_THAT(blocked(), IsEmpty());
}

TEST_F(Consenting, ABlockOfTheNodeThatCouldNotBeWrittenTakesEverythingBackWhenItComesAgain) {
  follow_cats();
  publish(create_text(post));
  const std::string block = json::serialize(json::object{
      {"id", alice.id + "/blocks/1"}, {"type", "Block"}, {"actor", alice.id}, {"object", origin + "/actor"}});
  execute("ALTER TABLE posts RENAME TO posts_elsewhere");
  EXPECT_EQ(post_signed(block, alice).status, 500);
  execute("ALTER TABLE posts_elsewhere RENAME TO posts");
  publish(block);
  EXPECT_THAT(rows("SELECT uri FROM posts WHERE tags <> ''"), IsEmpty());
  EXPECT_THAT(announced(), ElementsAre("Announce", "Undo"));
}

// Owners that do not go by this node's word see nothing of a Block, and of what a profile says.
TEST_F(Consenting, WhatWasTakenBackUnseenIsTakenBackAgainWhenTheProfileSaysSo) {
  const json::object block = {
      {"id", alice.id + "/blocks/1"}, {"type", "Block"}, {"actor", alice.id}, {"object", origin + "/actor"}};
  follow_cats();
  publish(create_text(post));
  execute("ALTER TABLE feed RENAME TO feed_elsewhere");
  publish(json::serialize(block));
  loop.drop(kOwner);
  node.reset();
  execute("DELETE FROM outbox");  // as when all have refused it
  execute("ALTER TABLE feed_elsewhere RENAME TO feed");
  start(config());
  publish(json::serialize(
      json::object{{"id", alice.id + "/undos/1"}, {"type", "Undo"}, {"actor", alice.id}, {"object", block}}));
  ASSERT_THAT(history("cats"), ElementsAre(post.uri));
  profile(true, "#nobot");
  tell();
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(announced(), ElementsAre("Announce", "Undo"));
}

// Misskey tells relays nothing of accounts that it deletes or suspends.
TEST_F(Consenting, AnAccountThatIsNotThereTwiceIsGone) {
  follow_cats();
  publish(create_text(post));
  internet.documents[alice.id] = with_status(404);
  settle(std::chrono::minutes(10));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri)) << "once may be a mistake";
  settle(std::chrono::hours(2));
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(announced(), ElementsAre("Announce", "Undo"));
}

TEST_F(Consenting, WhoIsSuspendedOrHidesPostsFromTheWebIsTakenOut) {
  config::Config all = config();
  all.archive_all = true;
  start(all);
  follow_cats();
  for (const char* flag :
       {"hidesToPublicFromUnauthedWeb", "_misskey_requireSigninToViewContents", "suspended"}) {
    publish(create_text(post));
    EXPECT_THAT(history("cats"), ElementsAre(post.uri));
    json::object document = json::parse_object(alice.document()).value();
    document[flag] = true;
    json::object update = {
        {"id", alice.id + "#update-" + flag}, {"type", "Update"}, {"actor", alice.id}, {"object", document}};
    EXPECT_EQ(post_signed(json::serialize(update), alice).status, 202);
    settle();
    EXPECT_THAT(history("cats"), IsEmpty());
    settle(2 * publisher::Consents::kLifetime);
    tell();
    post.uri += "0";
  }
  EXPECT_THAT(announced(), ElementsAre("Announce", "Announce", "Announce", "Undo", "Undo", "Undo"));
}

TEST_F(Consenting, APostThatNotEverybodyMayAnnounceIsNotRelayedNorStaysSo) {
  follow_cats();
  const auto with_policy = [&](const char* type, const json::value& approval) {
    json::object activity = json::parse_object(create_text(post, type)).value();
    activity["object"].as_object()["interactionPolicy"] =
        json::object{{"canAnnounce", json::object{{"automaticApproval", approval}}}};
    return json::serialize(activity);
  };
  const json::value everybody = json::array{"https://www.w3.org/ns/activitystreams#Public"};
  EXPECT_THAT(post_signed(with_policy("Create", json::value(alice.id + "/followers")), alice).body,
              ::testing::HasSubstr("announce"));
  publish(with_policy("Create", everybody));
  EXPECT_THAT(announced(), ElementsAre("Announce"));
  publish(with_policy("Update", json::array{}));
  EXPECT_THAT(announced(), ElementsAre("Announce", "Undo"));
}

TEST_F(Consenting, RulesOfAnnouncingInAListAreRules) {
  json::object activity = json::parse_object(create_text(post)).value();
  activity["object"].as_object()["interactionPolicy"] =
      json::object{{"canAnnounce",
                    json::array{json::object{{"automaticApproval", json::array{alice.id + "/followers"}}}}}};
  EXPECT_THAT(post_signed(json::serialize(activity), alice).body, ::testing::HasSubstr("announce"));
}

TEST_F(Consenting, ADeletionThatOvertakesItsPostWins) {
  EXPECT_EQ(post_signed(delete_text(post.uri, alice.id), alice).status, 202);
  start(config());
  settle();
  publish(create_text(post));
  EXPECT_THAT(history("cats"), IsEmpty());
  const Author mallory = make_author("https://home.example.evil.example/users/m");
  post.uri = "https://home.example/notes/2";
  post_signed(delete_text(post.uri, mallory.id), mallory);
  publish(create_text(post));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri)) << "nobody buries the posts of others";
}

TEST_F(Consenting, AProfileThatNobodyToldOfIsLookedAtMinutesAfterTheLastTime) {
  publish(create_text(post));
  profile(false);
  settle(publisher::Consents::kLifetime);
  post.uri = "https://home.example/notes/2";
  publish(create_text(post));
  settle(std::chrono::seconds(10));
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(Consenting, WhatWasLearntSurvivesARestart) {
  publish(create_text(post));
  start(config());
  settle();
  profile(false);
  tell();
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(Consenting, WhatWasLearntCountsMoreThanAnOldProfile) {
  publish(create_text(post));
  profile(false);
  tell();
  start(config());  // forgets in memory, not on disk
  settle();
  profile(true);  // as an old copy of the profile would say
  internet.answers[alice.id] = [served = 0, document = alice.document()](const HttpCall&) mutable {
    // The key's owner is read once; after that the profile is out of reach.
    HttpResponse response = with_status(served++ == 0 ? 200 : 503, document);
    response.headers.add("Content-Type", "application/activity+json");
    return Result<HttpResponse>(response);
  };
  post.uri = "https://home.example/notes/2";
  publish(create_text(post));
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(Consenting, AnAccountThatIsGoneTakesItsPostsAlong) {
  follow_cats();
  publish(create_text(post));
  internet.documents[alice.id] = with_status(410);
  EXPECT_EQ(post_signed(delete_text(alice.id, alice.id), alice).status, 202);
  settle();
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(announced(), ElementsAre("Announce", "Undo"));
}

// Mastodon tells before it deletes, and answers from its cache after that.
TEST_F(Consenting, AnAccountThatSaysItselfThatItIsGoneTakesItsPostsAlongAtOnce) {
  publish(create_text(post));
  EXPECT_EQ(post_signed(delete_text(alice.id, alice.id), alice).status, 202);
  settle();
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(Consenting, AnEditThatMakesAPostLessThanPublicTakesItBack) {
  follow_cats();
  publish(create_text(post));
  post.to = alice.id + "/followers";
  publish(update_text(post));
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(announced(), ElementsAre("Announce", "Undo"));
}

}  // namespace
}  // namespace tagring::node
