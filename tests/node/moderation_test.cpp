// Blocks in each role: what is kept away, what falls under a new block, and lists.
#include <fmt/format.h>

#include "crypto/hash.hpp"
#include "health/metrics.hpp"
#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Moderating : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");
  Author fan = make_author("https://far.example/users/fan", "https://far.example/inbox");
  Author peer = make_node_author("https://tags.peer.example");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};
  PostText foreign{
      .uri = "https://peer.example/notes/1", .author = "https://peer.example/users/u", .tags = {"cats"}};

  json::object admin(const std::string& path, const json::object& body, int status = 200) {
    const HttpResponse response = control(path, json::serialize(body));
    EXPECT_EQ(response.status, status) << response.body;
    settle();
    return json::parse_object(response.body).value_or(json::object());
  }
  json::object block(const std::string& kind, const std::string& what) {
    return admin("/blocks/add", {{"kind", kind}, {"what", what}, {"reason", "spam"}});
  }
  void follow() {
    EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/cats"}), fan).status, 202);
    settle();
  }
  // Her server is another's, which the administrator has let in.
  void let_in_alice_of_elsewhere() {
    admin("/instances/permit", {{"host", "friend.example"}, {"publishes", true}, {"receives", true}});
    alice = make_author("https://friend.example/users/alice");
    post = {.uri = "https://friend.example/notes/1", .author = alice.id, .tags = {"cats"}};
  }
  void serve() { internet.serve(post.uri, json::serialize(note_object(post))); }
  int publish() {
    serve();
    const int status = post_signed(create_text(post), alice).status;
    settle();
    return status;
  }
  std::vector<std::string> bring(const PostText& brought, const std::string& target) {
    const auto refusals = refusals_of(post_signed(batch_text("Add", peer, origin + target, {brought}), peer));
    settle();
    return refusals;
  }
};

TEST_F(Moderating, ABlockedDomainOrAuthorPublishesNothing) {
  block("author", alice.id);
  expect_ignored(signed_request(alice, create_text(post)), "the author is blocked here");
  admin("/blocks/remove", {{"kind", "author"}, {"what", alice.id}});
  EXPECT_EQ(publish(), 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  block("domain", "example");
  expect_ignored(signed_request(alice, create_text(post, "Update")), "the author is blocked here");
}

TEST_F(Moderating, WhatWasDeniedByMistakeComesBackWithTheNextEdit) {
  let_in_alice_of_elsewhere();
  publish();
  ASSERT_THAT(history("cats"), ElementsAre(post.uri));
  admin("/instances/permit", {{"host", "friend.example"}, {"publishes", false}, {"receives", false}});
  EXPECT_THAT(history("cats"), IsEmpty());
  admin("/instances/permit", {{"host", "friend.example"}, {"publishes", true}, {"receives", true}});
  EXPECT_EQ(post_signed(update_text(post), alice).status, 202);
  settle();
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

// A cut in the middle of a character made every answer that had the reason unreadable.
TEST_F(Moderating, AReasonIsTakenWholeOrNotAtAll) {
  json::object wish = {{"kind", "domain"}, {"what", "u.example"}};
  std::string most;
  while (most.size() < 1000) most += "é";
  for (const std::string& reason : {"x" + most, std::string("two\nlines"), std::string("\x1b[31mred")}) {
    wish["reason"] = reason;
    EXPECT_THAT(json::serialize(admin("/blocks/add", wish, 400)), HasSubstr("'reason'"));
  }
  EXPECT_THAT(rows("SELECT what FROM blocks"), IsEmpty());
  wish["reason"] = most;
  admin("/blocks/add", wish);
  EXPECT_THAT(rows("SELECT reason FROM blocks"), ElementsAre(most));
  for (const char* source : {"tier\n0", " tier0", "tier0 ", "\x1b[31m"})
    admin("/blocks/import", {{"source", source}, {"text", "spam.example"}}, 400);
  EXPECT_THAT(rows("SELECT what FROM blocks"), ElementsAre("u.example"));
}

TEST_F(Moderating, APostsWayIsInTheLogUnderAMarkMadeOfItsAddress) {
  follow();
  publish();
  const auto is_of_post = [](const std::string& line) { return line.starts_with("level=debug event=post"); };
  EXPECT_FALSE(std::ranges::any_of(log_lines, is_of_post)) << "only where it is asked for";
  log.set_least(LogLevel::kDebug);
  log_lines.clear();
  post.uri = "https://home.example/notes/2";
  publish();
  std::erase_if(log_lines, [&](const std::string& line) { return !is_of_post(line); });
  const std::string mark = fmt::format("trace={:016x} step=", crypto::hash64("https://home.example/notes/2"));
  EXPECT_THAT(log_lines, Each(HasSubstr(mark)));
  for (const std::string& step :
       {std::string("published"), std::string("entered"), "relay op=add tag=cats with=" + origin,
        "storage op=add tag=cats with=" + origin,
        std::string("announced op=add tag=cats with=https://far.example/inbox")})
    EXPECT_THAT(log_lines, Contains(HasSubstr("step=" + step)));
}

TEST_F(Moderating, OwnersTakeNothingOfABlockedDomainOrHashtag) {
  block("domain", "peer.example");
  EXPECT_THAT(bring(foreign, "/relay"), ElementsAre(HasSubstr("denied: peer.example is blocked here")));
  EXPECT_THAT(bring(foreign, "/storage"), ElementsAre(HasSubstr("denied: peer.example is blocked here")));
  admin("/blocks/remove", {{"kind", "domain"}, {"what", "peer.example"}});
  block("tag", "#Cats");
  EXPECT_THAT(bring(foreign, "/relay"), ElementsAre(HasSubstr("denied: #cats is blocked here")));
  EXPECT_THAT(rows("SELECT uri FROM feed"), IsEmpty());
}

TEST_F(Moderating, WhatIsBlockedIsHiddenInTheHistoryAndShownAgainAfterwards) {
  EXPECT_THAT(bring(foreign, "/relay"), IsEmpty());
  EXPECT_THAT(history("cats"), ElementsAre(foreign.uri));
  block("author", foreign.author);
  EXPECT_THAT(history("cats"), IsEmpty());
  admin("/blocks/remove", {{"kind", "author"}, {"what", foreign.author}});
  EXPECT_THAT(history("cats"), ElementsAre(foreign.uri));
}

TEST_F(Moderating, FollowersOnABlockedDomainGoAndDoNotComeBack) {
  follow();
  const json::object effect = block("domain", "far.example");
  EXPECT_THAT(json::serialize(effect.at("followers")), HasSubstr(fan.id));
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
  expect_refused(signed_request(fan, follow_text(fan, {origin + "/tag/cats"})), 403, "denied",
                 "is blocked here");
}

// Else their servers show them as following for ever, and let nobody follow again when the block is lifted.
TEST_F(Moderating, WhoIsTurnedAwayByABlockIsToldAndMayComeBack) {
  const std::string cats = origin + "/tag/cats";
  const std::array<std::pair<const char*, std::string>, 3> blocks = {
      {{"tag", "cats"}, {"author", fan.id}, {"domain", "far.example"}}};
  for (const auto& [kind, what] : blocks) {
    const std::string text = follow_text(fan, {cats});
    EXPECT_EQ(post_signed(text, fan).status, 202);
    settle();
    internet.calls.clear();
    block(kind, what);
    const std::vector<json::object> told = internet.posted_to("https://far.example/inbox");
    ASSERT_THAT(told, SizeIs(1)) << kind;
    EXPECT_EQ(json::id_of(told[0], "type"), "Reject");
    EXPECT_EQ(json::id_of(told[0], "actor"), cats);
    const json::object& follow = told[0].at("object").as_object();
    EXPECT_EQ(json::id_of(follow), json::id_of(*json::parse_object(text)));
    EXPECT_EQ(json::id_of(follow, "actor"), fan.id);
    EXPECT_EQ(json::id_of(follow, "object"), cats);
    admin("/blocks/remove", {{"kind", kind}, {"what", what}});
  }
  follow();
  EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(fan.id));
}

TEST_F(Moderating, WhoFellUnderABlockWhenTheNodeDiedGoesWithTheNextStart) {
  follow();
  run(stores->blocks.save_blocks({{federation::BlockKind::kDomain, "far.example", "spam", "admin", {}}}))
      .value();
  start(config());
  settle();
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
  const std::vector<json::object> told = internet.posted_to("https://far.example/inbox");
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(json::id_of(told[0], "type"), "Reject");
}

TEST_F(Moderating, WhoUsesABlockedHashtagAsARelayIsToldAndTheRestStays) {
  const Author own = make_author("https://home.example/actor", "https://home.example/inbox");
  const std::string everybody = "https://www.w3.org/ns/activitystreams#Public";
  EXPECT_EQ(post_signed(follow_text(own, {everybody}), own, "/tag/cats/inbox").status, 202);
  EXPECT_EQ(post_signed(follow_text(own, {everybody}), own, "/tag/dogs/inbox").status, 202);
  settle();
  internet.calls.clear();
  EXPECT_THAT(block("tag", "cats").at("instances").as_array(), IsEmpty());
  const std::vector<json::object> told = internet.posted_to(own.inbox);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(json::id_of(told[0], "type"), "Reject");
  EXPECT_THAT(rows("SELECT relay FROM links"), ElementsAre(origin + "/tag/dogs"));
}

TEST_F(Moderating, WhoHasTheRelayGetsAHashtagAgainWhenItsBlockIsLifted) {
  const Author own = make_author("https://home.example/actor", "https://home.example/inbox");
  const std::string everybody = "https://www.w3.org/ns/activitystreams#Public";
  EXPECT_EQ(post_signed(follow_text(own, {everybody}), own).status, 202);
  settle();
  admin("/instances/subscribe", {{"host", "home.example"}, {"tags", json::array{"cats", "dogs", "mice"}}});
  const auto subscribed = [&] { return rows("SELECT tag FROM followers ORDER BY tag"); };
  block("tag", "cats");
  block("tag", "mice");
  EXPECT_THAT(subscribed(), ElementsAre("dogs"));
  admin("/blocks/remove", {{"kind", "tag"}, {"what", "cats"}});
  EXPECT_THAT(subscribed(), ElementsAre("cats", "dogs"));
}

TEST_F(Moderating, APersonWhoPublishesByTheNodeIsToldOfABlock) {
  config::Config with_people = config();
  with_people.people = true;
  start(with_people);
  settle();
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/actor"}), fan).status, 202);
  settle();
  internet.calls.clear();
  const json::object effect = block("author", fan.id);
  EXPECT_THAT(json::serialize(effect.at("followers")), HasSubstr(fan.id));
  EXPECT_THAT(effect.at("instances").as_array(), IsEmpty());
  EXPECT_THAT(rows("SELECT actor FROM links"), IsEmpty());
  const std::vector<json::object> told = internet.posted_to(fan.inbox);
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(json::id_of(told[0], "type"), "Reject");
  EXPECT_EQ(json::id_of(told[1], "type"), "Undo") << "it was followed back";
}

TEST_F(Moderating, AnExcludedHashtagHasNoActorAndIsNotRelayed) {
  follow();
  block("tag", "cats");
  EXPECT_EQ(get("/tag/cats").status, 404);
  EXPECT_THAT(get("/tag/cats").body, HasSubstr("spam"));
  EXPECT_EQ(get("/.well-known/webfinger?resource=acct:cats@tags.home.example").status, 404);
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
  EXPECT_EQ(publish(), 202);
  EXPECT_THAT(rows("SELECT uri FROM posts"), IsEmpty());
}

TEST_F(Moderating, InstancesAreKeptApartAsTheyWish) {
  follow();
  const json::object wish = {{"host", "far.example"}, {"other", "home.example"}, {"direction", "receive"}};
  admin("/separations/add", wish);
  publish();
  EXPECT_THAT(internet.posted_to("https://far.example/inbox"), IsEmpty());
  admin("/separations/remove", wish);
  admin("/separations/add", {{"host", "home.example"}, {"other", "far.example"}, {"direction", "send"}});
  post.uri = "https://home.example/notes/2";
  publish();
  EXPECT_THAT(internet.posted_to("https://far.example/inbox"), IsEmpty());
  admin("/separations/remove", {{"host", "home.example"}, {"other", "far.example"}, {"direction", "send"}});
  post.uri = "https://home.example/notes/3";
  publish();
  EXPECT_THAT(internet.posted_to("https://far.example/inbox"), SizeIs(1));
}

TEST_F(Moderating, WhoLiftsWhatKeepsNobodyApartIsToldWhatDoes) {
  const auto wish = [](const char* host, const char* direction, const char* other) {
    return json::object{{"host", host}, {"direction", direction}, {"other", other}};
  };
  admin("/separations/add", wish("a.example", "receive", "b.example"));
  const auto refused = [&](const json::object& body) {
    return json::text_of(admin("/separations/remove", body, 404), "message");
  };
  EXPECT_THAT(refused(wish("a.example", "send", "b.example")),
              HasSubstr("there is one that a.example never receives posts of b.example"));
  EXPECT_THAT(refused(wish("b.example", "send", "a.example")), HasSubstr("there is one that a.example"));
  EXPECT_EQ(refused(wish("a.example", "receive", "c.example")),
            "there is no rule that a.example never receives posts of c.example");
  admin("/separations/remove", wish("a.example", "receive", "b.example"));
  admin("/separations/remove", wish("a.example", "receive", "b.example"), 404);
}

TEST_F(Moderating, WhatWasToldBeforeInstancesWereKeptApartIsTakenBack) {
  follow();
  publish();
  admin("/separations/add", {{"host", "far.example"}, {"other", "home.example"}, {"direction", "receive"}});
  internet.calls.clear();
  EXPECT_EQ(post_signed(delete_text(post.uri, alice.id), alice).status, 202);
  settle();
  const std::vector<json::object> told = internet.posted_to("https://far.example/inbox");
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(json::id_of(told[0], "type"), "Undo");
  post.uri = "https://home.example/notes/2";
  publish();
  EXPECT_EQ(post_signed(delete_text(post.uri, alice.id), alice).status, 202);
  settle();
  EXPECT_THAT(internet.posted_to("https://far.example/inbox"), SizeIs(1)) << "what it never was told of";
}

TEST_F(Moderating, AListSaysWhatItWouldDoAndThenDoesIt) {
  follow();
  const std::string text = "#domain,#severity\nfar.example,suspend\nloud.example,silence\n";
  const std::string before = state();
  json::object effect = admin("/blocks/import", {{"source", "tier0"}, {"text", text}, {"preview", true}});
  EXPECT_EQ(effect.at("fresh"), json::value(1));
  EXPECT_THAT(json::serialize(effect.at("followers")), HasSubstr(fan.id));
  EXPECT_THAT(json::serialize(effect.at("skipped")), HasSubstr("severity is silence"));
  EXPECT_EQ(state(), before);
  admin("/blocks/import", {{"source", "tier0"}, {"text", text}});
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
  EXPECT_THAT(rows("SELECT what||' '||source FROM blocks"), ElementsAre("far.example tier0"));
}

TEST_F(Moderating, ANewListLiftsWhatItNoLongerNamesAndLeavesOtherBlocksAlone) {
  block("domain", "mine.example");
  admin("/blocks/import", {{"source", "a"}, {"text", "one.example\nmine.example"}});
  admin("/blocks/import", {{"source", "b"}, {"text", "two.example"}});
  json::object wish = {{"source", "a"}, {"text", "three.example\nmine.example"}, {"preview", true}};
  const json::value lifted = json::array{"one.example"};
  EXPECT_EQ(admin("/blocks/import", wish).at("lifted"), lifted);
  wish["preview"] = false;
  EXPECT_EQ(admin("/blocks/import", wish).at("lifted"), lifted);
  EXPECT_THAT(rows("SELECT what||' '||source FROM blocks ORDER BY what, source"),
              ElementsAre("mine.example a", "mine.example admin", "three.example a", "two.example b"));
  EXPECT_THAT(control("/blocks").body, HasSubstr("mine.example"));
}

TEST_F(Moderating, WhatTwoListsBlockStaysBlockedWhenOneDropsIt) {
  let_in_alice_of_elsewhere();
  admin("/blocks/import", {{"source", "a"}, {"text", "friend.example\nother.example"}});
  EXPECT_EQ(admin("/blocks/import", {{"source", "b"}, {"text", "friend.example"}}).at("known"),
            json::value(1));
  const json::object effect = admin("/blocks/import", {{"source", "a"}, {"text", "other.example"}});
  EXPECT_EQ(effect.at("lifted"), json::value(json::array()));
  for (int restarted = 0; restarted < 2; ++restarted) {
    expect_ignored(signed_request(alice, create_text(post)), "the author is blocked here");
    start(config());
    settle();
  }
  const json::value lifted = json::array{"friend.example"};
  EXPECT_EQ(admin("/blocks/lift", {{"source", "b"}}).at("lifted"), lifted);
  EXPECT_EQ(publish(), 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  admin("/blocks/lift", {{"source", "b"}}, 404);
  admin("/blocks/lift", {{"source", "admin"}}, 404);
  EXPECT_THAT(rows("SELECT what||' '||source FROM blocks"), ElementsAre("other.example a"));
}

TEST_F(Moderating, RemovingABlockLiftsItWhoeverBlocks) {
  let_in_alice_of_elsewhere();
  admin("/blocks/import", {{"source", "a"}, {"text", "friend.example"}});
  block("domain", "friend.example");
  admin("/blocks/remove", {{"kind", "domain"}, {"what", "friend.example"}});
  EXPECT_THAT(rows("SELECT what FROM blocks"), IsEmpty());
  EXPECT_EQ(publish(), 202);
}

TEST_F(Moderating, TheNodeNeverBlocksItself) {
  const std::string before = state();
  for (const char* own : {"tags.home.example", "TAGS.home.example"})
    admin("/blocks/add", {{"kind", "domain"}, {"what", own}}, 400);
  admin("/blocks/add", {{"kind", "author"}, {"what", "https://tags.home.example/actor"}}, 400);
  EXPECT_EQ(state(), before);
  for (const bool preview : {true, false}) {
    const json::object effect =
        admin("/blocks/import",
              {{"source", "a"}, {"text", "tags.home.example\nfar.example"}, {"preview", preview}});
    EXPECT_EQ(effect.at("fresh"), json::value(1));
    EXPECT_THAT(json::serialize(effect.at("skipped")), HasSubstr("tags.home.example: is this node"));
  }
  EXPECT_THAT(rows("SELECT what FROM blocks"), ElementsAre("far.example"));
  block("domain", "example");  // above it
  const Author outside = make_node_author("https://tags.peer.test");
  const PostText theirs{
      .uri = "https://peer.test/notes/1", .author = "https://peer.test/users/u", .tags = {"cats"}};
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", outside, origin + "/storage", {theirs}), outside)),
              IsEmpty());
  EXPECT_THAT(history("cats"), ElementsAre(theirs.uri)) << "the node asks itself";
}

// Who keeps the list does not decide about what this node is for; its administrator may.
TEST_F(Moderating, AListDoesNotBlockTheNodesOwnInstances) {
  config::Config own = config();
  own.host = "tags.home.example";
  own.instances = {"social.own.example"};
  start(own);
  const json::object effect = admin(
      "/blocks/import",
      {{"source", "a"}, {"text", "own.example\nsocial.own.example\nhome.example\nx.social.own.example"}});
  EXPECT_THAT(json::serialize(effect.at("skipped")),
              AllOf(HasSubstr("\"own.example: social.own.example is an instance of this node's own"),
                    HasSubstr("\"social.own.example: social.own.example is an instance of this node's own"),
                    HasSubstr("home.example: this node is below it")));
  EXPECT_THAT(rows("SELECT what FROM blocks"), ElementsAre("x.social.own.example"));
  block("domain", "own.example");
  EXPECT_THAT(rows("SELECT what FROM blocks ORDER BY what"),
              ElementsAre("own.example", "x.social.own.example"));
}

TEST_F(Moderating, ABlockKeepsItsReasonUnlessThereIsAnother) {
  block("domain", "far.example");
  admin("/blocks/add", {{"kind", "domain"}, {"what", "far.example"}});
  EXPECT_THAT(rows("SELECT reason FROM blocks"), ElementsAre("spam"));
  admin("/blocks/add", {{"kind", "domain"}, {"what", "far.example"}, {"reason", "worse"}});
  EXPECT_THAT(rows("SELECT reason FROM blocks"), ElementsAre("worse"));
}

TEST_F(Moderating, WhoBlocksAWholeEndingIsTold) {
  EXPECT_EQ(block("domain", "social").at("suffixes"), json::value(json::array{"social"}));
  EXPECT_EQ(block("domain", "spam.social").at("suffixes"), json::value(json::array()));
  EXPECT_EQ(block("tag", "social").at("suffixes"), json::value(json::array()));
  for (const bool preview : {true, false}) {
    const json::object effect =
        admin("/blocks/import", {{"source", "a"}, {"text", "co.uk\nfar.co.uk"}, {"preview", preview}});
    EXPECT_EQ(effect.at("suffixes"), json::value(json::array{"co.uk"}));
  }
}

TEST_F(Moderating, AnInstanceThatIsBlockedEndsAndMayComeBackWhenTheBlockIsLifted) {
  const Author own = make_author("https://home.example/actor", "https://home.example/inbox");
  const std::string everybody = "https://www.w3.org/ns/activitystreams#Public";
  EXPECT_EQ(post_signed(follow_text(own, {everybody}), own).status, 202);
  settle();
  const json::object effect = block("domain", "home.example");
  EXPECT_THAT(json::serialize(effect.at("instances")), HasSubstr("home.example"));
  EXPECT_THAT(rows("SELECT actor FROM links"), IsEmpty());
  admin("/blocks/remove", {{"kind", "domain"}, {"what", "home.example"}});
  EXPECT_EQ(publish(), 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  EXPECT_EQ(post_signed(follow_text(own, {everybody}), own).status, 202);
  settle();
  EXPECT_THAT(rows("SELECT accepted FROM links"), ElementsAre("1"));
}

TEST_F(Moderating, APostThatComesTwiceCountsOnce) {
  config::Config strict = config();
  strict.posts_an_hour = 3;
  start(strict);
  settle();
  for (int i = 0; i < 3; ++i) {
    post.uri = fmt::format("https://home.example/notes/{}", i);
    publish();
    publish();  // by another way, such as a second relay
  }
  EXPECT_THAT(history("cats"), SizeIs(3));
  post.uri = "https://home.example/notes/4";
  publish();
  EXPECT_THAT(rows("SELECT uri FROM put_off"), ElementsAre(post.uri));
}

TEST_F(Moderating, EditsDoNotCountAsPosts) {
  config::Config strict = config();
  strict.posts_an_hour = 2;
  start(strict);
  settle();
  publish();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(post_signed(create_text(post, "Update"), alice).status, 202);
  post.uri = "https://home.example/notes/2";
  publish();
  EXPECT_THAT(rows("SELECT uri FROM posts"), SizeIs(2));
}

TEST_F(Moderating, BlocksSurviveARestart) {
  block("domain", "home.example");
  start(config());
  settle();
  expect_ignored(signed_request(alice, create_text(post)), "the author is blocked here");
}

TEST_F(Moderating, DomainsAreTakenAsPeopleWriteThem) {
  admin("/blocks/add", {{"kind", "domain"}, {"what", " https://Bücher.example./ "}});
  EXPECT_THAT(control("/blocks").body, HasSubstr(R"("what":"xn--bcher-kva.example")"));
  admin("/blocks/remove", {{"kind", "domain"}, {"what", "bücher.example"}});
}

// Its administrator complains, and the node does refuse what comes from there.
TEST_F(Moderating, WhatIsUnderABlockOfADomainIsLiftedWithThat) {
  const auto refusal = [this](const std::string& kind, const std::string& what) {
    return json::text_of(admin("/blocks/remove", {{"kind", kind}, {"what", what}}, 404), "message");
  };
  EXPECT_EQ(refusal("domain", "social.spam.example"), "social.spam.example is not blocked");
  block("domain", "spam.example");
  EXPECT_EQ(
      refusal("domain", "social.spam.example"),
      "social.spam.example is under the block of spam.example: tagring block remove domain spam.example");
  EXPECT_THAT(refusal("author", "https://spam.example/users/u"),
              HasSubstr("under the block of spam.example"));
  admin("/blocks/remove", {{"kind", "domain"}, {"what", "spam.example"}});
  admin("/blocks/import", {{"source", "tier0"}, {"text", "spam.example"}});
  EXPECT_THAT(refusal("domain", "social.spam.example"), HasSubstr("next import of tier0"));
}

TEST_F(Moderating, BadRequestsChangeNothing) {
  const std::string before = state();
  admin("/blocks/add", {{"kind", "planet"}, {"what", "x.example"}}, 400);
  admin("/blocks/add", {{"kind", "domain"}, {"what", "https://x.example/about"}}, 400);
  admin("/blocks/add", {{"kind", "author"}, {"what", "alice"}}, 400);
  admin("/blocks/add", {{"kind", "tag"}, {"what", "#"}}, 400);
  admin("/blocks/remove", {{"kind", "domain"}, {"what", "x.example"}}, 404);
  admin("/blocks/import", {{"source", ""}, {"text", "x.example"}}, 400);
  admin("/blocks/import", {{"source", "s"}, {"text", ""}}, 400);
  admin("/separations/add", {{"host", "a.example"}, {"other", "b.example"}, {"direction", "up"}}, 400);
  admin("/separations/add", {{"host", "a.example"}, {"other", "A.example"}, {"direction", "send"}}, 400);
  EXPECT_EQ(state(), before);
}

TEST_F(Moderating, TheAdministratorMayAskFromOutsideWithTheToken) {
  HttpRequest request;
  request.target = "/admin/status";
  EXPECT_EQ(ask(request).status, 401);
  config::Config remote = config();
  remote.admin_tokens = {{{"token"}, "correct-horse-battery"}};
  start(remote);
  settle();
  EXPECT_EQ(ask(request).status, 401);
  request.headers.set("Authorization", "Bearer wrong-horse-battery");
  EXPECT_EQ(ask(request).status, 401);
  request.headers.set("Authorization", "Bearer correct-horse-battery");
  EXPECT_EQ(ask(request).status, 200);
  EXPECT_EQ(ask(request).body, control("/status").body);
}

TEST_F(Moderating, WhereTheAdministratorAsksFromIsNoStrangersAddress) {
  config::Config remote = config();
  remote.admin_tokens = {{{"token"}, "correct-horse-battery"}};
  remote.budgets.at(static_cast<std::size_t>(budget::Resource::kReaderAsks)).each = 1;
  start(remote);
  settle();
  HttpRequest admin;
  admin.target = "/admin/status";
  admin.headers.set("Authorization", "Bearer correct-horse-battery");
  admin.peer = *IpAddress::parse("192.0.2.7");
  const auto search = [&](const std::string& uri) {
    HttpRequest request;
    request.target = "/api/v2/search?q=" + uri;
    request.peer = admin.peer;
    return ask(request).status;
  };
  EXPECT_EQ(search("https%3A%2F%2Fx.example%2F1"), 200);
  EXPECT_EQ(search("https%3A%2F%2Fx.example%2F2"), 429);
  EXPECT_EQ(ask(admin).status, 200);
  EXPECT_EQ(search("https%3A%2F%2Fx.example%2F2"), 200);
}

TEST_F(Moderating, APostWithTooManyHashtagsIsTakenForAdvertising) {
  config::Config strict = config();
  strict.hashtags_of_a_post = 3;
  start(strict);
  settle();
  post.tags = {"a", "b", "c", "d"};
  EXPECT_EQ(publish(), 202);
  EXPECT_THAT(rows("SELECT uri FROM posts"), IsEmpty());
  post.tags = {"a", "b", "c"};
  EXPECT_EQ(publish(), 202);
  EXPECT_THAT(rows("SELECT uri FROM posts"), ElementsAre(post.uri));
}

TEST_F(Moderating, AnAuthorHasSoManyPostsAnHourUnderAHashtag) {
  config::Config strict = config();
  strict.posts_an_hour = 2;
  start(strict);
  settle();
  for (int i = 0; i < 4; ++i) {
    post.uri = fmt::format("https://home.example/notes/{}", i);
    EXPECT_EQ(publish(), 202);
  }
  EXPECT_THAT(rows("SELECT uri FROM posts"), SizeIs(2));
  // What is over the limit comes later, whatever happens to the node meanwhile.
  EXPECT_EQ(status().at("put_off").to_number<int>(), 2);
  EXPECT_THAT(health::to_metrics(status()), HasSubstr("\ntagring_posts_put_off 2\n"));
  start(strict);
  settle(std::chrono::minutes(50));
  EXPECT_EQ(status().at("put_off").to_number<int>(), 0) << "a node that has started anew has counted nothing";
  EXPECT_THAT(history("cats"), SizeIs(4));
}

TEST_F(Moderating, WhatIsPutOffIsPublishedWhenTheHourIsOver) {
  config::Config strict = config();
  strict.posts_an_hour = 2;
  start(strict);
  settle();
  for (int i = 0; i < 3; ++i) {
    post.uri = fmt::format("https://home.example/notes/{}", i);
    publish();
  }
  settle(std::chrono::minutes(45));
  EXPECT_THAT(history("cats"), SizeIs(2));
  settle(std::chrono::minutes(30));
  EXPECT_THAT(history("cats"), SizeIs(3));
}

TEST_F(Moderating, OnlyTheHashtagsThatAreOverTheLimitArePutOff) {
  config::Config strict = config();
  strict.posts_an_hour = 1;
  start(strict);
  settle();
  publish();
  post.uri = "https://home.example/notes/2";
  post.tags = {"cats", "dogs"};
  publish();
  EXPECT_THAT(rows("SELECT uri||' '||tags FROM posts WHERE uri LIKE '%/2'"), ElementsAre(post.uri + " dogs"));
  EXPECT_THAT(rows("SELECT uri||' '||tags FROM put_off"), ElementsAre(post.uri + " cats"));
  post_signed(delete_text(post.uri, alice.id), alice);
  EXPECT_THAT(rows("SELECT uri FROM put_off"), IsEmpty());
}

TEST_F(Moderating, EditsPutInNoMoreHashtagsThanAPostMayHave) {
  config::Config strict = config();
  strict.posts_an_hour = 1;
  strict.hashtags_of_a_post = 3;
  start(strict);
  settle();
  post.tags = {"a"};
  publish();
  post.tags = {"a", "b", "c", "d"};
  post_signed(create_text(post, "Update"), alice);
  EXPECT_THAT(rows("SELECT tags FROM posts"), ElementsAre("a"));
  post.tags = {"a", "b"};
  post_signed(create_text(post, "Update"), alice);
  EXPECT_THAT(rows("SELECT tags FROM posts"), ElementsAre("a\nb"));
  // What is put in counts like a post.
  post.uri = "https://home.example/notes/2";
  post.tags = {"c"};
  publish();
  post.tags = {"b", "c"};
  post_signed(create_text(post, "Update"), alice);
  EXPECT_THAT(rows("SELECT tags FROM posts WHERE uri LIKE '%/2'"), ElementsAre("c"));
  EXPECT_THAT(rows("SELECT tags FROM put_off"), ElementsAre("b"));
}

// Of two posts only the first is within the limit.
class PuttingOff : public Moderating {
 protected:
  void SetUp() override {
    Moderating::SetUp();
    strict.posts_an_hour = 1;
    start(strict);
    settle();
    publish();
    publish_next();
    EXPECT_THAT(waiting(), ElementsAre(post.uri));
  }
  void publish_next() {
    post.uri = fmt::format("https://home.example/notes/{}", ++number);
    EXPECT_EQ(publish(), 202);
  }
  std::vector<std::string> waiting() { return rows("SELECT uri FROM put_off"); }
  void expect_never_published() {
    settle(std::chrono::hours(3));
    EXPECT_THAT(waiting(), IsEmpty());
    EXPECT_THAT(rows("SELECT uri FROM posts WHERE uri <> 'https://home.example/notes/1' AND tags <> ''"),
                IsEmpty());
  }
  config::Config strict = config();
  int number = 1;
};

// The server may go on showing what it was for minutes.
TEST_F(PuttingOff, EndsWithAnEditThatTakesThePostBack) {
  enum Way { kNoHashtags, kNotPublic, kNotToBeAnnounced };
  for (const Way way : {kNoHashtags, kNotPublic, kNotToBeAnnounced}) {
    publish_next();
    PostText edited = post;
    if (way == kNoHashtags) edited.tags = {};
    if (way == kNotPublic) edited.to = alice.id + "/followers";
    json::object update = json::parse_object(create_text(edited, "Update")).value();
    if (way == kNotToBeAnnounced) {
      update["object"].as_object()["interactionPolicy"] =
          json::object{{"canAnnounce", json::object{{"automaticApproval", json::array{}}}}};
    }
    EXPECT_EQ(post_signed(json::serialize(update), alice).status, 202);
    settle();
    EXPECT_THAT(waiting(), SizeIs(1)) << way;
  }
  EXPECT_EQ(post_signed(delete_text("https://home.example/notes/2", alice.id), alice).status, 202);
  expect_never_published();
}

TEST_F(PuttingOff, PublishesWhatThePostHasBecomeThoughNobodyTold) {
  post.tags = {"dogs"};
  serve();
  settle(std::chrono::hours(3));
  EXPECT_THAT(history("cats"), SizeIs(1));
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  EXPECT_THAT(waiting(), IsEmpty());
}

TEST_F(PuttingOff, EndsWithWhatTheServerDoesNotShowAnyMore) {
  internet.documents[post.uri] = with_status(404);
  expect_never_published();
}

TEST_F(PuttingOff, EndsWithADeletionThoughItMayNotPublishAnyMore) {
  admin("/instances/permit", {{"host", "home.example"}, {"publishes", false}, {"receives", true}});
  EXPECT_EQ(post_signed(delete_text(post.uri, alice.id), alice).status, 202);
  EXPECT_THAT(waiting(), IsEmpty());
}

TEST_F(PuttingOff, EndsWithTheAccountWhateverTheServerStillShows) {
  EXPECT_EQ(post_signed(delete_text(alice.id, alice.id), alice).status, 202);
  settle();
  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_THAT(history("cats"), IsEmpty());
  expect_never_published();
}

TEST_F(PuttingOff, EndsWhereTheServerMayNotPublishAnyMore) {
  admin("/instances/permit", {{"host", "home.example"}, {"publishes", false}, {"receives", true}});
  expect_never_published();
  EXPECT_THAT(history("cats"), SizeIs(1));
}

TEST_F(PuttingOff, WaitsForAServerThatIsAwayForAWeek) {
  internet.answers[post.uri] = [](const HttpCall&) { return with_status(503); };
  settle(std::chrono::hours(3));
  EXPECT_THAT(waiting(), ElementsAre(post.uri));
  internet.answers.clear();
  settle(std::chrono::minutes(15));
  EXPECT_THAT(history("cats"), SizeIs(2));
  publish_next();
  internet.answers[post.uri] = [](const HttpCall&) { return with_status(503); };
  settle(std::chrono::days(8));
  EXPECT_THAT(waiting(), IsEmpty());
}

TEST_F(PuttingOff, WaitsForTheServerOfAnOldPostAsWell) {
  settle(std::chrono::days(9));
  publish_next();
  publish_next();
  ASSERT_THAT(waiting(), ElementsAre(post.uri));
  internet.answers[post.uri] = [](const HttpCall&) { return with_status(503); };
  settle(std::chrono::hours(3));
  EXPECT_THAT(waiting(), ElementsAre(post.uri));
  internet.answers.clear();
  settle(std::chrono::minutes(15));
  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_THAT(history("cats"), SizeIs(4));
}

TEST_F(Moderating, AnEditByABlockedAuthorTakesHashtagsOutAndPutsNoneIn) {
  post.tags = {"cats", "dogs"};
  publish();
  block("author", alice.id);
  post.tags = {"birds", "dogs"};
  EXPECT_EQ(post_signed(create_text(post, "Update"), alice).status, 202);
  EXPECT_THAT(rows("SELECT tags FROM posts"), ElementsAre("dogs"));
}

}  // namespace
}  // namespace tagring::node
