// Hashtags that are subscribed for an instance because its people follow them, or because it asks for them.
#include <fmt/format.h>
#include <fstream>

#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kHost = "social.example";
const std::string kFollowed = "https://social.example/api/v1/followed_tags";
const std::string kRelayDocument = "https://social.example/.well-known/x-social-relay";
constexpr Duration kPoll = minutes(12);  // within which every source is read at least once

class Sources : public NodeTest {
 protected:
  Author mastodon = make_author("https://social.example/actor", "https://social.example/inbox");

  Sources() {
    mastodon.type = "Application";
    internet.serve(mastodon);
    allow(true);
    EXPECT_EQ(post_signed(follow_text(mastodon, {kEverybody}), mastodon).status, 202);
    settle();
  }

  void allow(bool receives) {
    const json::object may = {{"host", kHost}, {"publishes", true}, {"receives", receives}};
    EXPECT_EQ(control("/instances/permit", json::serialize(may)).status, 200);
    settle();
  }
  int by_hand(const std::string& verb, const std::string& tag) {
    const json::object body = {{"host", kHost}, {"tags", json::array{tag}}};
    const int status = control("/instances/" + verb, json::serialize(body)).status;
    settle();
    return status;
  }
  static HttpResponse list(const std::vector<std::string>& tags, const std::string& link = {}) {
    json::array items;
    for (const std::string& tag : tags) items.push_back(json::object{{"name", tag}});
    HttpResponse response = with_status(200, json::serialize(items));
    if (!link.empty()) response.headers.add("Link", link);
    return response;
  }
  // What the owner of each token follows; any other token is refused.
  void people_follow(std::map<std::string, std::vector<std::string>> by_token) {
    internet.answers[kFollowed] = [by_token = std::move(by_token)](const HttpCall& call) {
      const std::string sent = call.headers.find("Authorization").value_or("");
      for (const auto& [token, tags] : by_token) {
        if (sent == "Bearer " + token) return list(tags);
      }
      return with_status(401);
    };
  }
  void server_asks(const std::string& document) {
    internet.documents[kRelayDocument] = with_status(200, document);
  }
  void start_with(std::vector<instances::TagToken> tokens, std::size_t tags_max = 1000) {
    tag_tokens = std::move(tokens);
    config::Config changed = config();
    changed.tags_per_instance = static_cast<std::uint32_t>(tags_max);
    changed.mastodon_database_host = kHost;
    changed.mastodon_database_dsn = "dbname=mastodon";
    start(changed);
    settle(minutes(1));
  }
  json::object described() {
    return json::parse_object(control("/instances/hashtags?host=" + kHost).body).value();
  }
  // "cats: admin followed_tags"
  std::vector<std::string> tags() {
    const json::object all = described();
    std::vector<std::string> lines;
    for (const json::value& tag : all.at("hashtags").as_array()) {
      std::string line = std::string(tag.as_string()) + ":";
      for (const json::value& reason : all.at("reasons").at(tag.as_string()).as_array())
        line += " " + std::string(reason.as_string());
      lines.push_back(line);
    }
    return lines;
  }
};

// --- followed hashtags -------------------------------------------------------------------------------------

TEST_F(Sources, WhatPeopleFollowIsSubscribed) {
  people_follow({{"ann", {"Cats", "dogs"}}, {"bob", {"dogs", "birds"}}});
  start_with({{kHost, "ann"}, {kHost, "bob"}});
  EXPECT_THAT(tags(), ElementsAre("birds: followed_tags", "cats: followed_tags", "dogs: followed_tags"));
  EXPECT_THAT(rows("SELECT tag FROM wants ORDER BY tag"), ElementsAre("birds", "cats", "dogs"));
  EXPECT_THAT(control("/instances/hashtags?host=" + kHost).body, Not(HasSubstr("ann")));
}

TEST_F(Sources, WhatNobodyFollowsAnyMoreIsUnsubscribed) {
  people_follow({{"ann", {"cats", "dogs"}}});
  start_with({{kHost, "ann"}});
  people_follow({{"ann", {"dogs", "fish"}}});
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("dogs: followed_tags", "fish: followed_tags"));
}

TEST_F(Sources, AllPagesAreRead) {
  internet.answers[kFollowed] = [](const HttpCall& call) {
    const std::string after = query_value(call.url.query(), "max_id");
    if (after.empty()) return list({"cats"}, "<" + kFollowed + "?max_id=5>; rel=\"next\"");
    return list({"dogs"}, "<" + kFollowed + "?since_id=5>; rel=\"prev\"");
  };
  start_with({{kHost, "ann"}});
  EXPECT_THAT(tags(), ElementsAre("cats: followed_tags", "dogs: followed_tags"));
}

TEST_F(Sources, ATokenGoesToNoOtherServer) {
  internet.answers[kFollowed] = [](const HttpCall&) {
    return list({"cats"}, "<https://evil.example/api/v1/followed_tags?max_id=5>; rel=\"next\"");
  };
  start_with({{kHost, "ann"}});
  internet.answers[kFollowed] = [](const HttpCall&) {
    HttpResponse response = with_status(302);
    response.headers.add("Location", "https://evil.example/");
    return response;
  };
  settle(kPoll);
  for (const HttpCall& call : internet.calls) EXPECT_NE(call.url.host, "evil.example");
  EXPECT_THAT(tags(), IsEmpty());
}

TEST_F(Sources, AFailureChangesNothing) {
  people_follow({{"ann", {"cats"}}, {"bob", {"dogs"}}});
  start_with({{kHost, "ann"}, {kHost, "bob"}});
  people_follow({{"bob", {"birds"}}});  // ann's token was revoked
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("birds: followed_tags", "cats: followed_tags"));
  EXPECT_THAT(control("/instances/hashtags?host=" + kHost).body,
              HasSubstr("answers 401: the token has expired"));
  for (const char* nonsense : {"", "{}", "<html>", R"([{"id":1}])"}) {
    internet.answers[kFollowed] = [nonsense](const HttpCall&) { return with_status(200, nonsense); };
    settle(kPoll);
    EXPECT_THAT(tags(), ElementsAre("birds: followed_tags", "cats: followed_tags")) << nonsense;
  }
  start_with(*tag_tokens);  // nor does a restart
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("birds: followed_tags", "cats: followed_tags"));
}

TEST_F(Sources, WhatATokenWantedGoesWithTheToken) {
  people_follow({{"ann", {"cats"}}, {"bob", {"dogs"}}});
  start_with({{kHost, "ann"}, {kHost, "bob"}});
  start_with({{kHost, "ann"}});
  EXPECT_THAT(tags(), ElementsAre("cats: followed_tags"));
}

// A token of the same person, and her server is away when it is read first.
TEST_F(Sources, ATokenThatReplacesAnotherWithdrawsNothingBeforeItIsRead) {
  people_follow({{"ann", {"cats", "dogs"}}});
  start_with({{kHost, "ann"}});
  people_follow({});
  tag_tokens = std::vector<instances::TagToken>{{kHost, "ann again"}};
  settle(2 * kPoll);
  EXPECT_THAT(tags(), ElementsAre("cats: followed_tags", "dogs: followed_tags"));
  people_follow({{"ann again", {"cats"}}});
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("cats: followed_tags"));
}

TEST_F(Sources, TheFileOfTokensIsReadAgain) {
  people_follow({{"ann", {"cats"}}, {"bob", {"dogs"}}});
  start_with({{kHost, "ann"}});
  tag_tokens = std::vector<instances::TagToken>{{kHost, "ann"}, {kHost, "bob"}};
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("cats: followed_tags", "dogs: followed_tags"));
  tag_tokens = fail(ErrorCode::kDenied, "chmod 600");
  settle(2 * kPoll);
  EXPECT_THAT(tags(), ElementsAre("cats: followed_tags", "dogs: followed_tags")) << "while it cannot be read";
  EXPECT_EQ(
      std::ranges::count_if(log_lines, [](const std::string& line) { return line.contains("chmod 600"); }),
      1);
  tag_tokens = std::vector<instances::TagToken>{{kHost, "bob"}};
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("dogs: followed_tags"));
}

TEST_F(Sources, AnInstanceThatIsNoReceiverIsNotAsked) {
  allow(false);
  people_follow({{"ann", {"cats"}}, {"eve", {"cats"}}});
  start_with({{kHost, "ann", 3}, {"stranger.example", "eve"}});
  EXPECT_THAT(control("/instances/hashtags?host=" + kHost).body,
              HasSubstr(R"({"source":"followed_tags, line 3","hashtags":0,"note":"not read: )" + kHost));
  internet.calls.clear();
  settle(kPoll);
  EXPECT_THAT(internet.calls, IsEmpty());
  allow(true);
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("cats: followed_tags"));
}

TEST_F(Sources, IsPolledAboutEveryTenMinutes) {
  people_follow({{"ann", {"cats"}}});
  start_with({{kHost, "ann"}});
  internet.calls.clear();
  settle(hours(5));
  const std::size_t polls = internet.sent_to(kFollowed + "?limit=200").size();
  EXPECT_GE(polls, 27U);
  EXPECT_LE(polls, 34U);
}

// --- by hand -----------------------------------------------------------------------------------------------

TEST_F(Sources, WhatWasChosenByHandStays) {
  EXPECT_EQ(by_hand("subscribe", "cats"), 200);
  EXPECT_EQ(by_hand("subscribe", "owls"), 200);
  people_follow({{"ann", {"cats", "dogs"}}});
  start_with({{kHost, "ann"}});
  EXPECT_THAT(tags(), ElementsAre("cats: admin followed_tags", "dogs: followed_tags", "owls: admin"));
  people_follow({{"ann", {}}});
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("cats: admin", "owls: admin"));
}

TEST_F(Sources, WhatWasRemovedByHandStaysAway) {
  people_follow({{"ann", {"cats", "dogs"}}});
  start_with({{kHost, "ann"}});
  EXPECT_EQ(by_hand("unsubscribe", "cats"), 200);
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("dogs: followed_tags"));
  start_with(*tag_tokens);
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("dogs: followed_tags"));
  EXPECT_EQ(by_hand("subscribe", "cats"), 200);
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("cats: admin followed_tags", "dogs: followed_tags"));
}

TEST_F(Sources, WhatWasNotSubscribedIsSaidToBeSo) {
  people_follow({{"ann", {"cats"}}});
  start_with({{kHost, "ann"}});
  const auto answer = [this](const std::string& verb, json::array tags) {
    const json::object body = {{"host", kHost}, {"tags", std::move(tags)}};
    std::string said = control("/instances/" + verb, json::serialize(body)).body;
    settle();
    return said;
  };
  EXPECT_THAT(answer("subscribe", {"Owls", "OWLS"}), HasSubstr(R"("subscribed":["owls"])"));
  EXPECT_THAT(answer("unsubscribe", {"cats", "catruday", "owls"}),
              HasSubstr(R"("unsubscribed":["cats","owls"],"unknown":["catruday"])"));
  EXPECT_THAT(answer("unsubscribe", {"cats"}), HasSubstr(R"("unsubscribed":[],"unknown":["cats"])"))
      << "somebody there follows it all the same";
}

TEST_F(Sources, AnInstanceThatComesBackGetsWhatItsPeopleFollow) {
  EXPECT_EQ(by_hand("subscribe", "cats"), 200);
  people_follow({{"ann", {"cats", "dogs"}}});
  start_with({{kHost, "ann"}});
  EXPECT_EQ(post_signed(undo_follow_text(mastodon, {kEverybody}), mastodon).status, 202);
  settle(kPoll);
  EXPECT_THAT(tags(), IsEmpty());
  EXPECT_EQ(post_signed(follow_text(mastodon, {kEverybody}), mastodon).status, 202);
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("cats: admin followed_tags", "dogs: followed_tags"));
}

// To remove the relay and add it again is all that an administrator of Mastodon or Misskey can do about it.
TEST_F(Sources, AnInstanceThatComesBackKeepsWhatItsAdministratorChose) {
  EXPECT_EQ(by_hand("subscribe", "cats"), 200);
  EXPECT_EQ(post_signed(undo_follow_text(mastodon, {kEverybody}), mastodon).status, 202);
  settle(kPoll);
  EXPECT_THAT(tags(), IsEmpty());
  start(config());
  EXPECT_EQ(post_signed(follow_text(mastodon, {kEverybody}), mastodon).status, 202);
  settle();
  EXPECT_THAT(tags(), ElementsAre("cats: admin"));
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("cats: admin"));
}

TEST_F(Sources, AnInstanceThatComesBackGetsFirstWhatItsAdministratorChoseIfNotAllFits) {
  for (const char* tag : {"cats", "owls"}) EXPECT_EQ(by_hand("subscribe", tag), 200);
  people_follow({{"ann", {"a1", "a2", "a3"}}});
  start_with({{kHost, "ann"}}, 4);
  EXPECT_EQ(post_signed(undo_follow_text(mastodon, {kEverybody}), mastodon).status, 202);
  settle(kPoll);
  EXPECT_EQ(post_signed(follow_text(mastodon, {kEverybody}), mastodon).status, 202);
  settle();
  const auto all = ElementsAre("a1: followed_tags", "a2: followed_tags", "cats: admin", "owls: admin");
  EXPECT_THAT(tags(), all);
  settle(kPoll);
  EXPECT_THAT(tags(), all);
}

TEST_F(Sources, WhatAnInboxThatWasGivenUpGotIsNotListedAndComesBackWithItsServer) {
  const Author alice = make_author("https://home.example/users/alice");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};
  EXPECT_EQ(by_hand("subscribe", "cats"), 200);
  settle(kPoll);
  internet.answers["https://social.example/inbox"] = [](const HttpCall&) { return with_status(410); };
  internet.answers[kRelayDocument] = [](const HttpCall&) { return with_status(503); };
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle(std::chrono::days(5));
  EXPECT_THAT(tags(), IsEmpty());
  internet.answers.clear();
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("cats: admin"));
}

TEST_F(Sources, ABlockedHashtagIsSubscribedByNobody) {
  EXPECT_EQ(control("/blocks/add", R"({"kind":"tag","what":"cats"})").status, 200);
  EXPECT_EQ(by_hand("subscribe", "cats"), 403);
  people_follow({{"ann", {"cats", "dogs"}}});
  start_with({{kHost, "ann"}});
  EXPECT_THAT(tags(), ElementsAre("dogs: followed_tags"));
}

TEST_F(Sources, AnInstanceGetsNoMoreThanItsLimit) {
  EXPECT_EQ(by_hand("subscribe", "owls"), 200);
  people_follow({{"ann", {"a1", "a2", "a3", "a4"}}});
  start_with({{kHost, "ann"}}, 3);
  EXPECT_THAT(tags(), ElementsAre("a1: followed_tags", "a2: followed_tags", "owls: admin"));
  people_follow({{"ann", {"a4", "a3", "a2"}}});  // who is in stays in
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("a2: followed_tags", "a4: followed_tags", "owls: admin"));
}

TEST_F(Sources, AnotherLimitCountsWithoutARestart) {
  people_follow({{"ann", {"a1", "a2", "a3"}}});
  start_with({{kHost, "ann"}}, 2);
  EXPECT_THAT(tags(), SizeIs(2));
  config::Config more = config();
  more.tags_per_instance = 3;
  node->adopt(more);
  settle(kPoll);
  EXPECT_THAT(tags(), SizeIs(3));
}

// --- other sources -----------------------------------------------------------------------------------------

TEST_F(Sources, TheDatabaseOfAMastodonIsRead) {
  std::string asked;
  read_followed_tags = [&asked](const std::string& dsn, std::uint64_t) -> Result<std::vector<std::string>> {
    asked = dsn;
    return std::vector<std::string>{"Cats", "!", "dogs"};
  };
  start_with({});
  EXPECT_EQ(asked, "dbname=mastodon");
  EXPECT_THAT(tags(), ElementsAre("cats: mastodon_database", "dogs: mastodon_database"));
  read_followed_tags = [](const std::string&, std::uint64_t) -> Result<std::vector<std::string>> {
    return fail(ErrorCode::kUnavailable, "the database is away");
  };
  start_with({});
  EXPECT_THAT(tags(), ElementsAre("cats: mastodon_database", "dogs: mastodon_database"));
  EXPECT_THAT(control("/instances/hashtags?host=" + kHost).body, HasSubstr("the database is away"));
}

TEST_F(Sources, WhatAServerAsksRelaysForIsSubscribed) {
  server_asks(R"({"subscribe":true,"scope":"tags","tags":["cats","dogs"]})");
  people_follow({{"ann", {"dogs"}}});
  start_with({{kHost, "ann"}});
  EXPECT_THAT(tags(), ElementsAre("cats: social_relay", "dogs: followed_tags social_relay"));
  internet.documents.erase(kRelayDocument);  // a failure like others
  settle(kPoll);
  EXPECT_THAT(tags(), SizeIs(2));
  server_asks(R"({"subscribe":false,"scope":"tags","tags":["cats","dogs"]})");
  settle(kPoll);
  EXPECT_THAT(tags(), ElementsAre("dogs: followed_tags"));
}

TEST_F(Sources, AHashtagThatWasAddedAsARelayIsShownToo) {
  EXPECT_EQ(by_hand("subscribe", "cats"), 200);
  for (const char* tag : {"cats", "haiku"})
    EXPECT_EQ(
        post_signed(follow_text(mastodon, {kEverybody}), mastodon, std::string("/tag/") + tag + "/inbox")
            .status,
        202);
  settle();
  EXPECT_THAT(tags(), ElementsAre("cats: admin tag_relay", "haiku: tag_relay"));
  EXPECT_THAT(control("/instances").body, HasSubstr(R"("hashtags":2)"));
}

// One actor is there for all relays of a server, and follows a hashtag once.
TEST_F(Sources, AHashtagThatComesInTwoWaysIsKeptWhenOneOfThemEnds) {
  const auto relay_of_cats = [this](const std::string& text) {
    EXPECT_EQ(post_signed(text, mastodon, "/tag/cats/inbox").status, 202);
    settle();
  };
  const auto ways = [this] { return rows("SELECT via FROM followers WHERE tag = 'cats'"); };
  const std::string by_tag_relay = "3";
  const std::string by_relay = "2";
  relay_of_cats(follow_text(mastodon, {kEverybody}));
  EXPECT_THAT(ways(), ElementsAre(by_tag_relay));
  EXPECT_EQ(by_hand("subscribe", "cats"), 200);
  people_follow({{"ann", {"cats"}}});
  start_with({{kHost, "ann"}});
  EXPECT_THAT(ways(), ElementsAre(by_tag_relay)) << "it comes already";
  EXPECT_EQ(by_hand("unsubscribe", "cats"), 200);
  people_follow({{"ann", {}}});
  settle(kPoll);
  EXPECT_THAT(ways(), ElementsAre(by_tag_relay)) << "nobody has removed that relay";
  EXPECT_EQ(by_hand("subscribe", "cats"), 200);
  relay_of_cats(undo_follow_text(mastodon, {kEverybody}));
  EXPECT_THAT(ways(), ElementsAre(by_relay)) << "it is chosen all the same";
  EXPECT_THAT(tags(), ElementsAre("cats: admin"));
}

TEST_F(Sources, AServerThatAsksForEverythingGetsNothingAndAReason) {
  server_asks(R"({"subscribe":true,"scope":"all","tags":["cats"]})");
  start_with({});
  EXPECT_THAT(tags(), IsEmpty());
  EXPECT_THAT(control("/instances/hashtags?host=" + kHost).body, HasSubstr("is not served, only"));
}

TEST_F(Sources, AServerWithoutThatDocumentIsAskedOnceADay) {
  start_with({});
  settle(hours(20));
  EXPECT_THAT(internet.sent_to(kRelayDocument), SizeIs(1));
  settle(hours(5));
  EXPECT_THAT(internet.sent_to(kRelayDocument), SizeIs(2));
}

// --- the file of tokens ------------------------------------------------------------------------------------

TEST_F(Sources, TheFileOfTokensMustBeReadableByItsOwnerAlone) {
  const std::filesystem::path file = directory / "tokens";
  std::ofstream(file) << "# people who agreed\nSocial.example  abc-_123  # ann\n\nb.example\tdef\n";
  using std::filesystem::perms;
  for (const perms open : {perms::group_read, perms::others_read, perms::group_write, perms::others_exec}) {
    std::filesystem::permissions(file, perms::owner_read | open);
    const auto refused = instances::load_tag_tokens(file);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
    EXPECT_THAT(refused.error().message, HasSubstr("chmod 600"));
  }
  std::filesystem::permissions(file, perms::owner_read | perms::owner_write);
  const auto tokens = instances::load_tag_tokens(file);
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_THAT(*tokens, ElementsAre(instances::TagToken{kHost, "abc-_123", 2},
                                   instances::TagToken{"b.example", "def", 4}));
  EXPECT_EQ(instances::load_tag_tokens(directory / "none").error().code, ErrorCode::kNotFound);
  std::filesystem::resize_file(file, 1U << 30U);
  EXPECT_EQ(instances::load_tag_tokens(file).error().code, ErrorCode::kTooLarge);
}

TEST(TagTokens, ALineThatIsWrongIsNamedAndNotShown) {
  for (const char* line :
       {"secret", "https://a.example secret", "a.example secret secret", "a.example sécret"}) {
    const auto tokens = instances::parse_tag_tokens("a.example fine\n" + std::string(line));
    ASSERT_FALSE(tokens) << line;
    EXPECT_EQ(tokens.error().message, "line 2: must be a host name, blanks and a token");
  }
}

// Misskey answers every path with its page.
TEST_F(Sources, APageInPlaceOfTheDocumentIsNoDocument) {
  server_asks("<!DOCTYPE html><html></html>");
  settle(std::chrono::hours(5));
  EXPECT_THAT(internet.sent_to(kRelayDocument), testing::SizeIs(1)) << "asked once a day";
}

TEST_F(Sources, AServerThatAsksForPatienceIsLeftAloneUntilThen) {
  internet.answers[kRelayDocument] = [](const HttpCall&) {
    HttpResponse response = with_status(429);
    response.headers.add("Retry-After", "3000");
    return Result<HttpResponse>(response);
  };
  settle(std::chrono::hours(1));
  EXPECT_LE(internet.sent_to(kRelayDocument).size(), 2U);
}

}  // namespace
}  // namespace tagring::node
