// Deletions and edits as their authors' servers signed them, on their way to everybody who got the post.
#include "publisher/signed_copies.hpp"

#include <set>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kEverybody = "https://www.w3.org/ns/activitystreams#Public";
const std::string kInbox = "https://social.example/inbox";

class Copies : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");
  Author fan = make_author("https://social.example/users/fan", kInbox);
  // Speaks for peer.example.
  Author peer = make_node_author("https://tags.peer.example");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats", "dogs"}};
  PostText theirs{
      .uri = "https://peer.example/notes/1", .author = "https://peer.example/users/u", .tags = {"cats"}};

  static std::string signed_text(const std::string& text) {
    json::object activity = json::parse_object(text).value();
    activity["signature"] = json::object{{"type", "RsaSignature2017"}, {"signatureValue", "c2lnbmF0dXJl"}};
    return json::serialize(activity);
  }
  void follow(const std::vector<std::string>& tags = {"cats", "dogs"}) {
    for (const std::string& tag : tags)
      EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/" + tag}), fan).status, 202);
    settle();
  }
  void publish(const std::string& text) {
    EXPECT_EQ(post_signed(text, alice).status, 202);
    settle();
  }
  std::vector<std::string> bodies_at(const std::string& inbox) {
    std::vector<std::string> bodies;
    for (const HttpCall& call : internet.sent_to(inbox)) bodies.push_back(call.body);
    return bodies;
  }
  // The peer's node says that its author's server signed this.
  std::string bring(const std::string& type, const std::string& copy,
                    const std::string& from = "https://tags.peer.example") {
    const std::string hash = to_hex(crypto::sha256(copy));
    json::object batch = json::parse_object(batch_text(type, peer, origin + "/relay", {theirs})).value();
    batch["object"].as_array().at(0).as_object()["signed"] = json::object{{"sha256", hash}, {"origin", from}};
    EXPECT_THAT(refusals_of(post_signed(json::serialize(batch), peer)), IsEmpty());
    settle();
    return from + "/tagring/v1/signed";
  }
  void serve_copies(const std::string& body) {
    internet.answers["https://tags.peer.example/tagring/v1/signed"] = [body](const HttpCall&) {
      HttpResponse response = with_status(200, body);
      response.headers.add("Content-Type", "application/activity+json");
      return Result<HttpResponse>(response);
    };
  }
  void publish_theirs() {
    EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, origin + "/relay", {theirs}), peer)),
                IsEmpty());
    settle();
    internet.calls.clear();
  }
};

TEST_F(Copies, ADeletionGoesByteForByteOnceToWhoGotThePost) {
  follow();
  publish(create_text(post));
  const std::string deletion = signed_text(delete_text(post.uri, alice.id));
  publish(deletion);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), deletion), 1);
}

TEST_F(Copies, AnEditGoesByteForByteOnceToWhoGotThePost) {
  follow();
  publish(create_text(post));
  const std::string edit = signed_text(update_text(post));
  publish(edit);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), edit), 1);
  post.tags = {"dogs"};  // the hashtag under which it was announced is taken out
  const std::string next = signed_text(update_text(post));
  publish(next);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), next), 1);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), edit), 1);
}

// An edit that leaves the hashtag changes nothing.
TEST_F(Copies, AHashtagThatIsPutBackIsAnnouncedWithAnIdOfItsOwn) {
  follow({"cats"});
  publish(create_text(post));
  const std::vector<std::string> tags = post.tags;
  publish(update_text(post));
  for (int n = 0; n < 2; ++n) {
    post.tags = {"dogs"};
    publish(update_text(post));
    post.tags = tags;
    publish(update_text(post));
  }
  publish(delete_text(post.uri, alice.id));
  std::vector<std::string> announced;
  std::vector<std::string> undone;
  for (const json::object& sent : internet.posted_to(kInbox)) {
    if (json::id_of(sent, "type") == "Announce") announced.push_back(json::id_of(sent));
    if (json::id_of(sent, "type") == "Undo") undone.push_back(json::id_of(sent, "object"));
  }
  EXPECT_EQ(announced.size(), 3U);
  EXPECT_EQ(std::set<std::string>(announced.begin(), announced.end()).size(), 3U);
  EXPECT_EQ(undone, announced);
}

TEST_F(Copies, WhatIsNewNotPublicOrNotSignedIsNotHandedOn) {
  follow();
  const std::string create = signed_text(create_text(post));
  publish(create);
  publish(update_text(post));
  post.to = alice.id + "/followers";
  const std::string secret = signed_text(update_text(post));
  publish(secret);
  for (const json::object& sent : internet.posted_to(kInbox))
    EXPECT_THAT(json::id_of(sent, "type"), testing::AnyOf("Accept", "Announce", "Undo"));
}

TEST_F(Copies, AServerThatIsAwayGetsThemInOrderWhenItIsBack) {
  follow();
  publish(create_text(post));
  internet.answers[kInbox] = [](const HttpCall&) { return with_status(503); };
  const std::string edit = signed_text(update_text(post));
  const std::string deletion = signed_text(delete_text(post.uri, alice.id));
  publish(edit);
  publish(deletion);
  start(config());
  settle(std::chrono::hours(1));
  internet.answers.clear();
  internet.calls.clear();
  settle(std::chrono::minutes(20));
  std::vector<std::string> copies = bodies_at(kInbox);
  std::erase_if(copies, [&](const std::string& body) { return body != edit && body != deletion; });
  EXPECT_THAT(copies, ElementsAre(edit, deletion));
}

TEST_F(Copies, TheBytesAreFetchedFromTheNodeOfTheAuthorsServer) {
  follow({"cats"});
  publish_theirs();
  const std::string edit = signed_text(update_text(theirs));
  serve_copies(edit);
  const std::string url = bring("Add", edit);
  bring("Add", edit);
  EXPECT_THAT(bodies_at(kInbox), ElementsAre(edit));
  const std::string deletion = signed_text(delete_text(theirs.uri, theirs.author));
  serve_copies(deletion);
  bring("Remove", deletion);
  EXPECT_THAT(bodies_at(kInbox), Contains(deletion));
  EXPECT_THAT(history("cats"), IsEmpty());
  // What comes late of a post that is gone goes nowhere.
  internet.calls.clear();
  const std::string late = signed_text(update_text(theirs));
  serve_copies(late);
  bring("Add", late);
  EXPECT_THAT(bodies_at(kInbox), IsEmpty());
}

TEST_F(Copies, ACopyIsFetchedOnceForAllHashtagsAndAgainFromWhoIsAway) {
  follow();
  theirs.tags = {"cats", "dogs"};
  publish_theirs();
  const std::string edit = signed_text(update_text(theirs));
  const std::string url = "https://tags.peer.example/tagring/v1/signed";
  internet.answers[url] = [](const HttpCall&) { return with_status(503); };
  bring("Add", edit);
  EXPECT_THAT(bodies_at(kInbox), IsEmpty());
  serve_copies(edit);
  const auto fetched = [&] {
    return std::ranges::count_if(internet.calls,
                                 [&](const HttpCall& call) { return call.url.text().starts_with(url); });
  };
  const auto before = fetched();
  settle(std::chrono::minutes(2));
  EXPECT_THAT(bodies_at(kInbox), ElementsAre(edit));
  EXPECT_EQ(fetched(), before + 1);
}

// Who got the post by a hashtag that it has lost since has it still.
TEST_F(Copies, ADeletionReachesWhoGotThePostByAHashtagThatItHasNoMore) {
  follow({"cats"});
  post.tags = {"cats"};
  publish(create_text(post));
  post.tags = {};
  publish(update_text(post));
  const std::string deletion = signed_text(delete_text(post.uri, alice.id));
  publish(deletion);
  EXPECT_THAT(bodies_at(kInbox), Contains(deletion));
}

TEST_F(Copies, ADeletionOfAnotherNodesPostReachesThemToo) {
  follow({"cats"});
  publish_theirs();
  EXPECT_THAT(refusals_of(post_signed(batch_text("Remove", peer, origin + "/relay", {theirs}), peer)),
              IsEmpty());
  settle();
  const std::string deletion = signed_text(delete_text(theirs.uri, theirs.author));
  serve_copies(deletion);
  bring("Remove", deletion);
  EXPECT_THAT(bodies_at(kInbox), Contains(deletion));
}

TEST_F(Copies, NothingElseIsHandedOnInTheirPlace) {
  follow({"cats"});
  publish_theirs();
  const std::string edit = signed_text(update_text(theirs));
  PostText other = theirs;
  other.uri = "https://peer.example/notes/2";
  for (const std::string& lie :
       {update_text(theirs), signed_text(create_text(theirs)), signed_text(update_text(other)),
        signed_text(delete_text(other.uri, other.author)), std::string("{}"), std::string(100'000, 'x')}) {
    serve_copies(lie);
    bring("Add", lie);
  }
  serve_copies(edit + " ");
  bring("Add", edit);  // other bytes than were named
  bring("Add", edit, "https://tags.far.example");
  EXPECT_THAT(bodies_at(kInbox), IsEmpty());
  EXPECT_THAT(internet.sent_to("https://tags.far.example/tagring/v1/signed"), IsEmpty());
}

TEST_F(Copies, ThePublishersNodeHasThemForAWhileAndNamesThemInItsEvents) {
  EXPECT_EQ(post_signed(follow_text(peer, {origin + "/tag/cats"}), peer).status, 200);
  internet.answers[peer.inbox] = [](const HttpCall&) {
    return with_status(200, R"({"accepted":1,"refused":[]})");
  };
  publish(create_text(post));
  const std::string edit = signed_text(update_text(post));
  publish(edit);
  const json::object item = internet.posted_to(peer.inbox).back().at("object").as_array().at(0).as_object();
  ASSERT_TRUE(item.contains("signed"));
  EXPECT_EQ(item.at("signed").at("origin"), json::value(origin));
  const std::string target =
      "/tagring/v1/signed?sha256=" + std::string(item.at("signed").at("sha256").as_string());
  EXPECT_EQ(get(target).body, edit);
  EXPECT_EQ(get("/tagring/v1/signed?sha256=" + std::string(64, '0')).status, 404);
}

}  // namespace
}  // namespace tagring::node
