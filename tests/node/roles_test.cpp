// What a node does for people who follow its hashtags, and for owners that are not itself.
#include <algorithm>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>
#include <set>

#include "delivery/results.hpp"
#include "http/http_error.hpp"
#include "node/fixture.hpp"
#include "ring/codec.hpp"
#include "subscriber/catch_up.hpp"

namespace tagring::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Following : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");
  Author fan = make_author("https://far.example/users/fan", "https://far.example/inbox");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};

  [[nodiscard]] std::string tag_actor(const std::string& tag) const { return origin + "/tag/" + tag; }
  void follow(const Author& author, const std::string& tag) {
    EXPECT_EQ(post_signed(follow_text(author, {tag_actor(tag)}), author).status, 202);
    settle();
  }
  void publish(const std::string& text) {
    EXPECT_EQ(post_signed(text, alice).status, 202);
    settle();
  }
  static std::vector<std::string> members(const std::vector<json::object>& activities,
                                          const std::string& name) {
    std::vector<std::string> found;
    for (const json::object& activity : activities) found.push_back(json::id_of(activity, name));
    return found;
  }
  [[nodiscard]] std::vector<std::string> types_at(const std::string& inbox) const {
    return members(internet.posted_to(inbox), "type");
  }
};

TEST_F(Following, AFollowIsAcceptedEchoedAndMakesTheNodeWantTheTag) {
  const std::string text = follow_text(fan, {tag_actor("cats")});
  EXPECT_EQ(post_signed(text, fan).status, 202);
  settle();
  const std::vector<HttpCall> calls = internet.sent_to(fan.inbox);
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_THAT(calls[0].headers.find("Signature").value_or(""),
              HasSubstr("keyId=\"" + tag_actor("cats") + "#main-key\""));
  const json::object accept = json::parse_object(calls[0].body).value();
  EXPECT_EQ(json::id_of(accept, "type"), "Accept");
  EXPECT_EQ(json::id_of(accept, "actor"), tag_actor("cats"));
  EXPECT_EQ(accept.at("object"), json::value(json::parse_object(text).value()));
  EXPECT_THAT(rows("SELECT tag||' '||reason FROM wants"), ElementsAre("cats followers"));
  EXPECT_THAT(rows("SELECT tag||' '||actor||' '||inbox||' '||via FROM followers"),
              ElementsAre("cats https://far.example/users/fan https://far.example/inbox 0"));
}

TEST_F(Following, AnAcceptThatDoesNotArriveIsSentAgain) {
  int attempts = 0;
  internet.answers[fan.inbox] = [&](const HttpCall&) { return with_status(++attempts < 3 ? 503 : 202); };
  follow(fan, "cats");
  settle(std::chrono::minutes(1));
  EXPECT_EQ(attempts, 3);
}

// [Mastodon passes over what is announced by an actor whom nobody there follows, by a Follow that was
// accepted]
TEST_F(Following, NothingIsAnnouncedToAServerBeforeItsFollowIsAccepted) {
  const std::string inbox = "https://far.example/inbox";
  bool is_up = false;
  internet.answers[fan.inbox] = [&](const HttpCall&) { return with_status(is_up ? 202 : 503); };
  follow(fan, "cats");
  publish(create_text(post));
  EXPECT_THAT(types_at(inbox), IsEmpty());
  is_up = true;
  settle(std::chrono::minutes(1));
  EXPECT_THAT(types_at(inbox), ElementsAre("Announce"));
  // One whose inbox is not there, or never answers, holds up no others for long.
  for (const int status : {404, 503}) {
    internet.answers[fan.inbox] = [=](const HttpCall&) { return with_status(status); };
    follow(fan, "cats");
    post.uri += "0";
    internet.calls.clear();
    publish(create_text(post));
    settle(status == 404 ? std::chrono::minutes(0) : std::chrono::hours(2));
    EXPECT_THAT(types_at(inbox), ElementsAre("Announce")) << status;
  }
}

TEST_F(Following, WhatIsPostedWhileAFollowIsWrittenIsAnnouncedAfterItsAccept) {
  const auto position_of = [&](const std::string& url) {
    return std::ranges::find(internet.calls, url, [](const HttpCall& call) { return call.url.text(); });
  };
  int announced = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string server = fmt::format("https://far{}.example", i);
    const std::string tag = fmt::format("cats{}", i);
    const Author other = make_author(server + "/users/fan", server + "/inbox");
    database_pause = Duration(200);
    boost::asio::co_spawn(loop.executor(kOwner),
                          node->answer(signed_request(other, follow_text(other, {tag_actor(tag)}))),
                          boost::asio::detached);
    loop.run_for(i * Duration(100));
    post.uri += "0";
    post.tags = {tag};
    publish(create_text(post));
    settle(std::chrono::minutes(1));
    database_pause = Duration::zero();
    if (position_of(other.shared_inbox) == internet.calls.end()) continue;
    ++announced;
    EXPECT_LT(position_of(other.inbox), position_of(other.shared_inbox)) << i;
  }
  EXPECT_GT(announced, 0);
}

TEST_F(Following, WhatWaitsForAnAcceptHoldsUpNoOtherHashtag) {
  const std::string inbox = "https://far.example/inbox";
  follow(make_author("https://far.example/users/other", inbox), "dogs");
  internet.answers[fan.inbox] = [](const HttpCall&) { return with_status(503); };
  follow(fan, "cats");
  for (int i = 0; i < 4; ++i) {
    post.uri += "0";
    publish(create_text(post));
  }
  settle(std::chrono::minutes(20));
  EXPECT_THAT(types_at(inbox), IsEmpty());
  post.uri += "0";
  post.tags = {"dogs"};
  publish(create_text(post));
  EXPECT_THAT(types_at(inbox), ElementsAre("Announce"));
}

TEST_F(Following, AnUndoEndsItAndTheNodeWantsTheTagNoMore) {
  const Author second = make_author("https://other.example/users/second");
  follow(fan, "cats");
  follow(second, "cats");
  EXPECT_EQ(post_signed(undo_follow_text(fan, {tag_actor("cats")}), fan).status, 202);
  settle();
  EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(second.id));
  EXPECT_THAT(rows("SELECT tag||' '||reason FROM wants"), ElementsAre("cats followers"));
  EXPECT_EQ(post_signed(undo_follow_text(second, {tag_actor("cats")}), second).status, 202);
  settle();
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
  EXPECT_THAT(rows("SELECT tag||' '||reason FROM wants"),
              ElementsAre("cats followers"));  // they may come back
  settle(subscriber::HashtagFollowers::kUnsubscribeAfter);
  EXPECT_THAT(rows("SELECT tag||' '||reason FROM wants"), IsEmpty());
  publish(create_text(post));
  EXPECT_THAT(types_at("https://far.example/inbox"), IsEmpty());
}

TEST_F(Following, WhoComesBackAtOnceKeepsTheSubscription) {
  follow(fan, "cats");
  EXPECT_EQ(post_signed(undo_follow_text(fan, {tag_actor("cats")}), fan).status, 202);
  follow(fan, "cats");
  settle(subscriber::HashtagFollowers::kUnsubscribeAfter);
  EXPECT_THAT(rows("SELECT tag FROM wants"), ElementsAre("cats"));
}

TEST_F(Following, WhatIsStillSubscribedCountsForWhoLetItGo) {
  config::Config limited = config();
  limited.budgets.at(static_cast<std::size_t>(budget::Resource::kWanted)).group = 2;
  start(limited);
  const auto answer_to = [&](const std::string& text) { return post_signed(text, fan).status; };
  const std::string undo = undo_follow_text(fan, {tag_actor("cats")});
  follow(fan, "cats");
  follow(fan, "dogs");
  EXPECT_EQ(answer_to(undo), 202);
  EXPECT_EQ(answer_to(follow_text(fan, {tag_actor("emus")})), 503) << "the node is subscribed to cats yet";
  settle(subscriber::HashtagFollowers::kUnsubscribeAfter / 2);
  EXPECT_EQ(answer_to(undo_follow_text(fan, {tag_actor("cats")})), 202) << "which counts once";
  follow(fan, "cats");
  EXPECT_EQ(answer_to(undo_follow_text(fan, {tag_actor("cats")})), 202);
  settle(subscriber::HashtagFollowers::kUnsubscribeAfter / 2 + std::chrono::minutes(1));
  EXPECT_THAT(rows("SELECT tag FROM wants"), ElementsAre("cats", "dogs")) << "the last Undo counts";
  settle(subscriber::HashtagFollowers::kUnsubscribeAfter);
  EXPECT_THAT(rows("SELECT tag FROM wants"), ElementsAre("dogs"));
  follow(fan, "emus");
  EXPECT_EQ(answer_to(follow_text(fan, {tag_actor("bats")})), 503);
}

TEST_F(Following, AStartUnsubscribesWhatTheLastOneLeftBehind) {
  follow(fan, "cats");
  EXPECT_EQ(post_signed(undo_follow_text(fan, {tag_actor("cats")}), fan).status, 202);
  start(config());
  settle();
  EXPECT_THAT(rows("SELECT tag FROM wants"), IsEmpty());
}

TEST_F(Following, NobodyUndoesTheFollowOfAnother) {
  follow(fan, "cats");
  const Author other = make_author("https://far.example/users/other");
  EXPECT_EQ(post_signed(undo_follow_text(other, {tag_actor("cats")}), other).status, 202);
  EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(fan.id));
}

TEST_F(Following, AnAcceptThatWasNotDeliveredBeforeARestartIsDeliveredAfterIt) {
  internet.answers[fan.inbox] = [](const HttpCall&) { return with_status(503); };
  follow(fan, "cats");
  EXPECT_THAT(rows("SELECT inbox FROM letters"), ElementsAre(fan.inbox));
  internet.answers.clear();
  internet.calls.clear();
  start(config());
  settle(std::chrono::seconds(10));
  EXPECT_THAT(types_at(fan.inbox), ElementsAre("Accept"));
  EXPECT_THAT(rows("SELECT inbox FROM letters"), IsEmpty());
}

TEST_F(Following, AfterAWeekAnInboxThatDoesNotAnswerIsGivenUp) {
  internet.answers[fan.inbox] = [](const HttpCall&) { return with_status(503); };
  internet.answers["https://far.example/inbox"] = [](const HttpCall&) { return with_status(503); };
  follow(fan, "cats");
  publish(create_text(post));
  settle(std::chrono::days(6));
  EXPECT_THAT(rows("SELECT inbox FROM letters"), SizeIs(1));
  EXPECT_FALSE(node->is_idle());
  settle(std::chrono::days(3));
  EXPECT_THAT(rows("SELECT inbox FROM letters"), IsEmpty());
  EXPECT_THAT(rows("SELECT uri FROM feed"), IsEmpty());
  EXPECT_TRUE(node->is_idle());
}

TEST_F(Following, AClockThatIsSetToAnotherDayAndBackGivesNothingUp) {
  internet.answers[fan.inbox] = [](const HttpCall&) { return with_status(503); };
  follow(fan, "cats");
  settle(std::chrono::hours(1));
  clock.set_skew(std::chrono::days(8));
  settle(std::chrono::minutes(30));
  clock.set_skew(Duration::zero());
  settle(std::chrono::minutes(30));
  EXPECT_THAT(rows("SELECT inbox FROM letters"), SizeIs(1));
  internet.answers.erase(fan.inbox);
  settle(std::chrono::minutes(30));
  EXPECT_THAT(rows("SELECT inbox FROM letters"), IsEmpty());
  EXPECT_EQ(types_at(fan.inbox).back(), "Accept");
}

// As of a machine whose battery is empty, until it has asked for the date.
TEST_F(Following, AClockThatIsWrongAtTheStartGivesNothingUp) {
  internet.answers[fan.inbox] = [](const HttpCall&) { return with_status(503); };
  follow(fan, "cats");
  clock.set_skew(std::chrono::days(8));
  start(config());
  settle(std::chrono::minutes(3));
  clock.set_skew(Duration::zero());
  settle(std::chrono::hours(1));
  EXPECT_THAT(rows("SELECT inbox FROM letters"), SizeIs(1));
}

// --- announcements -----------------------------------------------------------------------------------------

TEST_F(Following, APostIsAnnouncedOnceToAnInboxWhateverTheTagsAndFollowers) {
  const Author second = make_author("https://far.example/users/second", "https://far.example/inbox");
  for (const std::string tag : {"cats", "dogs", "birds"}) {
    follow(fan, tag);
    follow(second, tag);
  }
  post.tags = {"cats", "dogs", "birds"};
  publish(create_text(post));
  const std::vector<HttpCall> calls = internet.sent_to("https://far.example/inbox");
  ASSERT_THAT(calls, SizeIs(1));
  const json::object announce = json::parse_object(calls[0].body).value();
  EXPECT_EQ(json::id_of(announce, "type"), "Announce");
  EXPECT_EQ(json::id_of(announce, "object"), post.uri);
  const std::string actor = json::get_string(announce, "actor").value();
  EXPECT_THAT(actor, HasSubstr(origin + "/tag/"));
  EXPECT_THAT(calls[0].headers.find("Signature").value_or(""), HasSubstr("keyId=\"" + actor + "#main-key\""));
}

TEST_F(Following, ATagAddedLaterIsNotAnnouncedAgain) {
  follow(fan, "cats");
  follow(fan, "dogs");
  publish(create_text(post));
  post.tags = {"cats", "dogs"};
  publish(update_text(post));
  EXPECT_THAT(types_at("https://far.example/inbox"), ElementsAre("Announce"));
}

TEST_F(Following, APostIsNeverAnnouncedToItsOwnHost) {
  const Author neighbour = make_author("https://home.example/users/neighbour", "https://home.example/inbox");
  follow(neighbour, "cats");
  follow(fan, "cats");
  publish(create_text(post));
  EXPECT_THAT(types_at("https://home.example/inbox"), IsEmpty());
  EXPECT_THAT(types_at("https://far.example/inbox"), ElementsAre("Announce"));
}

TEST_F(Following, ARepetitionAfterAFailureHasTheSameId) {
  follow(fan, "cats");
  int attempts = 0;
  internet.answers["https://far.example/inbox"] = [&](const HttpCall&) {
    return with_status(++attempts < 3 ? 503 : 202);
  };
  publish(create_text(post));
  settle(std::chrono::minutes(1));
  const std::vector<std::string> ids = members(internet.posted_to("https://far.example/inbox"), "id");
  ASSERT_THAT(ids, SizeIs(3));
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[0], ids[2]);
}

TEST_F(Following, WhatWasNotDeliveredBeforeARestartIsDeliveredAfterItWithTheSameId) {
  follow(fan, "cats");
  internet.answers["https://far.example/inbox"] = [](const HttpCall&) { return with_status(503); };
  publish(create_text(post));
  const std::vector<std::string> before = members(internet.posted_to("https://far.example/inbox"), "id");
  ASSERT_FALSE(before.empty());
  internet.answers.clear();
  internet.calls.clear();
  start(config());
  settle(std::chrono::seconds(10));
  EXPECT_THAT(members(internet.posted_to("https://far.example/inbox"), "id"), ElementsAre(before.front()));
  start(config());
  settle(std::chrono::seconds(10));
  EXPECT_THAT(types_at("https://far.example/inbox"), ElementsAre("Announce"));
}

TEST_F(Following, ADeletionUndoesTheAnnouncementThatWasMade) {
  for (const std::string tag : {"birds", "cats", "dogs", "emus", "fish"}) follow(fan, tag);
  post.tags = {"birds", "cats", "dogs", "emus", "fish"};
  publish(create_text(post));
  publish(delete_text(post.uri, alice.id));
  std::vector<json::object> posted = internet.posted_to("https://far.example/inbox");
  ASSERT_FALSE(posted.empty());
  const json::object announce = posted.front();
  EXPECT_EQ(json::id_of(announce, "type"), "Announce");
  posted.erase(posted.begin());
  std::size_t matching = 0;
  for (const json::object& undo : posted) {
    EXPECT_EQ(json::id_of(undo, "type"), "Undo");
    if (json::id_of(undo, "object") != json::id_of(announce)) continue;
    EXPECT_EQ(json::id_of(undo, "actor"), json::id_of(announce, "actor"));
    ++matching;
  }
  EXPECT_EQ(matching, 1U);
}

TEST_F(Following, AnEditThatTakesOneOfSeveralFollowedTagsAwayAnnouncesThePostUnderTheNext) {
  follow(fan, "cats");
  follow(fan, "dogs");
  post.tags = {"cats", "dogs"};
  publish(create_text(post));
  ASSERT_THAT(types_at("https://far.example/inbox"), ElementsAre("Announce"));
  const std::string first = json::id_of(internet.posted_to("https://far.example/inbox").front(), "actor");
  post.tags = {first == tag_actor("cats") ? "dogs" : "cats"};
  publish(update_text(post));
  settle(std::chrono::minutes(1));
  EXPECT_THAT(types_at("https://far.example/inbox"), ElementsAre("Announce", "Undo", "Announce"));
  EXPECT_EQ(json::id_of(internet.posted_to("https://far.example/inbox").back(), "actor"),
            tag_actor(post.tags.front()));
}

TEST_F(Following, AnInboxThatIsGoneForDaysLosesItsFollowers) {
  for (const int status : {404, 410}) {
    follow(fan, "cats");
    internet.answers["https://far.example/inbox"] = [status](const HttpCall&) { return with_status(status); };
    post.uri = fmt::format("https://home.example/notes/{}", status);
    publish(create_text(post));
    settle(std::chrono::days(2));
    EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(fan.id)) << "proxies err for hours";
    settle(std::chrono::days(2));
    EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
    settle(subscriber::HashtagFollowers::kUnsubscribeAfter);
    EXPECT_THAT(rows("SELECT tag FROM wants"), IsEmpty());
    internet.answers.clear();
  }
}

// The days before are those of the test of the announcer.
TEST_F(Following, AnInboxThatIsSilentForAMonthLosesItsFollowers) {
  for (const std::string host : {"https://near.example", "https://next.example"})
    follow(make_author(host + "/users/fan", host + "/inbox"), "dogs");
  follow(fan, "cats");
  internet.answers["https://far.example/inbox"] = [](const HttpCall&) {
    return fail(ErrorCode::kTimedOut, "no answer");
  };
  post.tags = {"cats", "dogs"};
  const auto pass_a_day = [&] {
    post.uri += "1";
    publish(create_text(post));
    settle(std::chrono::days(1));
  };
  const auto followed = [&] { return rows("SELECT DISTINCT tag FROM followers ORDER BY tag"); };
  pass_a_day();
  run(stores->database->write([](sql::Connection& db) {
    return db.send("UPDATE inboxes SET silent_days = silent_days + 27 WHERE silent_days > 0");
  })).value();
  start(config());
  pass_a_day();
  EXPECT_THAT(followed(), ElementsAre("cats", "dogs"));
  pass_a_day();
  pass_a_day();
  EXPECT_THAT(followed(), ElementsAre("dogs"));
  EXPECT_THAT(rows("SELECT tag FROM wants"), ElementsAre("dogs"));
  internet.answers.clear();
  follow(fan, "cats");
  pass_a_day();
  EXPECT_THAT(followed(), ElementsAre("cats", "dogs"));
}

TEST_F(Following, APostReachesEverybodyUnderWhatTheyFollowByTheFewestActors) {
  const std::string inbox = "https://far.example/inbox";
  const Author second = make_author("https://far.example/users/second", inbox);
  const Author third = make_author("https://far.example/users/third", inbox);
  follow(fan, "cats");
  follow(second, "dogs");
  follow(third, "emus");
  post.tags = {"cats", "dogs"};
  publish(create_text(post));
  EXPECT_THAT(members(internet.posted_to(inbox), "actor"),
              testing::UnorderedElementsAre(tag_actor("cats"), tag_actor("dogs")));
  internet.calls.clear();
  for (const Author& author : {fan, second, third}) follow(author, "zoo");
  internet.calls.clear();
  post.uri = "https://home.example/notes/2";
  post.tags = {"cats", "dogs", "emus", "zoo"};
  publish(create_text(post));
  EXPECT_THAT(members(internet.posted_to(inbox), "actor"), ElementsAre(tag_actor("zoo")));
}

TEST_F(Following, ALateUndoOfAFormerFollowEndsNothing) {
  const std::string first = follow_text(fan, {tag_actor("cats")});
  const auto undo = [&](const std::string& follow) {
    json::object body = json::parse_object(undo_follow_text(fan, {tag_actor("cats")})).value();
    body["object"] = json::parse_object(follow).value();
    return post_signed(json::serialize(body), fan);
  };
  EXPECT_EQ(post_signed(first, fan).status, 202);
  const std::string second = follow_text(fan, {tag_actor("cats")});
  EXPECT_EQ(post_signed(second, fan).status, 202);
  start(config());
  EXPECT_THAT(undo(first).body, HasSubstr("another Follow has replaced"));
  EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(fan.id));
  EXPECT_EQ(undo(second).status, 202);
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
  // Who comes back by the id of before (NodeBB, Misskey) is a follower again, and may leave by it.
  EXPECT_EQ(post_signed(first, fan).status, 202);
  EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(fan.id));
  EXPECT_EQ(undo(first).status, 202);
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
}

// Both waited for a node that was away, or Misskey removes and adds at once.
TEST_F(Following, AnUndoThatComesTogetherWithTheNextFollowEndsTheFormerOne) {
  const auto undo = [&](const Author& author, const std::string& follow) {
    const json::object body = {{"id", author.id + "/undos/1"},
                               {"type", "Undo"},
                               {"actor", author.id},
                               {"object", json::parse_object(follow).value()}};
    return json::serialize(body);
  };
  Author relay = make_author("https://home.example/actor");
  relay.type = "Application";
  internet.serve(relay);
  for (const bool undo_first : {true, false}) {
    for (const auto& [author, object, table] :
         {std::tuple(fan, tag_actor("cats"), "followers WHERE tag = 'cats'"),
          std::tuple(relay, kEverybody, "links WHERE accepted = 1"),
          std::tuple(relay, tag_actor("dogs"), "followers WHERE tag = 'dogs'")}) {
      const std::string first = follow_text(author, {object});
      EXPECT_EQ(post_signed(first, author).status, 202);
      settle();
      std::vector<std::string> texts = {undo(author, first), follow_text(author, {object})};
      if (!undo_first) std::swap(texts[0], texts[1]);
      database_pause = Duration(20);
      for (const std::string& text : texts)
        boost::asio::co_spawn(loop.executor(kOwner), node->answer(signed_request(author, text)),
                              boost::asio::detached);
      settle();
      database_pause = Duration::zero();
      EXPECT_THAT(rows(("SELECT actor FROM " + std::string(table)).c_str()), ElementsAre(author.id))
          << object << " " << undo_first;
    }
  }
}

TEST_F(Following, AnUndoThatOvertakesItsFollowEndsItWhenItComes) {
  const auto undo = [&](const json::value& follow) {
    json::object body = json::parse_object(undo_follow_text(fan, {tag_actor("cats")})).value();
    body["object"] = follow;
    EXPECT_EQ(post_signed(json::serialize(body), fan).status, 202);
    start(config());
  };
  for (const bool by_id : {false, true}) {
    const std::string text = follow_text(fan, {tag_actor("cats")});
    const json::object follow = json::parse_object(text).value();
    const json::value named = by_id ? json::value(json::id_of(follow)) : json::value(follow);
    internet.calls.clear();
    undo(named);
    EXPECT_EQ(post_signed(text, fan).status, 202);
    settle();
    EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
    EXPECT_THAT(types_at(fan.inbox), ElementsAre("Reject"));
    // Some servers follow again by the same id, and repeat an Undo whose answer was lost.
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(post_signed(text, fan).status, 202);
      EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(fan.id));
      undo(named);
      undo(named);
      EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
    }
  }
}

TEST_F(Following, AnUndoThatOvertakesItsFollowCountsUntilThatIsAnswered) {
  const auto write = [&](const char* statement) {
    const auto execute = [statement](sql::Connection& db) { return db.execute(statement); };
    ASSERT_TRUE(run(stores->database->write(execute)));
  };
  const std::string text = follow_text(fan, {tag_actor("cats")});
  json::object undo = json::parse_object(undo_follow_text(fan, {tag_actor("cats")})).value();
  undo["object"] = json::parse_object(text).value();
  EXPECT_EQ(post_signed(json::serialize(undo), fan).status, 202);
  write("CREATE TRIGGER refuse BEFORE INSERT ON letters BEGIN SELECT RAISE(ABORT, 'no'); END");
  EXPECT_NE(post_signed(text, fan).status, 202);
  write("DROP TRIGGER refuse");
  settle();  // what is signed in the same second is a replay
  EXPECT_EQ(post_signed(text, fan).status, 202);
  settle();
  EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
  EXPECT_THAT(types_at(fan.inbox), ElementsAre("Reject"));
}

// Misskey undoes by an id of the pair whatever id it followed by; so do repairs of Mastodon by FEP-8fcf.
TEST_F(Following, WhoUndoesEachTimeByOneIdMayLeaveEachTime) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(post_signed(follow_text(fan, {tag_actor("cats")}), fan).status, 202);
    EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(fan.id));
    json::object undo = json::parse_object(undo_follow_text(fan, {tag_actor("cats")})).value();
    json::object follow = json::parse_object(follow_text(fan, {tag_actor("cats")})).value();
    follow["id"] = fan.id + "#follows/cats";
    undo["object"] = follow;
    EXPECT_EQ(post_signed(json::serialize(undo), fan).status, 202);
    EXPECT_THAT(rows("SELECT actor FROM followers"), IsEmpty());
  }
}

// Pixelfed and FoundKey have one id for all Follows of a pair. One that was lost has not been overtaken.
TEST_F(Following, WhoFollowsEachTimeByOneIdIsNotLockedOut) {
  const std::string text = follow_text(fan, {tag_actor("cats")});
  json::object undo = json::parse_object(undo_follow_text(fan, {tag_actor("cats")})).value();
  undo["object"] = json::parse_object(text).value();
  EXPECT_EQ(post_signed(json::serialize(undo), fan).status, 202);
  EXPECT_EQ(post_signed(text, fan).status, 202);
  settle();
  EXPECT_THAT(types_at(fan.inbox), ElementsAre("Reject")) << "it is told, and may ask again";
  EXPECT_EQ(post_signed(json::serialize(undo), fan).status, 202);
  EXPECT_EQ(post_signed(text, fan).status, 202);
  EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(fan.id));
}

TEST_F(Following, AnUndoCarriesTheWholeAnnounceAndComesAMomentAfterIt) {
  follow(fan, "cats");
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle(Duration(50));
  EXPECT_EQ(post_signed(delete_text(post.uri, alice.id), alice).status, 202);
  settle(Duration(200));
  ASSERT_THAT(types_at("https://far.example/inbox"), ElementsAre("Announce"));
  settle(std::chrono::seconds(3));
  const std::vector<json::object> posted = internet.posted_to("https://far.example/inbox");
  ASSERT_THAT(posted, SizeIs(2));
  json::object undone = posted[1].at("object").as_object();
  EXPECT_TRUE(undone.contains("published"));
  for (const char* member : {"id", "type", "actor", "to", "cc", "object"})
    EXPECT_EQ(undone.at(member), posted[0].at(member)) << member;
}

TEST_F(Following, WhatIsTakenBackBeforeItWasSentIsNeverSent) {
  follow(fan, "cats");
  follow(fan, "dogs");  // so that the node waits for a moment for other hashtags
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  EXPECT_EQ(post_signed(delete_text(post.uri, alice.id), alice).status, 202);
  settle(std::chrono::minutes(1));
  EXPECT_THAT(types_at("https://far.example/inbox"), IsEmpty());
  EXPECT_TRUE(node->is_idle());
}

TEST_F(Following, OnePostThatAnInboxDoesNotTakeHoldsUpNoOther) {
  const std::string inbox = "https://far.example/inbox";
  follow(fan, "cats");
  internet.answers[inbox] = [](const HttpCall& call) {
    return with_status(call.body.contains("notes/1\"") ? 424 : 202);
  };
  publish(create_text(post));
  for (int i = 2; i < 6; ++i) {
    post.uri = fmt::format("https://home.example/notes/{}", i);
    publish(create_text(post));
  }
  std::set<std::string> taken;
  for (const std::string& uri : members(internet.posted_to(inbox), "object")) taken.insert(uri);
  EXPECT_THAT(taken, SizeIs(5));
  internet.answers.clear();
  internet.calls.clear();
  settle(std::chrono::minutes(1));
  EXPECT_THAT(members(internet.posted_to(inbox), "object"), ElementsAre("https://home.example/notes/1"))
      << "424 says that it could not be fetched then";
}

TEST_F(Following, AServerThatRejectsAnAnnouncementIsNotAskedAgain) {
  const std::string inbox = "https://far.example/inbox";
  follow(fan, "cats");
  internet.answers[inbox] = [](const HttpCall&) { return with_status(503); };
  publish(create_text(post));
  const std::string id = members(internet.posted_to(inbox), "id").at(0);
  const json::object reject = {{"id", fan.id + "/rejects/1"},
                               {"type", "Reject"},
                               {"actor", fan.id},
                               {"object", json::object{{"id", id}, {"type", "Announce"}}}};
  EXPECT_EQ(post_signed(json::serialize(reject), fan).status, 202);
  settle(Duration(100));
  internet.calls.clear();
  settle(std::chrono::hours(1));
  EXPECT_THAT(internet.posted_to(inbox), IsEmpty());
  EXPECT_TRUE(node->is_idle());
}

TEST_F(Following, WhoBlocksAHashtagActorIsNotBoostedByItAndDoesNotFollowIt) {
  follow(fan, "cats");
  follow(fan, "dogs");
  follow(alice, "cats");
  const json::object block = {
      {"id", alice.id + "/blocks/1"}, {"type", "Block"}, {"actor", alice.id}, {"object", tag_actor("cats")}};
  EXPECT_EQ(post_signed(json::serialize(block), alice).status, 202);
  EXPECT_THAT(rows("SELECT actor FROM followers WHERE tag='cats'"), ElementsAre(fan.id));
  start(config());
  publish(create_text(post));
  EXPECT_THAT(types_at("https://far.example/inbox"), IsEmpty());
  post.uri = "https://home.example/notes/2";
  post.tags = {"dogs"};
  publish(create_text(post));
  EXPECT_THAT(types_at("https://far.example/inbox"), ElementsAre("Announce"));
  const json::object undo = {
      {"id", alice.id + "/undos/1"}, {"type", "Undo"}, {"actor", alice.id}, {"object", block}};
  EXPECT_EQ(post_signed(json::serialize(undo), alice).status, 202);
  post.uri = "https://home.example/notes/3";
  post.tags = {"cats"};
  publish(create_text(post));
  EXPECT_THAT(types_at("https://far.example/inbox"), ElementsAre("Announce", "Announce"));
}

TEST_F(Following, AnUndoThatOvertakesItsBlockEndsItWhenItComes) {
  int number = 0;
  for (const std::string& object : {tag_actor("cats"), origin + "/actor"}) {
    for (const bool by_id : {false, true}) {
      const json::object block = {{"id", fmt::format("{}/blocks/{}", alice.id, ++number)},
                                  {"type", "Block"},
                                  {"actor", alice.id},
                                  {"object", object}};
      const json::object undo = {{"id", fmt::format("{}/undos/{}", alice.id, number)},
                                 {"type", "Undo"},
                                 {"actor", alice.id},
                                 {"object", by_id ? block.at("id") : json::value(block)}};
      EXPECT_EQ(post_signed(json::serialize(undo), alice).status, 202);
      start(config());
      EXPECT_THAT(post_signed(json::serialize(block), alice).body, HasSubstr("undone before it came"));
      EXPECT_THAT(rows("SELECT author FROM refusals"), IsEmpty());
    }
  }
  // One that is there is ended, and an Undo that comes twice ends no later one.
  json::object block = {
      {"id", alice.id + "/blocks/9"}, {"type", "Block"}, {"actor", alice.id}, {"object", tag_actor("cats")}};
  const json::object undo = {
      {"id", alice.id + "/undos/9"}, {"type", "Undo"}, {"actor", alice.id}, {"object", block}};
  EXPECT_EQ(post_signed(json::serialize(block), alice).status, 202);
  EXPECT_THAT(rows("SELECT tag FROM refusals"), ElementsAre("cats"));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(post_signed(json::serialize(undo), alice).status, 202);
  EXPECT_THAT(rows("SELECT tag FROM refusals"), IsEmpty());
  settle();
  EXPECT_EQ(post_signed(json::serialize(block), alice).status, 202);
  EXPECT_THAT(rows("SELECT tag FROM refusals"), ElementsAre("cats"));
}

TEST_F(Following, BlocksAreKeptOfADomainUpToALimit) {
  config::Config limited = config();
  limited.budgets.at(static_cast<std::size_t>(budget::Resource::kAuthorBlocks)).group = 2;
  start(limited);
  int number = 0;
  const auto block_of = [&](const std::string& tag) {
    return json::object{{"id", fmt::format("{}/blocks/{}", fan.id, ++number)},
                        {"type", "Block"},
                        {"actor", fan.id},
                        {"object", tag_actor(tag)}};
  };
  const auto block = [&](const std::string& tag) {
    return post_signed(json::serialize(block_of(tag)), fan).status;
  };
  EXPECT_EQ(block("cats"), 202);
  EXPECT_EQ(block("cats"), 202);
  EXPECT_EQ(block("dogs"), 202);
  const HttpResponse not_kept = post_signed(json::serialize(block_of("emus")), fan);
  EXPECT_EQ(not_kept.status, 503) << "or her server took it for one that is kept";
  EXPECT_TRUE(not_kept.headers.find("Retry-After"));
  EXPECT_THAT(rows("SELECT tag FROM refusals"), ElementsAre("cats", "dogs"));
  start(limited);
  settle();
  EXPECT_EQ(block("emus"), 503);
  const json::object undo = {
      {"id", fan.id + "/undos/1"}, {"type", "Undo"}, {"actor", fan.id}, {"object", block_of("cats")}};
  EXPECT_EQ(post_signed(json::serialize(undo), fan).status, 202);
  EXPECT_EQ(block("emus"), 202);
  EXPECT_THAT(rows("SELECT tag FROM refusals"), ElementsAre("dogs", "emus"));
}

TEST_F(Following, WhoBlocksTheNodeIsTakenOutOfEverything) {
  follow(fan, "cats");
  publish(create_text(post));
  const json::object block = {
      {"id", alice.id + "/blocks/1"}, {"type", "Block"}, {"actor", alice.id}, {"object", origin + "/actor"}};
  EXPECT_EQ(post_signed(json::serialize(block), alice).status, 202);
  settle();
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(types_at("https://far.example/inbox"), ElementsAre("Announce", "Undo"));
  post.uri = "https://home.example/notes/2";
  EXPECT_THAT(post_signed(create_text(post), alice).body, HasSubstr("does not wish to be relayed"));
}

TEST_F(Following, WhatIsPassedOverAndRefusedIsCountedAndLoggedByReason) {
  Author gone = make_author("https://home.example/users/gone");
  internet.documents.erase(gone.id);
  const PostText theirs{.uri = "https://home.example/notes/g", .author = gone.id, .tags = {"cats"}};
  const HttpResponse response = post_signed(create_text(theirs), gone);
  EXPECT_EQ(response.status, 202) << "Mastodon sends nobody's posts after ten refusals";
  EXPECT_THAT(response.body, HasSubstr("does not exist"));
  EXPECT_EQ(ask({.method = "POST", .target = "/inbox", .headers = {}, .body = "{}", .peer = {}}).status, 400);
  for (int i = 0; i < 3; ++i) post_signed("{}", alice);
  const json::object inbox = status().at("inbox").as_object();
  EXPECT_EQ(inbox.at("ignored").as_object().at("the sender's account does not exist, or not yet"), 1);
  EXPECT_EQ(inbox.at("refused").as_object().at("invalid"), 4);
  const auto lines = std::ranges::count_if(
      log_lines, [](const std::string& line) { return line.contains("inbox_refuses"); });
  EXPECT_EQ(lines, 1) << "once a minute a reason";
}

TEST_F(Following, AnInboxThatRefusesOnePostKeepsItsFollowers) {
  follow(fan, "cats");
  internet.answers["https://far.example/inbox"] = [](const HttpCall&) { return with_status(403); };
  publish(create_text(post));
  EXPECT_THAT(types_at("https://far.example/inbox"), SizeIs(1));
  EXPECT_THAT(rows("SELECT actor FROM followers"), ElementsAre(fan.id));
}

TEST_F(Following, ANodeGetsOneBatchAndIsNoReasonToWantTheTag) {
  const Author peer = make_node_author("https://tags.peer.example");
  const HttpResponse followed = post_signed(follow_text(peer, {tag_actor("cats"), tag_actor("dogs")}), peer);
  EXPECT_THAT(refusals_of(followed), IsEmpty());
  EXPECT_THAT(rows("SELECT tag FROM wants"), IsEmpty());
  internet.answers[peer.inbox] = [](const HttpCall&) {
    return with_status(200, R"({"accepted":2,"refused":[]})");
  };
  post.tags = {"cats", "dogs"};
  publish(create_text(post));
  std::size_t tags = 0;
  for (const json::object& announce : internet.posted_to(peer.inbox)) {
    EXPECT_EQ(json::id_of(announce, "type"), "Announce");
    EXPECT_EQ(json::id_of(announce, "actor"), origin + "/actor");
    for (const json::value& item : announce.at("object").as_array()) {
      EXPECT_EQ(json::id_of(item), post.uri);
      tags += item.as_object().at("tag").as_array().size();
    }
  }
  EXPECT_EQ(tags, 2U);
}

TEST_F(Following, OfWhatANodeFollowsAtOnceAsMuchIsTakenAsThereIsRoomFor) {
  config::Config limited = config();
  limited.budgets.at(static_cast<std::size_t>(budget::Resource::kNodeFollows)).group = 2;
  start(limited);
  const Author peer = make_node_author("https://tags.peer.example");
  const HttpResponse response =
      post_signed(follow_text(peer, {tag_actor("cats"), tag_actor("dogs"), tag_actor("emus")}), peer);
  EXPECT_THAT(refusals_of(response), ElementsAre(HasSubstr(" emus unavailable")));
  EXPECT_THAT(rows("SELECT tag FROM followers ORDER BY tag"), ElementsAre("cats", "dogs"));
}

TEST_F(Following, AndNoMoreOfWhatItFollowsInTwoRequestsAtOnce) {
  config::Config limited = config();
  limited.budgets.at(static_cast<std::size_t>(budget::Resource::kNodeFollows)).group = 2;
  start(limited);
  const Author peer = make_node_author("https://tags.peer.example");
  database_pause = std::chrono::seconds(1);
  std::vector<Task<HttpResponse>> questions;
  for (const auto& [one, other] : {std::pair("cats", "dogs"), std::pair("emus", "foxes")})
    questions.push_back(
        node->answer(signed_request(peer, follow_text(peer, {tag_actor(one), tag_actor(other)}))));
  std::size_t refused = 0;
  for (const HttpResponse& response : run(all_of(std::move(questions))))
    refused += refusals_of(response).size();
  database_pause = Duration::zero();
  EXPECT_EQ(refused, 2U);
  EXPECT_THAT(rows("SELECT tag FROM followers"), SizeIs(2));
}

TEST_F(Following, ANodeWhoseProxyErrsForAWhileKeepsItsSubscription) {
  const Author peer = make_node_author("https://tags.peer.example");
  post_signed(follow_text(peer, {tag_actor("cats"), tag_actor("dogs")}), peer);
  for (const int status : {404, 410}) {
    internet.answers[peer.inbox] = [status](const HttpCall&) { return with_status(status); };
    post.uri = fmt::format("https://home.example/notes/{}", status);
    publish(create_text(post));
    settle(std::chrono::minutes(30));
    EXPECT_THAT(rows("SELECT actor FROM followers WHERE tag = 'cats'"), ElementsAre(peer.id));
    internet.calls.clear();
    internet.answers[peer.inbox] = [](const HttpCall&) {
      return with_status(200, R"({"accepted":1,"refused":[]})");
    };
    settle(std::chrono::minutes(15));
    EXPECT_THAT(types_at(peer.inbox), ElementsAre("Announce")) << "it comes when the proxy works";
  }
}

TEST_F(Following, ANodeThatIsNotThereForAnHourIsForgottenAlsoAfterARestart) {
  const Author peer = make_node_author("https://tags.peer.example");
  post_signed(follow_text(peer, {tag_actor("cats"), tag_actor("dogs")}), peer);
  internet.answers[peer.inbox] = [](const HttpCall&) { return with_status(410); };
  publish(create_text(post));
  settle(std::chrono::minutes(45));
  start(config());
  settle(std::chrono::minutes(30));
  EXPECT_THAT(rows("SELECT tag||' '||actor FROM followers"), ElementsAre("dogs " + peer.id))
      << "what has nothing to send is not tried";
}

TEST_F(Following, ANodeThatSaysItDoesNotFollowIsForgotten) {
  const Author peer = make_node_author("https://tags.peer.example");
  post_signed(follow_text(peer, {tag_actor("cats"), tag_actor("dogs")}), peer);
  internet.answers[peer.inbox] = [this](const HttpCall&) {
    return with_status(
        200,
        json::serialize(json::object{
            {"accepted", 0},
            {"refused",
             json::array{json::object{
                 {"uri", post.uri}, {"tag", "cats"}, {"error", "denied"}, {"message", "not followed"}}}}}));
  };
  publish(create_text(post));
  EXPECT_THAT(rows("SELECT tag||' '||actor FROM followers"), ElementsAre("dogs " + peer.id));
}

// The Follow is on its way to the disk when the answer to what was announced before it comes.
TEST_F(Following, ANodeThatFollowsAgainWhileItSaysThatItDoesNotIsKept) {
  const Author peer = make_node_author("https://tags.peer.example");
  post_signed(follow_text(peer, {tag_actor("cats")}), peer);
  const HttpRequest again = signed_request(peer, follow_text(peer, {tag_actor("cats")}));
  internet.answers[peer.inbox] = [this, &again](const HttpCall&) {
    database_pause = Duration(50);
    boost::asio::co_spawn(loop.executor(kOwner), node->answer(again), boost::asio::detached);
    return with_status(
        200,
        json::serialize(json::object{
            {"accepted", 0},
            {"refused",
             json::array{json::object{
                 {"uri", post.uri}, {"tag", "cats"}, {"error", "denied"}, {"message", "not followed"}}}}}));
  };
  publish(create_text(post));
  EXPECT_THAT(rows("SELECT tag||' '||actor FROM followers"), ElementsAre("cats " + peer.id));
}

// --- a node that does not own everything
// ---------------------------------------------------------------------

// Another member of both rings, as honest as it must be to be believed.
class TwoMembers : public Following {
 protected:
  TwoMembers() {
    contact.host = "tags.peer.example";
    contact.address = *IpAddress::parse("2001:db8:2::1");
    contact.incarnation = 1;
    // One of its vservers leaves less than a quarter of the ring to us, so that some tags are not ours at
    // all.
    for (contact.vserver = 0;; ++contact.vserver) {
      contact.id = ring::make_node_id(ring::IdScheme::kSpread, contact.address.prefix64(), "peer.example",
                                      contact.vserver);
      const double share = clockwise_distance(contact.id, self(Ring::kRelay).self().id).fraction();
      if (share > 0.1 && share < 0.2) break;
    }
    internet.answers[contact.origin() + std::string(overlay::RingService::kPath)] =
        [this](const HttpCall& call) {
          const ring::Envelope envelope = ring::decode_envelope(call.body).value();
          if (envelope.incarnation != contact.incarnation)
            return error_response(Error(ErrorCode::kNotFound, "another incarnation of this vserver"));
          return with_status(200, reply(envelope));
        };
    introduce();
    settle(std::chrono::seconds(10));
    EXPECT_EQ(self(Ring::kRelay).predecessor(), contact);
  }

  // The other tells this node of itself.
  void introduce() {
    for (const Ring which : {Ring::kRelay, Ring::kStorage}) {
      ring::Envelope envelope;
      envelope.network = "tagring";
      envelope.to = self(which).self().id;
      envelope.incarnation = self(which).self().incarnation;
      envelope.request.ring = which;
      envelope.request.body = ring::Notify{contact};
      EXPECT_EQ(ask({.method = "POST",
                     .target = std::string(overlay::RingService::kPath),
                     .headers = {},
                     .body = encode(envelope),
                     .peer = {}})
                    .status,
                200);
    }
  }

  const ring::Vserver& self(Ring which) { return *node->rings().of(which).vservers().front(); }

  std::string reply(const ring::Envelope& envelope) {
    const ring::Contact& other = self(envelope.request.ring).self();
    if (std::holds_alternative<ring::GetNeighbours>(envelope.request.body)) {
      return ring::encode(ring::Reply(ring::Neighbours{other, {other}}));
    }
    if (const auto* find = std::get_if<ring::Find>(&envelope.request.body)) {
      const Segment own{other.id, contact.id};
      if (own.contains(find->key)) return ring::encode(ring::Reply(ring::FindReply{own, {}}));
      return ring::encode(ring::Reply(ring::FindReply{std::nullopt, {other}}));
    }
    return ring::encode(ring::Reply(ring::Done{}));
  }

  // The first of tag0, tag1, … of which this node owns a relay replica, or none.
  std::string tag_that_is(bool ours) {
    for (int i = 0;; ++i) {
      const std::string text = "tag" + std::to_string(i);
      const Result<void> serving = node->relay_owner().check_serving(Tag::parse(text).value());
      if (serving.has_value() == ours) return text;
    }
  }

  ring::Contact contact;
  Author peer = make_node_author("https://tags.peer.example");
};

TEST_F(TwoMembers, ABatchIsTakenButForTheTagsThatAreOwnedElsewhere) {
  const std::string ours = tag_that_is(true);
  const std::string theirs = tag_that_is(false);
  const PostText own{.uri = "https://peer.example/notes/1",
                     .author = "https://peer.example/users/u",
                     .tags = {ours, theirs}};
  const HttpResponse response = post_signed(batch_text("Add", peer, origin + "/relay", {own}), peer);
  EXPECT_THAT(refusals_of(response),
              ElementsAre(own.uri + " " + theirs + " not_owner: this node does not own the tag"));
  EXPECT_EQ(json::get_int(json::parse_object(response.body).value(), "accepted"), 1);
  EXPECT_THAT(rows("SELECT tag FROM feed"), ElementsAre(ours));
}

TEST_F(TwoMembers, ANodesFollowOfATagOwnedElsewhereIsRefused) {
  const std::string ours = tag_that_is(true);
  const std::string theirs = tag_that_is(false);
  const HttpResponse response = post_signed(follow_text(peer, {tag_actor(ours), tag_actor(theirs)}), peer);
  EXPECT_THAT(refusals_of(response),
              ElementsAre(HasSubstr(" " + theirs + " not_owner: this node does not own the tag")));
  EXPECT_THAT(rows("SELECT tag FROM followers"), ElementsAre(ours));
}

TEST_F(TwoMembers, TheHistoryOfATagOwnedElsewhereIsMisdirected) {
  for (int i = 0;; ++i) {
    const std::string text = "tag" + std::to_string(i);
    if (node->storage_owner().check_serving(Tag::parse(text).value())) continue;
    EXPECT_EQ(get(std::string(storage::HistoryService::kPath) + "?tag=" + text).status, 421);
    break;
  }
}

TEST_F(TwoMembers, APersonsFollowMakesTheNodeFollowAtTheOwner) {
  internet.answers[peer.inbox] = [](const HttpCall&) {
    return with_status(200, R"({"accepted":1,"refused":[]})");
  };
  internet.answers[contact.origin() + std::string(subscriber::CatchUp::kPath)] = [](const HttpCall&) {
    return with_status(200, R"({"items":[]})");
  };
  const std::string theirs = tag_that_is(false);
  follow(fan, theirs);
  settle(std::chrono::seconds(10));
  const std::vector<json::object> posted = internet.posted_to(peer.inbox);
  ASSERT_FALSE(posted.empty());
  EXPECT_EQ(json::id_of(posted[0], "type"), "Follow");
  EXPECT_EQ(json::id_of(posted[0], "object"), peer.inbox.substr(0, peer.inbox.rfind('/')) + "/tag/" + theirs);
  EXPECT_THAT(rows("SELECT tag||' '||owner FROM subscriptions"),
              ElementsAre(theirs + " https://tags.peer.example"));

  // What it announces from now on goes to the fan; other tags of its it has no business with.
  PostText own{
      .uri = "https://peer.example/notes/1", .author = "https://peer.example/users/u", .tags = {theirs}};
  EXPECT_THAT(refusals_of(post_signed(announce_text(peer, {own}), peer)), IsEmpty());
  settle();
  EXPECT_THAT(types_at("https://far.example/inbox"), ElementsAre("Announce"));
  own.tags = {"unasked"};
  EXPECT_THAT(refusals_of(post_signed(announce_text(peer, {own}), peer)), ElementsAre(HasSubstr("denied")));

  EXPECT_EQ(post_signed(undo_follow_text(fan, {tag_actor(theirs)}), fan).status, 202);
  settle(subscriber::HashtagFollowers::kUnsubscribeAfter + std::chrono::seconds(10));
  EXPECT_EQ(json::id_of(internet.posted_to(peer.inbox).back(), "type"), "Undo");
  EXPECT_THAT(rows("SELECT tag FROM subscriptions"), IsEmpty());
}

TEST_F(TwoMembers, APostThatItsOwnersRefusedIsNotSaidToBeTaken) {
  const std::string theirs = tag_that_is(false);
  bool takes = false;
  internet.answers[peer.inbox] = [&](const HttpCall&) {
    const json::object refused = {
        {"uri", post.uri}, {"tag", theirs}, {"error", "denied"}, {"message", "home.example answered 403"}};
    return with_status(200, takes ? R"({"accepted":1,"refused":[]})"
                                  : json::serialize(json::object{{"refused", json::array{refused}}}));
  };
  post.tags = {theirs};
  publish(create_text(post));
  settle(std::chrono::seconds(10));
  std::string report = control("/doctor").body;
  EXPECT_THAT(report, HasSubstr("no post of it yet, and refused one: home.example answered 403"));
  EXPECT_THAT(report, HasSubstr("owners fetch posts from home.example before they take them"));
  takes = true;
  post.uri = "https://home.example/notes/2";
  publish(create_text(post));
  settle(std::chrono::seconds(10));
  report = control("/doctor").body;
  EXPECT_THAT(report, HasSubstr("owners took a post of it at"));
  EXPECT_THAT(report, Not(HasSubstr("answered 403")));
}

TEST_F(TwoMembers, AnOwnerThatDoesNotTakeAFollowIsAskedLessAndLessOften) {
  internet.answers[contact.origin() + std::string(subscriber::CatchUp::kPath)] = [](const HttpCall&) {
    return with_status(200, R"({"items":[]})");
  };
  const std::string theirs = tag_that_is(false);
  const std::vector<std::string> ways = {
      "", json::serialize(json::object{
              {"accepted", 0},
              {"refused", json::array{json::object{
                              {"uri", ""}, {"tag", theirs}, {"error", "unavailable"}, {"message", ""}}}}})};
  for (const std::string& refused : ways) {
    std::size_t asked = 0;
    internet.answers[peer.inbox] = [&](const HttpCall& call) {
      if (call.body.contains("\"Follow\"")) ++asked;
      return refused.empty() ? with_status(503) : with_status(200, refused);
    };
    follow(fan, theirs);
    settle(std::chrono::minutes(10));
    EXPECT_GE(asked, 4U) << refused;
    EXPECT_LE(asked, 20U) << refused;
    internet.answers[peer.inbox] = [](const HttpCall&) {
      return with_status(200, R"({"accepted":1,"refused":[]})");
    };
    settle(std::chrono::minutes(11));
    EXPECT_THAT(rows("SELECT tag FROM subscriptions"), ElementsAre(theirs)) << refused;
    EXPECT_EQ(post_signed(undo_follow_text(fan, {tag_actor(theirs)}), fan).status, 202);
    settle(subscriber::HashtagFollowers::kUnsubscribeAfter + std::chrono::minutes(1));
    EXPECT_THAT(rows("SELECT tag FROM subscriptions"), IsEmpty()) << refused;
  }
}

// It has its followers from a former owner.
TEST_F(TwoMembers, WhatARelayAtRestAnnouncesIsTakenAlsoBeforeItIsFollowed) {
  internet.answers[peer.inbox] = [](const HttpCall&) { return with_status(503); };
  const std::string theirs = tag_that_is(false);
  follow(fan, theirs);
  ASSERT_THAT(rows("SELECT tag FROM subscriptions"), IsEmpty());
  const PostText own{
      .uri = "https://peer.example/notes/1", .author = "https://peer.example/users/u", .tags = {theirs}};
  const Author stranger = make_node_author("https://tags.stranger.example");
  EXPECT_THAT(refusals_of(post_signed(announce_text(stranger, {own}), stranger)),
              ElementsAre(HasSubstr("denied")));
  EXPECT_THAT(types_at("https://far.example/inbox"), IsEmpty());

  EXPECT_THAT(refusals_of(post_signed(announce_text(peer, {own}), peer)), IsEmpty());
  settle();
  EXPECT_THAT(types_at("https://far.example/inbox"), ElementsAre("Announce"));
  // A relay, which is not believed alone about posts of others.
  const PostText foreign{
      .uri = "https://third.example/notes/1", .author = "https://third.example/users/u", .tags = {theirs}};
  EXPECT_THAT(refusals_of(post_signed(announce_text(peer, {foreign}), peer)), Not(IsEmpty()));
}

TEST_F(TwoMembers, AnOwnerThatStartedAnewIsFollowedAgainAlsoIfItIsBusyAtFirst) {
  std::string answer = R"({"accepted":1,"refused":[]})";
  internet.answers[peer.inbox] = [&answer](const HttpCall&) { return with_status(200, answer); };
  std::vector<WallTime> since;
  internet.answers[contact.origin() + std::string(subscriber::CatchUp::kPath)] =
      [&since](const HttpCall& call) {
        since.emplace_back(Duration(*json::get_int(json::parse_object(call.body).value(), "since")));
        return with_status(200, R"({"items":[]})");
      };
  const std::string theirs = tag_that_is(false);
  follow(fan, theirs);
  settle(std::chrono::seconds(10));
  ASSERT_THAT(since, SizeIs(1));
  settle(std::chrono::hours(1));
  EXPECT_THAT(since, SizeIs(1));

  answer = json::serialize(json::object{
      {"accepted", 0},
      {"refused",
       json::array{json::object{{"uri", ""}, {"tag", theirs}, {"error", "busy"}, {"message", ""}}}}});
  const WallTime start = clock.wall_now();
  ++contact.incarnation;
  introduce();
  settle(std::chrono::minutes(10));
  EXPECT_GT(internet.posted_to(peer.inbox).size(), 2U);
  EXPECT_THAT(rows("SELECT tag FROM subscriptions"), ElementsAre(theirs));
  EXPECT_THAT(since, SizeIs(1));

  answer = R"({"accepted":1,"refused":[]})";
  settle(std::chrono::minutes(10));
  ASSERT_THAT(since, SizeIs(2));
  // From before it started, and not all that it may ever have missed.
  EXPECT_LE(since[1], start);
  EXPECT_GE(since[1], start - std::chrono::minutes(15));
}

// Who was struck off believes else that it follows, and has missed nothing.
TEST_F(Following, WhoDoesNotFollowIsToldSoInPlaceOfWhatWasMissed) {
  const Author peer = make_node_author("https://tags.peer.example");
  post_signed(follow_text(peer, {tag_actor("cats")}), peer);
  const std::string both = R"({"since":0,"tags":["cats","dogs"]})";
  EXPECT_EQ(post_signed(both, peer, "/tagring/v1/missed").status, 409);
  post_signed(follow_text(peer, {tag_actor("dogs")}), peer);
  settle();  // a question of another second has another signature
  EXPECT_EQ(post_signed(both, peer, "/tagring/v1/missed").status, 200);
}

}  // namespace
}  // namespace tagring::node
