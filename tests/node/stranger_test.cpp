// What a stranger can make a node fetch, store and hand out.
#include <fmt/format.h>

#include "admin/gate.hpp"
#include "base/bytes.hpp"
#include "budget/manager.hpp"
#include "fediverse/vocabulary.hpp"
#include "node/fixture.hpp"
#include "signatures/signature.hpp"
#include "subscriber/catch_up.hpp"

namespace tagring::node {
namespace {

using budget::Resource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Stranger : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};
  int requests = 0;

  // Signed with somebody's key, and said to be of that key id; each one another request.
  HttpRequest with_key_id(const std::string& key_id, const std::string& body) {
    HttpCall call("POST", Url::parse(origin + "/inbox").value(), loop.now());
    call.headers.add("Content-Type", "application/activity+json");
    call.body = body;
    const auto key = crypto::PrivateKey::ed25519_from_seed(fmt::format("{:032}", 1'000 + ++requests));
    signatures::sign_call(call, key, key_id, loop.wall_now());
    HttpRequest request{
        .method = "POST", .target = "/inbox", .headers = call.headers, .body = body, .peer = {}};
    request.headers.add("Host", call.url.authority());
    return request;
  }
  int come_from(const std::string& address, HttpRequest request) {
    request.peer = *IpAddress::parse(address);
    return ask(std::move(request)).status;
  }
  std::size_t sent_below(const std::string& prefix) {
    return static_cast<std::size_t>(std::ranges::count_if(
        internet.calls, [&](const HttpCall& call) { return call.url.text().starts_with(prefix); }));
  }
  // All at once: each is judged while the others are written down.
  std::vector<int> answers_to(std::vector<HttpRequest> all) {
    database_pause = std::chrono::seconds(1);
    std::vector<Task<HttpResponse>> questions;
    for (HttpRequest& request : all) questions.push_back(node->answer(std::move(request)));
    std::vector<int> answers;
    for (const HttpResponse& response : run(all_of(std::move(questions)))) answers.push_back(response.status);
    database_pause = Duration::zero();
    std::ranges::sort(answers);
    return answers;
  }
  void start_with(Resource resource, budget::Limit limit) {
    config::Config changed = config();
    changed.budgets.at(static_cast<std::size_t>(resource)) = limit;
    start(std::move(changed));
  }
};

// --- keys --------------------------------------------------------------------------------------------------

TEST_F(Stranger, ARequestCostsOneKeyHoweverManySignaturesItHas) {
  HttpCall call("POST", Url::parse(origin + "/inbox").value(), loop.now());
  call.body = create_text(post);
  signatures::sign_call(call, alice.key, "https://victim.example/0#key", loop.wall_now(),
                        signatures::SignatureForm::kMessage);
  const std::string input = *call.headers.find("Signature-Input");
  const std::string signature = *call.headers.find("Signature");
  std::string inputs;
  std::string all;
  for (int i = 0; i < 4; ++i) {
    std::string one = input.substr(input.find('='));
    one.replace(one.find("/0#key"), 6, fmt::format("/{}#key", i));
    inputs += fmt::format("{}s{}{}", i == 0 ? "" : ", ", i, one);
    all += fmt::format("{}s{}{}", i == 0 ? "" : ", ", i, signature.substr(signature.find('=')));
  }
  call.headers.set("Signature-Input", inputs);
  call.headers.set("Signature", all);
  HttpRequest request{
      .method = "POST", .target = "/inbox", .headers = call.headers, .body = call.body, .peer = {}};
  request.headers.add("Host", call.url.authority());
  expect_refused(request, 401, "not_found", "cannot fetch the key");
  EXPECT_EQ(sent_below("https://victim.example/"), 1U);
}

TEST_F(Stranger, AKeyThatIsBeingFetchedIsNotFetchedAgain) {
  std::vector<Task<HttpResponse>> questions;
  for (int i = 0; i < 20; ++i) {
    post.uri = fmt::format("https://home.example/notes/{}", i);
    questions.push_back(node->answer(signed_request(alice, create_text(post))));
  }
  for (const HttpResponse& response : run(all_of(std::move(questions)))) EXPECT_EQ(response.status, 202);
  EXPECT_THAT(internet.sent_to(alice.id), SizeIs(1));
}

TEST_F(Stranger, NobodyCanAimTheNodeAtAHost) {
  HttpResponse last;
  for (int i = 0; i < 60; ++i)
    last = ask(with_key_id(fmt::format("https://victim.example/{}#key", i), create_text(post)));
  EXPECT_EQ(last.status, 503);
  EXPECT_TRUE(last.headers.find("Retry-After"));
  EXPECT_LE(sent_below("https://victim.example/"), 10U);
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202) << "others are not concerned";
  settle(std::chrono::minutes(2));
  EXPECT_EQ(ask(with_key_id("https://victim.example/again#key", create_text(post))).status, 401);
}

TEST_F(Stranger, EachRequestThatAKeyTakesCountsForItsHost) {
  for (int i = 0; i < 10; ++i) {
    const std::string place = fmt::format("https://victim.example/{}", i);
    internet.refuse_late(place);
    ask(with_key_id(place + "#key", create_text(post)));
  }
  EXPECT_LE(sent_below("https://victim.example/"), 10U);
}

TEST_F(Stranger, WhoNamesAKeyDoesNotKeepOutWhoHasIt) {
  const Author fan = make_author("https://far.example/users/fan");
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/cats"}), fan).status, 202);
  for (int i = 0; i < 10; ++i)
    ask(with_key_id(fmt::format("https://far.example/{}#key", i), create_text(post)));
  EXPECT_EQ(ask(with_key_id(fan.key_id(), create_text(post))).status, 503);
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/dogs"}), fan).status, 202);
}

TEST_F(Stranger, WhoNamesKeysOfAHostLeavesSomeOfThemForOthers) {
  for (int i = 0; i < 10; ++i)
    come_from("203.0.113.9", with_key_id(fmt::format("https://far.example/{}#key", i), create_text(post)));
  EXPECT_LE(sent_below("https://far.example/"), 7U);
  const Author fan = make_author("https://far.example/users/fan");
  EXPECT_EQ(come_from("198.51.100.7", signed_request(fan, follow_text(fan, {origin + "/tag/cats"}))), 202);
}

TEST_F(Stranger, AnAddressHasSoManyKeysAMinute) {
  const auto ask_from = [&](const char* address, int i) {
    HttpRequest request = with_key_id(fmt::format("https://v{}.example/#key", i), create_text(post));
    request.peer = *IpAddress::parse(address);
    return ask(std::move(request)).status;
  };
  for (int i = 0; i < 30; ++i) EXPECT_EQ(ask_from("2001:db8:9:1::1", i), 401);
  EXPECT_EQ(ask_from("2001:db8:9:1::2", 100), 503) << "the same /64";
  for (int i = 200; i < 230; ++i) EXPECT_EQ(ask_from("2001:db8:9:2::1", i), 401);
  EXPECT_EQ(ask_from("2001:db8:9:3::1", 300), 503) << "the same /48";
  EXPECT_EQ(ask_from("2001:db8:a:1::1", 301), 401);
}

TEST_F(Stranger, NobodyCanAimTheNodeAtItsOwnInstanceEither) {
  for (int i = 0; i < 400; ++i) {
    HttpRequest request = with_key_id(fmt::format("https://home.example/{}#key", i), create_text(post));
    request.peer = *IpAddress::parse(fmt::format("192.0.{}.1", i / 20));
    ask(std::move(request));
  }
  EXPECT_LE(sent_below("https://home.example/"), 10U * budget::Manager::kKnownFactor);
}

TEST_F(Stranger, TheOwnInstanceHasAsManyKeysAsItHasPeople) {
  for (int i = 0; i < 100; ++i) {
    const Author person = make_author(fmt::format("https://home.example/users/{}", i));
    const PostText theirs{
        .uri = fmt::format("https://home.example/p/{}", i), .author = person.id, .tags = {"cats"}};
    EXPECT_EQ(post_signed(create_text(theirs), person).status, 202) << i;
  }
}

// --- deletions ---------------------------------------------------------------------------------------------

TEST_F(Stranger, CannotDeleteAnAuthorWhoseServerAnswers404Once) {
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  const HttpResponse document = internet.documents[alice.id];
  internet.documents[alice.id] = with_status(404);
  expect_ignored(with_key_id("https://home.example/users/alice#other", delete_text(alice.id, alice.id)),
                 "is gone", "profile_looks");
  EXPECT_EQ(ask(with_key_id(alice.key_id(), delete_text(alice.id, alice.id))).status, 401);
  internet.documents[alice.id] = document;
  settle();
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

TEST_F(Stranger, AnAccountThatIsGoneIsKnownByTheKeyThatItHad) {
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle(std::chrono::hours(13));
  internet.documents[alice.id] = with_status(410);
  EXPECT_EQ(
      post_signed(create_text({.uri = "https://home.example/notes/2", .author = alice.id, .tags = {"cats"}}),
                  alice)
          .status,
      202)
      << "whose account is gone is nobody's fault, but not believed: only the farewell is";
  EXPECT_THAT(rows("SELECT uri FROM posts WHERE uri LIKE '%/notes/2'"), IsEmpty());
  EXPECT_EQ(post_signed(delete_text(alice.id, alice.id), alice).status, 202);
  settle();
  EXPECT_THAT(history("cats"), IsEmpty());
}

// Keys are known since the start only. Misskey's accounts are not there any more when it tells of it.
TEST_F(Stranger, AFollowerThatIsGoneAndUnknownIsLookedForTwice) {
  const Author fan = make_author("https://far.example/users/fan");
  const Author relay = make_author("https://far.example/actor");
  for (const auto& [who, what] :
       {std::pair(fan, "https://tags.home.example/tag/cats"), std::pair(relay, kEverybody.c_str())})
    EXPECT_EQ(post_signed(follow_text(who, {what}), who).status, 202);
  start(config());
  for (const Author& who : {fan, relay}) {
    internet.documents[who.id] = with_status(404);
    EXPECT_EQ(post_signed(delete_text(who.id, who.id), who).status, 202);
  }
  settle(std::chrono::minutes(30));
  EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(fan.id)) << "servers err";
  // Whoever repeats it puts nothing off.
  start(config());
  EXPECT_EQ(post_signed(delete_text(fan.id, fan.id), fan).status, 202);
  settle(std::chrono::minutes(75));
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
  EXPECT_THAT(rows("SELECT actor FROM links"), IsEmpty());
  EXPECT_THAT(rows("SELECT author FROM profile_looks"), IsEmpty());
}

TEST_F(Stranger, AFollowerThatIsSaidToBeGoneAndIsThereStays) {
  const Author fan = make_author("https://far.example/users/fan");
  EXPECT_EQ(post_signed(follow_text(fan, {"https://tags.home.example/tag/cats"}), fan).status, 202);
  start(config());
  const HttpResponse document = internet.documents[fan.id];
  internet.documents[fan.id] = with_status(404);
  EXPECT_EQ(post_signed(delete_text(fan.id, fan.id), fan).status, 202);
  settle(std::chrono::minutes(5));
  internet.documents[fan.id] = document;
  settle(std::chrono::hours(2));
  EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(fan.id));
  EXPECT_THAT(rows("SELECT author FROM profile_looks"), IsEmpty());
}

// --- follows -----------------------------------------------------------------------------------------------

TEST_F(Stranger, AFollowIsSmall) {
  const Author far = make_author("https://far.example/actor");
  json::object follow =
      json::parse_object(follow_text(far, {"https://www.w3.org/ns/activitystreams#Public"})).value();
  follow["summary"] = std::string(10'000, 'x');
  expect_refused(signed_request(far, json::serialize(follow)), 413, "too_large",
                 "a Follow of more than 8192 bytes");
}

TEST_F(Stranger, ADomainHasFewWhoWaitAndNotForEver) {
  const std::string everybody = "https://www.w3.org/ns/activitystreams#Public";
  start_with(Resource::kWaiting, {100, 0, 5, {}});
  const auto follow = [&](int i, const std::string& domain) {
    const Author one = make_author(fmt::format("https://s{}.{}/actor", i % 3, domain) + std::to_string(i));
    return post_signed(follow_text(one, {everybody}), one);
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(follow(i, "far.example").status, 202);
  const HttpResponse refused = follow(5, "far.example");
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.headers.find("Retry-After"));
  EXPECT_THAT(rows("SELECT actor FROM links"), SizeIs(5));
  EXPECT_EQ(follow(6, "near.example").status, 202);
  start_with(Resource::kWaiting, {100, 0, 5, {}});
  EXPECT_EQ(follow(7, "far.example").status, 503) << "after a restart too";
  clock.set_skew(std::chrono::days(31));
  const Author late = make_author("https://s9.far.example/actor");
  EXPECT_EQ(ask(signed_at(clock.wall_now(), late, follow_text(late, {everybody}))).status, 202);
  EXPECT_THAT(rows("SELECT actor FROM links"), ElementsAre(late.id));
}

TEST_F(Stranger, WhoWaitsAndFollowsAgainAndAgainIsLoggedOnceAndItsLastFollowIsAccepted) {
  const Author far = make_author("https://far.example/actor");
  std::string last;
  for (int i = 0; i < 5; ++i) {
    last = follow_text(far, {kEverybody});
    EXPECT_EQ(post_signed(last, far).status, 202);
    settle(std::chrono::seconds(1));
  }
  EXPECT_EQ(std::ranges::count_if(
                log_lines, [](const std::string& line) { return line.contains("event=instance_waits"); }),
            1);
  start(config());
  EXPECT_EQ(control("/instances/permit", R"({"host":"far.example","publishes":true,"receives":true})").status,
            200);
  settle();
  const auto sent = internet.posted_to(far.inbox);
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(json::id_of(sent.front().at("object")), json::id_of(json::parse_object(last).value()));
}

TEST_F(Stranger, ADomainWantsSoManyHashtags) {
  start_with(Resource::kWanted, {1'000, 0, 20, {}});
  const Author far = make_author("https://far.example/users/1");
  const auto follow = [&](int from, int to) {
    std::vector<std::string> objects;
    for (int i = from; i < to; ++i) objects.push_back(fmt::format("{}/tag/t{}", origin, i));
    return post_signed(follow_text(far, objects), far).status;
  };
  EXPECT_EQ(follow(0, 20), 202);
  EXPECT_EQ(follow(0, 20), 202) << "what is followed already is nothing more";
  EXPECT_EQ(follow(20, 21), 503);
  EXPECT_EQ(post_signed(undo_follow_text(far, {origin + "/tag/t3"}), far).status, 202);
  EXPECT_EQ(follow(20, 21), 503) << "the node is subscribed to what was undone, yet";
  settle(subscriber::HashtagFollowers::kUnsubscribeAfter);
  EXPECT_EQ(follow(20, 21), 202);
  EXPECT_EQ(rows("SELECT tag FROM followers").size(), 20U);
  start_with(Resource::kWanted, {1'000, 0, 20, {}});
  EXPECT_EQ(follow(30, 31), 503) << "after a restart too";
}

TEST_F(Stranger, AnswersThatNobodyTakesAreFew) {
  start_with(Resource::kLetters, {1'000, 0, 5, {}});
  const Author far = make_author("https://far.example/users/1");
  internet.answers[far.inbox] = [](const HttpCall&) -> Result<HttpResponse> {
    return fail(ErrorCode::kUnavailable, "refused");
  };
  std::vector<int> answers;
  for (int i = 0; i < 8; ++i)
    answers.push_back(post_signed(follow_text(far, {fmt::format("{}/tag/t{}", origin, i)}), far).status);
  EXPECT_THAT(answers, ElementsAre(202, 202, 202, 202, 202, 503, 503, 503));
  EXPECT_THAT(rows("SELECT inbox FROM letters"), SizeIs(5));
}

TEST_F(Stranger, AnswersToFollowsThatComeAtOnceAreAsFew) {
  start_with(Resource::kLetters, {1'000, 0, 2, {}});
  std::vector<HttpRequest> all;
  for (int i = 0; i < 3; ++i) {
    const Author fan = make_author(fmt::format("https://far.example/users/{}", i));
    all.push_back(signed_request(fan, follow_text(fan, {origin + "/tag/cats"})));
  }
  EXPECT_THAT(answers_to(std::move(all)), ElementsAre(202, 202, 503));
  EXPECT_THAT(rows("SELECT actor FROM followers"), SizeIs(2));
  settle(std::chrono::seconds(10));
  EXPECT_EQ(status().at("budget").as_object().at("letters").at("used"), json::value(0));
}

TEST_F(Stranger, ADomainThatFollowsManyHashtagsAtOnceFollowsNoMore) {
  start_with(Resource::kWanted, {1'000, 0, 2, {}});
  std::vector<HttpRequest> all;
  for (int i = 0; i < 3; ++i) {
    const Author fan = make_author(fmt::format("https://far.example/users/{}", i));
    all.push_back(signed_request(fan, follow_text(fan, {fmt::format("{}/tag/t{}", origin, i)})));
  }
  EXPECT_THAT(answers_to(std::move(all)), ElementsAre(202, 202, 503));
  EXPECT_THAT(rows("SELECT actor FROM followers"), SizeIs(2));
  EXPECT_EQ(status().at("budget").as_object().at("wanted").at("used"), json::value(2));
}

// --- what comes again
// ---------------------------------------------------------------------------------------

TEST_F(Stranger, WhatWasDatedAheadIsNotTakenAgainAfterARestart) {
  const HttpRequest request = signed_at(loop.wall_now() + std::chrono::minutes(4), alice, create_text(post));
  EXPECT_EQ(ask(request).status, 202);
  settle(std::chrono::seconds(10));
  start(config());
  expect_refused(request, 503, "busy", "before this node started");
  const Author bob = make_author("https://far.example/users/bob");
  EXPECT_EQ(post_signed(follow_text(bob, {origin + "/tag/cats"}), bob).status, 202)
      << "others are not concerned";
  settle(std::chrono::minutes(5));
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
}

TEST_F(Stranger, OneDomainThatSignsAheadLeavesRoomToOthers) {
  config::Config without = config();
  without.budgets = {};  // these would be in the way first
  start(std::move(without));
  const auto sign_ahead = [this](const std::string& host, std::chrono::seconds by) {
    const Author author = make_author(fmt::format("https://{}/users/u", host));
    const std::string body = delete_text(author.id + "/1", author.id);
    return ask(signed_at(loop.wall_now() + by, author, body)).status;
  };
  for (int i = 0; i < 510; ++i)
    EXPECT_EQ(sign_ahead(fmt::format("h{}.many.example", i), std::chrono::minutes(4)), 202);
  EXPECT_EQ(sign_ahead("far.example", std::chrono::seconds(2)), 202);
  const std::string kept = run(stores->meta.get("signed_ahead")).value().value_or("");
  EXPECT_LT(kept.size(), 200U) << kept;
  // Of however many domains something is kept, nobody is refused, and none of it is taken again.
  for (int i = 0; i < 510; ++i)
    EXPECT_EQ(sign_ahead(fmt::format("many{}.example", i), std::chrono::minutes(3)), 202);
  const Author late = make_author("https://late.example/users/u");
  const HttpRequest request =
      signed_at(loop.wall_now() + std::chrono::seconds(90), late, follow_text(late, {origin + "/tag/cats"}));
  EXPECT_EQ(ask(request).status, 202);
  settle(std::chrono::seconds(10));
  start(config());
  expect_refused(request, 503, "busy", "before this node started");
}

TEST_F(Stranger, NothingSignedAheadIsTakenWhileThatCannotBeWrittenDown) {
  const auto rename = [&](const char* statement) {
    const auto execute = [statement](sql::Connection& db) { return db.execute(statement); };
    ASSERT_TRUE(run(stores->database->write(execute)));
  };
  const auto signed_ahead = [&](std::chrono::seconds by) {
    return ask(signed_at(loop.wall_now() + by, alice, delete_text(alice.id + "/1", alice.id))).status;
  };
  rename("ALTER TABLE meta RENAME TO meta_elsewhere");
  EXPECT_GE(signed_ahead(std::chrono::seconds(60)), 500);
  EXPECT_GE(signed_ahead(std::chrono::seconds(30)), 500) << "it could be sent again after a restart";
  rename("ALTER TABLE meta_elsewhere RENAME TO meta");
  EXPECT_EQ(signed_ahead(std::chrono::seconds(40)), 202);
}

TEST_F(Stranger, TheDefaultPortIsTheSameHost) {
  HttpCall call("POST", Url::parse(origin + "/inbox").value(), loop.now());
  call.body = create_text(post);
  signatures::sign_call(call, alice.key, alice.key_id(), loop.wall_now());
  const std::string text =
      fmt::format("(request-target): post /inbox\nhost: tags.home.example:443\ndate: {}\ndigest: {}",
                  *call.headers.find("Date"), *call.headers.find("Digest"));
  call.headers.set("Signature",
                   fmt::format(R"(keyId="{}",headers="(request-target) host date digest",signature="{}")",
                               alice.key_id(), to_base64(alice.key.sign(text))));
  HttpRequest request{
      .method = "POST", .target = "/inbox", .headers = call.headers, .body = call.body, .peer = {}};
  request.headers.add("Host", "tags.home.example:443");
  EXPECT_EQ(ask(request).status, 202);
}

TEST_F(Stranger, AMethodThatNobodyKnowsIsNotImplemented) {
  for (const auto& [method, status] : {std::pair("BREW", 501), std::pair("PATCH", 405)}) {
    HttpRequest request{.method = method, .target = "/actor", .headers = {}, .body = {}, .peer = {}};
    EXPECT_EQ(ask(std::move(request)).status, status) << method;
  }
}

// --- what may be asked for before anything is signed -------------------------------------------------------

TEST_F(Stranger, HashtagsAreNotReadBeforeTheSignature) {
  // No name of a hashtag, which would be passed over; as many bytes as there may be.
  std::string name;
  for (int i = 0; i < 300; ++i) name += "\xEF\xB7\xBA";
  post.tags.assign(60, name);
  HttpRequest unsigned_one{.method = "POST",
                           .target = "/inbox",
                           .headers = {{"Host", "tags.home.example"}},
                           .body = create_text(post),
                           .peer = {}};
  expect_refused(unsigned_one, 401, "denied", "not signed");
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202) << "and are read after it";
}

Task<bool> stop(Node* node) {
  co_await node->stop();
  co_return true;
}

// A follower whose server takes nothing must not keep a node from ending: what waits for it is on disk.
TEST_F(Stranger, ANodeEndsAtOnceWhateverWaitsForServersThatAreDown) {
  const Author fan = make_author("https://far.example/users/fan", "https://far.example/inbox");
  internet.answers["https://far.example/inbox"] = [](const HttpCall&) { return with_status(503); };
  internet.answers[fan.inbox] = [](const HttpCall&) { return with_status(503); };
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/cats"}), fan).status, 202);
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle(std::chrono::hours(2));  // so that it is tried again in a while only
  ASSERT_FALSE(node->is_idle());
  const Instant before = loop.now();
  EXPECT_TRUE(run(stop(node.get())));
  EXPECT_LT(loop.now() - before, std::chrono::seconds(1));
}

TEST_F(Stranger, StatusSaysWhatIsUsed) {
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  const json::object all = status();
  const json::object& budgets = all.at("budget").as_object();
  EXPECT_EQ(budgets.size(), budget::kResources);
  EXPECT_EQ(budgets.at("key_hosts").at("used"), json::value(1));
  EXPECT_EQ(budgets.at("connections").at("total"), json::value(1'536));
}

// --- what is kept of who follows -------------------------------------------------------------------------

TEST_F(Stranger, ADomainUsesANodeThatIsOpenToAllOnlySoOften) {
  config::Config open = config();
  open.open = true;
  open.budgets.at(static_cast<std::size_t>(Resource::kLinks)) = {100, 0, 2, {}};
  start(open);
  const auto follow_as = [&](const Author& author) {
    return post_signed(follow_text(author, {origin + "/actor"}), author).status;
  };
  std::vector<Author> actors;
  for (int i = 0; i < 3; ++i) {
    actors.push_back(make_author(fmt::format("https://far.example/relay{}", i)));
    actors.back().type = "Application";
    internet.serve(actors.back());
  }
  EXPECT_EQ(follow_as(actors[0]), 202);
  EXPECT_EQ(follow_as(actors[1]), 202);
  EXPECT_EQ(follow_as(actors[2]), 503);
  EXPECT_THAT(rows("SELECT actor FROM links"), SizeIs(2));
  EXPECT_EQ(post_signed(undo_follow_text(actors[0], {origin + "/actor"}), actors[0]).status, 202);
  settle(std::chrono::seconds(2));
  EXPECT_EQ(follow_as(actors[2]), 202);
}

TEST_F(Stranger, NorMoreOftenByComingAtOnce) {
  config::Config open = config();
  open.open = true;
  open.budgets.at(static_cast<std::size_t>(Resource::kLinks)) = {100, 0, 2, {}};
  start(open);
  std::vector<HttpRequest> all;
  for (int i = 0; i < 3; ++i) {
    Author relay = make_author(fmt::format("https://far.example/relay{}", i));
    relay.type = "Application";
    internet.serve(relay);
    all.push_back(signed_request(relay, follow_text(relay, {origin + "/actor"})));
  }
  EXPECT_THAT(answers_to(std::move(all)), ElementsAre(202, 202, 503));
  EXPECT_THAT(rows("SELECT actor FROM links"), SizeIs(2));
  EXPECT_EQ(status().at("budget").as_object().at("links").at("used"), json::value(2));
}

TEST_F(Stranger, WhoHasALongIdFollowsNothing) {
  const Author fan = make_author("https://far.example/" + std::string(fediverse::kSharedIdSizeMax, 'x'));
  for (const std::string& object : {origin + "/tag/cats", kEverybody})
    expect_refused(signed_request(fan, follow_text(fan, {object})), 413, "too_large", "640 bytes");
}

// Or its Undo would not be known as that of a former one; and an index takes the actor's spelling, not any.
TEST_F(Stranger, AFollowIsOfTheActorHoweverItIsSpelled) {
  const Author fan = make_author("https://far.example/users/fan");
  const std::string first = follow_text(fan, {origin + "/tag/%63ats"});
  EXPECT_EQ(post_signed(first, fan).status, 202);
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/cats"}), fan).status, 202);
  EXPECT_THAT(rows("SELECT object FROM recent_follows"),
              ElementsAre(origin + "/tag/cats", origin + "/tag/cats"));
  json::object undo = json::parse_object(undo_follow_text(fan, {origin + "/tag/%63ats"})).value();
  undo["object"] = json::parse_object(first).value();
  EXPECT_EQ(post_signed(json::serialize(undo), fan).status, 202);
  EXPECT_THAT(rows("SELECT tag FROM followers"), ElementsAre("cats")) << "by the Follow that came later";
}

TEST_F(Stranger, OfFollowsOfADomainOnlySoMuchIsNoted) {
  const Author fan = make_author("https://far.example/users/fan");
  start_with(Resource::kFollowNotes, {10'000, 0, 500, std::chrono::hours(24)});
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(post_signed(follow_text(fan, {fmt::format("{}/tag/cats{}", origin, i)}), fan).status, 202);
  EXPECT_THAT(rows("SELECT tag FROM followers"), SizeIs(20));
  EXPECT_THAT(rows("SELECT object FROM recent_follows"),
              SizeIs(testing::AllOf(testing::Gt(0), testing::Lt(4))));
}

// --- who asks what they need not know ----------------------------------------------------------------------

TEST_F(Stranger, WhoFollowsNothingHereGetsNothingOfWhatWasMissed) {
  const Author node_author = make_node_author("https://tags.far.example");
  HttpRequest request = signed_request(node_author, R"({"tags":[],"since":0,"nonce":1})",
                                       std::string(subscriber::CatchUp::kPath));
  EXPECT_EQ(ask(std::move(request)).status, 409);
}

TEST_F(Stranger, TokensAreNotGuessedForEver) {
  const auto status_with = [&](const std::string& token, const char* address) {
    HttpRequest request{.method = "GET", .target = "/admin/status", .headers = {}, .body = {}, .peer = {}};
    request.peer = *IpAddress::parse(address);
    if (!token.empty()) request.headers.add("Authorization", "Bearer " + token);
    return ask(std::move(request));
  };
  const std::uint64_t most =
      budget::default_budgets().at(static_cast<std::size_t>(budget::Resource::kGuesses)).each;
  for (std::uint64_t i = 0; i < 2 * most; ++i)
    EXPECT_EQ(status_with("", "192.0.2.1").status, 401) << "whoever has none is told that one is needed";
  for (std::uint64_t i = 0; i < most; ++i)
    EXPECT_EQ(status_with(fmt::format("guess{}", i), "192.0.2.1").status, 401);
  const HttpResponse refused = status_with("guess", "192.0.2.1");
  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(refused.headers.find("Retry-After"));
  EXPECT_EQ(status_with("guess", "192.0.2.2").status, 401);
}

TEST_F(Stranger, NorWhereTheyShowTheMetrics) {
  const auto status_of = [&](const std::string& target) {
    HttpRequest request{.method = "GET", .target = target, .headers = {}, .body = {}, .peer = {}};
    request.peer = *IpAddress::parse("192.0.2.1");
    request.headers.add("Authorization", "Bearer a-guess-of-a-token");
    return ask(std::move(request)).status;
  };
  const std::uint64_t most =
      budget::default_budgets().at(static_cast<std::size_t>(budget::Resource::kGuesses)).each;
  for (std::uint64_t i = 0; i < most; ++i) EXPECT_EQ(status_of("/metrics"), 401);
  EXPECT_EQ(status_of("/metrics"), 429);
  EXPECT_EQ(status_of("/admin/status"), 429) << "they are the same tokens";
}

}  // namespace
}  // namespace tagring::node
