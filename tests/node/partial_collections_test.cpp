// The sender's end of FEP-8fcf: the header that goes with announcements, and the lists that it names. In
// brackets: whose tests or text a case comes from.
#include <fmt/format.h>

#include "delivery/silent_observer.hpp"
#include "followers/authority.hpp"
#include "followers/digest.hpp"
#include "followers/header.hpp"
#include "followers/listing.hpp"
#include "node/fixture.hpp"
#include "signatures/signature.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::node {
namespace {

using followers::Authority;
using followers::Digest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Strings = std::vector<std::string>;

const std::string kZeros(64, '0');
const std::string kFarInbox = "https://far.example/inbox";

class PartialCollection : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");
  Author fan = make_author("https://far.example/users/fan", kFarInbox);
  Author pal = make_author("https://far.example/users/pal", kFarInbox);
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};

  [[nodiscard]] std::string tag_actor(const std::string& tag) const { return origin + "/tag/" + tag; }
  void follow(const Author& author, const std::string& tag) {
    EXPECT_THAT(post_signed(follow_text(author, {tag_actor(tag)}), author).status,
                author.is_node ? 200 : 202);
    settle();
  }
  void unfollow(const Author& author, const std::string& tag) {
    EXPECT_EQ(post_signed(undo_follow_text(author, {tag_actor(tag)}), author).status, 202);
    settle();
  }
  void publish(const std::string& text) {
    EXPECT_EQ(post_signed(text, alice).status, 202);
    settle();
  }
  static std::optional<std::string> header_of(const HttpCall& call) {
    EXPECT_LE(call.headers.count(followers::kHeaderName), 1U);
    return call.headers.find(followers::kHeaderName);
  }
  // The digests of all deliveries to an inbox that have a header, and "-" for those that have none.
  [[nodiscard]] Strings digests_at(const std::string& inbox) const {
    Strings digests;
    for (const HttpCall& call : internet.sent_to(inbox)) {
      const auto value = header_of(call);
      digests.push_back(value ? followers::parse_header(*value).value().digest.hex() : "-");
    }
    return digests;
  }
  static std::string digest_of(const Strings& ids) { return Digest::of(ids).hex(); }

  [[nodiscard]] HttpRequest signed_get(const Author& author, const std::string& target) const {
    HttpCall call("GET", Url::parse(origin + target).value(), loop.now());
    signatures::sign_call(call, author.key, author.key_id(), loop.wall_now());
    HttpRequest request;
    request.target = target;
    request.headers = std::move(call.headers);
    request.headers.set("Host", call.url.authority());
    return request;
  }
  // What that actor is shown; empty, with a failure, if it is not 200.
  Strings list_for(const Author& author, const std::string& target) {
    const HttpResponse response = ask(signed_get(author, target));
    EXPECT_EQ(response.status, 200) << response.body;
    followers::Listing listing(origin + target);
    listing.take(response.body);
    const auto items = listing.items();
    EXPECT_TRUE(items) << listing.problem();
    return items ? Strings(items->begin(), items->end()) : Strings();
  }
  int status_for(const Author& author, const std::string& target) {
    return ask(signed_get(author, target)).status;
  }
  // People may follow the node's actor, and far.example uses it as a relay of #cats. The configuration.
  config::Config let_far_relay() {
    config::Config people = config();
    people.people = true;
    people.open = true;
    start(people);
    settle();
    const Author instance = make_author("https://far.example/actor", kFarInbox);
    const std::string everybody = "https://www.w3.org/ns/activitystreams#Public";
    EXPECT_EQ(post_signed(follow_text(instance, {everybody}), instance).status, 202);
    settle();
    EXPECT_EQ(control("/instances/subscribe", R"({"host":"far.example","tags":["cats"]})").status, 200);
    return people;
  }
};

const std::string kCats = "/tag/cats/followers_synchronization";

// --- the header --------------------------------------------------------------------------------------------

// [FEP-8fcf, example; the order of parameters that every server reads]
TEST_F(PartialCollection, AnAnnouncementCarriesTheDigestOfTheFollowersThere) {
  const Author other = make_author("https://other.example/users/x", "https://other.example/inbox");
  follow(fan, "cats");
  follow(pal, "cats");
  follow(other, "cats");
  publish(create_text(post));
  const std::vector<HttpCall> calls = internet.sent_to(kFarInbox);
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(
      header_of(calls[0]),
      fmt::format("collectionId=\"{0}/followers\", url=\"{0}/followers_synchronization\", digest=\"{1}\"",
                  tag_actor("cats"), digest_of({fan.id, pal.id})));
  EXPECT_THAT(digests_at("https://other.example/inbox"), ElementsAre(digest_of({other.id})));
}

// [FEP-8fcf: "signed header"; Pixelfed: collection-synchronization is in the signed headers]
TEST_F(PartialCollection, TheSignatureCoversTheHeader) {
  follow(fan, "cats");
  publish(create_text(post));
  HttpCall call = internet.sent_to(kFarInbox).at(0);
  EXPECT_THAT(call.headers.find("Signature").value_or(""), HasSubstr("collection-synchronization"));
}

TEST_F(PartialCollection, AnUndoCarriesItToo) {
  follow(fan, "cats");
  publish(create_text(post));
  publish(delete_text(post.uri, alice.id));
  EXPECT_THAT(digests_at(kFarInbox), ElementsAre(digest_of({fan.id}), digest_of({fan.id})));
}

// [mastodon#15026: a server where nobody follows any more may think that somebody does]
TEST_F(PartialCollection, AServerWhereNobodyFollowsGetsTheDigestOfNobody) {
  EXPECT_EQ(control("/instances/permit", R"({"host":"far.example","publishes":true,"receives":true})").status,
            200);
  const Author instance = make_author("https://far.example/actor", kFarInbox);
  const std::string everybody = "https://www.w3.org/ns/activitystreams#Public";
  EXPECT_EQ(post_signed(follow_text(instance, {everybody}), instance, "/tag/cats/inbox").status, 202);
  follow(fan, "cats");
  unfollow(fan, "cats");
  publish(create_text(post));
  EXPECT_THAT(digests_at(kFarInbox), ElementsAre(kZeros));
}

// [FEP-8fcf: an actor that everybody follows is the case that it is recommended for]
TEST_F(PartialCollection, WhoUsesTheNodeAsARelayGetsTheDigestOfWhoFollowsItsActor) {
  const config::Config people = let_far_relay();
  publish(create_text(post));
  EXPECT_THAT(digests_at(kFarInbox), ElementsAre(kZeros));
  // A person, and a LitePub relay.
  Author relay = make_author("https://far.example/relay", kFarInbox);
  relay.type = "Application";
  internet.serve(relay);
  for (const Author& follower : {fan, relay})
    EXPECT_EQ(post_signed(follow_text(follower, {origin + "/actor"}), follower).status, 202);
  start(people);
  settle();
  post.uri += "0";
  internet.calls.clear();
  publish(create_text(post));
  EXPECT_THAT(digests_at(kFarInbox), testing::Contains(digest_of({fan.id, relay.id})));
  EXPECT_THAT(list_for(fan, "/actor/followers_synchronization"), ElementsAre(relay.id, fan.id));
  EXPECT_EQ(json::parse_object(get("/actor/followers").body).value().at("totalItems"), json::value(1))
      << "a relay is no person";
  const Author node = make_node_author("https://tags.peer.example");
  EXPECT_EQ(post_signed(follow_text(node, {origin + "/tag/cats"}), node).status, 200);
  settle();
  EXPECT_EQ(json::parse_object(get("/actor/followers").body).value().at("totalItems"), json::value(1))
      << "a node is not one whom people count";
  EXPECT_EQ(post_signed(undo_follow_text(fan, {origin + "/actor"}), fan).status, 202);
  settle();
  EXPECT_THAT(list_for(fan, "/actor/followers_synchronization"), ElementsAre(relay.id));
}

// [Mastodon sends a Delete only, when an account of its own goes; what it sends later has no key any more]
TEST_F(PartialCollection, AnAccountThatIsGoneFollowsNothingAnyMore) {
  follow(fan, "cats");
  follow(fan, "dogs");
  follow(pal, "cats");
  EXPECT_EQ(post_signed(delete_text(fan.id, fan.id), fan).status, 202);
  settle();
  EXPECT_THAT(rows("SELECT tag||' '||actor FROM followers"), ElementsAre("cats " + pal.id));
  publish(create_text(post));
  EXPECT_THAT(digests_at(kFarInbox), ElementsAre(digest_of({pal.id})));
}

// --- servers where nobody follows any more -----------------------------------------------------------------

// A backup that is restored may not know that somebody came back; no post would go there, nor a header.
TEST_F(PartialCollection, AfterARestartFormerServersAreToldThatNobodyFollowsThere) {
  const Author other = make_author("https://other.example/users/x", "https://other.example/inbox");
  follow(fan, "cats");
  follow(pal, "dogs");
  follow(other, "cats");
  unfollow(fan, "cats");
  unfollow(other, "cats");
  follow(other, "cats");
  internet.calls.clear();
  start(config());
  settle(subscriber::HashtagFollowers::kRemindAfter + std::chrono::minutes(1));
  EXPECT_THAT(digests_at(kFarInbox), ElementsAre(kZeros));
  EXPECT_THAT(digests_at("https://other.example/inbox"), IsEmpty());
  const json::object update = internet.posted_to(kFarInbox).at(0);
  EXPECT_EQ(json::id_of(update, "type"), "Update");
  EXPECT_EQ(json::id_of(update, "actor"), tag_actor("cats"));
  EXPECT_EQ(json::id_of(update, "object"), tag_actor("cats"));
}

// Nothing else is sent to who only follows the node's own actor.
TEST_F(PartialCollection, AfterARestartServersAreToldWhoFollowsTheNodesActorThere) {
  config::Config people = config();
  people.people = true;
  start(people);
  settle();
  const auto restart = [&] {
    internet.calls.clear();
    start(people);
    settle(subscriber::HashtagFollowers::kRemindAfter + std::chrono::minutes(1));
  };
  for (const Author& follower : {fan, pal})
    EXPECT_EQ(post_signed(follow_text(follower, {origin + "/actor"}), follower).status, 202);
  settle();
  restart();
  EXPECT_THAT(digests_at(kFarInbox), ElementsAre(digest_of({fan.id, pal.id})));
  EXPECT_EQ(post_signed(undo_follow_text(fan, {origin + "/actor"}), fan).status, 202);
  settle();
  restart();
  EXPECT_THAT(digests_at(kFarInbox), ElementsAre(digest_of({pal.id})));
  EXPECT_EQ(post_signed(undo_follow_text(pal, {origin + "/actor"}), pal).status, 202);
  settle();
  restart();
  EXPECT_THAT(digests_at(kFarInbox), ElementsAre(kZeros));
  const json::object update = internet.posted_to(kFarInbox).at(0);
  EXPECT_EQ(json::id_of(update, "type"), "Update");
  EXPECT_EQ(json::id_of(update, "actor"), origin + "/actor");
}

// Its proxy answers so while it is restarted, too.
TEST_F(PartialCollection, AFormerServerThatDoesNotTakeItIsToldAgainHoursLater) {
  int answer = 202;
  internet.answers[kFarInbox] = [&](const HttpCall&) { return with_status(answer); };
  for (const int status : {403, 404, 410, 503}) {
    SCOPED_TRACE(status);
    follow(fan, "cats");
    unfollow(fan, "cats");
    internet.calls.clear();
    answer = status;
    start(config());
    settle(subscriber::HashtagFollowers::kRemindAfter + std::chrono::minutes(1));
    EXPECT_THAT(digests_at(kFarInbox), ElementsAre(kZeros));
    answer = 202;
    settle(subscriber::HashtagFollowers::kRemindAgain[0]);
    EXPECT_THAT(digests_at(kFarInbox), ElementsAre(kZeros, kZeros));
    start(config());
    settle(subscriber::HashtagFollowers::kRemindAfter + std::chrono::minutes(1));
    EXPECT_THAT(digests_at(kFarInbox), ElementsAre(kZeros, kZeros, kZeros)) << "after each start";
  }
}

TEST_F(PartialCollection, AFormerServerThatIsGoneForAWeekIsToldNoMore) {
  follow(fan, "cats");
  unfollow(fan, "cats");
  internet.answers[kFarInbox] = [](const HttpCall&) { return with_status(410); };
  start(config());
  settle(subscriber::HashtagFollowers::kRemindAgain.back() + std::chrono::minutes(1));
  EXPECT_THAT(digests_at(kFarInbox), SizeIs(1 + subscriber::HashtagFollowers::kRemindAgain.size()));
  EXPECT_THAT(rows("SELECT authority FROM former_servers"), IsEmpty());
  internet.calls.clear();
  start(config());
  settle(subscriber::HashtagFollowers::kRemindAfter + std::chrono::minutes(1));
  EXPECT_THAT(digests_at(kFarInbox), IsEmpty());
}

// --- for the administrator ---------------------------------------------------------------------------------

TEST_F(PartialCollection, ACheckOfAServerSaysWhoFollowsAndWhatBecameOfHeaderAndList) {
  const auto check = [&] {
    const HttpResponse response = control("/followers/check", R"({"tag":"Cats","server":"far.example"})");
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse_object(response.body).value();
  };
  follow(fan, "cats");
  json::object report = check();
  EXPECT_EQ(report.at("followers"), json::value(json::array{fan.id}));
  EXPECT_EQ(report.at("digest"), json::value(digest_of({fan.id})));
  EXPECT_FALSE(report.contains("header"));
  EXPECT_FALSE(report.contains("fetch"));
  EXPECT_EQ(report.at("unknown"), json::value(true));
  publish(create_text(post));
  report = check();
  EXPECT_EQ(report.at("header").at("digest"), json::value(digest_of({fan.id})));
  EXPECT_EQ(report.at("problems"), json::value(json::array()));
  EXPECT_EQ(report.at("unknown"), json::value(false));
  EXPECT_EQ(status_for(fan, kCats), 200);
  report = check();
  EXPECT_EQ(report.at("fetch").at("status"), json::value(200));
  EXPECT_EQ(report.at("problems"), json::value(json::array())) << "it is how servers look whether both agree";
}

TEST_F(PartialCollection, ACheckOfAServerTellsOneFailureFromAnother) {
  follow(fan, "cats");
  for (const int status : {401, 500}) {
    internet.answers[kFarInbox] = [status](const HttpCall&) { return with_status(status); };
    post.uri += "0";
    publish(create_text(post));
    EXPECT_THAT(control("/followers/check", R"({"tag":"cats","server":"https://far.example"})").body,
                HasSubstr(fmt::format("HTTP status {}", status)));
  }
  EXPECT_EQ(control("/followers/check", R"({"tag":"cats","server":"a b"})").status, 400);
}

TEST_F(PartialCollection, ACheckOfAServerSaysThatItsLastFollowerWasLost) {
  follow(fan, "cats");
  publish(create_text(post));
  const std::string body = R"({"tag":"cats","server":"far.example"})";
  EXPECT_THAT(control("/followers/check", body).body, HasSubstr(R"("problems":[])"));
  EXPECT_EQ(control("/blocks/add", R"({"kind":"domain","what":"far.example","reason":"spam"})").status, 200);
  EXPECT_THAT(control("/followers/check", body).body, HasSubstr("it may not know"));
}

TEST_F(PartialCollection, ACheckOfAServerWhoseLastFollowerLeftSaysThatAllIsWell) {
  follow(fan, "cats");
  publish(create_text(post));
  follow(pal, "cats");
  unfollow(fan, "cats");
  unfollow(pal, "cats");
  const std::string body = R"({"tag":"cats","server":"far.example"})";
  EXPECT_THAT(control("/followers/check", body).body, HasSubstr(R"("problems":[])"));
}

// One left, and the other was turned away: of that one the server may not know.
TEST_F(PartialCollection, ACheckOfAServerSaysThatOneWasTurnedAwayBeforeTheLastOneLeft) {
  follow(fan, "cats");
  follow(pal, "cats");
  publish(create_text(post));
  EXPECT_EQ(control("/blocks/add",
                    json::serialize(json::object{{"kind", "author"}, {"what", pal.id}, {"reason", "spam"}}))
                .status,
            200);
  const std::string body = R"({"tag":"cats","server":"far.example"})";
  EXPECT_THAT(control("/followers/check", body).body, HasSubstr(R"("problems":[])")) << "a post will say so";
  unfollow(fan, "cats");
  EXPECT_THAT(control("/followers/check", body).body, HasSubstr("it may not know"));
}

// The answer to a header that names who is turned away comes while that is written.
TEST_F(PartialCollection, ACheckOfAServerSaysThatAFollowerOfTheNodeWasLostAtThatMoment) {
  let_far_relay();
  const std::string block = json::serialize(json::object{{"kind", "author"}, {"what", fan.id}});
  internet.delays[kFarInbox] = std::chrono::seconds(1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(post_signed(follow_text(fan, {origin + "/actor"}), fan).status, 202);
    settle(std::chrono::seconds(5));
    internet.calls.clear();
    post.uri += "0";
    EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
    for (int ms = 0; digests_at(kFarInbox).empty() && ms < 5'000; ++ms) loop.run_for(Duration(1));
    ASSERT_THAT(digests_at(kFarInbox), testing::Contains(digest_of({fan.id})));
    loop.run_for(Duration(1'000 - i * 25));
    database_pause = Duration(50);
    EXPECT_EQ(control("/blocks/add", block).status, 200);
    database_pause = Duration::zero();
    settle(std::chrono::seconds(5));
    EXPECT_THAT(control("/followers/check", R"({"server":"far.example"})").body, HasSubstr("it may not know"))
        << i;
    EXPECT_EQ(control("/blocks/remove", block).status, 200);
    settle();
  }
}

TEST_F(PartialCollection, AServerWhereNobodyFollowsAnyMoreIsKnownAfterARestart) {
  follow(fan, "cats");
  unfollow(fan, "cats");
  start(config());
  settle();
  EXPECT_EQ(control("/followers/check", R"({"tag":"cats","server":"far.example"})").status, 200);
  EXPECT_EQ(control("/followers/check", R"({"tag":"dogs","server":"far.example"})").status, 404);
}

TEST_F(PartialCollection, ACheckOfAServerThatIsNotKnownSaysSo) {
  follow(fan, "cats");
  const HttpResponse misspelt = control("/followers/check", R"({"tag":"cats","server":"farr.example"})");
  EXPECT_EQ(misspelt.status, 404);
  EXPECT_THAT(misspelt.body, HasSubstr("nobody at https://farr.example follows #cats"));
  EXPECT_EQ(control("/followers/check", R"({"tag":"dogs","server":"far.example"})").status, 404);
}

TEST_F(PartialCollection, OtherActivitiesCarryNone) {
  follow(fan, "cats");
  ASSERT_THAT(internet.sent_to(fan.inbox), SizeIs(1));
  EXPECT_EQ(header_of(internet.sent_to(fan.inbox)[0]), std::nullopt);
}

// [race E; Fedify makes it when it queues]
TEST_F(PartialCollection, ARepeatedDeliveryCarriesTheDigestOfItsOwnTime) {
  follow(fan, "cats");
  bool down = true;
  internet.answers[kFarInbox] = [&](const HttpCall&) { return with_status(down ? 503 : 202); };
  publish(create_text(post));
  follow(pal, "cats");
  down = false;
  settle(std::chrono::minutes(1));
  const Strings digests = digests_at(kFarInbox);
  ASSERT_GE(digests.size(), 2U);
  EXPECT_EQ(digests.front(), digest_of({fan.id}));
  EXPECT_EQ(digests.back(), digest_of({fan.id, pal.id}));
}

// [Mastodon, interactions_spec: invalidates what was cached after unfollow and re-follow]
TEST_F(PartialCollection, TheDigestFollowsUnfollowAndFollowAndRestart) {
  follow(fan, "cats");
  follow(pal, "cats");
  const auto digest_now = [&] {
    post.uri += "0";
    internet.calls.clear();
    publish(create_text(post));
    return digests_at(kFarInbox).at(0);
  };
  EXPECT_EQ(digest_now(), digest_of({fan.id, pal.id}));
  unfollow(pal, "cats");
  EXPECT_EQ(digest_now(), digest_of({fan.id}));
  follow(pal, "cats");
  EXPECT_EQ(digest_now(), digest_of({fan.id, pal.id}));
  unfollow(fan, "cats");
  start(config());
  settle();
  EXPECT_EQ(digest_now(), digest_of({pal.id}));
}

TEST_F(PartialCollection, ABatchToANodeCarriesTheDigestOfItsHashtagActors) {
  const Author peer = make_node_author("https://tags.peer.example");
  follow(peer, "cats");
  follow(peer, "猫");
  follow(fan, "cats");
  internet.answers[peer.inbox] = [](const HttpCall&) {
    return with_status(200, R"({"accepted":1,"refused":[]})");
  };
  publish(create_text(post));
  const HttpCall call = internet.sent_to(peer.inbox).back();
  EXPECT_EQ(header_of(call),
            fmt::format(
                "collectionId=\"{0}/followers\", url=\"{0}/followers_synchronization\", digest=\"{1}\"",
                origin + "/actor",
                digest_of({"https://tags.peer.example/tag/cats", "https://tags.peer.example/tag/xn--z7x"})));
  EXPECT_THAT(list_for(peer, "/actor/followers_synchronization"),
              ElementsAre("https://tags.peer.example/tag/cats", "https://tags.peer.example/tag/xn--z7x"));
}

TEST_F(PartialCollection, TurnedOffThereIsNeitherHeaderNorList) {
  config::Config off = config();
  off.followers_sync = false;
  start(off);
  settle();
  follow(fan, "cats");
  publish(create_text(post));
  EXPECT_THAT(digests_at(kFarInbox), ElementsAre("-"));
  EXPECT_EQ(status_for(fan, kCats), 404);
}

// [FEP-8fcf, Requirements] Every actor, inbox and shared inbox of a node is of one scheme and authority.
TEST_F(PartialCollection, AllActorsOfANodeHaveOneAuthority) {
  const Authority own = Authority::of(origin).value();
  for (const std::string path : {"/actor", "/tag/cats", "/tag/xn--z7x"}) {
    const json::object actor = json::parse_object(get(path).body).value();
    EXPECT_TRUE(own.covers(json::id_of(actor))) << path;
    EXPECT_TRUE(own.covers(json::id_of(actor, "inbox"))) << path;
    EXPECT_TRUE(own.covers(json::id_of(actor, "followers"))) << path;
    EXPECT_TRUE(own.covers(json::id_of(*json::get_object(actor, "endpoints"), "sharedInbox"))) << path;
    // Nobody can normalise the id further (Fedify, which hashes ids as URLs).
    EXPECT_EQ(Url::parse(json::id_of(actor)).value().text(), json::id_of(actor));
  }
}

TEST_F(PartialCollection, TheLogSaysAtTheStartWhetherItIsOnAndWhy) {
  const auto said = [&](const config::Config& config) {
    log_lines.clear();
    start(config);
    for (const std::string& line : log_lines) {
      if (line.find("event=followers_sync") != std::string::npos) return line;
    }
    return std::string();
  };
  EXPECT_THAT(said(config()), HasSubstr("on=yes"));
  config::Config off = config();
  off.followers_sync = false;
  EXPECT_THAT(said(off), HasSubstr("followers.sync = false"));
  off.followers_conflict = "shared";
  EXPECT_THAT(said(off), HasSubstr("shared"));
}

TEST_F(PartialCollection, AWrongDigestOnDiskIsRepairedAtTheStart) {
  follow(fan, "cats");
  run(stores->database->write([](sql::Connection& db) -> Result<void> {
    TRY_VOID(db.run("UPDATE partials SET digest = zeroblob(32)"));
    return {};
  })).value();
  start(config());
  EXPECT_THAT(log_lines, testing::Contains(HasSubstr("event=followers_digest_repaired tag=cats")));
  EXPECT_EQ(run(stores->relay.partial({"cats", "https://far.example"})).value().digest.hex(),
            digest_of({fan.id}));
}

// --- actors ------------------------------------------------------------------------------------------------

TEST_F(PartialCollection, ActorsSayWhenTheyCameToBeAndKeepToIt) {
  const auto published = [&](const std::string& path) {
    return json::id_of(json::parse_object(get(path).body).value(), "published");
  };
  const std::string node_since = published("/actor");
  settle(std::chrono::hours(1));
  const std::string before = to_rfc3339(loop.wall_now());
  const std::string cats_since = published("/tag/cats");
  EXPECT_GE(cats_since, before);
  EXPECT_LE(cats_since, to_rfc3339(loop.wall_now()));
  EXPECT_LT(node_since, cats_since);
  settle(std::chrono::hours(1));
  start(config());
  EXPECT_EQ(published("/actor"), node_since);
  EXPECT_EQ(published("/tag/cats"), cats_since);
  EXPECT_GT(published("/tag/dogs"), cats_since);
  // How old a hashtag is, who looks before following sees a moment later.
  publish(create_text({.uri = "https://home.example/notes/owl", .author = alice.id, .tags = {"owls"}}));
  EXPECT_THAT(published("/tag/owls"), testing::StartsWith("2026-01-01T"));
  settle();
  EXPECT_THAT(published("/tag/owls"), testing::StartsWith("2025-12-31T00:00:00"));
  // Each new one is a write, and anybody may ask.
  for (int i = 0; i < 500; ++i) published(fmt::format("/tag/made_up_{}", i));
  EXPECT_THAT(rows("SELECT count(*) <= 301 FROM actors"), ElementsAre("1"));
  start(config());
  EXPECT_THAT(published("/tag/owls"), testing::StartsWith("2026-01-01T")) << "what was heard is not kept";
  settle();
  EXPECT_THAT(published("/tag/owls"), testing::StartsWith("2025-12-31T00:00:00"));
}

// --- the list ----------------------------------------------------------------------------------------------

// [Mastodon, requests/followers_synchronizations_spec: unsigned 401; signed 200, Cache-Control, type, scope]
TEST_F(PartialCollection, TheListIsForTheServerThatSigned) {
  const Author other = make_author("https://other.example/users/x");
  follow(pal, "cats");
  follow(fan, "cats");
  follow(other, "cats");
  follow(fan, "dogs");
  EXPECT_EQ(get(kCats).status, 401);
  const HttpResponse response = ask(signed_get(fan, kCats));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.find("Content-Type"), "application/activity+json");
  EXPECT_EQ(response.headers.find("Cache-Control"), "private, max-age=0");
  EXPECT_EQ(response.headers.find("Vary"), "Signature");
  const json::object body = json::parse_object(response.body).value();
  EXPECT_EQ(json::id_of(body), origin + kCats);
  EXPECT_EQ(json::id_of(body, "type"), "OrderedCollection");
  EXPECT_EQ(body.at("orderedItems"), (json::value(json::array{fan.id, pal.id})));
  EXPECT_THAT(list_for(other, kCats), ElementsAre(other.id));
}

// [Mastodon: any actor of that server may ask, also its instance actor, whose id may have no path]
TEST_F(PartialCollection, AnyActorOfTheServerMayAsk) {
  follow(fan, "cats");
  EXPECT_THAT(list_for(make_author("https://far.example/instance"), kCats), ElementsAre(fan.id));
  const Author odd = make_author("https://FAR.example:443/users/odd");
  internet.serve("https://far.example/users/odd", odd.document());
  EXPECT_THAT(list_for(odd, kCats), ElementsAre(fan.id));
}

// [Fedify leaves orderedItems out; some receivers take that for an error]
TEST_F(PartialCollection, AnEmptyListIsAList) {
  const json::object body = json::parse_object(ask(signed_get(fan, kCats)).body).value();
  EXPECT_EQ(body.at("orderedItems"), json::value(json::array()));
}

TEST_F(PartialCollection, NobodyIsShownTheFollowersOfAnotherServer) {
  follow(fan, "cats");
  follow(pal, "cats");
  for (const std::string& id :
       Strings{"https://far.example.evil.com/users/fan", "https://evil.com/far.example/users/fan",
               "https://far.example:8443/users/fan", "http://far.example/users/fan",
               "https://far.exampl/users/fan", "https://sub.far.example/users/fan",
               "https://example/users/fan", "https://far.example./users/fan",
               "https://xn--fr-7lc.example/users/fan" /* with a Cyrillic a */}) {
    EXPECT_THAT(list_for(make_author(id), kCats), IsEmpty()) << id;
  }
}

TEST_F(PartialCollection, OtherHeadersOfTheRequestDoNotMatter) {
  follow(fan, "cats");
  const Author evil = make_author("https://evil.example/users/x");
  HttpRequest request = signed_get(evil, kCats);
  for (const char* name : {"X-Forwarded-Host", "X-Forwarded-For", "X-Original-Host", "Origin", "From"})
    request.headers.add(name, "far.example");
  request.headers.add("Forwarded", "for=far.example;host=far.example");
  request.headers.add("Referer", fan.id);
  const HttpResponse response = ask(request);
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, Not(HasSubstr("far.example")));
}

TEST_F(PartialCollection, AQueryDoesNotWidenTheList) {
  follow(fan, "cats");
  const Author evil = make_author("https://evil.example/users/x");
  for (const char* query :
       {"?base-url=https%3A%2F%2Ffar.example", "?domain=far.example", "?authority=far.example"}) {
    const HttpResponse response = ask(signed_get(evil, kCats + query));
    EXPECT_THAT(response.body, Not(HasSubstr("far.example"))) << query;
  }
}

TEST_F(PartialCollection, WhoseSignatureIsNotInOrderIsShownNothing) {
  follow(fan, "cats");
  const auto refused = [&](HttpRequest request) {
    const HttpResponse response = ask(std::move(request));
    EXPECT_EQ(response.status, 401) << response.body;
    EXPECT_THAT(response.body, Not(HasSubstr("orderedItems")));
  };
  // [Pixelfed: a signature for another path]
  HttpRequest moved = signed_get(fan, "/tag/dogs/followers_synchronization");
  moved.target = kCats;
  refused(moved);
  // A key of one's own that names somebody else as its owner.
  Author thief = make_author("https://evil.example/users/x");
  thief.id = fan.id;
  internet.serve("https://evil.example/users/x", thief.document());
  HttpRequest stolen = signed_get(fan, kCats);
  refused([&] {
    HttpCall call("GET", Url::parse(origin + kCats).value(), loop.now());
    signatures::sign_call(call, thief.key, "https://evil.example/users/x#main-key", loop.wall_now());
    HttpRequest request{.method = "GET", .target = kCats, .headers = call.headers, .body = {}, .peer = {}};
    request.headers.set("Host", call.url.authority());
    return request;
  }());
  // A key id with user info, or in another script.
  for (const std::string id : {"https://far.example@evil.example/users/y", "https://fаr.example/users/y"}) {
    Author odd = make_author("https://evil.example/users/y");
    odd.id = id;
    internet.serve(id, odd.document());
    refused(signed_get(odd, kCats));
  }
  // A key that cannot be fetched. [Pixelfed: unknown signer]
  Author unknown = fan;
  unknown.id = "https://far.example/users/nobody";
  refused(signed_get(unknown, kCats));
  // One that is too old.
  HttpRequest old = signed_get(pal, kCats);
  settle(std::chrono::hours(2));
  refused(old);
}

// Two honest fetches within a second carry the same signature.
TEST_F(PartialCollection, AFetchMayBeRepeated) {
  const HttpRequest request = signed_get(fan, kCats);
  EXPECT_EQ(ask(request).status, 200);
  EXPECT_EQ(ask(request).status, 200);
}

// [Mastodon: suspended 403]
TEST_F(PartialCollection, AServerThatIsDeniedGetsNoList) {
  follow(fan, "cats");
  EXPECT_EQ(
      control("/instances/permit", R"({"host":"far.example","publishes":false,"receives":false})").status,
      200);
  EXPECT_EQ(status_for(fan, kCats), 403);
  EXPECT_EQ(status_for(make_author("https://sub.far.example/users/x"), kCats), 403);
  EXPECT_EQ(status_for(make_author("https://other.example/users/x"), kCats), 200);
}

TEST_F(PartialCollection, ABlockedActorGetsNoListAndItsServersDigestForgetsIt) {
  follow(fan, "cats");
  follow(pal, "cats");
  EXPECT_EQ(control("/blocks/add",
                    json::serialize(json::object{{"kind", "author"}, {"what", pal.id}, {"reason", "spam"}}))
                .status,
            200);
  settle();
  internet.calls.clear();  // a Reject
  EXPECT_EQ(status_for(pal, kCats), 403);
  EXPECT_THAT(list_for(fan, kCats), ElementsAre(fan.id));
  publish(create_text(post));
  EXPECT_THAT(digests_at(kFarInbox), ElementsAre(digest_of({fan.id})));
}

TEST_F(PartialCollection, OfAHashtagThatIsNotOfferedAnyMoreIsGone) {
  follow(fan, "cats");
  EXPECT_EQ(control("/blocks/add", R"({"kind":"tag","what":"cats"})").status, 200);
  EXPECT_EQ(status_for(fan, kCats), 410);
  EXPECT_EQ(control("/blocks/remove", R"({"kind":"tag","what":"cats"})").status, 200);
  EXPECT_EQ(status_for(fan, kCats), 200);
}

TEST_F(PartialCollection, WhatDoesNotExistIsNotFound) {
  for (const char* target : {"/tag/123/followers_synchronization", "/tag//followers_synchronization",
                             "/followers_synchronization", "/tag/cats/dogs/followers_synchronization",
                             "/users/cats/followers_synchronization", "/tag/cats/followers_synchronization/1",
                             "/tag/cats/followers_synchronization/x", "/tag/cats/followers_synchronization/",
                             "/actor/followers_synchronization/2", "/tag/cats/followers_synchronizations"}) {
    EXPECT_EQ(status_for(fan, target), 404) << target;
  }
}

TEST_F(PartialCollection, AnotherSpellingOfTheHashtagIsTheSameList) {
  follow(fan, "cats");
  for (const char* target :
       {"/tag/CATS/followers_synchronization", "/tag/c%61ts/followers_synchronization"}) {
    const json::object body = json::parse_object(ask(signed_get(fan, target)).body).value();
    EXPECT_EQ(json::id_of(body), origin + kCats);
    EXPECT_EQ(body.at("orderedItems"), json::value(json::array{fan.id}));
  }
}

// --- long lists --------------------------------------------------------------------------------------------

// The class by itself, with limits that a test can reach.
class LongList : public PartialCollection {
 protected:
  LongList() {
    for (int i = 0; i < 30; ++i) add(i);
  }
  void add(int i) {
    const std::string actor = fmt::format("https://far.example/users/{:04}{}", i, std::string(400, 'x'));
    followers.add({"cats"_tag, actor, kFarInbox, "", delivery::Via::kBoost, 0});
    ids.insert(actor);
  }
  std::set<std::string> read(const std::string& root) {
    followers::Listing listing(origin + root);
    while (const std::string* url = listing.next()) {
      const HttpResponse response = run(partials.answer(signed_get(fan, url->substr(origin.size()))));
      EXPECT_EQ(response.status, 200);
      listing.take(response.body);
      if (on_page) on_page();
    }
    const auto items = listing.items();
    EXPECT_TRUE(items) << listing.problem();
    if (!items) return {};
    const std::set<std::string> found(items->begin(), items->end());
    EXPECT_EQ(found.size(), items->size()) << "an id stands in two pages";
    return found;
  }

  std::set<std::string> ids;
  std::function<void()> on_page;
  delivery::Followers followers;
  federation::Identity identity{origin, crypto::PrivateKey::ed25519_from_seed(std::string(32, 'n'))};
  federation::SignedClient courier{identity, internet, runtime};
  budget::Manager budget{budget::default_budgets(), runtime.clock};
  federation::RemoteKeys actors{budget, courier, runtime};
  federation::Authenticator authenticator{[] {
                                            signatures::SignaturePolicy policy;
                                            policy.authorities = {"tags.home.example"};
                                            return policy;
                                          }(),
                                          {},
                                          actors,
                                          runtime};
  delivery::SilentObserver observer;
  delivery::PartialCollections partials{
      {.enabled = true, .documents = {.bytes_max = 14'000, .pages_max = 10}},
      followers,
      identity,
      authenticator,
      observer,
      runtime};
};

TEST_F(LongList, IsReadByPages) {
  EXPECT_EQ(partials.too_long(), 0U);
  EXPECT_TRUE(partials.header("cats", kFarInbox));
  const HttpResponse root = run(partials.answer(signed_get(fan, kCats)));
  EXPECT_EQ(json::id_of(json::parse_object(root.body).value(), "first"), origin + kCats + "/1");
  EXPECT_EQ(read(kCats), ids);
}

TEST_F(LongList, IsOfOneMomentWhileItIsRead) {
  const std::set<std::string> before = ids;
  int next = 100;
  on_page = [&] {
    add(next++);
    followers.remove("cats"_tag, *before.begin());
  };
  EXPECT_EQ(read(kCats), before);
  on_page = nullptr;
  ids.erase(*before.begin());
  EXPECT_EQ(read(kCats), ids);
}

// The header of a second post has the digest of its own time.
TEST_F(LongList, IsOfTheMomentWhenItsRootWasAskedForLast) {
  (void)run(partials.answer(signed_get(fan, kCats)));
  add(100);
  EXPECT_EQ(read(kCats), ids);
}

TEST_F(LongList, APageThatIsAskedForLateIsOfItsOwnTime) {
  read(kCats);
  add(100);
  settle(delivery::PartialCollections::kSnapshotLifetime);
  const HttpResponse page = run(partials.answer(signed_get(fan, kCats + "/1")));
  EXPECT_EQ(page.status, 200);
}

TEST_F(LongList, ThatIsTooLongHasNoHeaderAndIsNotShown) {
  for (int i = 30; i < 300; ++i) add(i);
  EXPECT_EQ(partials.header("cats", kFarInbox), std::nullopt);
  EXPECT_EQ(run(partials.answer(signed_get(fan, kCats))).status, 404);
  EXPECT_TRUE(partials.header("cats", "https://other.example/inbox"));
  EXPECT_EQ(partials.too_long(), 1U);
}

class LongListOfMany : public LongList {
 protected:
  static std::string server(int i) { return fmt::format("https://far{}.example", i); }
  void add_at(int i, int user) {
    followers.add({"cats"_tag, fmt::format("{}/users/{:04}{}", server(i), user, std::string(400, 'x')),
                   server(i) + "/inbox", "", delivery::Via::kBoost, 0});
  }
  LongListOfMany() {
    for (int i = 0; i < kServers; ++i) {
      for (int user = 0; user < 30; ++user) add_at(i, user);
      readers.push_back(make_author(server(i) + "/users/reader"));
      lists.emplace_back(origin + kCats);
    }
  }
  // Each reads the next document of the list.
  void read_on(delivery::PartialCollections& from) {
    for (int i = 0; i < kServers; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::string target = lists[at].next()->substr(origin.size());
      lists[at].take(run(from.answer(signed_get(readers[at], target))).body);
    }
  }

  static constexpr int kServers = 10;
  std::vector<Author> readers;
  std::vector<followers::Listing> lists;
};

TEST_F(LongListOfMany, IsOfOneMomentForEachWhileAllReadAtOnce) {
  read_on(partials);
  read_on(partials);
  for (int i = 0; i < kServers; ++i) add_at(i, 100);
  while (lists[0].next() != nullptr) read_on(partials);
  for (const followers::Listing& list : lists) {
    ASSERT_TRUE(list.items()) << list.problem();
    EXPECT_THAT(*list.items(), SizeIs(30));
  }
}

TEST_F(LongListOfMany, IsReadWithoutRoomToKeepIt) {
  delivery::PartialCollections few{
      {.enabled = true, .documents = {.bytes_max = 14'000, .pages_max = 10}, .snapshot_bytes_max = 30'000},
      followers,
      identity,
      authenticator,
      observer,
      runtime};
  while (lists[0].next() != nullptr) read_on(few);
  for (const followers::Listing& list : lists) {
    ASSERT_TRUE(list.items()) << list.problem();
    EXPECT_THAT(*list.items(), SizeIs(30));
  }
}

}  // namespace
}  // namespace tagring::node
