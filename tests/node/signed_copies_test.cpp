// Deletions and edits as their authors' servers signed them, on their way to everybody who got the post.
#include "publisher/signed_copies.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "health/metrics.hpp"
#include "node/fixture.hpp"
#include "publisher/consents.hpp"

namespace tagring::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

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
  std::string updated;  // of what is brought, if there is any

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
  void permit() {
    const char* body = R"({"host":"social.example","publishes":true,"receives":true})";
    EXPECT_EQ(control("/instances/permit", body).status, 200);
    settle();
  }
  // The peer's node says that its author's server signed this.
  std::string bring(const std::string& type, const std::string& copy,
                    const std::string& from = "https://tags.peer.example") {
    return bring(peer, type, copy, from);
  }
  std::string bring(const Author& sender, const std::string& type, const std::string& copy,
                    const std::string& from) {
    const std::string hash = to_hex(crypto::sha256(copy));
    json::object batch = json::parse_object(batch_text(type, sender, origin + "/relay", {theirs})).value();
    json::object& item = batch["object"].as_array().at(0).as_object();
    item["signed"] = json::object{{"sha256", hash}, {"origin", from}};
    if (!updated.empty()) item["updated"] = updated;
    EXPECT_THAT(refusals_of(post_signed(json::serialize(batch), sender)), IsEmpty());
    settle();
    return from + "/tagring/v1/signed";
  }
  std::ptrdiff_t fetched_from(const std::string& node_origin) {
    return std::ranges::count_if(internet.calls, [&](const HttpCall& call) {
      return call.url.text().starts_with(node_origin + "/tagring/v1/signed");
    });
  }
  void serve_copies(const std::string& body, const std::string& from = "https://tags.peer.example") {
    internet.answers[from + "/tagring/v1/signed"] = [body](const HttpCall&) {
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

// [Mastodon signs it so that others believe it whoever brings it]
TEST_F(Copies, TheDeletionOfAnAccountGoesByteForByteOnceToWhoGotAnyOfItsPosts) {
  follow();
  publish(create_text(post));
  post.uri = "https://home.example/notes/2";
  publish(create_text(post));
  const std::string deletion = signed_text(delete_text(alice.id, alice.id));
  publish(deletion);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), deletion), 1);
  EXPECT_THAT(history("cats"), IsEmpty());
}

// Who got a post has it still, whatever became of it here.
TEST_F(Copies, TheEndOfAnAccountReachesWhoGotPostsThatAreUnderNoHashtagAnyMore) {
  follow();
  int number = 0;
  const auto profile = [&](const Author& author, bool suspended) {
    json::object actor = json::parse_object(author.document()).value();
    if (suspended) actor["suspended"] = true;
    return json::serialize(json::object{{"id", fmt::format("{}#updates/{}", author.id, ++number)},
                                        {"type", "Update"},
                                        {"actor", author.id},
                                        {"object", actor}});
  };
  const auto says = [&](const Author& author, const std::string& text) {
    EXPECT_EQ(post_signed(text, author).status, 202);
    settle();
  };
  enum class Before { kEdited, kRefused, kBlocked };
  for (const Before before : {Before::kEdited, Before::kRefused, Before::kBlocked}) {
    for (const bool suspended : {false, true}) {
      Author author = make_author(fmt::format("https://home.example/users/{}", ++number));
      PostText theirs_here{
          .uri = fmt::format("https://home.example/notes/{}", number), .author = author.id, .tags = {"cats"}};
      says(author, create_text(theirs_here));
      theirs_here.tags.clear();
      if (before == Before::kEdited) says(author, update_text(theirs_here));
      author.summary = before == Before::kRefused ? "#nobot" : "";
      if (before == Before::kRefused) says(author, profile(author, false));
      if (before == Before::kBlocked)
        says(author, json::serialize(json::object{{"id", author.id + "/blocks/1"},
                                                  {"type", "Block"},
                                                  {"actor", author.id},
                                                  {"object", origin + "/actor"}}));
      EXPECT_THAT(rows(("SELECT uri FROM posts WHERE tags <> '' AND author = '" + author.id + "'").c_str()),
                  IsEmpty());
      settle(publisher::Consents::kLifetime);
      const std::string end =
          signed_text(suspended ? profile(author, true) : delete_text(author.id, author.id));
      says(author, end);
      EXPECT_EQ(std::ranges::count(bodies_at(kInbox), end), 1) << static_cast<int>(before) << suspended;
      EXPECT_EQ(get("/tagring/v1/signed?sha256=" + to_hex(crypto::sha256(end))).body, end);
    }
  }
}

TEST_F(Copies, OfWhoHasNoPostsHereNothingIsKeptAndTheirBlocksEndWithTheAccount) {
  const std::string block = json::serialize(json::object{
      {"id", fan.id + "/blocks/1"}, {"type", "Block"}, {"actor", fan.id}, {"object", origin + "/tag/cats"}});
  EXPECT_EQ(post_signed(block, fan).status, 202);
  EXPECT_THAT(rows("SELECT author FROM refusals"), ElementsAre(fan.id));
  const std::string deletion = signed_text(delete_text(fan.id, fan.id));
  EXPECT_EQ(post_signed(deletion, fan).status, 202);
  EXPECT_THAT(rows("SELECT author FROM refusals"), IsEmpty());
  EXPECT_EQ(get("/tagring/v1/signed?sha256=" + to_hex(crypto::sha256(deletion))).status, 404);
}

TEST_F(Copies, TheDeletionOfAnAccountIsHandedOnAsItsServersNodeTells) {
  follow();
  publish_theirs();
  const std::string other =
      signed_text(delete_text("https://peer.example/users/x", "https://peer.example/users/x"));
  serve_copies(other);
  bring("Remove", other);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), other), 0) << "somebody else's";
  theirs.uri = "https://peer.example/notes/2";
  publish_theirs();
  const std::string deletion = signed_text(delete_text(theirs.author, theirs.author));
  serve_copies(deletion);
  bring("Remove", deletion);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), deletion), 1);
}

// [Mastodon signs an Update with `suspended` for everybody in whose reach the account is]
TEST_F(Copies, SoDoesItsSuspension) {
  follow();
  publish(create_text(post));
  post.uri = "https://home.example/notes/2";
  publish(create_text(post));
  const auto update = [&](bool suspended, int number) {
    json::object actor = json::parse_object(alice.document()).value();
    actor["suspended"] = suspended;
    return json::serialize(json::object{{"id", alice.id + "#updates/" + std::to_string(number)},
                                        {"type", "Update"},
                                        {"actor", alice.id},
                                        {"object", actor}});
  };
  const std::string change = signed_text(update(false, 1));
  publish(change);
  const std::string suspension = signed_text(update(true, 2));
  publish(suspension);
  publish(suspension);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), suspension), 1);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), change), 0) << "a profile is nobody's concern here";
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_EQ(get("/tagring/v1/signed?sha256=" + to_hex(crypto::sha256(suspension))).body, suspension);
}

TEST_F(Copies, AnUnsignedSuspensionIsHandedOnToNobody) {
  follow();
  publish(create_text(post));
  json::object actor = json::parse_object(alice.document()).value();
  actor["suspended"] = true;
  const std::string suspension = json::serialize(json::object{
      {"id", alice.id + "#updates/1"}, {"type", "Update"}, {"actor", alice.id}, {"object", actor}});
  publish(suspension);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(bodies_at(kInbox), Not(Contains(suspension)));
}

TEST_F(Copies, TheSuspensionOfAnAccountIsHandedOnAsItsServersNodeTells) {
  follow();
  publish_theirs();
  Author author = make_author(theirs.author);
  const auto update = [&](bool suspended) {
    json::object actor = json::parse_object(author.document()).value();
    actor["suspended"] = suspended;
    return signed_text(json::serialize(json::object{
        {"id", author.id + "#updates/1"}, {"type", "Update"}, {"actor", author.id}, {"object", actor}}));
  };
  updated = "2026-11-21T12:00:00Z";
  serve_copies(update(false));
  bring("Remove", update(false));
  EXPECT_THAT(bodies_at(kInbox), Not(Contains(update(false))));
  theirs.uri = "https://peer.example/notes/2";
  publish_theirs();
  serve_copies(update(true));
  bring("Remove", update(true));
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), update(true)), 1);
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

// Removals that reach the node's own part of the rings take edits along.
TEST_F(Copies, EditsOfWhoWithdrawsAreGivenToNobodyThoughNoOwnerIsReached) {
  config::Config alone = config();
  alone.create = false;
  start(alone);
  publish(create_text(post));
  const std::string edit = signed_text(update_text(post));
  publish(edit);
  const std::string copy = "/tagring/v1/signed?sha256=" + to_hex(crypto::sha256(edit));
  EXPECT_EQ(get(copy).status, 200);
  alice.summary = "#nobot";
  const json::object update = {{"id", alice.id + "#updates/1"},
                               {"type", "Update"},
                               {"actor", alice.id},
                               {"object", json::parse_object(alice.document()).value()}};
  publish(json::serialize(update));
  EXPECT_EQ(get(copy).status, 404);
}

TEST_F(Copies, EditsOfWhoHasWithdrawnAreGivenToNobodyEither) {
  follow();
  publish(create_text(post));
  const auto expect_kept_back = [&] {
    const std::string edit = signed_text(update_text(post));
    publish(edit);
    EXPECT_EQ(std::ranges::count(bodies_at(kInbox), edit), 0);
    EXPECT_EQ(get("/tagring/v1/signed?sha256=" + to_hex(crypto::sha256(edit))).status, 404);
  };
  const json::object block = {
      {"id", alice.id + "/blocks/1"}, {"type", "Block"}, {"actor", alice.id}, {"object", origin + "/actor"}};
  publish(json::serialize(block));
  expect_kept_back();
  publish(json::serialize(
      json::object{{"id", alice.id + "/undos/1"}, {"type", "Undo"}, {"actor", alice.id}, {"object", block}}));
  alice.summary = "#nobot";
  internet.serve(alice);
  publish(json::serialize(json::object{{"id", alice.id + "#updates/1"},
                                       {"type", "Update"},
                                       {"actor", alice.id},
                                       {"object", json::parse_object(alice.document()).value()}}));
  expect_kept_back();
  post.tags.clear();
  expect_kept_back();
}

// Mastodon makes the post of an edit, if it has it not.
TEST_F(Copies, OfWhoBlocksTheHashtagOnlyDeletionsAreHandedOnByIt) {
  follow({"cats"});
  const auto block_by = [&](const Author& author) {
    const json::object block = {{"id", author.id + "/blocks/1"},
                                {"type", "Block"},
                                {"actor", author.id},
                                {"object", origin + "/tag/cats"}};
    EXPECT_EQ(post_signed(json::serialize(block), author).status, 202);
    settle();
  };
  publish(create_text(post));
  block_by(alice);
  const std::string edit = signed_text(update_text(post));
  publish(edit);
  EXPECT_THAT(bodies_at(kInbox), Not(Contains(edit)));
  const std::string deletion = signed_text(delete_text(post.uri, alice.id));
  publish(deletion);
  EXPECT_THAT(bodies_at(kInbox), Contains(deletion));
  // The same of what another node publishes.
  publish_theirs();
  block_by(make_author(theirs.author));
  const std::string their_edit = signed_text(update_text(theirs));
  serve_copies(their_edit);
  bring("Add", their_edit);
  EXPECT_THAT(bodies_at(kInbox), Not(Contains(their_edit)));
  const std::string their_deletion = signed_text(delete_text(theirs.uri, theirs.author));
  serve_copies(their_deletion);
  bring("Remove", their_deletion);
  EXPECT_THAT(bodies_at(kInbox), Contains(their_deletion));
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

// Servers try again at random times; who got the newer one would take the older one for an edit.
TEST_F(Copies, AnEditThatANewerOneOvertookIsNotHandedOn) {
  follow();
  publish(create_text(post));
  const auto edit = [&](const char* when) {
    json::object update = json::parse_object(update_text(post)).value();
    update["object"].as_object()["updated"] = when;
    return signed_text(json::serialize(update));
  };
  const std::string older = edit("2026-01-01T00:20:00Z");
  const std::string newer = edit("2026-01-01T00:40:00Z");
  publish(newer);
  publish(older);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), newer), 1);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), older), 0);
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
  EXPECT_EQ(fetched_from("https://tags.far.example"), 0);
}

// Anybody with a server of posts could have all nodes ask a third one.
TEST_F(Copies, ANodeThatHasNothingToDoWithThePostIsNotAskedForHoursAboutWhatItDoesNotHave) {
  follow({"cats"});
  const std::string victim = "https://victim.example";
  internet.answers[victim + "/tagring/v1/signed"] = [](const HttpCall&) { return with_status(404); };
  for (int i = 0; i < 40; ++i) {
    theirs.uri = fmt::format("https://peer.example/notes/{}", i);
    EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, origin + "/relay", {theirs}), peer)),
                IsEmpty());
    bring("Remove", signed_text(delete_text(theirs.uri, theirs.author)), victim);
  }
  EXPECT_GT(fetched_from(victim), 0);
  settle(std::chrono::minutes(1));
  EXPECT_LE(fetched_from(victim), 30) << "ten a minute";
  settle(std::chrono::hours(6));
  EXPECT_LE(fetched_from(victim), 60) << "each once, and what waited for its turn";
}

// [Pleroma reads none that others bring; its relay is an Application, at such an address]
TEST_F(Copies, AServerWithALitePubRelayThatUsesTheNodeGetsNone) {
  follow();
  const auto gets_copies = [&] {
    post.uri += "0";
    publish(create_text(post));
    const std::string deletion = signed_text(delete_text(post.uri, alice.id));
    publish(deletion);
    return std::ranges::count(bodies_at(kInbox), deletion) == 1;
  };
  const auto ask = [&](const std::string& id, const std::string& type, const std::string& followed) {
    Author asker = make_author(id, kInbox);
    asker.type = type;
    internet.serve(asker);
    EXPECT_EQ(post_signed(follow_text(asker, {followed}), asker).status, 202);
    settle();
  };
  ask("https://social.example/relay", "Application", origin + "/actor");
  EXPECT_TRUE(gets_copies()) << "it waits";
  permit();
  EXPECT_FALSE(gets_copies());
  ask("https://social.example/actor", "Application", "https://www.w3.org/ns/activitystreams#Public");
  EXPECT_TRUE(gets_copies()) << "it uses the node as Mastodon does";
}

TEST_F(Copies, WhoIsCalledRelayTakesThemFromNobodyOfTheSameServer) {
  follow();
  permit();
  for (const char* type : {"Person", "Service"}) {
    Author relay = make_author(std::string("https://social.example/") + type + "/relay", kInbox);
    relay.type = type;
    internet.serve(relay);
    EXPECT_EQ(post_signed(follow_text(relay, {origin + "/actor"}), relay).status, 202);
    settle();
  }
  publish(create_text(post));
  const std::string deletion = signed_text(delete_text(post.uri, alice.id));
  publish(deletion);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), deletion), 1);
}

// As GoToSocial, which has no shared inbox and one file for all its people.
TEST_F(Copies, AServerWithoutASharedInboxGetsACopyOnce) {
  std::vector<std::string> inboxes;
  for (const char* name : {"a", "b", "c"}) {
    const Author person = make_author(std::string("https://gts.example/users/") + name);
    EXPECT_EQ(post_signed(follow_text(person, {origin + "/tag/cats"}), person).status, 202);
    inboxes.push_back(person.inbox);
  }
  settle();
  publish(create_text(post));
  const std::string edit = signed_text(update_text(post));
  publish(edit);
  std::ptrdiff_t count = 0;
  for (const std::string& inbox : inboxes) count += std::ranges::count(bodies_at(inbox), edit);
  EXPECT_EQ(count, 1);
}

TEST_F(Copies, WhatIsLimitedAreCopiesNotTheirReaders) {
  std::vector<std::string> inboxes;
  for (int i = 0; i < 25; ++i) {
    const std::string host = "https://s" + std::to_string(i) + ".example";
    const Author person = make_author(host + "/users/u", host + "/inbox");
    EXPECT_EQ(post_signed(follow_text(person, {origin + "/tag/cats"}), person).status, 202);
    inboxes.push_back(host + "/inbox");
  }
  settle();
  publish(create_text(post));
  std::string edit;
  for (std::size_t i = 0; i <= publisher::SignedCopies::kAnHour / inboxes.size(); ++i) {
    json::object update = json::parse_object(update_text(post)).value();
    update["id"] = post.uri + "#" + std::to_string(i);
    edit = signed_text(json::serialize(update));
    publish(edit);
  }
  const std::string deletion = signed_text(delete_text(post.uri, alice.id));
  publish(deletion);
  for (const std::string& inbox : inboxes)
    EXPECT_THAT(bodies_at(inbox), testing::AllOf(Contains(edit), Contains(deletion))) << inbox;
}

TEST_F(Copies, EditsOverTheLimitWaitForTheNextHourAndDeletionsDoNot) {
  follow({"cats"});
  constexpr std::size_t kOver = 3;
  std::map<std::string, std::string> served;  // by hash
  internet.answers["https://tags.peer.example/tagring/v1/signed"] = [&](const HttpCall& call) {
    HttpResponse response =
        with_status(200, served.at(call.url.text().substr(call.url.text().find('=') + 1)));
    response.headers.add("Content-Type", "application/activity+json");
    return Result<HttpResponse>(response);
  };
  const auto bring_all = [&](const std::string& type, std::size_t from, std::size_t count,
                             const auto& copy_of) {
    std::vector<PostText> posts;
    for (std::size_t i = from; i < from + count; ++i) {
      posts.push_back(theirs);
      posts.back().uri += "/" + std::to_string(i);
      internet.serve(posts.back().uri, json::serialize(note_object(posts.back())));
    }
    json::object batch = json::parse_object(batch_text(type, peer, origin + "/relay", posts)).value();
    for (std::size_t i = 0; i < count; ++i) {
      const std::string copy = copy_of(posts[i]);
      if (copy.empty()) continue;
      const std::string hash = to_hex(crypto::sha256(copy));
      served[hash] = copy;
      json::object& item = batch["object"].as_array().at(i).as_object();
      item["signed"] = json::object{{"sha256", hash}, {"origin", "https://tags.peer.example"}};
      if (!updated.empty()) item["updated"] = updated;
    }
    EXPECT_THAT(refusals_of(post_signed(json::serialize(batch), peer)), IsEmpty());
    settle();
  };
  const auto nothing = [](const PostText&) { return std::string(); };
  const auto edit = [](const PostText& of) { return signed_text(update_text(of)); };
  constexpr std::size_t kAll = publisher::SignedCopies::kAnHour + kOver;
  for (std::size_t from = 0; from < kAll; from += 200)
    bring_all("Add", from, std::min<std::size_t>(200, kAll - from), nothing);
  for (std::size_t from = 0; from < kAll; from += 200)
    bring_all("Add", from, std::min<std::size_t>(200, kAll - from), edit);
  const auto updates = [&] {
    std::set<std::string> bodies;
    for (const std::string& body : bodies_at(kInbox)) {
      if (body.contains("\"Update\"")) bodies.insert(body);
    }
    return bodies;
  };
  settle(std::chrono::minutes(2));
  EXPECT_THAT(updates(), SizeIs(publisher::SignedCopies::kAnHour));
  EXPECT_THAT(health::to_metrics(status()), HasSubstr("\ntagring_signed_copies_put_off 3\n"));
  std::string deletion;
  bring_all("Remove", 0, 1,
            [&](const PostText& of) { return deletion = signed_text(delete_text(of.uri, of.author)); });
  EXPECT_THAT(bodies_at(kInbox), Contains(deletion));
  // Of a post that is edited again, or deleted, before its edit went out, that one goes nowhere.
  // An older one that comes by another relay later does not count.
  std::string last;
  std::string late;
  const auto edit_again = [&](std::string* text, WallTime when) {
    updated = to_rfc3339(when);
    bring_all("Add", kAll - 1, 1, [&](const PostText& of) {
      json::object update = json::parse_object(update_text(of)).value();
      update["id"] = of.uri + "#" + updated;
      return *text = signed_text(json::serialize(update));
    });
    updated.clear();
  };
  edit_again(&last, loop.wall_now());
  edit_again(&late, loop.wall_now() - std::chrono::minutes(1));
  bring_all("Remove", kAll - 2, 1,
            [&](const PostText& of) { return signed_text(delete_text(of.uri, of.author)); });
  settle(std::chrono::minutes(63));
  EXPECT_THAT(updates(), SizeIs(publisher::SignedCopies::kAnHour + kOver - 1));
  EXPECT_THAT(updates(), Contains(last));
  EXPECT_THAT(updates(), Not(Contains(late)));
  EXPECT_THAT(health::to_metrics(status()), HasSubstr("\ntagring_signed_copies_put_off 0\n"));
}

TEST_F(Copies, ANodeThatIsAwayHoldsUpNoCopiesOfOthers) {
  follow({"cats"});
  internet.answers["https://tags.peer.example/tagring/v1/signed"] = [](const HttpCall&) {
    return with_status(503);
  };
  constexpr std::size_t kBatch = 200;
  for (std::size_t from = 0; from < publisher::SignedCopies::kPendingMax; from += kBatch) {
    std::vector<PostText> posts(kBatch, theirs);
    for (std::size_t i = 0; i < kBatch; ++i) {
      posts[i].uri += fmt::format("/{}", from + i);
      internet.serve(posts[i].uri, json::serialize(note_object(posts[i])));
    }
    for (const bool is_edit : {false, true}) {
      json::object batch = json::parse_object(batch_text("Add", peer, origin + "/relay", posts)).value();
      for (json::value& item : batch["object"].as_array()) {
        const std::string hash = to_hex(crypto::sha256(json::serialize(item)));
        if (is_edit)
          item.as_object()["signed"] =
              json::object{{"sha256", hash}, {"origin", "https://tags.peer.example"}};
      }
      EXPECT_THAT(refusals_of(post_signed(json::serialize(batch), peer)), IsEmpty());
      settle();
    }
  }
  const Author other = make_node_author("https://tags.other.example");
  theirs = {
      .uri = "https://other.example/notes/1", .author = "https://other.example/users/u", .tags = {"cats"}};
  internet.serve(theirs.uri, json::serialize(note_object(theirs)));
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", other, origin + "/relay", {theirs}), other)),
              IsEmpty());
  settle();
  internet.serve(theirs.uri, with_status(404));
  const std::string deletion = signed_text(delete_text(theirs.uri, theirs.author));
  serve_copies(deletion, "https://tags.other.example");
  bring(other, "Remove", deletion, "https://tags.other.example");
  EXPECT_THAT(bodies_at(kInbox), Contains(deletion));
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
  const std::string deletion = signed_text(delete_text(post.uri, alice.id));
  publish(deletion);
  EXPECT_EQ(get(target).status, 404) << "nobody reads what was deleted";
  EXPECT_EQ(get("/tagring/v1/signed?sha256=" + to_hex(crypto::sha256(deletion))).body, deletion);
}

TEST_F(Copies, ManyEditsOfOneServerPushOutNoneOfAnother) {
  publish(create_text(post));
  const std::string edit = signed_text(update_text(post));
  publish(edit);
  const std::string target = "/tagring/v1/signed?sha256=" + to_hex(crypto::sha256(edit));
  ASSERT_EQ(get(target).body, edit);
  const char* permitted = R"({"host":"evil.example","publishes":true,"receives":true})";
  ASSERT_EQ(control("/instances/permit", permitted).status, 200);
  settle();
  const Author mallory = make_author("https://evil.example/users/m");
  const PostText long_one{.uri = "https://evil.example/notes/1", .author = mallory.id, .tags = {"cats"}};
  EXPECT_EQ(post_signed(create_text(long_one), mallory).status, 202);
  settle();
  constexpr std::size_t kSize = 60'000;
  std::string last;
  for (std::size_t i = 0; i * kSize < 2 * publisher::SignedCopies::kBytesMax; ++i) {
    json::object update = json::parse_object(update_text(long_one)).value();
    update["id"] = fmt::format("{}#{}", long_one.uri, i);
    update["padding"] = std::string(kSize, 'x');
    last = signed_text(json::serialize(update));
    EXPECT_EQ(post_signed(last, mallory).status, 202);
    settle();
  }
  EXPECT_EQ(get("/tagring/v1/signed?sha256=" + to_hex(crypto::sha256(last))).body, last);
  EXPECT_EQ(get(target).body, edit);
}

TEST_F(Copies, DeletionsAreGivenOutForAWeekWhateverHappensToTheNode) {
  publish(create_text(post));
  publish(signed_text(update_text(post)));
  const std::string edit = to_hex(crypto::sha256(signed_text(update_text(post))));
  const std::string deletion = signed_text(delete_text(post.uri, alice.id));
  publish(deletion);
  const std::string target = "/tagring/v1/signed?sha256=" + to_hex(crypto::sha256(deletion));
  settle(std::chrono::days(5));
  EXPECT_EQ(get(target).body, deletion);
  start(config());
  EXPECT_EQ(get(target).body, deletion);
  EXPECT_EQ(get("/tagring/v1/signed?sha256=" + edit).status, 404) << "it has content";
  settle(std::chrono::days(3));
  EXPECT_EQ(get(target).status, 404);
}

TEST_F(Copies, ADeletionOfWhoseNodeIsAwayIsAskedForAgainForDaysAndAfterRestarts) {
  follow({"cats"});
  publish_theirs();
  const std::string deletion = signed_text(delete_text(theirs.uri, theirs.author));
  const std::string url = "https://tags.peer.example/tagring/v1/signed";
  internet.answers[url] = [](const HttpCall&) { return with_status(503); };
  bring("Remove", deletion);
  settle(std::chrono::days(2));
  start(config());
  settle(std::chrono::hours(3));
  EXPECT_THAT(bodies_at(kInbox), Not(Contains(deletion)));
  serve_copies(deletion);
  settle(std::chrono::hours(1));
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), deletion), 1);
  const auto before = fetched_from("https://tags.peer.example");
  settle(std::chrono::hours(3));
  start(config());
  settle(std::chrono::hours(3));
  EXPECT_EQ(fetched_from("https://tags.peer.example"), before) << "it is done with";
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), deletion), 1);
}

TEST_F(Copies, WhatNobodyHereIsToGetIsNotAskedForAgain) {
  publish_theirs();
  const std::string deletion = signed_text(delete_text(theirs.uri, theirs.author));
  serve_copies(deletion);
  bring("Remove", deletion);
  settle(std::chrono::minutes(1));
  EXPECT_THAT(rows("SELECT count(*) FROM copies_owed"), ElementsAre("0"));
  EXPECT_EQ(fetched_from("https://tags.peer.example"), 0);
}

// A proxy, whose node is being upgraded, may say so too.
TEST_F(Copies, WhatItsPublisherHasNotIsAskedForForSomeHours) {
  follow({"cats"});
  publish_theirs();
  internet.answers["https://tags.peer.example/tagring/v1/signed"] = [](const HttpCall&) {
    return with_status(404);
  };
  const std::string deletion = signed_text(delete_text(theirs.uri, theirs.author));
  bring("Remove", deletion);
  settle(std::chrono::hours(3));
  serve_copies(deletion);
  settle(std::chrono::hours(1));
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), deletion), 1);
  theirs.uri = "https://peer.example/notes/2";
  publish_theirs();
  internet.answers["https://tags.peer.example/tagring/v1/signed"] = [](const HttpCall&) {
    return with_status(404);
  };
  bring("Remove", signed_text(delete_text(theirs.uri, theirs.author)));
  settle(std::chrono::hours(12));
  EXPECT_LT(fetched_from("https://tags.peer.example"), 12);
  EXPECT_THAT(rows("SELECT count(*) FROM copies_owed"), ElementsAre("0"));
}

// Or whoever tells of many that nobody has would keep all others waiting.
TEST_F(Copies, OfADomainThatDoesNotAnswerOneIsAskedForAtATime) {
  follow({"cats"});
  for (int i = 0; i < 30; ++i) {
    const std::string from = fmt::format("https://n{}.peer.example", i);
    internet.answers[from + "/tagring/v1/signed"] = [](const HttpCall&) { return with_status(503); };
    theirs.uri = fmt::format("https://peer.example/notes/{}", i);
    publish_theirs();
    bring("Remove", signed_text(delete_text(theirs.uri, theirs.author)), from);
  }
  settle(std::chrono::hours(5));
  internet.calls.clear();
  settle(std::chrono::hours(5));
  EXPECT_LE(std::ranges::count_if(internet.calls,
                                  [](const HttpCall& call) { return call.url.text().contains("/signed?"); }),
            6);
  EXPECT_THAT(rows("SELECT count(*) FROM copies_owed"), ElementsAre("30"));
}

TEST_F(Copies, WhoOnlyFetchedThemGivesThemToNobody) {
  follow({"cats"});
  publish_theirs();
  const std::string edit = signed_text(update_text(theirs));
  serve_copies(edit);
  bring("Add", edit);
  ASSERT_THAT(bodies_at(kInbox), Contains(edit));
  EXPECT_EQ(get("/tagring/v1/signed?sha256=" + to_hex(crypto::sha256(edit))).status, 404);
}

// An instance whose node has another name: nobody's word counts but that of the post's own server.
class HostedCopies : public Copies {
 protected:
  const std::string node = "https://node.hoster.example";
  Author hoster = make_node_author(node);

  HostedCopies() {
    follow({"cats"});
    serve_theirs();
    EXPECT_THAT(refusals_of(post_signed(batch_text("Add", hoster, origin + "/relay", {theirs}), hoster)),
                IsEmpty());
    settle();
    EXPECT_THAT(internet.posted_to(kInbox), SizeIs(1)) << "the Announce";
    internet.calls.clear();
  }
  void serve_theirs() {
    const Author author = make_author(theirs.author);
    internet.serve(theirs.uri, json::serialize(note_object(theirs)));
  }
  void delete_theirs() {
    internet.documents.erase(theirs.uri);
    settle(std::chrono::minutes(6));  // what was seen a moment ago counts
    internet.calls.clear();
  }
  // Each time another one.
  std::string deletion() { return signed_text(delete_text(theirs.uri, theirs.author)); }
  void hoster_brings(const std::string& copy) {
    serve_copies(copy, node);
    bring(hoster, "Remove", copy, node);
  }
};

TEST_F(HostedCopies, TheDeletionOfAPostThatIsGoneIsHandedOnWhoeverHasIt) {
  delete_theirs();
  const std::string copy = deletion();
  hoster_brings(copy);
  EXPECT_EQ(std::ranges::count(bodies_at(kInbox), copy), 1);
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(HostedCopies, OneForEachHashtag) {
  delete_theirs();
  hoster_brings(deletion());
  internet.calls.clear();
  for (int i = 0; i < 5; ++i) hoster_brings(deletion());
  EXPECT_THAT(bodies_at(kInbox), IsEmpty());
  EXPECT_EQ(fetched_from(node), 0);
}

TEST_F(HostedCopies, NothingElse) {
  PostText other = theirs;
  other.uri = "https://peer.example/notes/2";
  const std::string suspension = [&] {
    json::object actor = json::parse_object(make_author(theirs.author).document()).value();
    actor["suspended"] = true;
    return signed_text(json::serialize(json::object{{"id", theirs.author + "#updates/1"},
                                                    {"type", "Update"},
                                                    {"actor", theirs.author},
                                                    {"object", actor}}));
  }();
  int number = 0;
  for (const std::string& lie : {signed_text(update_text(theirs)), delete_text(theirs.uri, theirs.author),
                                 suspension, signed_text(delete_text(other.uri, other.author)),
                                 signed_text(delete_text(theirs.author, theirs.author))}) {
    theirs.uri = "https://peer.example/notes/lie" + std::to_string(++number);
    serve_theirs();
    EXPECT_THAT(refusals_of(post_signed(batch_text("Add", hoster, origin + "/relay", {theirs}), hoster)),
                IsEmpty());
    settle();
    delete_theirs();
    hoster_brings(lie);
    EXPECT_THAT(bodies_at(kInbox), Not(Contains(lie)));
    EXPECT_THAT(bodies_at(kInbox), SizeIs(1)) << "the Undo";
  }
}

TEST_F(HostedCopies, NothingOfAPostThatIsThereOrNeverWas) {
  theirs.tags = {"dogs"};
  serve_theirs();
  settle(std::chrono::minutes(6));
  theirs.tags = {"cats"};
  internet.calls.clear();
  hoster_brings(deletion());
  EXPECT_THAT(bodies_at(kInbox), SizeIs(1)) << "the Undo";
  theirs.uri = "https://peer.example/notes/none";
  hoster_brings(deletion());
  EXPECT_EQ(fetched_from(node), 0);
}

TEST_F(Copies, OfWhoIsBlockedByNowADeletionStillReachesWhoGotThePost) {
  follow({"cats"});
  publish_theirs();
  EXPECT_EQ(control("/blocks/add", R"({"kind":"domain","what":"peer.example","reason":"spam"})").status, 200);
  const std::string deletion = signed_text(delete_text(theirs.uri, theirs.author));
  serve_copies(deletion);
  bring("Remove", deletion);
  EXPECT_THAT(bodies_at(kInbox), Contains(deletion));
}

}  // namespace
}  // namespace tagring::node
