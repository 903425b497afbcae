// What the administrator's page asks, and who may ask it.
#include <algorithm>

#include "admin/settings.hpp"
#include "administrators/logins.hpp"
#include "audit/audit.hpp"
#include "node/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::node {
namespace {

using ::testing::HasSubstr;

class OverviewTest : public NodeTest {
 protected:
  json::object as_admin(const std::string& path) {
    const HttpResponse response = control(path);
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse_object(response.body).value_or(json::object());
  }
  // GET /admin/status with that secret.
  int status_with(const std::string& secret) {
    HttpRequest request;
    request.target = "/admin/status";
    request.headers.add("Authorization", "Bearer " + secret);
    return ask(std::move(request)).status;
  }
  std::string log_in() {
    const HttpResponse response = control("/login", "{}");
    const std::string url = json::get_string(*json::parse_object(response.body), "url").value_or("");
    EXPECT_THAT(url, testing::StartsWith(origin + "/admin#"));
    return url.substr(url.find('#') + 1);
  }
};

TEST_F(OverviewTest, ALoginLastsTwelveHours) {
  const std::string secret = log_in();
  EXPECT_EQ(status_with(secret), 200);
  EXPECT_EQ(status_with(secret.substr(1) + "0"), 401);
  EXPECT_EQ(status_with(""), 401);
  settle(administrators::Logins::kLifetime);
  EXPECT_EQ(status_with(secret), 401);
}

TEST_F(OverviewTest, LoggingOutEndsEverySession) {
  const std::string first = log_in();
  const std::string second = log_in();
  EXPECT_NE(first, second);
  control("/logout", "{}");
  EXPECT_EQ(status_with(first), 401);
  EXPECT_EQ(status_with(second), 401);
}

TEST_F(OverviewTest, WhoOpensManySessionsEndsNobodyElses) {
  const std::string first = log_in();
  for (std::size_t i = 0; i <= administrators::Logins::kMax; ++i)
    EXPECT_EQ(control("/login", R"({"name":"script"})").status, 200);
  EXPECT_EQ(status_with(first), 200);
  EXPECT_EQ(json::parse_object(control("/logout", R"({"name":"script"})").body)->at("closed"),
            json::value(administrators::Logins::kMax));
}

TEST_F(OverviewTest, TheOldestLoginMakesRoom) {
  const std::string first = log_in();
  for (std::size_t i = 1; i < administrators::Logins::kMax; ++i) static_cast<void>(log_in());
  EXPECT_EQ(status_with(first), 200);
  static_cast<void>(log_in());
  EXPECT_EQ(status_with(first), 401);
}

TEST_F(OverviewTest, SubscriptionsTellTheirPostsOfADay) {
  const Author alice = make_author("https://home.example/users/alice");
  control("/subscribe", R"({"tags":["cats","dogs"]})");
  settle();
  EXPECT_EQ(
      post_signed(create_text({.uri = alice.id + "/1", .author = alice.id, .tags = {"cats"}}), alice).status,
      202);
  settle();
  const json::object answer = as_admin("/subscriptions");
  EXPECT_EQ(answer.at("complete"), true);
  const json::array& tags = answer.at("hashtags").as_array();
  ASSERT_EQ(tags.size(), 2U);
  EXPECT_EQ(tags[0].at("tag"), "cats");
  EXPECT_EQ(tags[0].at("posts"), 1);
  EXPECT_EQ(tags[1].at("posts"), 0);
  settle(std::chrono::hours(25));
  EXPECT_EQ(as_admin("/subscriptions").at("hashtags").as_array()[0].at("posts"), 0);
}

TEST_F(OverviewTest, FollowersAreCountedByHashtag) {
  const Author fan = make_author("https://far.example/users/fan");
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/cats"}), fan).status, 202);
  settle();
  const json::object answer = as_admin("/followers");
  EXPECT_THAT(json::serialize(answer.at("hashtags")), HasSubstr(R"("tag":"cats","boosts":1)"));
}

TEST_F(OverviewTest, QueuesNameHostsThatFail) {
  const Author fan = make_author("https://far.example/users/fan");
  const Author alice = make_author("https://home.example/users/alice");
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/cats"}), fan).status, 202);
  settle();
  internet.answers[fan.inbox] = [](const HttpCall&) -> Result<HttpResponse> {
    return HttpResponse{
        .status = 502, .headers = {}, .body = "{\"error\":\"busy\",\"message\":\"tired\\n\"}"};
  };
  post_signed(create_text({.uri = alice.id + "/1", .author = alice.id, .tags = {"cats"}}), alice);
  settle(std::chrono::seconds(30));
  const std::string queues = json::serialize(as_admin("/queues").at("queues"));
  EXPECT_THAT(queues, HasSubstr(R"({"kind":"announcements","destination":")" + fan.inbox +
                                R"(","waiting":1,"failures":)"));
  EXPECT_THAT(queues, HasSubstr(R"("reason":"tired ","failing_since":")" +
                                to_rfc3339(clock.wall_now()).substr(0, 10)));
  EXPECT_GT(as_admin("/storage").at("octets").to_number<std::uint64_t>(), 0U);
}

TEST_F(OverviewTest, StorageTellsWhatIsKeptAndTheLimits) {
  const Author alice = make_author("https://home.example/users/alice");
  post_signed(create_text({.uri = alice.id + "/1", .author = alice.id, .tags = {"cats"}}), alice);
  settle();
  const json::object answer = as_admin("/storage");
  EXPECT_EQ(answer.at("hashtags"), 1);
  EXPECT_EQ(answer.at("entries"), 1);
  const json::object& history = answer.at("history").as_object();
  EXPECT_EQ(history.at("octets"), storage::HistoryStore::kBytesOfEntry);
  EXPECT_EQ(history.at("octets_max"), config().room_for_history());
  EXPECT_EQ(history.at("keep_days"), 365);
  EXPECT_EQ(history.at("let_go"), 0);
  EXPECT_EQ(answer.at("receipts").at("batches"), 0);  // alone, it has nobody to get one from
}

TEST_F(OverviewTest, TakeDownsAreListedTheLatestFirst) {
  const Author alice = make_author("https://home.example/users/alice");
  for (const char* name : {"/1", "/2"}) {
    post_signed(create_text({.uri = alice.id + name, .author = alice.id, .tags = {"cats"}}), alice);
    settle();
    const json::object request = {{"tag", "cats"}, {"uri", alice.id + name}, {"reason", name}};
    EXPECT_EQ(control("/takedown", json::serialize(request)).status, 200);
  }
  const json::object answer = as_admin("/takedowns");
  const json::array& list = answer.at("takedowns").as_array();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].at("reason"), "/2");
  EXPECT_EQ(list[1].at("uri").as_string(), alice.id + "/1");
}

TEST_F(OverviewTest, TheLastAuditsAreRemembered) {
  EXPECT_TRUE(as_admin("/audits").at("audits").as_array().empty());
  for (std::size_t i = 0; i <= audit::Audit::kRememberedMax; ++i)
    static_cast<void>(as_admin("/audit?tag=cats" + std::to_string(i)));
  const json::object answer = as_admin("/audits");
  const json::array& audits = answer.at("audits").as_array();
  ASSERT_EQ(audits.size(), audit::Audit::kRememberedMax);
  EXPECT_EQ(audits[0].at("tag"), "cats10");
  EXPECT_EQ(audits.back().at("tag"), "cats1");
}

TEST_F(OverviewTest, AuditsAreRememberedByTheNextRun) {
  static_cast<void>(as_admin("/audit?tag=cats"));
  const std::string before = json::serialize(as_admin("/audits"));
  EXPECT_THAT(before, HasSubstr(R"("tag":"cats")"));
  start(config());
  EXPECT_EQ(json::serialize(as_admin("/audits")), before);
}

TEST_F(OverviewTest, ReceiptsAreListedTheLatestFirst) {
  for (const std::int64_t number : {1, 2}) {
    audit::KeptReceipt kept;
    kept.receipt = {
        "tagring", Ring::kStorage, "https://owner.example/actor", WallTime(Duration(number)), 1, {}, "s"};
    kept.key = "a key";
    kept.items.push_back(
        {"cats"_tag, "https://a.example/" + std::to_string(number), false, WallTime(), true});
    ASSERT_TRUE(run(stores->receipts.keep(std::move(kept), WallTime(Duration(1)), {WallTime(), 1'000'000})));
  }
  EXPECT_THAT(json::serialize(as_admin("/receipts")),
              testing::StartsWith(
                  R"({"receipts":[{"at":"1970-01-01T00:00:00.002Z","owner":"https://owner.example",)"
                  R"("ring":"storage","op":"add","tag":"cats","uri":"https://a.example/2","batch":1},)"));
}

TEST_F(OverviewTest, BrowsersAreLedFromActorsToTimelines) {
  HttpRequest request;
  request.target = "/tag/xn--z7x";
  EXPECT_EQ(ask(request).status, 200);
  request.headers.add("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");
  const HttpResponse response = ask(request);
  EXPECT_EQ(response.status, 303);
  EXPECT_EQ(response.headers.find("Location"), "/tags/%E7%8C%AB");
}

TEST_F(OverviewTest, BudgetsCountWhenTheConfigurationIsReadAgainAndTheRestIsShownToNeedARestart) {
  config::Config fresh = config();
  fresh.budgets.at(static_cast<std::size_t>(budget::Resource::kWaiting)).total = 7;
  ++fresh.vservers;
  const json::object done = node->adopt(fresh);
  EXPECT_EQ(json::serialize(done), R"({"changed":["budget.waiting"],"restart":["ring.vservers"]})");
  EXPECT_EQ(status().at("budget").at("waiting").at("total"), 7);
  EXPECT_EQ(json::serialize(status().at("restart_for")), R"(["ring.vservers"])");
  const json::object settings = *json::parse_object(control("/settings").body);
  for (const json::value& one : settings.at("settings").as_array()) {
    if (one.at("key") == "budget.waiting") EXPECT_TRUE(one.at("at_once").as_bool() && one.at("value") == 7);
    if (one.at("key") == "ring.vservers") EXPECT_FALSE(one.at("at_once").as_bool());
  }
}

TEST(Settings, DescribeEveryKeyAndHideSecrets) {
  config::Config config;
  config.host = "tags.example.org";
  config.admin_tokens = {{{"token"}, "very secret indeed"}};
  config.mastodon_database_dsn = "password=hidden";
  config.postgres = "password=hidden";
  const json::array settings = admin::describe_settings(config);
  std::vector<std::string> keys;
  for (const json::value& setting : settings) {
    keys.emplace_back(setting.at("key").as_string());
    EXPECT_FALSE(setting.at("meaning").as_string().empty()) << keys.back();
    EXPECT_FALSE(setting.at("default").as_string().empty()) << keys.back();
  }
  std::ranges::sort(keys);
  EXPECT_EQ(keys, config::config_keys());
  EXPECT_THAT(json::serialize(settings), HasSubstr(R"("key":"node.host","value":"tags.example.org")"));
  EXPECT_THAT(json::serialize(settings), testing::Not(HasSubstr("secret indeed")));
  EXPECT_THAT(json::serialize(settings), testing::Not(HasSubstr("hidden")));
}

}  // namespace
}  // namespace tagring::node
