// Friendica uses the node as a relay. It is played here as its code at a0a8aeb has it
// (src/Model/APContact.php, isRelay; src/Protocol/ActivityPub/Transmitter.php, sendRelayFollow,
// addRelayServerInboxes, sendRelayUndoFollow; src/Protocol/ActivityPub/Receiver.php, processInbox).
#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class Friendica : public NodeTest {
 protected:
  Author system = make_system("https://friendica.example/friendica");
  Author ann = make_author("https://friendica.example/profile/ann", "https://friendica.example/inbox");
  Author alice = make_author("https://home.example/users/alice");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};

  Author make_system(const std::string& id) {
    Author author = make_author(id, "https://friendica.example/inbox");
    author.type = "Application";
    internet.serve(author);
    return author;
  }
  // Of a node's actor by its URL; `discoverable` counts since 2025.
  bool is_relay(const std::string& url) {
    const Result<json::object> actor = json::parse_object(get(url.substr(origin.size())).body);
    if (!actor || json::id_of(*actor) != url) return false;
    const bool has_no_lists = !actor->contains("following") && !actor->contains("followers");
    const json::value* discoverable = json::find(*actor, "discoverable");
    const bool is_hidden = discoverable == nullptr || *discoverable == json::value(false);
    const std::string type = json::id_of(*actor, "type");
    return (type == "Application" || type == "Service") && has_no_lists && is_hidden;
  }
  // `bin/console relay add`. Whatever is answered, it is a relay from the moment that the Follow was taken.
  bool add(const std::string& url) {
    if (!is_relay(url)) return false;
    relay = url;
    const json::object actor = json::parse_object(get(url.substr(origin.size())).body).value();
    const std::string inbox = json::id_of(actor, "inbox").substr(origin.size());
    const bool taken = post_signed(follow_text(system, {url}), system, inbox).status == 202;
    settle();
    return taken;
  }
  // What it fetches of all that came to its inbox, by the id of the object.
  std::vector<std::string> fetched() {
    std::vector<std::string> uris;
    for (const json::object& sent : internet.posted_to(system.shared_inbox)) {
      const bool is_from_relay = json::id_of(sent, "actor") == relay && is_relay(relay);
      if (is_from_relay && json::id_of(sent, "type") == "Announce")
        uris.push_back(json::id_of(sent, "object"));
    }
    return uris;
  }
  // What is signed by a relay is looked at as to the object only, whatever it is: an edit of a post that is
  // there is dropped.
  std::vector<std::string> edited() {
    std::vector<std::string> uris;
    for (const HttpCall& call : internet.sent_to(system.shared_inbox)) {
      const json::object sent = json::parse_object(call.body).value();
      const std::string signature(call.headers.find("Signature").value_or(""));
      const bool by_other = signature.contains("keyId=\"" + origin + "/actor#");
      if (json::id_of(sent, "type") == "Update" && sent.contains("signature") && by_other)
        uris.push_back(json::id_of(*json::find(sent, "object")->if_object()));
    }
    return uris;
  }
  void ask_node(const std::string& path, const json::object& body) {
    EXPECT_EQ(control(path, json::serialize(body)).status, 200);
    settle();
  }
  void allow_and_subscribe(const std::string& host = "friendica.example") {
    ask_node("/instances/permit", {{"host", host}, {"publishes", true}, {"receives", true}});
    ask_node("/instances/subscribe", {{"host", host}, {"tags", json::array{"cats"}}});
  }
  void bring(const std::string& text, const Author& sender) {
    EXPECT_EQ(post_signed(text, sender).status, 202);
    settle();
  }
  std::vector<std::string> types() {
    std::vector<std::string> found;
    for (const std::string& inbox : {system.shared_inbox, system.inbox}) {
      for (const json::object& sent : internet.posted_to(inbox)) found.push_back(json::id_of(sent, "type"));
    }
    return found;
  }

  std::string relay;
};

TEST_F(Friendica, TakesTheSecondAddressOfTheNodesActorForARelayAndNotTheFirst) {
  EXPECT_FALSE(add(origin + "/actor"));
  EXPECT_FALSE(add(origin + "/tag/cats"));
  EXPECT_TRUE(add(origin + "/relay"));
}

TEST_F(Friendica, GetsPostsFromTheActorThatItHasAdded) {
  ASSERT_TRUE(add(origin + "/relay"));
  EXPECT_THAT(types(), IsEmpty()) << "the administrator has not decided";
  allow_and_subscribe();
  EXPECT_THAT(types(), ElementsAre("Accept")) << "and no Follow, which nobody there would answer";
  EXPECT_EQ(json::id_of(internet.posted_to(system.inbox).front(), "actor"), relay);
  bring(create_text(post), alice);
  EXPECT_THAT(fetched(), ElementsAre(post.uri));
  start(config());
  settle();
  post.uri = "https://home.example/notes/2";
  bring(create_text(post), alice);
  EXPECT_THAT(fetched(), Contains(post.uri));
}

TEST_F(Friendica, PublishesByItsPeoplesOwnPosts) {
  ASSERT_TRUE(add(origin + "/relay"));
  allow_and_subscribe();
  post = {.uri = "https://friendica.example/objects/1", .author = ann.id, .tags = {"cats"}};
  bring(create_text(post), ann);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  EXPECT_THAT(fetched(), IsEmpty()) << "never back to where it is from";
}

TEST_F(Friendica, IsBroughtEditsByTheAddressThatIsNoRelayToIt) {
  ASSERT_TRUE(add(origin + "/relay"));
  allow_and_subscribe();
  bring(create_text(post), alice);
  json::object edit = *json::parse_object(update_text(post));
  edit["signature"] = json::object{{"type", "RsaSignature2017"}, {"signatureValue", "c2lnbmF0dXJl"}};
  bring(json::serialize(edit), alice);
  EXPECT_THAT(edited(), ElementsAre(post.uri));
}

TEST_F(Friendica, WhatItWasAnnouncedCanBeFetchedAndIsUndoneByTheSameActor) {
  ASSERT_TRUE(add(origin + "/relay"));
  allow_and_subscribe();
  bring(create_text(post), alice);
  const json::object sent = internet.posted_to(system.shared_inbox).back();
  const std::string path = json::id_of(sent).substr(origin.size());
  EXPECT_EQ(json::id_of(json::parse_object(get(path).body).value(), "actor"), relay);
  bring(delete_text(post.uri, alice.id), alice);
  settle(std::chrono::minutes(1));
  EXPECT_EQ(get(path).status, 404);
  const json::object undo = internet.posted_to(system.shared_inbox).back();
  EXPECT_EQ(json::id_of(undo, "type"), "Undo");
  EXPECT_EQ(json::id_of(undo, "actor"), relay);
}

TEST_F(Friendica, ABlockOfTheNodesActorEndsTheRelayByWhicheverAddress) {
  for (const char* blocked : {"/actor", "/relay"}) {
    ASSERT_TRUE(add(origin + "/relay"));
    allow_and_subscribe();
    const json::object block = {{"id", system.id + "/blocks" + blocked},
                                {"type", "Block"},
                                {"actor", system.id},
                                {"object", origin + blocked}};
    bring(json::serialize(block), system);
    EXPECT_THAT(rows("SELECT relay FROM links"), IsEmpty()) << blocked;
    EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty()) << blocked;
    const json::object undo = {
        {"id", system.id + "/undos" + blocked}, {"type", "Undo"}, {"actor", system.id}, {"object", block}};
    bring(json::serialize(undo), system);
  }
}

TEST_F(Friendica, RemovesTheRelayAndAddsItAgainWithItsHashtags) {
  ASSERT_TRUE(add(origin + "/relay"));
  allow_and_subscribe();
  bring(undo_follow_text(system, {relay}), system);
  EXPECT_THAT(rows("SELECT actor FROM links"), IsEmpty());
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
  bring(create_text(post), alice);
  EXPECT_THAT(fetched(), IsEmpty());
  ASSERT_TRUE(add(relay));
  post.uri = "https://home.example/notes/2";
  bring(create_text(post), alice);
  EXPECT_THAT(fetched(), ElementsAre(post.uri));
}

TEST_F(Friendica, APersonWhoFollowsTheAddressThatItAddsIsRejectedAndDoesNotSpeakForTheServer) {
  ask_node("/instances/permit", {{"host", "friendica.example"}, {"publishes", true}, {"receives", true}});
  bring(follow_text(ann, {origin + "/relay"}), ann);
  EXPECT_THAT(rows("SELECT actor FROM links"), IsEmpty());
  const std::vector<json::object> sent = internet.posted_to(ann.inbox);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(json::id_of(sent.front(), "type"), "Reject");
  EXPECT_EQ(json::id_of(sent.front(), "actor"), origin + "/relay");
}

// An administrator of Pleroma may type that address, too: its own relay's ends so, and is told by that.
TEST_F(Friendica, TheAddressThatItAddsServesALitePubRelayToo) {
  const Author pleroma = make_author("https://pleroma.example/relay", "https://pleroma.example/inbox");
  ask_node("/instances/permit", {{"host", "pleroma.example"}, {"publishes", true}, {"receives", true}});
  bring(follow_text(pleroma, {origin + "/relay"}), pleroma);
  std::vector<std::string> sent_there;
  for (const json::object& sent : internet.posted_to(pleroma.inbox)) {
    sent_there.push_back(json::id_of(sent, "type"));
    EXPECT_EQ(json::id_of(sent, "actor"), origin + "/relay");
  }
  EXPECT_THAT(sent_there, UnorderedElementsAre("Accept", "Follow"));
  internet.serve(post.uri, json::serialize(note_object(post)));
  bring(json::serialize(json::object{{"@context", "https://www.w3.org/ns/activitystreams"},
                                     {"id", pleroma.id + "/announces/1"},
                                     {"type", "Announce"},
                                     {"actor", pleroma.id},
                                     {"to", kEverybody},
                                     {"object", post.uri}}),
        pleroma);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

TEST_F(Friendica, WhoHasBothAddressesAndRemovesTheFirstGetsItsHashtagsByTheSecond) {
  const Author pleroma = make_author("https://pleroma.example/relay", "https://pleroma.example/inbox");
  for (const char* path : {"/actor", "/relay"}) bring(follow_text(pleroma, {origin + path}), pleroma);
  allow_and_subscribe("pleroma.example");
  bring(undo_follow_text(pleroma, {origin + "/actor"}), pleroma);
  bring(create_text(post), alice);
  std::vector<std::string> announcers;
  for (const json::object& sent : internet.posted_to(pleroma.shared_inbox)) {
    if (json::id_of(sent, "type") == "Announce") announcers.push_back(json::id_of(sent, "actor"));
  }
  EXPECT_THAT(announcers, ElementsAre(origin + "/relay"));
}

}  // namespace
}  // namespace tagring::node
