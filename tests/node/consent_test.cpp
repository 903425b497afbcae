// What authors of this node's instances wish, and that it takes effect.
#include "instances/consents.hpp"
#include "node/fixture.hpp"

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

TEST_F(Consenting, TheAdministratorMayArchiveAll) {
  config::Config all = config();
  all.archive_all = true;
  start(all);
  settle();
  profile(false);
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

TEST_F(Consenting, AProfileThatNobodyToldOfIsLookedAtTwoMinutesAfterTheLastTime) {
  publish(create_text(post));
  profile(false);
  settle(instances::Consents::kLifetime);
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

TEST_F(Consenting, AnAccountThatIsStillThereIsNotDeletedByTelling) {
  publish(create_text(post));
  expect_ignored(signed_request(alice, delete_text(alice.id, alice.id)), "the account is still there");
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
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
