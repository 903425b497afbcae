// The node as a FASP: servers that subscribe to hashtags, and what they are told.
#include <fmt/format.h>

#include "node/fasp_fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FaspHashtags : public FaspTest {
 protected:
  FaspPeer& peer = enroll("social.example");
  Author alice = make_author("https://home.example/users/alice");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};

  void SetUp() override {
    settle();
    activate(peer, "hashtag_subscription");
  }
  static std::string path(const std::string& rest) { return "/hashtag_subscription/v0/hashtags" + rest; }
  int put(const std::string& tag) { return ask_as(peer, "PUT", path("/" + tag)).status; }
  void publish(const std::string& text) {
    settle(std::chrono::seconds(2));
    EXPECT_EQ(post_signed(text, alice).status, 202);
    settle(std::chrono::seconds(5));
  }
  // "cats new 1": hashtag, event and the last part of each URI.
  std::vector<std::string> told() {
    std::vector<std::string> lines;
    for (const HttpCall& call : calls_to(peer, "/hashtag_subscription/v0/announcements")) {
      const json::object said = json::parse_object(call.body).value();
      std::string line =
          json::get_string(said, "hashtag").value() + " " + json::get_string(said, "eventType").value();
      for (const json::value& uri : said.at("objectUris").as_array()) {
        const std::string text(uri.as_string());
        line += " " + text.substr(text.rfind('/') + 1);
      }
      lines.push_back(line);
    }
    return lines;
  }
};

TEST_F(FaspHashtags, IsOfferedAsACapability) {
  EXPECT_THAT(ask_as(peer, "GET", "/provider_info").body,
              HasSubstr(R"({"id":"hashtag_subscription","version":"0.1"})"));
}

TEST_F(FaspHashtags, WhatCouldNotBeWrittenDownAsWantedIsWantedSoon) {
  const auto write = [&](const char* statement) {
    const auto execute = [statement](sql::Connection& db) { return db.execute(statement); };
    ASSERT_TRUE(run(stores->database->write(execute)));
  };
  write("CREATE TRIGGER refuse BEFORE INSERT ON wants BEGIN SELECT RAISE(ABORT, 'no'); END");
  EXPECT_NE(put("cats"), 204);
  write("DROP TRIGGER refuse");
  settle();  // what is signed in the same second is a replay
  EXPECT_EQ(put("cats"), 204);
  settle(std::chrono::minutes(6));
  EXPECT_THAT(rows("SELECT tag FROM wants"), ElementsAre("cats"));
}

TEST_F(FaspHashtags, ASubscribedServerIsToldOfNewPostsAndOfThoseThatLeave) {
  EXPECT_EQ(put("Cats"), 204);
  publish(create_text(post));
  EXPECT_THAT(told(), ElementsAre("cats new 1"));
  publish(delete_text(post.uri, alice.id));
  EXPECT_THAT(told(), ElementsAre("cats new 1", "cats delete 1"));
}

TEST_F(FaspHashtags, IsToldOfEveryHashtagThatItChose) {
  post.tags = {"birds", "cats", "dogs"};
  put("cats");
  settle();
  put("birds");
  publish(create_text(post));
  EXPECT_THAT(told(), testing::UnorderedElementsAre("cats new 1", "birds new 1"));
}

TEST_F(FaspHashtags, IsNotToldOfPostsWhoseAuthorsHaveNotAgreedToBeFound) {
  put("cats");
  alice.indexable = false;
  internet.serve(alice);
  publish(create_text(post));
  EXPECT_THAT(rows("SELECT uri FROM feed"), SizeIs(1));
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(FaspHashtags, IsNotToldOfItsOwnPostsNorOfThoseItIsKeptApartFrom) {
  control("/instances/permit", R"({"host":"social.example","publishes":true,"receives":false})");
  put("cats");
  settle();
  const Author carol = make_author("https://social.example/users/carol");
  const PostText own{.uri = "https://social.example/notes/1", .author = carol.id, .tags = {"cats"}};
  EXPECT_EQ(post_signed(create_text(own), carol).status, 202);
  settle();
  EXPECT_THAT(rows("SELECT uri FROM feed"), SizeIs(1));
  control("/separations/add", R"({"host":"social.example","other":"home.example","direction":"receive"})");
  publish(create_text(post));
  EXPECT_THAT(rows("SELECT uri FROM feed"), SizeIs(2));
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(FaspHashtags, ListsAndEndsSubscriptions) {
  put("cats");
  settle();
  EXPECT_EQ(put("%E7%8C%AB"), 204);
  settle();
  EXPECT_EQ(put("cats"), 204);  // already is
  EXPECT_EQ(ask_as(peer, "GET", path("")).body, R"({"hashtags":["cats","猫"]})");
  EXPECT_THAT(control("/fasp").body, HasSubstr(R"("hashtags":["cats","猫"])"));
  EXPECT_EQ(ask_as(peer, "DELETE", path("/cats")).status, 204);
  EXPECT_EQ(ask_as(peer, "DELETE", path("/dogs")).status, 204);  // never was
  EXPECT_EQ(ask_as(peer, "GET", path("")).body, R"({"hashtags":["猫"]})");
  publish(create_text(post));
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(FaspHashtags, SubscriptionsThatComeAtOnceAreAllKept) {
  database_pause = Duration(20);
  for (const char* tag : {"cats", "dogs"})
    boost::asio::co_spawn(loop.executor(kOwner),
                          node->answer(request(peer, "PUT", path("/" + std::string(tag)))),
                          [](std::exception_ptr, const HttpResponse&) {});
  settle();
  EXPECT_EQ(ask_as(peer, "GET", path("")).body, R"({"hashtags":["cats","dogs"]})");
  EXPECT_EQ(ask_as(peer, "DELETE", "/capabilities/hashtag_subscription/0/activation").status, 204);
  EXPECT_THAT(rows("SELECT tag FROM followers"), IsEmpty());
}

TEST_F(FaspHashtags, ASubscriptionThatIsBeingWrittenEndsWithTheCapability) {
  database_pause = Duration(20);
  boost::asio::co_spawn(loop.executor(kOwner), node->answer(request(peer, "PUT", path("/cats"))),
                        [](std::exception_ptr, const HttpResponse&) {});
  settle(Duration(5));
  EXPECT_EQ(ask_as(peer, "DELETE", "/capabilities/hashtag_subscription/0/activation").status, 204);
  settle();
  EXPECT_THAT(rows("SELECT tag FROM followers"), IsEmpty());
}

TEST_F(FaspHashtags, AServerIsSubscribedOnlyToSoMany) {
  config::Config small = config();
  small.tags_per_instance = 2;
  start(small);
  settle();
  for (const char* tag : {"a1", "a2"}) EXPECT_EQ(put(tag), 204);
  settle();
  expect_unchanged(peer, request(peer, "PUT", path("/a3")), 403);
  EXPECT_EQ(ask_as(peer, "DELETE", path("/a1")).status, 204);
  EXPECT_EQ(put("a4"), 204);
}

TEST_F(FaspHashtags, RefusesWhatIsNoHashtagOrNotServedHere) {
  control("/blocks/add", R"({"kind":"tag","what":"spam"})");
  settle();
  expect_unchanged(peer, request(peer, "PUT", path("/spam")), 403);
  expect_unchanged(peer, request(peer, "PUT", path("/12345")), 422);
  expect_unchanged(peer, request(peer, "PUT", path("/%ff")), 422);
  expect_unchanged(peer, request(peer, "POST", path("/cats")), 404);
  expect_unchanged(peer, request(peer, "GET", "/hashtag_subscription/v0/other"), 404);
}

TEST_F(FaspHashtags, AnotherLimitCountsWithoutARestart) {
  const auto allow = [this](std::uint32_t most) {
    config::Config changed = config();
    changed.tags_per_instance = most;
    node->adopt(changed);
    settle();
  };
  allow(1);
  EXPECT_EQ(put("cats"), 204);
  settle();
  EXPECT_EQ(put("dogs"), 403);
  allow(2);
  EXPECT_EQ(put("dogs"), 204);
}

TEST_F(FaspHashtags, NobodySubscribesWithoutTheCapabilityOrInAnotherName) {
  FaspPeer& other = enroll("other.example");
  settle();
  expect_unchanged(other, request(other, "PUT", path("/cats")), 403);
  expect_unchanged(other, request(other, "GET", path("/cats/history")), 403);
  expect_unchanged(peer, request(peer, "PUT", path("/cats"), "", {.key = &other.key}), 401);
}

TEST_F(FaspHashtags, TheEndOfTheCapabilityOrOfTheServerEndsItsSubscriptions) {
  put("cats");
  EXPECT_EQ(ask_as(peer, "DELETE", "/capabilities/hashtag_subscription/0/activation").status, 204);
  EXPECT_THAT(rows("SELECT tag FROM followers"), IsEmpty());
  settle();
  activate(peer, "hashtag_subscription");
  EXPECT_EQ(ask_as(peer, "GET", path("")).body, R"({"hashtags":[]})");
  put("cats");
  EXPECT_EQ(control("/fasp/remove", R"({"host":"social.example"})").status, 200);
  EXPECT_THAT(rows("SELECT tag FROM followers"), IsEmpty());
  publish(create_text(post));
  EXPECT_THAT(told(), IsEmpty());
}

// --- delivery ----------------------------------------------------------------------------------------------

TEST_F(FaspHashtags, WhatIsNotTakenComesAgainInOrderEvenAfterARestart) {
  put("cats");
  const std::string announcements = "/hashtag_subscription/v0/announcements";
  peer.statuses[announcements] = 500;
  publish(create_text(post));
  publish(delete_text(post.uri, alice.id));
  post.uri = "https://home.example/notes/2";
  publish(create_text(post));
  start(config());
  settle();
  peer.calls.clear();
  peer.statuses.clear();
  settle(std::chrono::minutes(2));
  EXPECT_THAT(told(), testing::UnorderedElementsAre("cats new 2", "cats delete 1"))
      << "of each post the last word";
}

// A proxy's, or of a server that has blocked the node for an hour.
TEST_F(FaspHashtags, ADeletionIsNotLostWhereTheNodeIsRefusedForAWhile) {
  put("cats");
  publish(create_text(post));
  const std::string announcements = "/hashtag_subscription/v0/announcements";
  peer.statuses[announcements] = 403;
  publish(delete_text(post.uri, alice.id));
  settle(std::chrono::hours(1));
  peer.statuses.clear();
  peer.calls.clear();
  settle(std::chrono::hours(2));
  EXPECT_THAT(told(), ElementsAre("cats delete 1"));
}

TEST_F(FaspHashtags, AnAnnouncementThatTheServerCannotReadHoldsUpNoOther) {
  put("cats");
  const std::string announcements = "/hashtag_subscription/v0/announcements";
  for (const int status : {400, 413, 422}) {
    peer.statuses[announcements] = status;
    publish(create_text(post));
    peer.statuses.clear();
    peer.calls.clear();
    post.uri += "0";
    publish(create_text(post));
    EXPECT_THAT(told(), ElementsAre("cats new " + post.uri.substr(post.uri.rfind('/') + 1)));
    post.uri += "0";
  }
}

TEST_F(FaspHashtags, AServerThatReturnsIsToldAtOnceWhenItIsHeardFrom) {
  put("cats");
  const std::string announcements = "/hashtag_subscription/v0/announcements";
  peer.statuses[announcements] = 500;
  publish(create_text(post));
  settle(std::chrono::minutes(30));  // the waits are long by now
  peer.statuses.clear();
  peer.calls.clear();
  EXPECT_EQ(put("dogs"), 204);
  settle(std::chrono::seconds(1));
  EXPECT_THAT(told(), ElementsAre("cats new 1"));
}

TEST_F(FaspHashtags, AnUnsignedAcknowledgementIsNone) {
  put("cats");
  const std::string url = peer.base() + "/hashtag_subscription/v0/announcements";
  const auto signing = internet.answers[url];
  internet.answers[url] = [](const HttpCall&) { return with_status(204); };
  publish(create_text(post));
  internet.answers[url] = signing;
  settle(std::chrono::minutes(1));
  EXPECT_THAT(told(), ElementsAre("cats new 1"));
}

// A proxy's, while the server behind it is away.
TEST_F(FaspHashtags, AnUnsignedAnswerEndsNoSubscriptionAndGivesNothingUp) {
  put("cats");
  const std::string url = peer.base() + "/hashtag_subscription/v0/announcements";
  const auto signing = internet.answers[url];
  for (const int status : {404, 410, 400, 413, 422}) {
    internet.answers[url] = [status](const HttpCall&) { return with_status(status); };
    publish(create_text(post));
    EXPECT_THAT(rows("SELECT tag FROM followers"), ElementsAre("cats")) << status;
    internet.answers[url] = signing;
    peer.calls.clear();
    settle(std::chrono::minutes(1));
    EXPECT_THAT(told(), ElementsAre("cats new " + post.uri.substr(post.uri.rfind('/') + 1))) << status;
    post.uri += "0";
  }
}

TEST_F(FaspHashtags, AServerThatIsNotSubscribedAnyMoreSaysSo) {
  put("cats");
  peer.statuses["/hashtag_subscription/v0/announcements"] = 404;
  publish(create_text(post));
  EXPECT_THAT(rows("SELECT tag FROM followers"), IsEmpty());
  EXPECT_EQ(ask_as(peer, "GET", path("")).body, R"({"hashtags":[]})");
}

TEST_F(FaspHashtags, AHashtagThatTheServerFailsAtOrHasEndedHoldsUpNoOther) {
  for (const int status : {500, 404}) {
    for (const char* tag : {"cats", "dogs"}) {
      EXPECT_EQ(put(tag), 204);
      settle();
    }
    const std::string url = peer.base() + "/hashtag_subscription/v0/announcements";
    const auto by_itself = internet.answers[url];
    internet.answers[url] = [&](const HttpCall& call) -> Result<HttpResponse> {
      if (call.body.contains(R"("hashtag":"cats")")) return signed_answer(peer, status, "");
      return by_itself(call);
    };
    peer.calls.clear();
    post.tags = {"cats", "dogs"};
    post.uri += "0";
    publish(create_text(post));
    const std::string name = post.uri.substr(post.uri.rfind('/') + 1);
    EXPECT_THAT(told(), ElementsAre("dogs new " + name));
    start(config());
    settle(std::chrono::minutes(1));
    internet.answers[url] = by_itself;
    settle(std::chrono::minutes(10));
    if (status == 500) {
      EXPECT_THAT(told(), ElementsAre("dogs new " + name, "cats new " + name));
    } else {
      EXPECT_THAT(told(), ElementsAre("dogs new " + name));
      EXPECT_THAT(rows("SELECT tag FROM followers"), ElementsAre("dogs"));
    }
  }
}

TEST_F(FaspHashtags, TheAdministratorSeesWhatAServerDoesNotTake) {
  put("cats");
  EXPECT_THAT(control("/fasp").body, testing::Not(HasSubstr("untold")));
  peer.statuses["/hashtag_subscription/v0/announcements"] = 500;
  publish(create_text(post));
  const json::object answer = json::parse_object(control("/fasp").body).value();
  const json::object& untold = answer.at("servers").as_array().front().as_object().at("untold").as_object();
  EXPECT_EQ(untold.at("waiting").to_number<int>(), 1);
  EXPECT_THAT(json::text_of(untold, "reason"), HasSubstr("500"));
  EXPECT_THAT(json::text_of(untold, "failing_since"), testing::StartsWith("20"));
  // The days before are those of the test of the announcer.
  run(stores->database->write([](sql::Connection& db) {
    return db.execute(
        "INSERT INTO inboxes(inbox, acknowledged, silent_days)"
        " SELECT DISTINCT inbox, 0, 31 FROM followers WHERE true"
        " ON CONFLICT(inbox) DO UPDATE SET silent_days = 31");
  })).value();
  start(config());
  settle();
  EXPECT_THAT(control("/doctor").body, HasSubstr("FASP server social.example"));
  EXPECT_THAT(rows("SELECT tag FROM followers"), ElementsAre("cats"));
}

TEST_F(FaspHashtags, WhatIsTakenWhileTheNodeStartsCounts) {
  put("cats");
  peer.statuses["/hashtag_subscription/v0/announcements"] = 500;
  publish(create_text(post));
  run(stores->database->write([](sql::Connection& db) {
    return db.execute(
        "INSERT INTO inboxes(inbox, acknowledged, silent_days)"
        " SELECT DISTINCT inbox, 0, 31 FROM followers WHERE true"
        " ON CONFLICT(inbox) DO UPDATE SET silent_days = 31");
  })).value();
  peer.statuses.clear();
  peer.calls.clear();
  database_pause = Duration(20);
  start(config());
  database_pause = Duration::zero();
  settle();
  EXPECT_THAT(told(), ElementsAre("cats new 1"));
  EXPECT_THAT(control("/doctor").body, testing::Not(HasSubstr("FASP server social.example")));
}

TEST_F(FaspHashtags, IsInNoCollectionOfFollowers) {
  put("cats");
  EXPECT_THAT(rows("SELECT collection FROM partials"), IsEmpty());
}

// --- history -----------------------------------------------------------------------------------------------

TEST_F(FaspHashtags, GivesTheHistoryOfSubscribedHashtagsPageByPage) {
  for (int i = 1; i <= 3; ++i) {
    post.uri = fmt::format("https://home.example/notes/{}", i);
    publish(create_text(post));
  }
  expect_unchanged(peer, request(peer, "GET", path("/cats/history")), 404);
  put("cats");
  const json::object first =
      json::parse_object(ask_as(peer, "GET", path("/cats/history?limit=2")).body).value();
  EXPECT_EQ(json::get_string(first, "hashtag"), "cats");
  ASSERT_THAT(first.at("objects").as_array(), SizeIs(2));
  EXPECT_EQ(json::get_string(first.at("objects").as_array()[0].as_object(), "published"),
            "2025-12-31T12:00:00Z");
  const std::string next = json::get_string(first, "next").value_or("");
  const json::object second =
      json::parse_object(ask_as(peer, "GET", path("/cats/history?limit=2&before=" + next)).body).value();
  EXPECT_THAT(second.at("objects").as_array(), SizeIs(1));
  EXPECT_FALSE(second.contains("next"));
  expect_unchanged(peer, request(peer, "GET", path("/cats/history?before=x")), 422);
}

TEST_F(FaspHashtags, GivesNoHistoryOfWhoBlocksTheHashtag) {
  publish(create_text(post));
  put("cats");
  const json::object block = {{"id", alice.id + "/blocks/1"},
                              {"type", "Block"},
                              {"actor", alice.id},
                              {"object", origin + "/tag/cats"}};
  publish(json::serialize(block));
  const json::object page = json::parse_object(ask_as(peer, "GET", path("/cats/history")).body).value();
  EXPECT_THAT(page.at("objects").as_array(), IsEmpty());
}

TEST_F(FaspHashtags, ReadsHistoriesOnlySoOftenForOneServer) {
  put("cats");
  for (int i = 0; i < 60; ++i) EXPECT_EQ(ask_as(peer, "GET", path("/cats/history")).status, 200);
  const HttpResponse refused = ask_as(peer, "GET", path("/cats/history"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.find("Retry-After"), "60");
  settle(std::chrono::minutes(1));
  EXPECT_EQ(ask_as(peer, "GET", path("/cats/history")).status, 200);
}

}  // namespace
}  // namespace tagring::node
