// The node as a relay of Mastodon, Misskey, Pleroma and people: handshakes, permissions, what is sent to
// whom.
#include <algorithm>
#include <fmt/format.h>

#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class Relaying : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");
  // Mastodon's instance actor.
  Author mastodon = make_application("https://social.example/actor", "https://social.example/inbox");
  // Pleroma's relay.
  Author pleroma = make_application("https://pleroma.example/relay", "https://pleroma.example/inbox");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};

  Author make_application(const std::string& id, const std::string& shared_inbox) {
    Author author = make_author(id, shared_inbox);
    author.type = "Application";
    internet.serve(author);
    return author;
  }
  [[nodiscard]] std::string tag_actor(const std::string& tag) const { return origin + "/tag/" + tag; }
  // What stands in the Follow, and where it goes.
  std::string add_relay(const Author& author, const std::string& object,
                        const std::string& inbox = "/inbox") {
    const std::string text = follow_text(author, {object});
    EXPECT_EQ(post_signed(text, author, inbox).status, 202);
    settle();
    return text;
  }
  void allow(const std::string& host, bool publishes = true, bool receives = true) {
    const json::object body = {{"host", host}, {"publishes", publishes}, {"receives", receives}};
    EXPECT_EQ(control("/instances/permit", json::serialize(body)).status, 200);
    settle();
  }
  HttpResponse subscribe(const std::string& host, const std::vector<std::string>& tags) {
    const json::object body = {{"host", host}, {"tags", json::array(tags.begin(), tags.end())}};
    HttpResponse response = control("/instances/subscribe", json::serialize(body));
    settle();
    return response;
  }
  void publish(const std::string& text) {
    EXPECT_EQ(post_signed(text, alice).status, 202);
    settle();
  }
  // The last one that the node sent to them, unless another is given.
  void answer_follow(const char* type, const Author& by, std::optional<json::object> follow = {}) {
    if (!follow) {
      for (const json::object& sent : internet.posted_to(by.inbox))
        if (json::id_of(sent, "type") == "Follow") follow = sent;
    }
    ASSERT_TRUE(follow);
    const json::object text = {{"@context", "https://www.w3.org/ns/activitystreams"},
                               {"id", by.id + "/" + type},
                               {"type", type},
                               {"actor", by.id},
                               {"object", *follow}};
    EXPECT_EQ(post_signed(json::serialize(text), by).status, 202);
    settle();
  }
  std::vector<std::string> types_at(const std::string& inbox) {
    std::vector<std::string> types;
    for (const json::object& sent : internet.posted_to(inbox)) types.push_back(json::id_of(sent, "type"));
    return types;
  }
  // The ids of Announces.
  std::vector<std::string> undone_at(const std::string& inbox) {
    std::vector<std::string> undone;
    for (const json::object& sent : internet.posted_to(inbox))
      if (json::id_of(sent, "type") == "Undo") undone.push_back(json::id_of(sent.at("object").as_object()));
    return undone;
  }
};

// --- handshakes --------------------------------------------------------------------------------------------

TEST_F(Relaying, TheActorsInboxIsTheUrlThatAdministratorsType) {
  const json::object node_actor = json::parse_object(get("/actor").body).value();
  EXPECT_EQ(json::id_of(node_actor, "inbox"), origin + "/inbox");
  const json::object tag = json::parse_object(get("/tag/cats").body).value();
  EXPECT_EQ(json::id_of(tag, "inbox"), origin + "/tag/cats/inbox");
}

TEST_F(Relaying, AMastodonThatWasAllowedIsAcceptedWithItsWholeFollow) {
  allow("social.example");
  const std::string follow = add_relay(mastodon, kEverybody);
  const std::vector<json::object> answers = internet.posted_to(mastodon.inbox);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(json::id_of(answers[0], "type"), "Accept");
  EXPECT_EQ(json::id_of(answers[0], "actor"), origin + "/actor");
  EXPECT_EQ(answers[0].at("object"), json::value(json::parse_object(follow).value()));
}

TEST_F(Relaying, AnAnswerCanBeFetchedByItsIdForAnHour) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  const json::object accept = internet.posted_to(mastodon.inbox).front();
  const std::string path = json::id_of(accept).substr(origin.size());
  const HttpResponse answer = get(path);
  EXPECT_EQ(json::parse_object(answer.body), accept);
  EXPECT_EQ(answer.headers.find("Content-Type"), "application/activity+json");
  EXPECT_EQ(get(path + "0").status, 404);
  settle(std::chrono::hours(1));
  EXPECT_EQ(get(path).status, 404) << "anybody has it say something, and it forgets that again";
}

TEST_F(Relaying, WhoNamesADomainIsToldOfItsServer) {
  EXPECT_THAT(subscribe("home.example", {"cats"}).body, HasSubstr("its administrator adds"));
  add_relay(make_application("https://social.home.example/actor", "https://social.home.example/inbox"),
            kEverybody);
  const HttpResponse refused = subscribe("home.example", {"cats"});
  EXPECT_EQ(refused.status, 404);
  EXPECT_THAT(refused.body, HasSubstr("but social.home.example does: name that"));
  EXPECT_EQ(subscribe("social.home.example", {"cats"}).status, 200);
}

TEST_F(Relaying, AStrangerWaitsForTheAdministrator) {
  add_relay(mastodon, kEverybody);
  EXPECT_THAT(internet.posted_to(mastodon.inbox), IsEmpty());
  EXPECT_THAT(control("/instances").body, HasSubstr(R"("host":"social.example","publishes":false)"));
  start(config());  // survives a restart
  settle();
  allow("social.example");
  EXPECT_THAT(types_at(mastodon.inbox), ElementsAre("Accept"));
}

TEST_F(Relaying, AStrangerWhoIsDeniedIsRejectedAndForgotten) {
  add_relay(mastodon, kEverybody);
  allow("social.example", false, false);
  EXPECT_THAT(types_at(mastodon.inbox), ElementsAre("Reject"));
  EXPECT_THAT(rows("SELECT actor FROM links"), IsEmpty());
  add_relay(mastodon, kEverybody);
  EXPECT_THAT(types_at(mastodon.inbox), ElementsAre("Reject", "Reject"));
}

TEST_F(Relaying, AnOpenNodeAcceptsEverybody) {
  config::Config open = config();
  open.open = true;
  start(open);
  settle();
  add_relay(mastodon, kEverybody);
  EXPECT_THAT(types_at(mastodon.inbox), ElementsAre("Accept"));
}

TEST_F(Relaying, APleromaIsAcceptedAndFollowedBack) {
  allow("pleroma.example");
  add_relay(pleroma, origin + "/actor");
  EXPECT_THAT(types_at(pleroma.inbox), ElementsAre("Accept", "Follow"));
  const json::object back = internet.posted_to(pleroma.inbox).back();
  EXPECT_EQ(json::id_of(back, "object"), pleroma.id);
  EXPECT_EQ(json::id_of(back, "actor"), origin + "/actor");
  EXPECT_EQ(json::parse_object(get(json::id_of(back).substr(origin.size())).body), back);
  const json::object accept = {{"@context", "https://www.w3.org/ns/activitystreams"},
                               {"id", pleroma.id + "/accepts/1"},
                               {"type", "Accept"},
                               {"actor", pleroma.id},
                               {"object", back}};
  EXPECT_EQ(post_signed(json::serialize(accept), pleroma).status, 202);
  EXPECT_THAT(rows("SELECT object||' '||accepted FROM own_follows"), ElementsAre(pleroma.id + " 1"));
}

TEST_F(Relaying, WhoWasAcceptedWhenTheNodeDiedIsFollowedBackWhenItIsAllowedAgain) {
  allow("pleroma.example");
  add_relay(pleroma, origin + "/actor");
  run(stores->instances.drop_own_follow(origin + "/actor", pleroma.id)).value();
  start(config());
  settle();
  allow("pleroma.example");
  EXPECT_THAT(rows("SELECT object FROM own_follows"), ElementsAre(pleroma.id));
}

TEST_F(Relaying, WhoWasDeniedWhenTheNodeDiedIsTurnedAwayByTheNextStart) {
  allow("social.example");
  allow("pleroma.example");
  add_relay(mastodon, kEverybody);
  add_relay(pleroma, origin + "/actor");
  subscribe("pleroma.example", {"cats"});
  run(stores->instances.permit({"social.example", false, false})).value();
  run(stores->instances.permit({"pleroma.example", /*publishes=*/true, /*receives=*/false})).value();
  start(config());
  settle();
  EXPECT_THAT(types_at(mastodon.inbox), ElementsAre("Accept", "Reject"));
  EXPECT_THAT(rows("SELECT actor FROM links"), ElementsAre(pleroma.id));
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
}

// "Remove from followers", which Mastodon says by a Reject and others by a Remove.
TEST_F(Relaying, WhoRemovesTheNodeFromTheFollowersIsFollowedNoMore) {
  allow("pleroma.example");
  add_relay(pleroma, origin + "/actor");
  const auto followed = [&] { return rows("SELECT object FROM own_follows"); };
  ASSERT_THAT(followed(), ElementsAre(pleroma.id));
  json::object remove = {{"@context", "https://www.w3.org/ns/activitystreams"},
                         {"id", pleroma.id + "/removes/1"},
                         {"type", "Remove"},
                         {"actor", pleroma.id},
                         {"object", mastodon.id},
                         {"target", pleroma.id + "/followers"}};
  EXPECT_EQ(post_signed(json::serialize(remove), pleroma).status, 202);
  EXPECT_THAT(followed(), ElementsAre(pleroma.id)) << "somebody else was removed";
  remove["id"] = pleroma.id + "/removes/2";
  remove["object"] = origin + "/actor";
  const std::string id = rows("SELECT follow_id FROM own_follows").at(0).substr(origin.size());
  EXPECT_EQ(get(id).status, 200);
  EXPECT_EQ(post_signed(json::serialize(remove), pleroma).status, 202);
  EXPECT_THAT(followed(), IsEmpty());
  EXPECT_EQ(get(id).status, 404);
}

TEST_F(Relaying, WhoNeverAskedCannotAcceptForAnother) {
  allow("pleroma.example");
  add_relay(pleroma, origin + "/actor");
  const json::object accept = {{"@context", "https://www.w3.org/ns/activitystreams"},
                               {"id", mastodon.id + "/accepts/1"},
                               {"type", "Accept"},
                               {"actor", mastodon.id},
                               {"object", internet.posted_to(pleroma.inbox).back()}};
  post_signed(json::serialize(accept), mastodon);
  EXPECT_THAT(rows("SELECT object||' '||accepted FROM own_follows"), ElementsAre(pleroma.id + " 0"));
}

TEST_F(Relaying, AnUndoEndsTheRelayingAndTheFollowBack) {
  allow("pleroma.example");
  add_relay(pleroma, origin + "/actor");
  EXPECT_EQ(subscribe("pleroma.example", {"cats"}).status, 200);
  EXPECT_EQ(post_signed(undo_follow_text(pleroma, {origin + "/actor"}), pleroma).status, 202);
  settle();
  EXPECT_THAT(types_at(pleroma.inbox), ElementsAre("Accept", "Follow", "Undo"));
  EXPECT_THAT(rows("SELECT actor FROM links"), IsEmpty());
  EXPECT_THAT(rows("SELECT object FROM own_follows"), IsEmpty());
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
}

TEST_F(Relaying, AnInstanceOfOurOwnNeedsNoPermission) {
  const Author own = make_application("https://home.example/actor", "https://home.example/inbox");
  add_relay(own, kEverybody);
  EXPECT_THAT(types_at(own.inbox), ElementsAre("Accept"));
}

// --- publishing --------------------------------------------------------------------------------------------

TEST_F(Relaying, PostsAreTakenFromWhoMayPublishOnly) {
  const Author bob = make_author("https://social.example/users/bob");
  const PostText from_bob{.uri = "https://social.example/notes/1", .author = bob.id, .tags = {"dogs"}};
  // Misskey takes a 4xx for a server that does not respond, and Mastodon sends nobody's posts after ten.
  expect_ignored(signed_request(bob, create_text(from_bob)), "takes no posts of that author's server");
  allow("social.example", /*publishes=*/false, /*receives=*/true);
  expect_ignored(signed_request(bob, create_text(from_bob)), "takes no posts of that author's server");
  allow("social.example", /*publishes=*/true, /*receives=*/false);
  EXPECT_EQ(post_signed(create_text(from_bob), bob).status, 202);
  settle();
  EXPECT_THAT(history("dogs"), ElementsAre(from_bob.uri));
}

TEST_F(Relaying, WhoMayNotPublishAnyMoreMayStillWithdraw) {
  post.tags = {"cats", "dogs", "owls"};
  publish(create_text(post));
  allow("home.example", /*publishes=*/false, /*receives=*/true);
  post.tags = {"birds", "dogs", "owls"};
  publish(create_text(post, "Update"));
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("birds"), IsEmpty());
  EXPECT_THAT(history("owls"), ElementsAre(post.uri));
  // Told of by its URI.
  post.tags = {"birds", "dogs"};
  internet.serve(post.uri, json::serialize(note_object(post)));
  const json::object told = {
      {"id", alice.id + "#told"}, {"type", "Update"}, {"actor", alice.id}, {"object", post.uri}};
  publish(json::serialize(told));
  EXPECT_THAT(history("owls"), IsEmpty());
  EXPECT_THAT(history("birds"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  alice.summary = "#nobot";
  const json::object update = {{"id", alice.id + "#update"},
                               {"type", "Update"},
                               {"actor", alice.id},
                               {"object", json::parse_object(alice.document()).value()}};
  publish(json::serialize(update));
  EXPECT_THAT(history("dogs"), IsEmpty());
}

TEST_F(Relaying, WhatAPleromaAnnouncesIsFetchedAndPublished) {
  allow("pleroma.example");
  add_relay(pleroma, origin + "/actor");
  const PostText note{.uri = "https://pleroma.example/objects/1",
                      .author = make_author("https://pleroma.example/users/carol").id,
                      .tags = {"dogs"}};
  internet.serve(note.uri, json::serialize(note_object(note)));
  json::object announce = {{"@context", "https://www.w3.org/ns/activitystreams"},
                           {"id", "https://pleroma.example/activities/1"},
                           {"type", "Announce"},
                           {"actor", pleroma.id},
                           {"to", json::array{pleroma.id + "/followers"}},
                           {"object", note.uri}};
  EXPECT_EQ(post_signed(json::serialize(announce), pleroma).status, 202);
  settle();
  EXPECT_THAT(history("dogs"), ElementsAre(note.uri));
}

TEST_F(Relaying, AnAnnouncedVideoIsOfItsAccountNotOfItsChannel) {
  allow("pleroma.example");
  add_relay(pleroma, origin + "/actor");
  const PostText video{.uri = "https://pleroma.example/videos/1",
                       .author = make_author("https://pleroma.example/accounts/carol").id,
                       .tags = {"dogs"}};
  json::object document = note_object(video);
  document["type"] = "Video";
  document["attributedTo"] =
      json::array{json::object{{"type", "Person"}, {"id", video.author}},
                  json::object{{"type", "Group"}, {"id", "https://pleroma.example/channels/dogs"}}};
  internet.serve(video.uri, json::serialize(document));
  json::object announce = {{"@context", "https://www.w3.org/ns/activitystreams"},
                           {"id", "https://pleroma.example/activities/1"},
                           {"type", "Announce"},
                           {"actor", pleroma.id},
                           {"object", video.uri}};
  EXPECT_EQ(post_signed(json::serialize(announce), pleroma).status, 202);
  settle();
  EXPECT_THAT(history("dogs"), ElementsAre(video.uri));
}

TEST_F(Relaying, AGroupIsHeardOnAnOpenNodeAndAPersonsBoostNowhere) {
  config::Config open = config();
  open.open = true;
  start(open);
  settle();
  Author group = make_author("https://lemmy.example/c/cats");
  group.type = "Group";
  internet.serve(group);
  const Author fan = make_author("https://home.example/users/fan");  // of an instance of the node's own
  internet.serve(post.uri, json::serialize(note_object(post)));
  const auto announce = [&](const Author& by) {
    const json::object text = {{"@context", "https://www.w3.org/ns/activitystreams"},
                               {"id", by.id + "/boost"},
                               {"type", "Announce"},
                               {"actor", by.id},
                               {"object", post.uri}};
    const int status = post_signed(json::serialize(text), by).status;
    settle();
    return status;
  };
  announce(fan);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_EQ(announce(group), 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

TEST_F(Relaying, AnAnnouncedPostOfAnInstanceThatMayNotPublishIsPassedOver) {
  allow("pleroma.example");
  add_relay(pleroma, origin + "/actor");
  json::object announce = {{"@context", "https://www.w3.org/ns/activitystreams"},
                           {"id", "https://pleroma.example/activities/1"},
                           {"type", "Announce"},
                           {"actor", pleroma.id},
                           {"object", "https://elsewhere.example/notes/1"}};
  expect_ignored(signed_request(pleroma, json::serialize(announce)),
                 "takes no posts of that author's server");
  EXPECT_THAT(internet.sent_to("https://elsewhere.example/notes/1"), IsEmpty());
}

TEST_F(Relaying, APersonWhoFollowsTheNodePublishesOwnPostsOnly) {
  config::Config config = this->config();
  config.people = true;
  start(config);
  settle();
  const Author dora = make_author("https://far.example/users/dora");
  const Author eve = make_author("https://far.example/users/eve");
  add_relay(dora, origin + "/actor");
  EXPECT_THAT(types_at(dora.inbox), ElementsAre("Accept", "Follow"));
  const PostText hers{.uri = "https://far.example/notes/1", .author = dora.id, .tags = {"dogs"}};
  EXPECT_THAT(post_signed(create_text(hers), dora).body, HasSubstr("takes no posts"))
      << "she has not let the node follow";
  answer_follow("Accept", dora);
  EXPECT_EQ(post_signed(create_text(hers), dora).body, "");
  const PostText other{.uri = "https://far.example/notes/2", .author = eve.id, .tags = {"dogs"}};
  EXPECT_THAT(post_signed(create_text(other), eve).body, HasSubstr("takes no posts"));
  settle();
  EXPECT_THAT(history("dogs"), ElementsAre(hers.uri));
  answer_follow("Reject", dora);
  const PostText later{.uri = "https://far.example/notes/3", .author = dora.id, .tags = {"dogs"}};
  EXPECT_THAT(post_signed(create_text(later), dora).body, HasSubstr("takes no posts"));
}

TEST_F(Relaying, WhoRejectsTheFollowThatTheNodeSentBackIsFollowedNoMore) {
  config::Config config = this->config();
  config.people = true;
  start(config);
  settle();
  const Author dora = make_author("https://far.example/users/dora");
  add_relay(dora, origin + "/actor");
  ASSERT_THAT(types_at(dora.inbox), ElementsAre("Accept", "Follow"));
  const json::object follow = internet.posted_to(dora.inbox).back();
  const auto answer = [&](const char* type, const Author& by) {
    answer_follow(type, by, follow);
    return rows("SELECT object||' '||accepted FROM own_follows");
  };
  EXPECT_THAT(answer("Accept", dora), ElementsAre(dora.id + " 1"));
  const Author eve = make_author("https://far.example/users/eve");
  EXPECT_THAT(answer("Reject", eve), ElementsAre(dora.id + " 1")) << "not hers to reject";
  EXPECT_THAT(answer("Reject", dora), IsEmpty());
}

// Their servers try again for days, in which this node may be restarted.
TEST_F(Relaying, AnAnswerToAFollowThatHasEndedDecidesNothingAboutTheNextOne) {
  config::Config config = this->config();
  config.people = true;
  start(config);
  settle();
  const Author dora = make_author("https://far.example/users/dora");
  const auto answer = [&](const char* type, std::optional<json::object> follow) {
    answer_follow(type, dora, std::move(follow));
    return rows("SELECT object||' '||accepted FROM own_follows");
  };
  add_relay(dora, origin + "/actor");
  ASSERT_THAT(types_at(dora.inbox), ElementsAre("Accept", "Follow"));
  const json::object undone = internet.posted_to(dora.inbox).back();
  EXPECT_EQ(post_signed(undo_follow_text(dora, {origin + "/actor"}), dora).status, 202);
  settle();
  add_relay(dora, origin + "/actor");
  start(config);
  settle();
  EXPECT_THAT(answer("Accept", undone), ElementsAre(dora.id + " 0"));
  json::object her_own = undone;
  her_own["id"] = dora.id + "/follower/1";  // as Misskey names it
  EXPECT_THAT(answer("Accept", her_own), ElementsAre(dora.id + " 1"));
  EXPECT_THAT(answer("Reject", undone), ElementsAre(dora.id + " 1"));
  EXPECT_THAT(answer("Reject", std::nullopt), IsEmpty());
}

TEST_F(Relaying, AFollowIsUndoneByItsIdAlone) {
  allow("social.example");
  const Author bob = make_author("https://social.example/users/bob", "https://social.example/inbox");
  const auto undo = [&](const Author& by, const std::string& id, bool with_type = false) {
    const json::object typed = {{"type", "Follow"}, {"id", id}};
    const json::object text = {{"@context", "https://www.w3.org/ns/activitystreams"},
                               {"id", id + "/undo"},
                               {"type", "Undo"},
                               {"actor", by.id},
                               {"object", with_type ? json::value(typed) : json::value(id)}};
    EXPECT_EQ(post_signed(json::serialize(text), by).status, 202);
    settle();
  };
  const auto id_of = [](const std::string& text) { return json::id_of(*json::parse_object(text)); };
  const std::string cats = id_of(add_relay(bob, tag_actor("cats")));
  const std::string dogs = id_of(add_relay(bob, tag_actor("dogs")));
  ASSERT_NE(cats, dogs);
  const std::string relay = id_of(add_relay(mastodon, kEverybody));
  undo(mastodon, cats);
  EXPECT_THAT(rows("SELECT tag FROM followers ORDER BY tag"), ElementsAre("cats", "dogs"));
  undo(bob, cats);
  EXPECT_THAT(rows("SELECT tag FROM followers"), ElementsAre("dogs"));
  EXPECT_THAT(rows("SELECT actor FROM links"), ElementsAre(mastodon.id));
  undo(bob, dogs, /*with_type=*/true);
  EXPECT_THAT(rows("SELECT tag FROM followers"), IsEmpty());
  undo(mastodon, relay, /*with_type=*/true);
  EXPECT_THAT(rows("SELECT actor FROM links"), IsEmpty());
}

TEST_F(Relaying, AnUndoEndsTheFollowThatItNamesWhereverItComes) {
  allow("social.example");
  const std::string node = add_relay(mastodon, kEverybody);
  const std::string dogs = add_relay(mastodon, kEverybody, "/tag/dogs/inbox");
  const json::object undo = {{"id", mastodon.id + "/undo/1"},
                             {"type", "Undo"},
                             {"actor", mastodon.id},
                             {"object", json::parse_object(dogs).value()}};
  EXPECT_EQ(post_signed(json::serialize(undo), mastodon, "/inbox").status, 202);
  settle();
  EXPECT_THAT(rows("SELECT relay FROM links"), ElementsAre(origin + "/actor"));
}

// --- receiving ---------------------------------------------------------------------------------------------

TEST_F(Relaying, WhatWasAnnouncedCanBeFetchedByItsIdUntilItIsTakenBack) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  subscribe("social.example", {"cats"});
  const Author bob = make_author("https://people.example/users/bob");
  EXPECT_EQ(post_signed(follow_text(bob, {tag_actor("cats")}), bob).status, 202);
  settle();
  publish(create_text(post));
  for (const std::string& inbox : {std::string("https://social.example/inbox"), bob.inbox}) {
    const json::object sent = internet.posted_to(inbox).back();
    ASSERT_EQ(json::id_of(sent, "type"), "Announce");
    const std::string path = json::id_of(sent).substr(origin.size());
    for (const bool restarted : {false, true}) {
      if (restarted) start(config());
      settle();
      const HttpResponse fetched = get(path);
      ASSERT_EQ(fetched.status, 200) << path;
      EXPECT_EQ(fetched.headers.find("Content-Type"), "application/activity+json");
      json::object document = json::parse_object(fetched.body).value();
      for (const char* member : {"id", "type", "actor", "object", "to"})
        EXPECT_EQ(document.at(member), sent.at(member));
    }
  }
  EXPECT_EQ(get("/announces/0123456789abcdef0123456789abcdef").status, 404);
  const std::string path = json::id_of(internet.posted_to(bob.inbox).back()).substr(origin.size());
  control("/blocks/add", json::serialize(json::object{{"kind", "author"}, {"what", alice.id}}));
  EXPECT_EQ(get(path).status, 404) << "its author was blocked";
  control("/blocks/remove", json::serialize(json::object{{"kind", "author"}, {"what", alice.id}}));
  EXPECT_EQ(get(path).status, 200);
  publish(delete_text(post.uri, alice.id));
  EXPECT_EQ(get(path).status, 404);
}

TEST_F(Relaying, AnInstanceGetsTheHashtagsThatWereSubscribedForItAndNoOthers) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  EXPECT_EQ(subscribe("social.example", {"cats", "dogs"}).status, 200);
  EXPECT_THAT(rows("SELECT tag FROM wants"), ElementsAre("cats", "dogs"));
  internet.calls.clear();
  post.tags = {"birds"};
  publish(create_text(post));
  EXPECT_THAT(types_at("https://social.example/inbox"), IsEmpty());
  post.uri = "https://home.example/notes/2";
  post.tags = {"birds", "cats", "dogs"};
  publish(create_text(post));
  const std::vector<json::object> sent = internet.posted_to("https://social.example/inbox");
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(json::id_of(sent[0], "type"), "Announce");
  EXPECT_EQ(json::id_of(sent[0], "actor"), origin + "/actor");
  EXPECT_EQ(json::id_of(sent[0], "object"), post.uri);
  EXPECT_EQ(sent[0].at("to"), json::value(json::array{origin + "/actor/followers"}));
}

TEST_F(Relaying, TheFollowersThatAHashtagCountsArePeople) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  EXPECT_EQ(subscribe("social.example", {"cats"}).status, 200);
  allow("misskey.example");
  add_relay(make_application("https://misskey.example/users/relay", "https://misskey.example/inbox"),
            kEverybody, "/tag/cats/inbox");
  const Author node_of_others = make_node_author("https://tags.peer.example");
  EXPECT_EQ(post_signed(follow_text(node_of_others, {tag_actor("cats")}), node_of_others).status, 200);
  const Author fan = make_author("https://far.example/users/fan");
  EXPECT_EQ(post_signed(follow_text(fan, {tag_actor("cats")}), fan).status, 202);
  settle();
  EXPECT_EQ(json::parse_object(get("/tag/cats/followers").body).value().at("totalItems"), json::value(1));
}

TEST_F(Relaying, ADeletedPostOfSeveralHashtagsIsUndoneOnce) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  subscribe("social.example", {"cats", "dogs", "eels"});
  internet.calls.clear();
  post.tags = {"cats", "dogs", "eels"};
  publish(create_text(post));
  publish(delete_text(post.uri, alice.id));
  settle(std::chrono::minutes(1));
  EXPECT_THAT(types_at("https://social.example/inbox"), ElementsAre("Announce", "Undo"));
}

TEST_F(Relaying, ADeletionThatItsServerSignedIsForwardedAsItIs) {
  Author misskey = make_application("https://misskey.example/users/relay", "https://misskey.example/inbox");
  for (const Author& relay : {mastodon, misskey}) {
    allow(host_of(relay.id));
    add_relay(relay, kEverybody);
  }
  allow("pleroma.example");
  add_relay(pleroma, origin + "/actor");
  subscribe("social.example", {"cats", "dogs"});
  subscribe("misskey.example", {"eels"});
  subscribe("pleroma.example", {"cats"});
  post.tags = {"cats", "dogs"};
  publish(create_text(post));
  internet.calls.clear();
  json::object deletion = *json::parse_object(delete_text(post.uri, alice.id));
  deletion["signature"] = json::object{{"type", "RsaSignature2017"}, {"signatureValue", "c2lnbmF0dXJl"}};
  publish(json::serialize(deletion));
  const std::vector<json::object> sent = internet.posted_to("https://social.example/inbox");
  ASSERT_THAT(types_at("https://social.example/inbox"), UnorderedElementsAre("Delete", "Undo"));
  EXPECT_TRUE(std::ranges::find(sent, deletion) != sent.end());
  EXPECT_THAT(types_at("https://pleroma.example/inbox"), ElementsAre("Undo"));
  EXPECT_THAT(types_at("https://misskey.example/inbox"), IsEmpty());
  // The same once more is of a post that is gone.
  deletion["id"] = "https://home.example/activities/again";
  internet.calls.clear();
  publish(json::serialize(deletion));
  EXPECT_THAT(types_at("https://social.example/inbox"), IsEmpty());
}

TEST_F(Relaying, APostThatLosesAHashtagIsAnnouncedUnderAnother) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  subscribe("social.example", {"cats", "dogs"});
  internet.calls.clear();
  post.tags = {"cats", "dogs"};
  publish(create_text(post));
  const std::string first = rows("SELECT tag FROM feed ORDER BY seq").front();
  post.tags = {first == "cats" ? "dogs" : "cats"};
  publish(update_text(post));
  settle(std::chrono::minutes(1));
  EXPECT_THAT(types_at("https://social.example/inbox"), ElementsAre("Announce", "Undo", "Announce"));
  publish(delete_text(post.uri, alice.id));
  EXPECT_THAT(types_at("https://social.example/inbox"), ElementsAre("Announce", "Undo", "Announce", "Undo"));
}

TEST_F(Relaying, SubscriptionsSurviveARestart) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  subscribe("social.example", {"cats"});
  start(config());
  settle();
  EXPECT_THAT(control("/instances/hashtags?host=social.example").body, HasSubstr(R"(["cats"])"));
  internet.calls.clear();
  publish(create_text(post));
  EXPECT_THAT(types_at("https://social.example/inbox"), ElementsAre("Announce"));
}

TEST_F(Relaying, ARelayUrlOfOneHashtagBringsThatHashtagFromItsActor) {
  allow("social.example");
  add_relay(mastodon, kEverybody, "/tag/cats/inbox");
  const std::vector<json::object> answers = internet.posted_to(mastodon.inbox);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(json::id_of(answers[0], "actor"), tag_actor("cats"));
  publish(create_text(post));
  const std::vector<json::object> sent = internet.posted_to("https://social.example/inbox");
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(json::id_of(sent[0], "actor"), tag_actor("cats"));
  EXPECT_EQ(sent[0].at("to"), json::value(json::array{tag_actor("cats") + "/followers"}));
  EXPECT_EQ(post_signed(undo_follow_text(mastodon, {kEverybody}), mastodon, "/tag/cats/inbox").status, 202);
  settle();
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
}

TEST_F(Relaying, APersonsBoostGoesBeforeTheRelayAtOneInbox) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  subscribe("social.example", {"cats"});
  const Author bob = make_author("https://social.example/users/bob", "https://social.example/inbox");
  EXPECT_EQ(post_signed(follow_text(bob, {tag_actor("cats")}), bob).status, 202);
  settle();
  internet.calls.clear();
  publish(create_text(post));
  const std::vector<json::object> sent = internet.posted_to("https://social.example/inbox");
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(json::id_of(sent[0], "actor"), tag_actor("cats"));
  EXPECT_EQ(sent[0].at("to"), json::value(json::array{kEverybody}));
}

// Whichever of the two actors has announced it; the other's Undo is about nothing that is known there.
TEST_F(Relaying, WhatWasAnnouncedBeforeAPersonCameOrLeftIsUndoneByWhoAnnouncedIt) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  subscribe("social.example", {"cats"});
  const Author bob = make_author("https://social.example/users/bob", "https://social.example/inbox");
  const std::string inbox = "https://social.example/inbox";
  for (const std::string& change :
       {follow_text(bob, {tag_actor("cats")}), undo_follow_text(bob, {tag_actor("cats")})}) {
    internet.calls.clear();
    post.uri += "0";
    publish(create_text(post));
    ASSERT_THAT(types_at(inbox), ElementsAre("Announce"));
    const std::string announced = json::id_of(internet.posted_to(inbox).front());
    EXPECT_EQ(post_signed(change, bob).status, 202);
    settle();
    publish(delete_text(post.uri, alice.id));
    settle(std::chrono::minutes(1));
    EXPECT_THAT(undone_at(inbox), testing::Contains(announced)) << change;
  }
}

// Without a person: the same actor adds the hashtag's own relay to the node's.
TEST_F(Relaying, WhatOneRelayAnnouncedIsUndoneByItAlsoIfAnotherHasTakenItsPlace) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  subscribe("social.example", {"cats"});
  internet.calls.clear();
  publish(create_text(post));
  const std::vector<json::object> announced = internet.posted_to("https://social.example/inbox");
  ASSERT_THAT(announced, SizeIs(1));
  add_relay(mastodon, kEverybody, "/tag/cats/inbox");
  internet.calls.clear();
  publish(delete_text(post.uri, alice.id));
  settle(std::chrono::minutes(1));
  EXPECT_THAT(undone_at("https://social.example/inbox"), testing::Contains(json::id_of(announced[0])));
}

TEST_F(Relaying, AServerThatRefusesTheUndoOfWhatItDoesNotKnowGetsTheOneThatItNeeds) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  subscribe("social.example", {"cats"});
  publish(create_text(post));
  const std::string announced = json::id_of(internet.posted_to("https://social.example/inbox").back());
  const Author bob = make_author("https://social.example/users/bob", "https://social.example/inbox");
  EXPECT_EQ(post_signed(follow_text(bob, {tag_actor("cats")}), bob).status, 202);
  settle();
  internet.calls.clear();
  internet.answers["https://social.example/inbox"] = [&](const HttpCall& call) {
    return with_status(call.body.contains(announced) ? 202 : 400);
  };
  publish(delete_text(post.uri, alice.id));
  settle(std::chrono::minutes(1));
  EXPECT_THAT(undone_at("https://social.example/inbox"), testing::Contains(announced));
}

TEST_F(Relaying, AServerThatIsBlockedIsListedWithoutTheLinksThatItHad) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  const auto listed = [&](const std::string& host) -> json::object {
    const json::object answer = json::parse_object(control("/instances").body).value();
    for (const json::value& item : answer.at("instances").as_array())
      if (json::text_of(item.as_object(), "host") == host) return item.as_object();
    return {};
  };
  EXPECT_EQ(listed("social.example").at("blocked"), json::value(false));
  EXPECT_THAT(listed("bad.example"), IsEmpty());
  for (const char* host : {"social.example", "bad.example"})
    EXPECT_EQ(control("/blocks/add", fmt::format(R"({{"kind":"domain","what":"{}"}})", host)).status, 200);
  EXPECT_EQ(listed("social.example").at("blocked"), json::value(true));
  EXPECT_EQ(listed("social.example").at("links"), json::value(json::array()));
  EXPECT_EQ(listed("bad.example").at("blocked"), json::value(true));
}

TEST_F(Relaying, SubscribingWithoutARelayOrBeyondTheLimitIsRefused) {
  EXPECT_EQ(subscribe("social.example", {"cats"}).status, 404);
  config::Config small = config();
  small.tags_per_instance = 2;
  start(small);
  settle();
  allow("social.example", /*publishes=*/true, /*receives=*/false);
  add_relay(mastodon, kEverybody);
  EXPECT_EQ(subscribe("social.example", {"cats"}).status, 403);
  allow("social.example");
  EXPECT_EQ(subscribe("social.example", {"cats", "dogs"}).status, 200);
  EXPECT_EQ(subscribe("social.example", {"cats", "birds"}).status, 413);
  EXPECT_THAT(rows("SELECT tag FROM followers ORDER BY tag"), ElementsAre("cats", "dogs"));
}

TEST_F(Relaying, WhoMayNotReceiveAnyMoreGetsNothing) {
  allow("social.example");
  add_relay(mastodon, kEverybody);
  subscribe("social.example", {"cats"});
  allow("social.example", /*publishes=*/true, /*receives=*/false);
  EXPECT_THAT(rows("SELECT tag FROM followers"), IsEmpty());
  internet.calls.clear();
  publish(create_text(post));
  EXPECT_THAT(types_at("https://social.example/inbox"), IsEmpty());
}

TEST_F(Relaying, WhoMayNotReceiveAnyMoreHasNoRelayOfOneHashtag) {
  allow("social.example");
  add_relay(mastodon, kEverybody, "/tag/cats/inbox");
  allow("social.example", /*publishes=*/true, /*receives=*/false);
  EXPECT_THAT(types_at(mastodon.inbox), ElementsAre("Accept", "Reject"));
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
  EXPECT_THAT(rows("SELECT actor FROM links"), IsEmpty());
}

TEST_F(Relaying, WhatADeniedInstancePublishedIsTakenBack) {
  publish(create_text(post));
  allow("other.example");
  const Author carol = make_author("https://other.example/users/carol");
  const PostText hers{.uri = "https://other.example/notes/1", .author = carol.id, .tags = {"cats"}};
  EXPECT_EQ(post_signed(create_text(hers), carol).status, 202);
  settle();
  EXPECT_THAT(history("cats"), SizeIs(2));
  allow("home.example", /*publishes=*/false, /*receives=*/true);
  EXPECT_THAT(history("cats"), SizeIs(2)) << "it publishes no more";
  allow("home.example", /*publishes=*/false, /*receives=*/false);
  EXPECT_THAT(history("cats"), ElementsAre(hers.uri));
}

TEST_F(Relaying, WhatADeniedInstancePublishedIsTakenBackOnceItCanBeWritten) {
  publish(create_text(post));
  for (const char* table : {"posts", "outbox"}) {  // it cannot be read, or not be withdrawn
    allow("home.example");
    post.uri += "0";
    publish(create_text(post));
    EXPECT_THAT(history("cats"), Contains(post.uri));
    const auto rename = [&](const char* format) {
      const auto job = [text = fmt::format(fmt::runtime(format), table)](sql::Connection& db) {
        return db.execute(text.c_str());
      };
      ASSERT_TRUE(run(stores->database->write(job)));
    };
    rename("ALTER TABLE {0} RENAME TO {0}_elsewhere");
    allow("home.example", /*publishes=*/false, /*receives=*/false);
    settle(std::chrono::minutes(5));
    EXPECT_THAT(history("cats"), Contains(post.uri));
    rename("ALTER TABLE {0}_elsewhere RENAME TO {0}");
    settle(std::chrono::minutes(2));
    EXPECT_THAT(history("cats"), IsEmpty());
  }
}

TEST_F(Relaying, ServersOfPeopleWhoFollowAreListedAndThoseThatRefuseEverythingAreSaidTo) {
  const Author fan = make_author("https://social.example/users/fan", "https://social.example/inbox");
  EXPECT_EQ(post_signed(follow_text(fan, {tag_actor("cats")}), fan).status, 202);
  settle();
  const auto listed = [&] {
    const HttpResponse response = control("/instances");
    const json::object all = json::parse_object(response.body).value();
    for (const json::value& item : all.at("instances").as_array()) {
      if (item.at("host") == "social.example") return item.as_object();
    }
    return json::object();
  };
  EXPECT_EQ(listed()["follows"], 1);
  EXPECT_EQ(listed()["refuses"], false);
  internet.answers["https://social.example/inbox"] = [](const HttpCall&) { return with_status(403); };
  const auto publish_some = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      post.uri = fmt::format("https://home.example/notes/{}", i);
      publish(create_text(post));
    }
  };
  publish_some(0, 25);
  EXPECT_EQ(listed()["refuses"], true);
  EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(fan.id));
  // After a week nobody there counts as a follower any more.
  settle(std::chrono::days(8));
  publish_some(25, 26);
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
}

TEST_F(Relaying, AHostThatIsNoHostIsNoInstance) {
  for (const char* host :
       {"", "https://social.example/inbox", "social.example/inbox", "social example", "a:443"}) {
    const json::object body = {{"host", host}, {"publishes", true}, {"receives", true}};
    EXPECT_EQ(control("/instances/permit", json::serialize(body)).status, 400) << host;
  }
  EXPECT_THAT(rows("SELECT host FROM permissions"), IsEmpty());
}

}  // namespace
}  // namespace tagring::node
