// The history of a hashtag on its way into an instance: order, pace, bounds, what is left out, failures and
// restarts.
#include "replay/replay.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "node/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::node {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kInbox = "https://social.example/inbox";
const std::string kHost = "social.example";

class Replaying : public NodeTest {
 protected:
  const WallTime begin_ = loop.wall_now();
  Author mastodon = make_author("https://social.example/actor", kInbox);

  Replaying() {
    mastodon.type = "Application";
    internet.serve(mastodon);
    const json::object may = {{"host", kHost}, {"publishes", true}, {"receives", true}};
    EXPECT_EQ(control("/instances/permit", json::serialize(may)).status, 200);
    EXPECT_EQ(post_signed(follow_text(mastodon, {kEverybody}), mastodon).status, 202);
    settle();
    subscribe("cats");
    internet.calls.clear();
  }

  void subscribe(const std::string& tag, const std::string& verb = "subscribe") {
    const json::object body = {{"host", kHost}, {"tags", json::array{tag}}};
    EXPECT_EQ(control("/instances/" + verb, json::serialize(body)).status, 200);
    settle();
  }
  // Each has an origin of its own, so that none waits for another.
  static std::string host(int number) { return fmt::format("https://far{}.example", number); }
  static std::string uri(int number) { return fmt::format("{}/notes/{:04}", host(number), number); }
  // At its own server.
  void serve(int number, const std::vector<std::string>& tags) {
    const PostText post{.uri = uri(number), .author = host(number) + "/users/f", .tags = tags};
    internet.serve(post.uri, json::serialize(note_object(post)));
  }
  // Posts `from` to `to`, each an hour older than the one before; number 1 is of an hour ago.
  void remember(const std::string& tag, int from, int to) {
    std::vector<storage::HistoryEntry> entries;
    for (int i = from; i <= to; ++i) {
      serve(i, {tag});
      entries.push_back(
          {Tag::from_canonical(tag), uri(i), host(i) + "/users/f", loop.wall_now() - hours(i), false});
    }
    ASSERT_TRUE(run(stores->history.put(std::move(entries))));
  }
  void remove(const std::string& tag, int number) {
    std::vector<storage::HistoryEntry> entries;
    auto page = run(stores->history.page(Tag::from_canonical(tag), std::nullopt, 10'000)).value();
    for (storage::HistoryEntry& known : page.entries) {
      if (known.uri == uri(number)) entries.push_back(std::move(known));
    }
    ASSERT_EQ(entries.size(), 1U);
    entries.front().removed = true;
    ASSERT_TRUE(run(stores->history.put(std::move(entries))));
  }
  static std::string host_of_home(int number) { return fmt::format("https://home{}.example", number); }
  // By an author of its own, on a server of its own.
  Author publish(int number, const std::vector<std::string>& tags) {
    const std::string host = host_of_home(number);
    const Author author = make_author(host + "/users/u");
    const json::object may = {{"host", host_of(host)}, {"publishes", true}, {"receives", false}};
    EXPECT_EQ(control("/instances/permit", json::serialize(may)).status, 200);
    const PostText post{.uri = fmt::format("{}/notes/{}", host, number), .author = author.id, .tags = tags};
    EXPECT_EQ(post_signed(create_text(post), author).status, 202);
    settle();
    return author;
  }
  // Until that time of a day, counted from the one on which the test begins: replays of at most four authors
  // begin on the second day after their order, kOpen after midnight.
  void until(int day, Duration time = replay::ReplayPlaces::kOpen + minutes(5)) {
    const WallTime then = std::chrono::floor<days>(begin_) + days(day) + time;
    ASSERT_GT(then, loop.wall_now());
    settle(then - loop.wall_now());
  }
  HttpResponse replay(json::object options = {}, const std::string& tag = "cats") {
    options["host"] = kHost;
    options["tag"] = tag;
    if (!options.contains("max_age_s")) options["max_age_s"] = 0;
    if (!options.contains("authors_per_day")) options["authors_per_day"] = 0;
    if (!options.contains("may_trend")) options["may_trend"] = true;
    return control("/instances/replay", json::serialize(options));
  }
  json::object progress(const std::string& tag = "cats") {
    const json::object all = json::parse_object(control("/instances/replays").body).value();
    for (const json::value& item : all.at("replays").as_array()) {
      if (item.at("tag").as_string() == tag) return item.as_object();
    }
    return {};
  }
  std::string state(const std::string& tag = "cats") { return json::id_of(progress(tag), "state"); }
  // The posts announced, as numbers, in order.
  std::vector<int> announced() {
    std::vector<int> numbers;
    for (const json::object& sent : internet.posted_to(kInbox)) {
      if (json::id_of(sent, "type") != "Announce") continue;
      const std::string object = json::id_of(sent, "object");
      numbers.push_back(std::stoi(object.substr(object.rfind('/') + 1)));
    }
    return numbers;
  }
  static std::vector<int> from_to(int from, int to) {
    std::vector<int> numbers;
    for (int i = from; from <= to ? i <= to : i >= to; i += from <= to ? 1 : -1) numbers.push_back(i);
    return numbers;
  }
  void inbox_answers(int status) {
    internet.answers[kInbox] = [status](const HttpCall&) { return with_status(status); };
  }
};

// --- what is sent, and in which order ----------------------------------------------------------------------

TEST_F(Replaying, SendsTheAnnouncesThatARelaySends) {
  remember("cats", 1, 1);
  EXPECT_EQ(replay().status, 200);
  settle();
  const std::vector<json::object> sent = internet.posted_to(kInbox);
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(json::id_of(sent[0], "type"), "Announce");
  EXPECT_EQ(json::id_of(sent[0], "actor"), origin + "/actor");
  EXPECT_EQ(json::id_of(sent[0], "object"), uri(1));
  EXPECT_EQ(sent[0].at("to"), json::value(json::array{origin + "/actor/followers"}));
  EXPECT_EQ(sent[0].if_contains("cc"), nullptr);
}

TEST_F(Replaying, WhatItSendsCanBeFetchedByItsIdForAnHourOrUntilThePostIsGone) {
  remember("cats", 1, 1);
  const Author author = publish(31, {"dogs"});
  subscribe("dogs");
  EXPECT_EQ(replay().status, 200);
  EXPECT_EQ(replay({}, "dogs").status, 200);
  settle();
  const std::vector<json::object> sent = internet.posted_to(kInbox);
  ASSERT_THAT(sent, SizeIs(2));
  const auto fetch = [&](const json::object& announce) {
    return get(json::id_of(announce, "id").substr(origin.size()));
  };
  ASSERT_EQ(fetch(sent[0]).status, 200);
  const json::object fetched = json::parse_object(fetch(sent[0]).body).value();
  for (const char* member : {"id", "type", "actor", "object", "to"})
    EXPECT_EQ(fetched.at(member), sent[0].at(member)) << member;
  EXPECT_EQ(fetch(sent[1]).status, 200);
  EXPECT_EQ(post_signed(delete_text(json::id_of(sent[1], "object"), author.id), author).status, 202);
  settle();
  EXPECT_EQ(fetch(sent[0]).status, 200);
  EXPECT_EQ(fetch(sent[1]).status, 404);
  settle(hours(1));
  EXPECT_EQ(fetch(sent[0]).status, 404);
}

TEST_F(Replaying, APostThatWasAnnouncedWhenItWasNewHasTheSameIdAgain) {
  const Author alice = make_author("https://home.example/users/alice");
  const PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  ASSERT_THAT(announced(), ElementsAre(1));
  EXPECT_EQ(replay({{"max_age_s", 86'400 * 90}}).status, 200);
  settle();
  const std::vector<json::object> sent = internet.posted_to(kInbox);
  ASSERT_THAT(sent, SizeIs(2));
  EXPECT_EQ(json::id_of(sent[0], "id"), json::id_of(sent[1], "id"));
}

TEST_F(Replaying, AnInstanceThatAddedAHashtagActorAsRelayHearsFromThatActor) {
  subscribe("cats", "unsubscribe");
  EXPECT_EQ(post_signed(follow_text(mastodon, {kEverybody}), mastodon, "/tag/dogs/inbox").status, 202);
  settle();
  internet.calls.clear();
  remember("dogs", 1, 1);
  EXPECT_EQ(replay({}, "dogs").status, 200);
  settle();
  const std::vector<json::object> sent = internet.posted_to(kInbox);
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(json::id_of(sent[0], "actor"), origin + "/tag/dogs");
  EXPECT_EQ(sent[0].at("to"), json::value(json::array{origin + "/tag/dogs/followers"}));
}

TEST_F(Replaying, LeavesOutWhoBlocksTheHashtag) {
  remember("cats", 1, 3);
  const Author author = make_author(host(2) + "/users/f");
  const json::object block = {{"id", author.id + "/blocks/1"},
                              {"type", "Block"},
                              {"actor", author.id},
                              {"object", origin + "/tag/cats"}};
  EXPECT_EQ(post_signed(json::serialize(block), author).status, 202);
  EXPECT_EQ(replay({{"per_minute", 600}}).status, 200);
  settle(seconds(10));
  EXPECT_THAT(announced(), ElementsAre(1, 3));
}

TEST_F(Replaying, GoesBackFromTheNewestPost) {
  remember("cats", 1, 100);  // three pages
  EXPECT_EQ(replay({{"per_minute", 600}}).status, 200);
  settle(seconds(30));
  EXPECT_EQ(announced(), from_to(1, 100));
  EXPECT_EQ(state(), "done");
}

TEST_F(Replaying, OrComesForwardFromTheOldest) {
  remember("cats", 1, 100);
  EXPECT_EQ(replay({{"order", "oldest_first"}, {"per_minute", 600}}).status, 200);
  settle(seconds(30));
  EXPECT_EQ(announced(), from_to(100, 1));
  EXPECT_EQ(state(), "done");
}

TEST_F(Replaying, PostsThatCameLateGoWithTheirPage) {
  remember("cats", 1, 40);
  remember("cats", 141, 180);
  EXPECT_EQ(replay({{"per_minute", 60}}).status, 200);
  settle(seconds(20));  // on the first page
  remember("cats", 41, 140);
  settle(minutes(4));
  EXPECT_EQ(announced(), from_to(1, 180));
}

TEST_F(Replaying, AnyNumberOfRemovedPostsIsPassedOver) {
  remember("cats", 1, 5);
  std::vector<storage::HistoryEntry> wave;
  for (int i = 0; i < 3'000; ++i)
    wave.push_back({"cats"_tag, uri(1'000 + i), host(1'000 + i) + "/users/f",
                    loop.wall_now() - hours(6) - seconds(i), true});
  ASSERT_TRUE(run(stores->history.put(std::move(wave))));
  remember("cats", 7, 11);
  std::vector<int> all = from_to(1, 5);
  for (const int number : from_to(7, 11)) all.push_back(number);
  for (const char* order : {"newest_first", "oldest_first"}) {
    internet.calls.clear();
    EXPECT_EQ(replay({{"order", order}, {"per_minute", 600}}).status, 200);
    settle(seconds(30));
    EXPECT_EQ(announced(), all) << order;
    std::ranges::reverse(all);
  }
}

TEST_F(Replaying, IsBoundedByAgeAndNumber) {
  remember("cats", 1, 100);
  EXPECT_EQ(replay({{"max_posts", 50}, {"order", "oldest_first"}, {"per_minute", 600}}).status, 200);
  settle(seconds(10));
  EXPECT_EQ(announced(), from_to(50, 1));
  internet.calls.clear();
  EXPECT_EQ(replay({{"max_age_s", 10 * 3600 + 60}, {"per_minute", 600}}).status, 200);
  settle(seconds(10));
  EXPECT_EQ(announced(), from_to(1, 10));
}

TEST_F(Replaying, MoreThanTheNodeAllowsIsRefused) {
  config::Config tight = config();
  tight.replay_max_age_days = 10;
  tight.replay_max_posts = 100;
  start(tight);
  remember("cats", 1, 300);
  EXPECT_EQ(replay({{"max_posts", 101}}).status, 413);
  EXPECT_EQ(replay({{"max_posts", 0}}).status, 400);
  EXPECT_EQ(replay({{"max_age_s", -1}}).status, 400);
  EXPECT_EQ(replay({{"per_minute", 0}}).status, 400);
  EXPECT_EQ(replay({{"per_minute", 601}}).status, 400);
  EXPECT_EQ(replay({{"order", "random"}}).status, 400);
  EXPECT_THAT(rows("SELECT tag FROM replays"), IsEmpty());
  EXPECT_EQ(replay({{"per_minute", 600}}).status, 200);
  settle(minutes(1));
  EXPECT_EQ(announced(), from_to(1, 100));
}

TEST_F(Replaying, OfAnInstanceThatKeepsPostsForLongerThanTheNodeGoesBackThatIsNoFault) {
  config::Config tight = config();
  tight.replay_max_age_days = 2;
  start(tight);
  remember("cats", 1, 47);
  remember("cats", 50, 60);
  for (const std::int64_t kept : {365 * 86'400L, 9'000'000'000'000'000L}) {
    internet.calls.clear();
    const HttpResponse begun = replay({{"max_age_s", kept}, {"per_minute", 600}});
    ASSERT_EQ(begun.status, 200);
    const json::object answer = json::parse_object(begun.body).value();
    const WallTime oldest = from_rfc3339(json::id_of(answer, "not_before")).value();
    EXPECT_LT(loop.wall_now() - days(2) - oldest, seconds(5));
    settle(minutes(1));
    EXPECT_EQ(announced(), from_to(1, 47));
  }
}

// [Mastodon, Vacuum::StatusesVacuum: what an instance does not keep it lets go at once]
TEST_F(Replaying, ItIsToBeSaidHowLongTheInstanceKeepsPosts) {
  remember("cats", 1, 3);
  const HttpResponse unsaid = control("/instances/replay", R"({"host":"social.example","tag":"cats"})");
  EXPECT_EQ(unsaid.status, 400);
  EXPECT_THAT(unsaid.body, HasSubstr("how long the instance keeps posts of others"));
  EXPECT_EQ(progress(), json::object());
  EXPECT_EQ(replay({{"max_age_s", 2 * 3600 + 60}}).status, 200);
  settle(minutes(1));
  EXPECT_EQ(announced(), from_to(1, 2));
  const json::object for_ever = json::parse_object(replay({{"max_age_s", 0}}).body).value();
  const WallTime oldest = from_rfc3339(json::id_of(for_ever, "not_before")).value();
  EXPECT_LT(loop.wall_now() - days(config().replay_max_age_days) - oldest, seconds(5));
}

TEST_F(Replaying, NothingGoesBackToItsOwnServer) {
  remember("cats", 1, 3);
  ASSERT_TRUE(run(stores->history.put({{"cats"_tag, "https://social.example/notes/9",
                                        "https://social.example/u", loop.wall_now() - minutes(90), false}})));
  EXPECT_EQ(replay({{"per_minute", 600}}).status, 200);
  settle();
  EXPECT_EQ(announced(), from_to(1, 3));
  EXPECT_EQ(progress().at("skipped").as_int64(), 1);
}

TEST_F(Replaying, WhatIsBlockedOrKeptApartIsNotSent) {
  remember("cats", 1, 3);
  const auto add = [&](const std::string& host, int minutes_ago) {
    ASSERT_TRUE(
        run(stores->history.put({{"cats"_tag, "https://" + host + "/notes/9", "https://" + host + "/u",
                                  loop.wall_now() - minutes(minutes_ago), false}})));
  };
  add("bad.example", 70);
  add("rival.example", 80);
  add("bad.author.example", 90);
  for (const auto& [path, body] : std::map<std::string, std::string>{
           {"/blocks/add", R"({"kind":"domain","what":"bad.example"})"},
           {"/separations/add",
            R"({"host":"social.example","other":"rival.example","direction":"receive"})"}}) {
    EXPECT_EQ(control(path, body).status, 200) << body;
  }
  EXPECT_EQ(control("/blocks/add", R"({"kind":"author","what":"https://bad.author.example/u"})").status, 200);
  EXPECT_EQ(replay({{"per_minute", 600}}).status, 200);
  settle(seconds(10));
  EXPECT_EQ(announced(), from_to(1, 3));
  EXPECT_EQ(progress().at("skipped").as_int64(), 1);
}

TEST_F(Replaying, WhatIsBlockedMeanwhileIsNotSentFromThatMomentOn) {
  remember("cats", 1, 5);
  EXPECT_EQ(replay({{"per_minute", 30}}).status, 200);
  settle(seconds(1));
  ASSERT_THAT(announced(), ElementsAre(1));
  EXPECT_EQ(control("/blocks/add", R"({"kind":"domain","what":"far2.example"})").status, 200);
  EXPECT_EQ(control("/blocks/add", R"({"kind":"author","what":"https://far4.example/users/f"})").status, 200);
  settle(seconds(30));
  EXPECT_THAT(announced(), ElementsAre(1, 3, 5));
  EXPECT_EQ(state(), "done");
}

TEST_F(Replaying, APostThatIsDeletedMeanwhileIsNotSent) {
  remember("cats", 1, 100);
  EXPECT_EQ(replay({{"order", "oldest_first"}}).status, 200);
  settle(seconds(5));
  remove("cats", 50);  // two pages on
  remove("cats", 20);
  settle(minutes(3));
  std::vector<int> expected = from_to(100, 1);
  std::erase_if(expected, [](int number) { return number == 50 || number == 20; });
  EXPECT_EQ(announced(), expected);
  EXPECT_EQ(state(), "done");
}

TEST_F(Replaying, APageIsReadAgainAfterAMinute) {
  remember("cats", 1, 30);
  EXPECT_EQ(replay({{"per_minute", 6}}).status, 200);
  settle(seconds(5));
  remove("cats", 12);  // its turn comes after two minutes
  settle(minutes(6));
  std::vector<int> expected = from_to(1, 30);
  std::erase(expected, 12);
  EXPECT_EQ(announced(), expected);
}

TEST_F(Replaying, APostUnderTwoHashtagsIsSentOnceWhileBothAreReplayed) {
  subscribe("dogs");
  remember("cats", 1, 60);
  remember("dogs", 31, 90);
  EXPECT_EQ(replay({{"per_minute", 600}}).status, 200);
  EXPECT_EQ(replay({{"per_minute", 600}}, "dogs").status, 200);
  settle(seconds(30));
  EXPECT_EQ(announced(), from_to(1, 90));
  EXPECT_EQ(progress("dogs").at("skipped").as_int64(), 30);
  EXPECT_THAT(rows("SELECT host FROM replay_sent"), IsEmpty());
  EXPECT_THAT(rows("SELECT tag FROM replay_pages"), IsEmpty());
}

// --- pace and progress -------------------------------------------------------------------------------------

TEST_F(Replaying, KeepsToItsRate) {
  subscribe("dogs");
  remember("cats", 1, 100);
  remember("dogs", 101, 200);
  EXPECT_EQ(replay({{"per_minute", 30}}).status, 200);
  EXPECT_EQ(replay({{"per_minute", 30}}, "dogs").status, 200);  // the instance's rate, not the replay's
  settle(minutes(2));
  EXPECT_GE(announced().size(), 58U);
  EXPECT_LE(announced().size(), 61U);
}

TEST_F(Replaying, TellsHowFarItIs) {
  remember("cats", 1, 100);
  EXPECT_EQ(replay({{"per_minute", 60}}).status, 200);
  settle(seconds(10));
  const json::object now = progress();
  EXPECT_EQ(json::id_of(now, "host"), kHost);
  EXPECT_EQ(json::id_of(now, "state"), "sending");
  EXPECT_EQ(json::id_of(now, "order"), "newest_first");
  EXPECT_EQ(now.at("estimated").as_int64(), 100);
  EXPECT_EQ(now.at("per_minute").as_int64(), 60);
  const auto sent = static_cast<std::size_t>(now.at("sent").as_int64());
  EXPECT_EQ(sent, announced().size());
  const WallTime newest = from_rfc3339(json::id_of(now, "newest")).value();
  const WallTime oldest = from_rfc3339(json::id_of(now, "oldest")).value();
  EXPECT_EQ(newest - oldest, hours(sent - 1));
  EXPECT_EQ(status().at("replaying").as_uint64(), 1U);
}

TEST_F(Replaying, NeedsASubscriptionAndRunsOnceAtATime) {
  EXPECT_EQ(replay({}, "dogs").status, 404);
  remember("cats", 1, 100);
  EXPECT_EQ(replay().status, 200);
  EXPECT_EQ(replay().status, 409);
  EXPECT_EQ(control("/instances/replay", R"({"host":"other.example","tag":"cats","max_age_s":0})").status,
            404);
}

TEST_F(Replaying, CanBeCancelledAndBegunAnew) {
  remember("cats", 1, 100);
  EXPECT_EQ(replay().status, 200);
  settle(seconds(10));
  const std::string body = R"({"host":"social.example","tag":"#Cats"})";
  EXPECT_EQ(control("/instances/cancel-replay", body).status, 200);
  EXPECT_EQ(control("/instances/cancel-replay", body).status, 404);
  internet.calls.clear();
  settle(minutes(1));
  EXPECT_THAT(announced(), IsEmpty());
  EXPECT_EQ(state(), "cancelled");
  EXPECT_EQ(replay({{"per_minute", 600}}).status, 200);
  settle(seconds(15));
  EXPECT_EQ(announced(), from_to(1, 100));
}

TEST_F(Replaying, AnOrderThatCannotBeWrittenDownTakesNothingFromTheOneBefore) {
  const auto write = [this](const char* statement) {
    const auto execute = [statement](sql::Connection& db) { return db.execute(statement); };
    ASSERT_TRUE(run(stores->database->write(execute)));
  };
  remember("cats", 1, 8);
  EXPECT_EQ(replay({{"authors_per_day", 5}, {"per_minute", 600}}).status, 200);
  settle(minutes(5));
  EXPECT_EQ(announced(), from_to(1, 5));
  EXPECT_EQ(control("/instances/cancel-replay", R"({"host":"social.example","tag":"cats"})").status, 200);
  const json::object before = progress();
  const json::object other_way = {{"authors_per_day", 5}, {"per_minute", 600}, {"order", "oldest_first"}};
  write("CREATE TRIGGER refuse BEFORE INSERT ON replays BEGIN SELECT RAISE(ABORT, 'no'); END");
  EXPECT_NE(replay(other_way).status, 200);
  write("DROP TRIGGER refuse");
  EXPECT_EQ(progress(), before);
  EXPECT_EQ(replay(other_way).status, 200);
  start(config());
  internet.calls.clear();
  settle(minutes(5));
  EXPECT_THAT(announced(), IsEmpty()) << "five had come on this day";
}

TEST_F(Replaying, BegunAnewAtOnceTheOtherWayRoundItSendsEveryPost) {
  remember("cats", 1, 100);
  EXPECT_EQ(replay({{"order", "oldest_first"}}).status, 200);
  settle(seconds(10));
  EXPECT_EQ(control("/instances/cancel-replay", R"({"host":"social.example","tag":"cats"})").status, 200);
  EXPECT_EQ(replay({{"order", "newest_first"}, {"per_minute", 600}}).status, 200);
  internet.calls.clear();
  settle(minutes(1));
  EXPECT_EQ(announced(), from_to(1, 100));
  EXPECT_EQ(state(), "done");
}

TEST_F(Replaying, EndsWhenTheInstanceIsNotSubscribedAnyMore) {
  remember("cats", 1, 100);
  EXPECT_EQ(replay().status, 200);
  settle(seconds(10));
  subscribe("cats", "unsubscribe");
  const std::size_t sent = announced().size();
  settle(minutes(1));
  EXPECT_LE(announced().size(), sent + 1);
  EXPECT_EQ(state(), "failed");
  EXPECT_THAT(json::id_of(progress(), "reason"), HasSubstr("not subscribed"));
}

// Whoever gets a post fetches it there.
TEST_F(Replaying, DoesNotSendEverybodyToOneOriginAtOnce) {
  subscribe("dogs");
  std::vector<storage::HistoryEntry> entries;
  for (int i = 1; i <= 20; ++i) {
    entries.push_back({i % 2 == 0 ? "cats"_tag : "dogs"_tag, fmt::format("https://far.example/notes/{}", i),
                       "https://far.example/users/f", loop.wall_now() - hours(i), false});
  }
  ASSERT_TRUE(run(stores->history.put(std::move(entries))));
  EXPECT_EQ(replay({{"per_minute", 600}}).status, 200);
  EXPECT_EQ(replay({{"per_minute", 600}}, "dogs").status, 200);
  settle(replay::Replayer::kOriginEvery * 5);
  EXPECT_GE(announced().size(), 4U);
  EXPECT_LE(announced().size(), 6U);
  settle(replay::Replayer::kOriginEvery * 40);
  EXPECT_THAT(announced(), SizeIs(20));
}

TEST_F(Replaying, CountsWhatItPassesOverThoughTheNextPostHasToWait) {
  std::vector<storage::HistoryEntry> entries;
  for (int i = 1; i <= 5; ++i) {
    const std::string origin_of_post = i % 2 == 0 ? "https://social.example" : "https://far.example";
    entries.push_back({"cats"_tag, fmt::format("{}/notes/{}", origin_of_post, i), origin_of_post + "/users/f",
                       loop.wall_now() - hours(i), false});
  }
  ASSERT_TRUE(run(stores->history.put(std::move(entries))));
  EXPECT_EQ(replay({{"per_minute", 600}}).status, 200);
  settle(replay::Replayer::kOriginEvery * 5);
  EXPECT_THAT(announced(), ElementsAre(1, 3, 5));
  EXPECT_EQ(state(), "done");
  EXPECT_EQ(progress().at("sent").as_int64(), 3);
  EXPECT_EQ(progress().at("skipped").as_int64(), 2);
}

// [Mastodon, Trends::Tags: five accounts of a day; they count on the day on which the post comes]
TEST_F(Replaying, BringsFewerAuthorsADayThanMakeATrend) {
  remember("cats", 1, 10);
  subscribe("dogs");
  remember("dogs", 21, 22);
  const json::object wish = {{"host", kHost}, {"tag", "cats"}, {"max_age_s", 0}, {"per_minute", 600}};
  const HttpResponse begun = control("/instances/replay", json::serialize(wish));
  EXPECT_EQ(begun.status, 200);
  EXPECT_THAT(begun.body, HasSubstr(R"("begins":"2026-01-03T18:00:00)"));
  EXPECT_EQ(replay({{"authors_per_day", 4}}, "dogs").status, 200);
  until(2, replay::ReplayPlaces::kOpen - minutes(1));
  EXPECT_THAT(announced(), IsEmpty());
  EXPECT_THAT(json::id_of(progress(), "waits_until"), HasSubstr("2026-01-03T18:00:00"));
  EXPECT_NE(json::id_of(progress(), "waits_for"), "");
  until(2);
  std::vector<int> all = announced();
  const auto sent = [&] { return std::set<int>(all.begin(), all.end()); };
  EXPECT_THAT(sent(), ElementsAre(1, 2, 3, 4, 21, 22)) << "another hashtag need not wait";
  EXPECT_THAT(json::id_of(progress(), "waits_until"), HasSubstr("2026-01-04T18:00:00"));
  // Neither a restart nor another replay makes more of it.
  start(config());
  settle(minutes(5));
  EXPECT_EQ(control("/instances/cancel-replay", R"({"host":"social.example","tag":"cats"})").status, 200);
  EXPECT_EQ(replay({{"authors_per_day", 5}, {"per_minute", 600}}).status, 200);
  settle(minutes(5));
  all = announced();
  EXPECT_THAT(sent(), ElementsAre(1, 2, 3, 4, 5, 21, 22));
  EXPECT_EQ(control("/instances/cancel-replay", R"({"host":"social.example","tag":"cats"})").status, 200);
  EXPECT_EQ(replay({{"authors_per_day", 4}, {"per_minute", 600}}).status, 200);
  internet.calls.clear();
  until(5);
  EXPECT_EQ(announced(), from_to(1, 8));
  until(6);
  EXPECT_EQ(announced(), from_to(1, 10));
  EXPECT_EQ(state(), "done");
}

// They come before and after the replay's hour, and a restart makes nothing of it.
TEST_F(Replaying, LeavesPlacesToThoseWhoComeByThemselvesLaterInTheDay) {
  remember("cats", 1, 6);
  EXPECT_EQ(replay({{"authors_per_day", 4}, {"per_minute", 600}}).status, 200);
  int number = 30;
  for (int day = 0; day <= 4; ++day) {
    if (day > 0) until(day, hours(10));
    internet.calls.clear();
    publish(++number, {"cats"});
    until(day, hours(17));
    if (day == 3) start(config());
    until(day, hours(22));
    publish(++number, {"cats"});
    until(day, hours(24) - minutes(1));
    const std::vector<int> all = announced();
    const std::size_t brought = day < 2 ? 0 : 2;
    EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), 2 + brought) << day;
  }
  EXPECT_EQ(state(), "done");
  EXPECT_EQ(progress().at("sent").as_int64(), 6);
}

TEST_F(Replaying, OfAHashtagWithAsManyAuthorsByItselfNothingGoesAndItIsSaidWhy) {
  remember("cats", 1, 3);
  const auto a_day = [this](int day) {
    until(day, hours(3));
    for (int i = 1; i <= 5; ++i) publish(100 + 10 * day + i, {"cats"});
  };
  a_day(0);
  const HttpResponse begun = replay({{"authors_per_day", 4}, {"per_minute", 600}});
  EXPECT_THAT(begun.body, HasSubstr("#cats has 5 authors a day by itself here"));
  EXPECT_THAT(begun.body, HasSubstr("--may-trend"));
  for (int day = 1; day <= 3; ++day) {
    a_day(day);
    internet.calls.clear();
    until(day, hours(20));
    EXPECT_THAT(announced(), IsEmpty()) << day;
    EXPECT_EQ(state(), "sending");
    EXPECT_THAT(json::id_of(progress(), "waits_for"), HasSubstr("#cats has 5 authors a day by itself here"));
    if (day == 2) start(config());
  }
  until(3, hours(21));
  EXPECT_THAT(json::id_of(progress(), "waits_for"), HasSubstr("--may-trend"));
  EXPECT_EQ(control("/instances/cancel-replay", R"({"host":"social.example","tag":"cats"})").status, 200);
  EXPECT_EQ(replay({{"authors_per_day", 8}, {"max_posts", 3}, {"per_minute", 600}}).status, 200);
  settle(minutes(5));
  EXPECT_EQ(announced(), from_to(1, 3)) << "who wants more gets more, at once";
}

TEST_F(Replaying, AHashtagThatIsBusyNoMoreIsReplayedAfterAll) {
  remember("cats", 1, 3);
  for (int i = 31; i <= 35; ++i) publish(i, {"cats"});
  EXPECT_EQ(replay({{"authors_per_day", 4}, {"max_posts", 3}, {"per_minute", 600}}).status, 200);
  internet.calls.clear();
  until(2);
  EXPECT_THAT(announced(), IsEmpty());
  until(3);
  EXPECT_EQ(announced(), from_to(1, 3));
}

TEST_F(Replaying, CountsTheAuthorsOfTheDaysOwnPostsAndUnderAllHashtagsOfAPost) {
  // Of before the instance wanted dogs.
  publish(31, {"dogs", "cats"});
  publish(32, {"dogs", "cats"});
  publish(33, {"dogs"});
  publish(34, {"dogs"});
  subscribe("dogs");
  EXPECT_EQ(replay({{"authors_per_day", 4}, {"per_minute", 600}}, "dogs").status, 200);
  until(3, hours(17));
  for (int i = 35; i <= 37; ++i) publish(i, {"cats"});
  start(config());
  settle();
  internet.calls.clear();
  until(3);
  EXPECT_THAT(announced(), ElementsAre(34, 33, 32)) << "#cats has three authors by itself";
  until(4);
  EXPECT_THAT(announced(), ElementsAre(34, 33, 32, 31));
  EXPECT_EQ(state("dogs"), "done");
}

// They came into this node's feed, and not to the instance; but as many will come.
TEST_F(Replaying, TheDaysPostsOfBeforeTheSubscriptionAreHistoryAsAnyOther) {
  for (int i = 31; i <= 36; ++i) publish(i, {"dogs"});
  const Author local = make_author("https://social.example/users/local");
  const PostText own{.uri = "https://social.example/notes/1", .author = local.id, .tags = {"dogs"}};
  EXPECT_EQ(post_signed(create_text(own), local).status, 202);
  settle();
  subscribe("dogs");
  publish(37, {"dogs"});
  ASSERT_THAT(announced(), ElementsAre(37));
  internet.calls.clear();
  EXPECT_EQ(replay({{"authors_per_day", 5}, {"per_minute", 600}}, "dogs").status, 200);
  settle(minutes(5));
  EXPECT_THAT(announced(), ElementsAre(37, 36, 35, 34)) << "with its own author's five";
  start(config());
  settle(minutes(5));
  EXPECT_THAT(announced(), SizeIs(4));
  settle(days(1));
  EXPECT_THAT(announced(), SizeIs(4));
  EXPECT_THAT(json::id_of(progress("dogs"), "waits_for"), HasSubstr("#dogs has 8 authors a day by itself"));
  settle(days(2));
  EXPECT_THAT(announced(), ElementsAre(37, 36, 35, 34, 33, 32, 31));
}

// Nothing behind it is held up by what waits for a place that is not to be had.
TEST_F(Replaying, LeavesOutWhatIsUnderABusyHashtagTooThoughTheInstanceDoesNotGetThat) {
  subscribe("dogs");
  remember("dogs", 1, 2);
  serve(1, {"dogs", "pets"});
  EXPECT_EQ(replay({{"authors_per_day", 4}, {"per_minute", 600}}, "dogs").status, 200);
  until(2, hours(17));
  for (int i = 31; i <= 34; ++i) publish(i, {"cats", "pets"});
  start(config());
  settle();
  internet.calls.clear();
  until(2);
  EXPECT_THAT(announced(), ElementsAre(2));
  EXPECT_EQ(state("dogs"), "done");
  EXPECT_EQ(progress("dogs").at("skipped").as_int64(), 1);
  EXPECT_THAT(json::id_of(progress("dogs"), "reason"), HasSubstr("#pets has 4 authors a day by itself here"));
}

// Its author has a place under #cats, as who came live; of #pets nothing is known for days.
TEST_F(Replaying, WhatIsUnderAnotherHashtagIsNotLostWhereTooMuchComesToRememberIt) {
  const Author author = publish(31, {"cats", "pets"});
  const PostText post{
      .uri = "https://home31.example/notes/31", .author = author.id, .tags = {"cats", "pets"}};
  internet.serve(post.uri, json::serialize(note_object(post)));
  EXPECT_EQ(replay({{"authors_per_day", 4}, {"per_minute", 600}}).status, 200);
  until(2, hours(17));
  const auto came = [this](const std::string& tag, const std::string& uri, const std::string& by) {
    return delivery::TagEvent{Tag::from_canonical(tag), delivery::Op::kAdd, uri, by, loop.wall_now(), true};
  };
  std::vector<delivery::TagEvent> events = {came("cats", "https://home31.example/notes/99", author.id)};
  for (std::size_t i = 0; 3 * i < budget::DayAuthors::kMax; ++i)
    events.push_back(came("birds", fmt::format("{}/1", host(1'000 + static_cast<int>(i))),
                          fmt::format("{}/u", host(1'000 + static_cast<int>(i)))));
  ASSERT_TRUE(run(stores->relay.accept(std::move(events), 0)));
  start(config());
  settle(minutes(1));
  internet.calls.clear();
  until(2, hours(20));
  EXPECT_THAT(announced(), IsEmpty());
  EXPECT_EQ(state(), "sending");
  EXPECT_EQ(progress().at("skipped").as_int64(), 0);
  EXPECT_THAT(json::id_of(progress(), "waits_for"), HasSubstr("more posts came in a day"));
  until(5);
  EXPECT_THAT(announced(), ElementsAre(31));
  EXPECT_EQ(state(), "done");
}

// The first one of the day by a hashtag that the instance does get.
TEST_F(Replaying, CountsALivePostThatComesWhileItLooksUpWhatTheInstanceGot) {
  for (const char* tag : {"dogs", "birds"}) subscribe(tag);
  for (int i = 31; i <= 34; ++i) publish(i, {"cats", "pets"});
  remember("dogs", 1, 1);
  serve(1, {"dogs", "pets"});
  internet.calls.clear();
  database_pause = std::chrono::seconds(30);
  EXPECT_EQ(replay({{"authors_per_day", 5}, {"per_minute", 600}}, "dogs").status, 200);
  for (int i = 0; internet.sent_to(uri(1)).empty() && i < 600; ++i) loop.run_for(std::chrono::seconds(1));
  loop.run_for(std::chrono::seconds(1));
  database_pause = Duration::zero();
  publish(35, {"birds", "pets"});
  settle(minutes(5));
  EXPECT_THAT(announced(), ElementsAre(35)) << "#pets has five authors today";
  EXPECT_EQ(progress("dogs").at("skipped").as_int64(), 1);
}

TEST_F(Replaying, ASubscriptionThatBeginsAnewForgetsNoneOfTheDaysAuthors) {
  remember("cats", 1, 4);
  const auto expect_room_for_one = [this] {
    internet.calls.clear();
    EXPECT_EQ(replay({{"authors_per_day", 5}, {"per_minute", 600}}).status, 200);
    settle(minutes(5));
    EXPECT_THAT(announced(), ElementsAre(1));
    start(config());
    settle(minutes(5));
    EXPECT_THAT(announced(), ElementsAre(1));
    EXPECT_EQ(control("/instances/cancel-replay", R"({"host":"social.example","tag":"cats"})").status, 200);
    settle(days(3));
  };
  for (int i = 31; i <= 34; ++i) publish(i, {"cats"});
  subscribe("cats", "unsubscribe");
  for (int i = 35; i <= 37; ++i) publish(i, {"cats"});  // which do not come there
  subscribe("cats");
  expect_room_for_one();
  for (int i = 41; i <= 44; ++i) publish(i, {"cats"});
  for (const char* path : {"/blocks/add", "/blocks/remove"}) {
    EXPECT_EQ(control(path, R"({"kind":"tag","what":"cats"})").status, 200);
    settle();
  }
  expect_room_for_one();
}

// Who was told of a post only by a replay has it, and who was told by nobody has not.
TEST_F(Replaying, WhatWasReplayedIsUndoneWhenItIsDeletedAndNothingElseOfBeforeTheSubscription) {
  const Author replayed = publish(1, {"dogs"});
  const Author other = publish(2, {"birds"});
  subscribe("dogs");
  subscribe("birds");
  EXPECT_EQ(replay({}, "dogs").status, 200);
  settle(minutes(1));
  ASSERT_THAT(announced(), ElementsAre(1));
  start(config());
  internet.calls.clear();
  EXPECT_EQ(post_signed(delete_text("https://home1.example/notes/1", replayed.id), replayed).status, 202);
  EXPECT_EQ(post_signed(delete_text("https://home2.example/notes/2", other.id), other).status, 202);
  settle();
  const std::vector<json::object> sent = internet.posted_to(kInbox);
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(json::id_of(sent[0], "type"), "Undo");
  EXPECT_EQ(sent[0].at("object").at("object"), "https://home1.example/notes/1");
}

TEST_F(Replaying, ARestartForgetsNoneOfTheDaysAuthorsUnderAnyHashtag) {
  subscribe("dogs");
  for (int i = 31; i <= 35; ++i)
    publish(i, i <= 32 ? std::vector<std::string>{"dogs", "cats"} : std::vector<std::string>{"cats"});
  until(3, hours(1));
  start(config());
  settle();
  internet.calls.clear();
  EXPECT_EQ(replay({{"authors_per_day", 5}, {"per_minute", 600}}, "dogs").status, 200);
  settle(minutes(5));
  EXPECT_THAT(announced(), ElementsAre(32, 31));
  start(config());
  settle();
  internet.calls.clear();
  remember("cats", 1, 5);
  EXPECT_EQ(replay({{"authors_per_day", 5}, {"per_minute", 600}}).status, 200);
  settle(minutes(5));
  EXPECT_THAT(announced(), ElementsAre(1, 2, 3)) << "and those of 32 and 31 make five";
}

// Of each of the instances' own posts the hashtags are read, one after the other.
TEST_F(Replaying, TheNodeServesBeforeTheFeedIsReadAndReplaysWaitForThat) {
  for (int i = 41; i <= 80; ++i) publish(i, {"dogs"});
  for (int i = 31; i <= 32; ++i) publish(i, {"cats"});
  const Author late = publish(33, {"pets"});
  remember("cats", 1, 5);
  const std::string end = rows("SELECT max(seq) FROM feed").front();
  prepare(config());
  database_pause = Duration(100);
  ASSERT_TRUE(run(node->start()));
  internet.calls.clear();
  const json::object reading = status();
  ASSERT_TRUE(reading.contains("reading_feed"));
  EXPECT_EQ(reading.at("reading_feed").at("read"), 0U);
  EXPECT_EQ(json::serialize(reading.at("reading_feed").at("of")), end);
  EXPECT_FALSE(reading.at("idle").as_bool());
  EXPECT_EQ(get("/actor").status, 200);
  const std::string unknown = "/announces/0123456789abcdef0123456789abcdef";
  EXPECT_EQ(get(unknown).status, 503) << "it may be known when all is read";
  EXPECT_EQ(replay({{"authors_per_day", 5}, {"per_minute", 600}}).status, 200);
  const PostText post{.uri = host_of_home(33) + "/notes/133", .author = late.id, .tags = {"cats"}};
  EXPECT_EQ(post_signed(create_text(post), late).status, 202);
  settle(milliseconds(1'500));
  ASSERT_TRUE(status().contains("reading_feed"));
  EXPECT_EQ(json::id_of(progress(), "waits_for"), "what came of late is being read");
  EXPECT_THAT(announced(), IsEmpty());
  settle(seconds(30));
  database_pause = Duration::zero();
  settle(minutes(5));
  EXPECT_FALSE(status().contains("reading_feed"));
  EXPECT_EQ(get(unknown).status, 404);
  EXPECT_THAT(announced(), testing::UnorderedElementsAre(133, 1, 2)) << "with 31, 32 and 33 these are five";
}

// Posts of other nodes, whose other hashtags stand in them alone.
TEST_F(Replaying, CountsTheAuthorsOfTwoReplaysUnderTheHashtagThatTheirPostsShare) {
  subscribe("dogs");
  remember("cats", 1, 6);
  remember("dogs", 11, 16);
  for (const int i : {1, 2, 3, 4, 5, 6, 11, 12}) serve(i, {i < 10 ? "cats" : "dogs", "pets"});
  EXPECT_EQ(replay({{"authors_per_day", 4}, {"per_minute", 600}}).status, 200);
  EXPECT_EQ(replay({{"authors_per_day", 4}, {"per_minute", 600}}, "dogs").status, 200);
  until(2);
  EXPECT_THAT(announced(), ElementsAre(1, 2, 3, 4)) << "#pets has four authors today";
  start(config());
  settle(minutes(5));
  EXPECT_THAT(announced(), SizeIs(4));
  until(3);
  EXPECT_THAT(announced(), SizeIs(10)) << "5, 6, 11 and 12 under #pets, and 13 and 14";
  until(4);
  EXPECT_THAT(announced(), SizeIs(12));
}

// What was sent today is written with each post.
TEST_F(Replaying, AnAuthorWithAnyNumberOfHashtagsWaitsForTheNextDay) {
  std::vector<storage::HistoryEntry> entries;
  for (int i = 1; i <= 200; ++i) {
    std::vector<std::string> tags;
    for (int j = 0; j < 60; ++j) tags.push_back(fmt::format("cat{}", 60 * i + j));
    const PostText post{.uri = fmt::format("https://far.example/notes/{}", i),
                        .author = "https://far.example/u",
                        .tags = std::move(tags)};
    internet.serve(post.uri, json::serialize(note_object(post)));
    entries.push_back({"cats"_tag, post.uri, post.author, loop.wall_now() - minutes(i), false});
  }
  ASSERT_TRUE(run(stores->history.put(std::move(entries))));
  EXPECT_EQ(replay({{"authors_per_day", 4}}).status, 200);
  until(2, hours(20));
  EXPECT_THAT(announced(), SizeIs(167)) << "60 each, and #cats, make 10,000";
  until(3, hours(20));
  EXPECT_THAT(announced(), SizeIs(200));
}

TEST_F(Replaying, AsksTheServerOfAPostOnceForItsHashtags) {
  remember("cats", 1, 1);
  inbox_answers(503);
  EXPECT_EQ(replay({{"authors_per_day", 4}}).status, 200);
  until(2, hours(19));
  EXPECT_GT(announced().size(), 5U);
  EXPECT_THAT(internet.sent_to(uri(1)), SizeIs(1));
}

TEST_F(Replaying, APostWhoseServerAnswersAfterMidnightWaitsForTheEvening) {
  remember("cats", 1, 1);
  inbox_answers(503);
  EXPECT_EQ(replay({{"authors_per_day", 4}}).status, 200);
  until(2, hours(24) - minutes(2));
  internet.answers.clear();
  internet.calls.clear();
  internet.delays[uri(1)] = minutes(3);
  start(config());  // and asks it once more
  until(3, hours(17));
  EXPECT_THAT(internet.sent_to(uri(1)), SizeIs(1));
  EXPECT_THAT(announced(), IsEmpty());
  internet.delays.clear();
  until(3);
  EXPECT_THAT(announced(), ElementsAre(1));
}

TEST_F(Replaying, AsksTheServerOfAPostThatHadToWaitForTheNextDayOnceMore) {
  remember("cats", 1, 5);
  EXPECT_EQ(replay({{"authors_per_day", 4}, {"per_minute", 600}}).status, 200);
  until(2);
  ASSERT_EQ(announced(), from_to(1, 4));
  EXPECT_THAT(internet.sent_to(uri(5)), SizeIs(1));
  until(3);
  EXPECT_EQ(announced(), from_to(1, 5));
  EXPECT_THAT(internet.sent_to(uri(5)), SizeIs(2));
}

TEST_F(Replaying, WhatItsServerDoesNotShowIsLeftOut) {
  remember("cats", 1, 3);
  internet.documents.erase(uri(1));
  internet.serve(uri(2), json::serialize(json::object{{"id", uri(2)}, {"type", "Tombstone"}}));
  EXPECT_EQ(replay({{"authors_per_day", 4}}).status, 200);
  until(2);
  EXPECT_THAT(announced(), ElementsAre(3));
  EXPECT_EQ(state(), "done");
  EXPECT_EQ(progress().at("skipped").as_int64(), 2);
}

TEST_F(Replaying, AServerThatIsSilentIsAskedAgainAndThenItsPostsAreLeftOut) {
  const auto away = [](const HttpCall&) { return with_status(503); };
  subscribe("dogs");
  remember("cats", 1, 3);
  remember("dogs", 11, 11);
  internet.answers[uri(1)] = away;
  internet.answers[uri(2)] = away;
  EXPECT_EQ(replay({{"authors_per_day", 4}}).status, 200);
  EXPECT_EQ(replay({{"authors_per_day", 4}}, "dogs").status, 200);
  until(2);
  EXPECT_THAT(announced(), ElementsAre(11)) << "another replay goes on";
  EXPECT_THAT(json::id_of(progress(), "waits_for"), HasSubstr("far1.example does not answer"));
  internet.answers.erase(uri(1));
  settle(minutes(10));
  EXPECT_THAT(announced(), ElementsAre(11, 1)) << "nothing is lost";
  settle(hours(2));
  EXPECT_THAT(announced(), ElementsAre(11, 1, 3));
  EXPECT_THAT(internet.sent_to(uri(2)), SizeIs(6));
}

TEST_F(Replaying, HoweverManyReplaysAskAServerThatIsSilentForAMomentNoPostIsLost) {
  std::vector<storage::HistoryEntry> entries;
  for (int i = 1; i <= 6; ++i) {
    const Tag tag = Tag::from_canonical(fmt::format("tag{}", i));
    subscribe(tag.canonical());
    const PostText post{.uri = fmt::format("{}/notes/{}", host(1), i),
                        .author = fmt::format("{}/users/{}", host(1), i),
                        .tags = {tag.canonical()}};
    internet.answers[post.uri] = [](const HttpCall&) { return with_status(503); };
    internet.serve(post.uri, json::serialize(note_object(post)));
    entries.push_back({tag, post.uri, post.author, loop.wall_now() - hours(i), false});
  }
  ASSERT_TRUE(run(stores->history.put(std::move(entries))));
  for (int i = 1; i <= 6; ++i)
    EXPECT_EQ(replay({{"authors_per_day", 4}}, fmt::format("tag{}", i)).status, 200);
  until(2, hours(18) + minutes(2));
  EXPECT_GE(internet.calls.size(), 6U);
  internet.answers.clear();
  settle(minutes(20));
  EXPECT_THAT(announced(), testing::UnorderedElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(Replaying, AServerThatAskedToBeLeftAloneIsNotTakenToBeSilent) {
  remember("cats", 1, 3);
  internet.answers[uri(1)] = [](const HttpCall&) {
    HttpResponse response = with_status(429);
    response.headers.add("Retry-After", "3600");
    return Result<HttpResponse>(response);
  };
  EXPECT_EQ(replay({{"authors_per_day", 4}}).status, 200);
  until(2, hours(21));
  EXPECT_GT(internet.sent_to(uri(1)).size(), 2U);
  EXPECT_LT(internet.sent_to(uri(1)).size(), 5U);
  EXPECT_THAT(announced(), IsEmpty());
  internet.answers.clear();
  settle(hours(1) + minutes(1));
  EXPECT_THAT(announced(), ElementsAre(1, 2, 3));
}

TEST_F(Replaying, MakesNoTrendUnlessItIsSaidThatItMay) {
  for (const int authors : {0, 5}) {
    const HttpResponse refused = replay({{"authors_per_day", authors}, {"may_trend", false}});
    EXPECT_EQ(refused.status, 400);
    EXPECT_THAT(refused.body, HasSubstr("--may-trend"));
  }
  EXPECT_EQ(progress(), json::object());
  EXPECT_EQ(replay({{"authors_per_day", 4}, {"may_trend", false}}).status, 200);
}

TEST_F(Replaying, SaysWhatMoreAuthorsADayCome) {
  remember("cats", 1, 10);
  const HttpResponse more = replay({{"authors_per_day", 8}, {"per_minute", 600}});
  EXPECT_THAT(more.body, HasSubstr(R"("trends":true)"));
  settle(minutes(1));
  EXPECT_EQ(announced(), from_to(1, 8));
  EXPECT_EQ(replay({{"authors_per_day", 1'001}}).status, 400);
}

// [Mastodon, Vacuum::StatusesVacuum: older than the content cache retention period, whenever it came]
TEST_F(Replaying, WhatIsTooOldWhenItsTurnComesIsLeftOut) {
  remember("cats", 1, 20);
  // An hour more than the oldest one has when the first go.
  EXPECT_EQ(replay({{"max_age_s", (66 + 21) * 3600}, {"authors_per_day", 4}, {"per_minute", 600}}).status,
            200);
  until(2);
  EXPECT_EQ(announced(), from_to(1, 4));
  until(3);
  EXPECT_EQ(announced(), from_to(1, 4));
  EXPECT_EQ(state(), "done");
  EXPECT_EQ(progress().at("skipped").as_int64(), 16);
  EXPECT_THAT(json::id_of(progress(), "reason"), HasSubstr("older than the instance keeps them"));
}

TEST_F(Replaying, WhatWouldAllBeTooOldWhenTheFirstOnesGoIsNotBegun) {
  remember("cats", 1, 3);
  for (const int kept : {12, 24, 48}) {
    const HttpResponse refused = replay({{"max_age_s", kept * 3600}, {"authors_per_day", 4}});
    EXPECT_EQ(refused.status, 400);
    EXPECT_THAT(refused.body, HasSubstr(fmt::format("older than {} hours", kept)));
    EXPECT_THAT(refused.body, HasSubstr("--authors-per-day 5 --may-trend"));
  }
  EXPECT_EQ(progress(), json::object());
  EXPECT_EQ(replay({{"max_age_s", 12 * 3600}, {"authors_per_day", 5}}).status, 200);
  settle(minutes(1));
  EXPECT_EQ(announced(), from_to(1, 3)) << "who lets it trend need not wait";
  EXPECT_EQ(replay({{"max_age_s", 72 * 3600}, {"authors_per_day", 4}}).status, 200);
}

// --- failures and restarts ---------------------------------------------------------------------------------

TEST_F(Replaying, GoesOnAfterARestartWhereItWas) {
  for (const char* order : {"newest_first", "oldest_first"}) {
    internet.calls.clear();
    remember("cats", 1, 100);
    EXPECT_EQ(replay({{"order", order}, {"per_minute", 60}}).status, 200);
    settle(seconds(50));
    const std::size_t before = announced().size();
    EXPECT_GT(before, 40U);
    EXPECT_LT(before, 60U);
    start(config());
    settle(minutes(2));
    std::vector<int> numbers = announced();
    // What was under way when the node stopped may be repeated, with the same id.
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    EXPECT_EQ(numbers, std::string(order) == "newest_first" ? from_to(1, 100) : from_to(100, 1)) << order;
    EXPECT_EQ(state(), "done");
  }
}

TEST_F(Replaying, AnInboxThatFailsIsTriedAgainMoreAndMoreSeldom) {
  remember("cats", 1, 20);
  inbox_answers(503);
  EXPECT_EQ(replay({{"per_minute", 600}}).status, 200);
  settle(hours(6));
  const std::size_t tries = announced().size();
  EXPECT_LT(tries, 60U);
  EXPECT_GT(tries, 30U);
  EXPECT_NE(json::id_of(progress(), "failing_since"), "");
  EXPECT_EQ(progress().at("sent").as_int64(), 0);
  start(config());
  inbox_answers(202);
  internet.calls.clear();
  settle(minutes(20));
  EXPECT_EQ(announced(), from_to(1, 20));
  EXPECT_EQ(state(), "done");
  EXPECT_EQ(json::id_of(progress(), "failing_since"), "");
}

TEST_F(Replaying, WhatOnlyWaitsForTomorrowIsNotSaidToFail) {
  remember("cats", 1, 2);
  inbox_answers(503);
  EXPECT_EQ(replay({{"authors_per_day", 1}}).status, 200);
  until(2);
  EXPECT_NE(json::id_of(progress(), "failing_since"), "");
  remove("cats", 1);
  settle(minutes(10));
  EXPECT_NE(json::id_of(progress(), "waits_until"), "");
  EXPECT_EQ(json::id_of(progress(), "failing_since"), "");
}

// Before the first ones go only the history is read, and nothing else can fail.
TEST_F(Replaying, WhatWaitsForItsHourIsNotSaidToFailSinceItsHistoryCanBeRead) {
  const auto change = [this](const char* sql) {
    ASSERT_TRUE(run(stores->database->write([sql](sql::Connection& db) { return db.run(sql); })));
  };
  remember("cats", 1, 2);
  EXPECT_EQ(replay({{"authors_per_day", 4}}).status, 200);
  settle(minutes(1));
  change("UPDATE replay_pages SET page = page + 100");
  start(config());
  settle(minutes(1));
  EXPECT_NE(json::id_of(progress(), "failing_since"), "");
  change("UPDATE replay_pages SET page = page - 100");
  settle(minutes(20));
  EXPECT_NE(json::id_of(progress(), "waits_until"), "");
  EXPECT_EQ(json::id_of(progress(), "failing_since"), "");
}

TEST_F(Replaying, AnInboxThatFailsForAWeekOfEveningsIsGivenUp) {
  remember("cats", 1, 2);
  inbox_answers(500);
  EXPECT_EQ(replay({{"authors_per_day", 4}}).status, 200);
  until(4, hours(12));
  EXPECT_NE(json::id_of(progress(), "failing_since"), "");
  EXPECT_EQ(state(), "sending");
  until(9, hours(20));
  EXPECT_EQ(state(), "failed");
}

TEST_F(Replaying, AnInboxThatAsksForAPauseIsLeftAloneForThatLong) {
  remember("cats", 1, 3);
  internet.answers[kInbox] = [](const HttpCall&) {
    HttpResponse response = with_status(429);
    response.headers.add("Retry-After", "600");
    return Result<HttpResponse>(response);
  };
  EXPECT_EQ(replay().status, 200);
  settle(minutes(9));
  EXPECT_THAT(announced(), ElementsAre(1));
  EXPECT_NE(json::id_of(progress(), "waits_until"), "");
  internet.answers.clear();
  internet.calls.clear();
  settle(minutes(2));
  EXPECT_EQ(announced(), from_to(1, 3));
}

TEST_F(Replaying, AnInboxThatFailsForAWeekIsGivenUp) {
  remember("cats", 1, 20);
  inbox_answers(500);
  EXPECT_EQ(replay().status, 200);
  settle(days(4));
  start(config());  // does not begin the week anew
  settle(days(2));
  EXPECT_EQ(state(), "sending");
  settle(days(2));
  EXPECT_EQ(state(), "failed");
  EXPECT_THAT(json::id_of(progress(), "reason"), HasSubstr("500"));
}

// Proxies err for a while.
TEST_F(Replaying, AnInboxThatIsGoneForLongEndsIt) {
  remember("cats", 1, 20);
  inbox_answers(410);
  EXPECT_EQ(replay().status, 200);
  settle(std::chrono::hours(1));
  EXPECT_EQ(state(), "sending");
  inbox_answers(202);
  settle(std::chrono::hours(1));
  EXPECT_EQ(state(), "done");
  EXPECT_EQ(progress().at("sent").as_int64(), 20);
  inbox_answers(404);
  EXPECT_EQ(replay().status, 200);
  settle(days(8));
  EXPECT_EQ(state(), "failed");
  EXPECT_THAT(json::id_of(progress(), "reason"), HasSubstr("404"));
}

TEST_F(Replaying, WhatIsRefusedIsPassedOverButNotForEver) {
  remember("cats", 1, 100);
  int calls = 0;
  internet.answers[kInbox] = [&calls](const HttpCall&) { return with_status(++calls % 2 == 0 ? 202 : 403); };
  EXPECT_EQ(replay({{"per_minute", 600}}).status, 200);
  settle(seconds(30));
  EXPECT_EQ(state(), "done");
  EXPECT_EQ(progress().at("sent").as_int64(), 50);
  EXPECT_EQ(progress().at("skipped").as_int64(), 50);
  internet.calls.clear();
  inbox_answers(403);
  EXPECT_EQ(replay({{"per_minute", 600}}).status, 200);
  settle(seconds(30));
  EXPECT_EQ(state(), "failed");
  EXPECT_THAT(announced(), SizeIs(20));
}

}  // namespace
}  // namespace tagring::node
