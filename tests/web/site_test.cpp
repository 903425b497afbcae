#include "web/site.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "web/layout.hpp"
#include "web/tag_page.hpp"

namespace tagring::web {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class FixedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return time; }
  [[nodiscard]] WallTime wall_now() const override { return {}; }
  [[nodiscard]] boost::asio::awaitable<void> sleep_until(Instant) override { co_return; }
  Instant time{};
};

class OneAnswer final : public HttpClient {
 public:
  [[nodiscard]] Task<Result<HttpResponse>> send(HttpCall call) override {
    asked.push_back(call.url.text());
    if (const auto place = redirects.find(asked.back()); place != redirects.end())
      co_return HttpResponse{.status = 301, .headers = {{"Location", place->second}}, .body = {}};
    if (const auto known = answers.find(asked.back()); known != answers.end())
      co_return HttpResponse{.status = 200, .headers = {}, .body = known->second};
    co_return answer;
  }
  std::map<std::string, std::string> answers;    // bodies, by URL
  std::map<std::string, std::string> redirects;  // by URL
  std::vector<std::string> asked;
  Result<HttpResponse> answer;
};

struct SiteTest : ::testing::Test {
  HttpResponse get(const std::string& target, Headers headers = {}, IpAddress peer = {}) {
    boost::asio::io_context loop;
    HttpResponse response;
    boost::asio::co_spawn(
        loop,
        site.answer(HttpRequest{.target = target, .headers = std::move(headers), .body = {}, .peer = peer}),
        [&](std::exception_ptr error, HttpResponse result) {
          ASSERT_FALSE(error);
          response = std::move(result);
        });
    loop.run();
    return response;
  }
  Task<HttpResponse> api(HttpRequest request) {
    asked.push_back(request.target);
    co_return api_answer;
  }

  std::vector<std::string> asked;
  HttpResponse api_answer{.status = 200, .headers = {}, .body = "[]"};
  FixedClock clock;
  OneAnswer http;
  budget::Manager budget{budget::default_budgets(), clock};
  Site site{{"tags.example.org", "https://tags.example.org"},
            [this](HttpRequest request) { return api(std::move(request)); },
            http,
            clock,
            budget};
};

TEST_F(SiteTest, PagesAllowNoScriptsAndStylesButTheirOwn) {
  for (const char* target : {"/", "/admin", "/tags/cats", "/search?q=cats"}) {
    const HttpResponse response = get(target);
    EXPECT_EQ(response.status, 200) << target;
    const std::string policy = response.headers.find("Content-Security-Policy").value_or("");
    EXPECT_THAT(policy, HasSubstr("default-src 'none'; script-src 'self'; style-src 'self'"));
    EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
    EXPECT_THAT(response.body, Not(HasSubstr("<style")));
    EXPECT_THAT(response.body, Not(HasSubstr(" style=")));
    EXPECT_THAT(response.body, Not(HasSubstr(" onclick")));
  }
}

TEST_F(SiteTest, SearchEnginesOfTheWebAreShownNoPosts) {
  for (const char* target : {"/admin", "/tags/cats", "/search?q=cats", "/tags/cats/nonsense"})
    EXPECT_EQ(get(target).headers.find("X-Robots-Tag"), "noindex") << target;
  EXPECT_EQ(get("/").headers.find("X-Robots-Tag"), std::nullopt);
}

TEST_F(SiteTest, AssetsThatPagesNameAreThereForEver) {
  const std::string page = get("/").body;
  const std::size_t start = page.find("/assets/page.js?v=");
  ASSERT_NE(start, std::string::npos);
  const HttpResponse script = get(page.substr(start, page.find('"', start) - start));
  EXPECT_EQ(script.status, 200);
  EXPECT_EQ(script.headers.find("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_THAT(script.headers.find("Cache-Control").value_or(""), HasSubstr("immutable"));
  EXPECT_EQ(get("/assets/../page.js").status, 404);
}

TEST_F(SiteTest, TheTagPageShowsTheTimelineAndTheWayOn) {
  api_answer.body = R"([{"id":"9","content":"<p>first</p>"},{"id":"7","content":"<p>last</p>"}])";
  api_answer.headers.add("Link",
                         R"(<https://tags.example.org/api/v1/timelines/tag/cats?max_id=7>; rel="next")");
  const HttpResponse response = get("/tags/cats?any=Dogs+birds&none=ai&until=2026-05-01");
  EXPECT_EQ(asked.back(),
            "/api/v1/timelines/tag/cats?any[]=dogs&any[]=birds&none[]=ai&"
            "until=2026-05-01T23%3A59%3A59.999Z&limit=20");
  EXPECT_THAT(response.body, HasSubstr("<p>first</p>"));
  EXPECT_THAT(response.body,
              HasSubstr(R"(data-tag="cats" data-any="dogs birds" data-all="" data-none="ai">)"));
  EXPECT_THAT(
      response.body,
      HasSubstr(
          R"(rel="next" href="/tags/cats?any=dogs%20birds&amp;none=ai&amp;until=2026-05-01&amp;max_id=7")"));
  EXPECT_THAT(response.body, Not(HasSubstr("Newer posts")));
}

TEST_F(SiteTest, OlderPagesLeadBack) {
  api_answer.body = R"([{"id":"9"},{"id":"7"}])";
  const HttpResponse response = get("/tags/cats?max_id=10");
  EXPECT_THAT(asked.back(), HasSubstr("max_id=10"));
  EXPECT_THAT(response.body, HasSubstr("/tags/cats?min_id=9"));
  EXPECT_THAT(response.body, Not(HasSubstr("Older posts")));
}

TEST_F(SiteTest, BehindTheLastPageIsAWayBack) {
  api_answer.body = "[]";
  for (const char* target : {"/tags/cats?min_id=10", "/tags/cats?max_id=10"}) {
    const HttpResponse response = get(target);
    EXPECT_THAT(response.body, HasSubstr("Newest"));
    EXPECT_THAT(response.body, Not(HasSubstr("No posts yet")));
  }
}

TEST_F(SiteTest, OtherSpellingsLeadToTheOneOfTheHashtag) {
  const HttpResponse response = get("/tags/Caf%C3%A9?any=Tea");
  EXPECT_EQ(response.status, 301);
  EXPECT_EQ(response.headers.find("Location"), "/tags/cafe?any=Tea");
  EXPECT_EQ(get("/tags/xn--z7x").headers.find("Location"), "/tags/%E7%8C%AB") << "as its actor is called";
  EXPECT_EQ(get("/tags/cats/").headers.find("Location"), "/tags/cats");
  EXPECT_EQ(get("/tags/").status, 404);
  EXPECT_EQ(get("/tags/%F0%9F%8E%89").status, 404);
  EXPECT_EQ(get("/tags/cats/nonsense").status, 404);
}

TEST_F(SiteTest, SaysWhyAHashtagIsNotShown) {
  api_answer = {.status = 404, .headers = {}, .body = R"({"error":"<not> offered"})"};
  const HttpResponse response = get("/tags/cats");
  EXPECT_EQ(response.status, 404);
  EXPECT_THAT(response.body, HasSubstr("&lt;not&gt; offered"));
}

TEST_F(SiteTest, SaysWhoseFaultItIsThatThereAreNoPosts) {
  for (const int status : {422, 429, 500, 503}) {
    api_answer = {.status = status, .headers = {}, .body = R"({"error":"so it is"})"};
    const HttpResponse response = get("/tags/cats?max_id=abc");
    EXPECT_EQ(response.status, status);
    EXPECT_THAT(response.body, HasSubstr("so it is"));
  }
}

TEST_F(SiteTest, SearchFindsAHashtagThatNobodyHasUsedYet) {
  api_answer.body = R"({"hashtags":[],"statuses":[]})";
  EXPECT_THAT(get("/search?q=%23Neu").body, HasSubstr(R"(<a href="/tags/neu")"));
  for (const char* address : {"https%3A%2F%2Felk.example%2F%40dave%2F1", "%40dave%40elk.example"})
    EXPECT_THAT(get(std::string("/search?q=") + address).body, Not(HasSubstr("<li>"))) << address;
  EXPECT_THAT(get("/search?q=%22%3E%3Cscript%3E").body, Not(HasSubstr("<script>")));
}

TEST_F(SiteTest, SearchSaysWhyNothingCouldBeFound) {
  api_answer = {.status = 429, .headers = {{"Retry-After", "60"}}, .body = R"({"error":"so it is"})"};
  const HttpResponse response = get("/search?q=https%3A%2F%2Felk.example%2F%40dave%2F1");
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.headers.find("Retry-After"), "60");
  EXPECT_THAT(response.body, HasSubstr("so it is"));
  EXPECT_THAT(response.body, Not(HasSubstr("Nothing was found")));
  EXPECT_EQ(get("/search?q=%20").status, 200) << "nothing was asked";
}

TEST_F(SiteTest, SearchShowsThePeopleThatAreFound) {
  api_answer.body = R"({"accounts":[{"display_name":"<b>Alice","acct":"alice@social.example",)"
                    R"("url":"https://social.example/@alice"}],"hashtags":[],"statuses":[]})";
  const std::string page = get("/search?q=%40alice%40social.example").body;
  EXPECT_THAT(page, HasSubstr(R"(href="https://social.example/@alice")"));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;Alice"));
  EXPECT_THAT(page, Not(HasSubstr("Nothing was found")));
}

TEST_F(SiteTest, WhoLooksForAPostOrAPersonIsToldNothingOfHashtagsLetters) {
  api_answer.body = R"({"accounts":[],"hashtags":[],"statuses":[]})";
  for (const char* address : {"%40alice%40social.example", "https%3A%2F%2Fsocial.example%2Fnotes%2F1"}) {
    const std::string page = get(std::string("/search?q=") + address).body;
    EXPECT_THAT(page, HasSubstr("Nothing was found. A post is found by its address")) << address;
    EXPECT_THAT(page, Not(HasSubstr("at least one letter"))) << address;
  }
  EXPECT_THAT(get("/search?q=1234").body, HasSubstr("at least one letter"));
}

TEST_F(SiteTest, AddressesAreSearchedForWhole) {
  api_answer.body = R"({"hashtags":[],"statuses":[]})";
  for (const std::size_t length : {300U, 2000U, 3000U}) {
    const std::string address = "https://blog.example/2026/11/28/" + std::string(length, 'a') + "/";
    const std::string page = get("/search?q=" + percent_encode(address)).body;
    EXPECT_THAT(asked.back(), EndsWith("q=" + percent_encode(address)));
    EXPECT_THAT(page, HasSubstr(R"(maxlength="2048")")) << "as much as the API takes";
  }
}

TEST_F(SiteTest, SearchSaysWhatWasPerhapsMeant) {
  api_answer.body = R"({"hashtags":[],"statuses":[]})";
  const std::string page = get("/search?q=cats%2Cdogs").body;
  EXPECT_THAT(page, HasSubstr(R"(<a href="/tags/cats")"));
  EXPECT_THAT(page, HasSubstr(R"(<a href="/tags/dogs")"));
  EXPECT_THAT(page, Not(HasSubstr("catsdogs")));
}

TEST_F(SiteTest, WhatIsNoHashtagLeadsToNoOther) {
  const HttpResponse response = get("/tags/cats,dogs");
  EXPECT_EQ(response.status, 404);
  EXPECT_THAT(response.body, HasSubstr(R"(<a href="/tags/dogs")"));
  EXPECT_THAT(response.body, HasSubstr("cannot stand in one"));
  EXPECT_EQ(get("/tags/cats,dogs/follow?account=me%40far.example").status, 404);
}

TEST_F(SiteTest, WhatIsWrongInTheFieldsIsSaid) {
  const std::string page = get("/tags/cats?any=Tea+c%2B%2B&none=%21%21&until=garbage").body;
  EXPECT_THAT(page, HasSubstr("&#39;c++&#39; is no hashtag"));
  EXPECT_THAT(page, HasSubstr("&#39;!!&#39; is no hashtag"));
  EXPECT_THAT(page, HasSubstr("&#39;garbage&#39; is no day"));
  EXPECT_THAT(asked.back(), HasSubstr("any[]=tea&"));
  EXPECT_THAT(asked.back(), Not(HasSubstr("c%2B")));
  EXPECT_THAT(get("/tags/cats?any=Tea&until=2026-05-01").body, Not(HasSubstr("class=\"notice\" role")));
}

TEST_F(SiteTest, WhatNobodyUsesComesLastAmongWhatIsFound) {
  api_answer.body = R"({"hashtags":[{"name":"hedge","history":[{"uses":"0"}]},)"
                    R"({"name":"hedgehog","history":[{"uses":"77"}]}],"statuses":[]})";
  const std::string page = get("/search?q=hedge").body;
  ASSERT_THAT(page, HasSubstr("/tags/hedge\""));
  EXPECT_LT(page.find("/tags/hedgehog\""), page.find("/tags/hedge\""));
}

TEST_F(SiteTest, FollowingGoesThroughTheReadersServer) {
  http.answer =
      HttpResponse{.status = 200,
                   .headers = {},
                   .body = R"({"links":[{"rel":"http://ostatus.org/schema/1.0/subscribe",)"
                           R"("template":"https://social.example/authorize_interaction?uri={uri}"}]})"};
  const HttpResponse response = get("/tags/%E7%8C%AB/follow?account=%40me%40Social.example");
  EXPECT_THAT(http.asked.back(),
              StartsWith("https://social.example/.well-known/webfinger?resource=acct%3Ame%40social.example"));
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body,
              HasSubstr("https://social.example/authorize_interaction?uri=xn--z7x%40tags.example.org"));
  const HttpResponse answer =
      get("/tags/cats/follow?account=social.example", {{"Accept", "application/json"}});
  EXPECT_EQ(answer.body,
            R"({"url":"https://social.example/authorize_interaction?uri=cats%40tags.example.org",)"
            R"("template":"https://social.example/authorize_interaction?uri={uri}","guessed":false})");
}

// As Mastodon does it, for servers that have no template, or do not know the account.
TEST_F(SiteTest, FollowingTriesTheUsualPlaceIfTheServerDoesNotSay) {
  for (const int status : {200, 404}) {
    http.asked.clear();
    http.answer = HttpResponse{.status = status, .headers = {}, .body = R"({"links":[]})"};
    const HttpResponse answer =
        get("/tags/cats/follow?account=me@social.example", {{"Accept", "application/json"}});
    EXPECT_EQ(answer.body,
              R"({"url":"https://social.example/authorize_interaction?uri=cats%40tags.example.org",)"
              R"("template":"https://social.example/authorize_interaction?uri={uri}","guessed":true})");
    EXPECT_EQ(http.asked.size(), status == 200 ? 2U : 3U);
    EXPECT_EQ(http.asked.back(), "https://social.example/.well-known/nodeinfo");
  }
  EXPECT_THAT(http.asked.at(1), testing::EndsWith("resource=https%3A%2F%2Fsocial.example%2F"));
  const std::string page = get("/tags/cats/follow?account=me@social.example").body;
  EXPECT_THAT(page, HasSubstr("does not say how to follow from there"));
  EXPECT_THAT(page, HasSubstr("copy <code>@cats@tags.example.org</code>"));
}

// Names of one domain, and the server on another, as Mastodon and GoToSocial document it.
TEST_F(SiteTest, FollowingGoesWhereWebfingerIsRedirected) {
  const std::string query = "/.well-known/webfinger?resource=acct%3Ame%40family.example";
  const auto url = [&] {
    const HttpResponse answer =
        get("/tags/cats/follow?account=me@family.example", {{"Accept", "application/json"}});
    return json::text_of(json::parse_object(answer.body).value(), answer.status == 200 ? "url" : "error");
  };
  http.redirects["https://family.example" + query] = "https://www.family.example/there";
  http.redirects["https://www.family.example/there"] = "/here";
  http.redirects["https://www.family.example/here"] = "//social.example" + query;
  const std::string there = "https://social.example" + query;
  http.answers[there] = R"({"links":[{"rel":"http://ostatus.org/schema/1.0/subscribe",)"
                        R"("template":"https://social.example/follow?uri={uri}"}]})";
  EXPECT_EQ(url(), "https://social.example/follow?uri=cats%40tags.example.org");
  EXPECT_THAT(get("/tags/cats/follow?account=me@family.example").body, HasSubstr("Go on at social.example<"));
  // Without a template, the server is the one that answered.
  http.answers[there] = R"({"links":[]})";
  http.answer = HttpResponse{.status = 404, .headers = {}, .body = {}};
  EXPECT_EQ(url(), "https://social.example/authorize_interaction?uri=cats%40tags.example.org");
  http.answers["https://social.example/.well-known/nodeinfo"] =
      R"({"links":[{"rel":"http://nodeinfo.diaspora.software/ns/schema/2.0","href":"https://social.example/n"}]})";
  http.answers["https://social.example/n"] = R"({"software":{"name":"gotosocial"}})";
  EXPECT_THAT(url(), HasSubstr("social.example (gotosocial) has no page for that"));
  // And also if it knows nobody by the name of the domain.
  http.redirects["https://village.example/.well-known/webfinger?resource=https%3A%2F%2Fvillage.example%2F"] =
      "https://social.example/nobody";
  EXPECT_THAT(get("/tags/cats/follow?account=village.example").body,
              HasSubstr("social.example (gotosocial) has no page for that"));
  // Not out of HTTPS, and not for ever.
  http.redirects["https://family.example" + query] = "http://social.example" + query;
  EXPECT_EQ(url(), "https://family.example/authorize_interaction?uri=cats%40tags.example.org");
  http.redirects["https://family.example" + query] = "https://family.example" + query;
  clock.time += std::chrono::minutes(1);
  http.asked.clear();
  EXPECT_THAT(url(), HasSubstr("family.example does not answer"));
  EXPECT_THAT(http.asked, testing::SizeIs(4));
}

TEST_F(SiteTest, FollowingTakesWhatPeoplePaste) {
  http.answer = HttpResponse{.status = 200,
                             .headers = {},
                             .body = R"({"links":[{"rel":"http://ostatus.org/schema/1.0/subscribe",)"
                                     R"("template":"https://elk.example/authorize?uri={uri}"}]})"};
  const std::string of_me = "https://elk.example/.well-known/webfinger?resource=acct%3Ame%40elk.example";
  const std::string of_all =
      "https://elk.example/.well-known/webfinger?resource=https%3A%2F%2Felk.example%2F";
  for (const auto& [pasted, asked] :
       {std::pair("https://elk.example/@me", of_me), std::pair("elk.example/@me", of_me),
        std::pair("https://elk.example/users/me", of_me),
        std::pair("https://elk.example/u/me?tab=posts", of_me),
        std::pair("https://elk.example/@me@far.example", of_me),
        std::pair("https://elk.example/@me/117", of_me), std::pair(" @me@elk.example ", of_me),
        std::pair("\tme@Elk.Example\n", of_me), std::pair("acct:me@elk.example", of_me),
        std::pair("HTTPS://Elk.Example", of_all), std::pair("https://elk.example/", of_all),
        std::pair("elk.example", of_all), std::pair("https://elk.example/about", of_all),
        std::pair("\u00a0@me@elk.example\u3000", of_me), std::pair("\uff20me\uff20elk.example", of_me),
        std::pair("\u2068@me@elk.example\u2069", of_me), std::pair("\u200belk.example\ufeff", of_all)}) {
    http.asked.clear();
    clock.time += std::chrono::minutes(1);
    const HttpResponse answer = get("/tags/cats/follow?account=" + percent_encode(pasted));
    EXPECT_EQ(answer.status, 200) << pasted;
    ASSERT_FALSE(http.asked.empty()) << pasted;
    EXPECT_EQ(http.asked.front(), asked) << pasted;
  }
  http.asked.clear();
  for (const char* nothing :
       {"hello", "@hello", "https://hello/", "mailto:me@elk.example:x", "   ", "@@", "https://"}) {
    EXPECT_THAT(get("/tags/cats/follow?account=" + percent_encode(nothing)).body,
                HasSubstr("that is no account"))
        << nothing;
  }
  EXPECT_TRUE(http.asked.empty());
}

TEST_F(SiteTest, AReaderNamesOnlySoManyServersAndAServerIsAskedOnlySoOften) {
  const auto& budgets = budget::default_budgets();
  const auto each = [&](budget::Resource resource) {
    return budgets.at(static_cast<std::size_t>(resource)).each;
  };
  http.answer = HttpResponse{.status = 404, .headers = {}, .body = {}};
  HttpResponse answer;
  for (std::uint64_t i = 0; i < each(budget::Resource::kReaderAsks); ++i) {
    answer = get("/tags/cats/follow?account=me@s" + std::to_string(i) + ".example");
    EXPECT_EQ(answer.status, 200);
  }
  http.asked.clear();
  answer = get("/tags/cats/follow?account=me@one-more.example");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.headers.find("Retry-After"), "60");
  EXPECT_TRUE(http.asked.empty());
  clock.time += std::chrono::minutes(1);
  for (unsigned char i = 0; i < 100; ++i) {
    answer = get("/tags/cats/follow?account=me@victim.example", {{"Accept", "application/json"}},
                 IpAddress::from_v4({192, 0, 2, i}));
  }
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(http.asked.size(), each(budget::Resource::kReaderHosts));
}

TEST_F(SiteTest, NobodyIsSentToAPageThatTheServerDoesNotHave) {
  http.answers["https://gts.example/.well-known/nodeinfo"] =
      R"({"links":[{"rel":"http://nodeinfo.diaspora.software/ns/schema/2.0","href":"https://gts.example/nodeinfo/2.0"}]})";
  http.answers["https://gts.example/nodeinfo/2.0"] = R"({"software":{"name":"GoToSocial"}})";
  http.answer = HttpResponse{.status = 200, .headers = {}, .body = R"({"links":[]})"};
  const HttpResponse page = get("/tags/cats/follow?account=@bob@gts.example");
  EXPECT_EQ(page.status, 422);
  EXPECT_THAT(page.body, HasSubstr("gts.example (gotosocial) has no page for that"));
  EXPECT_THAT(page.body, HasSubstr("copy <code>@cats@tags.example.org</code>"));
  // NodeInfo of another server says nothing.
  http.answers["https://gts.example/.well-known/nodeinfo"] =
      R"({"links":[{"rel":"http://nodeinfo.diaspora.software/ns/schema/2.0","href":"https://other.example/nodeinfo/2.0"}]})";
  EXPECT_EQ(get("/tags/cats/follow?account=@bob@gts.example").status, 200);
}

TEST_F(SiteTest, WhoCannotFollowHashtagsIsNotSentToTry) {
  http.answers["https://town.example/.well-known/nodeinfo"] =
      R"({"links":[{"rel":"http://nodeinfo.diaspora.software/ns/schema/2.0","href":"https://town.example/n"}]})";
  http.answer = HttpResponse{.status = 200, .headers = {}, .body = R"({"links":[]})"};
  for (const char* software : {"Lemmy", "piefed"}) {
    http.answers["https://town.example/n"] = fmt::format(R"({{"software":{{"name":"{}"}}}})", software);
    const HttpResponse page = get("/tags/cats/follow?account=@bob@town.example");
    EXPECT_EQ(page.status, 422);
    EXPECT_THAT(page.body, HasSubstr("can follow communities only"));
    EXPECT_THAT(page.body, Not(HasSubstr("search for it at your server")));
  }
}

TEST_F(SiteTest, OnlyWhomItHelpsIsToldToSearchForTheAddress) {
  const auto software = [&](std::string_view host, std::string_view name) {
    const std::string info = fmt::format("https://{}/nodeinfo", host);
    http.answers[fmt::format("https://{}/.well-known/nodeinfo", host)] = fmt::format(
        R"({{"links":[{{"rel":"http://nodeinfo.diaspora.software/ns/schema/2.0","href":"{}"}}]}})", info);
    http.answers[info] = fmt::format(R"({{"software":{{"name":"{}"}}}})", name);
  };
  software("town.example", "lemmy");
  software("gts.example", "gotosocial");
  const HttpResponse nothing{.status = 404, .headers = {}, .body = {}};
  const Error refused(ErrorCode::kDenied, "its certificate has expired");
  struct Case {
    const char* account;
    Result<HttpResponse> answer;  // of its server, to all but NodeInfo
    bool by_hand;
  };
  for (const Case& each :
       {Case{"me@gts.example", nothing, true}, Case{"me@dead.example", std::unexpected(refused), true},
        Case{"me@town.example", nothing, false}, Case{"tags.example.org", nothing, false},
        Case{"nonsense", nothing, false}}) {
    http.answer = each.answer;
    const std::string target = fmt::format("/tags/cats/follow?account={}", each.account);
    const HttpResponse answer = get(target, {{"Accept", "application/json"}});
    EXPECT_EQ(answer.status, 422) << each.account;
    EXPECT_THAT(answer.body, EndsWith(fmt::format(R"("by_hand":{}}})", each.by_hand))) << each.account;
    EXPECT_EQ(get(target).body.contains("search for it at your server"), each.by_hand) << each.account;
  }
  HttpResponse answer;
  for (int i = 0; i < 100 && answer.status != 429; ++i)
    answer =
        get(fmt::format("/tags/cats/follow?account=me@s{}.example", i), {{"Accept", "application/json"}});
  EXPECT_EQ(answer.body, R"({"error":"you ask too often; wait a minute","by_hand":false})");
}

TEST_F(SiteTest, ThePagesLeadToTheirActors) {
  EXPECT_THAT(
      get("/tags/%E7%8C%AB").body,
      HasSubstr(
          R"(<link rel="alternate" type="application/activity+json" href="https://tags.example.org/tag/xn--z7x">)"));
  EXPECT_THAT(get("/tags/cats").body,
              HasSubstr(R"(<link rel="me" href="https://tags.example.org/tag/cats">)"));
  EXPECT_THAT(get("/tags/cats").body,
              HasSubstr(R"(<meta name="description" content="Public posts under #cats)"));
  EXPECT_THAT(
      get("/").body,
      HasSubstr(
          R"(<link rel="alternate" type="application/activity+json" href="https://tags.example.org/actor">)"));
}

TEST_F(SiteTest, WhereAPageIsPostedThereIsSomethingToShowOfIt) {
  const auto says = [](std::string_view name, std::string_view value) {
    return HasSubstr(fmt::format("<meta property=\"og:{}\" content=\"{}\">\n", name, value));
  };
  const std::string tag = get("/tags/%E7%8C%AB?any=cats&none=ai").body;
  EXPECT_THAT(tag, says("title", "#猫"));
  EXPECT_THAT(tag, says("description",
                        "Public posts under #猫 from many servers of the fediverse: read them here, "
                        "or follow @xn--z7x@tags.example.org from your own server."));
  EXPECT_THAT(tag, says("type", "website"));
  EXPECT_THAT(tag, says("url", "https://tags.example.org/tags/%E7%8C%AB?any=cats&amp;none=ai"));
  EXPECT_THAT(tag, says("image", "https://tags.example.org/tag/xn--z7x/icon.png"));
  EXPECT_THAT(tag, says("site_name", "tags.example.org"));
  const std::string home = get("/").body;
  EXPECT_THAT(home, says("title", "Hashtags of the fediverse"));
  EXPECT_THAT(home, says("url", "https://tags.example.org/"));
  EXPECT_THAT(home, says("image", "https://tags.example.org/actor/icon.png"));
}

// GoToSocial looks for no link in a page, but asks for what it can read.
TEST_F(SiteTest, ServersAreLedFromPagesToTheirActors) {
  const auto ask = [&](const char* target) {
    Headers headers;
    headers.add("Accept", R"(application/activity+json, application/ld+json; profile="x")");
    return get(target, std::move(headers));
  };
  const HttpResponse tag = ask("/tags/%E7%8C%AB");
  EXPECT_EQ(tag.status, 303);
  EXPECT_EQ(tag.headers.find("Location"), "/tag/xn--z7x");
  EXPECT_EQ(ask("/tags/xn--z7x").headers.find("Location"), "/tag/xn--z7x");
  EXPECT_EQ(tag.headers.find("Vary"), "Accept");
  for (const char* other : {"/tags/a.b", "/tags/cats,dogs", "/tags/c++", "/tags/cats/nonsense"})
    EXPECT_EQ(ask(other).status, 404) << other << ": or who looks for it would follow another";
  EXPECT_EQ(ask("/").headers.find("Location"), "/actor");
  EXPECT_EQ(get("/tags/cats").status, 200);
  EXPECT_EQ(get("/tags/cats").headers.find("Vary"), "Accept");
  EXPECT_EQ(get("/").headers.find("Vary"), "Accept");
}

TEST_F(SiteTest, CachesKeepTheTwoFormsOfTheWayToFollowApart) {
  http.answer = HttpResponse{.status = 404, .headers = {}, .body = {}};
  for (const char* accept : {"text/html", "application/json"}) {
    for (const char* account : {"me@social.example", "nonsense"}) {
      const std::string target = std::string("/tags/cats/follow?account=") + account;
      EXPECT_EQ(get(target, {{"Accept", accept}}).headers.find("Vary"), "Accept") << accept << account;
    }
  }
}

TEST_F(SiteTest, FollowingTakesServersInAnyAlphabetButNotThisNode) {
  EXPECT_EQ(get("/tags/cats/follow?account=%40me%40%D1%81%D0%BE%D1%86%D0%B8%D0%B0%D0%BB.example").status,
            200);
  EXPECT_THAT(http.asked.front(), StartsWith("https://xn--80apkjo5a.example/.well-known/webfinger"));
  const std::size_t before = http.asked.size();
  const HttpResponse own = get("/tags/cats/follow?account=https%3A%2F%2Ftags.example.org%2Ftags%2Fcats");
  EXPECT_EQ(own.status, 422);
  EXPECT_THAT(own.body, HasSubstr("that is this node"));
  EXPECT_EQ(http.asked.size(), before);
}

TEST_F(SiteTest, TheStartPageHasTheHashtagsOfTheLastDayAndSaysSo) {
  api_answer.body = R"([{"name":"cats","history":[{"uses":"7"}]}])";
  const std::string page = get("/").body;
  EXPECT_EQ(asked.back(), "/api/v1/trends/tags?limit=20");
  EXPECT_THAT(page, HasSubstr("<h2>Active in the last 24 hours</h2>"));
  EXPECT_THAT(page, HasSubstr(R"(<a href="/tags/cats")"));
  EXPECT_THAT(page, Not(HasSubstr("No hashtag")));
  api_answer.body = "[]";
  EXPECT_THAT(get("/").body,
              HasSubstr("No hashtag was used here in the last 24 hours. Search for one above."));
  EXPECT_THAT(get("/").body, Not(HasSubstr("<h2>Active")));
  api_answer = {.status = 503, .headers = {}, .body = R"({"error":"later"})"};
  EXPECT_THAT(get("/").body, Not(HasSubstr("No hashtag"))) << "that is not known";
}

TEST_F(SiteTest, PagesSayWhomToWriteToIfTheNodeDoes) {
  EXPECT_THAT(get("/").body, Not(HasSubstr("mailto:")));
  EXPECT_THAT(make_page({}, "tags.example.org", "tags@example.org").body,
              HasSubstr(R"(or write to <a href="mailto:tags@example.org">tags@example.org</a>)"));
}

TEST_F(SiteTest, FollowingGoesNowhereElseThanTheServerSays) {
  http.answer = HttpResponse{.status = 200,
                             .headers = {},
                             .body = R"({"links":[{"rel":"http://ostatus.org/schema/1.0/subscribe",)"
                                     R"("template":"javascript:x={uri}"}]})"};
  EXPECT_THAT(get("/tags/cats/follow?account=me@social.example").body, Not(HasSubstr("javascript:")));
  http.answer = std::unexpected(Error{ErrorCode::kTimedOut, "x"});
  EXPECT_EQ(get("/tags/cats/follow?account=me@social.example").status, 422);
  const std::size_t before = http.asked.size();
  for (const char* account : {"", "me@", "me@social.example%2Fx", "me@127.0.0.1", "me@a%20b"}) {
    EXPECT_EQ(get(std::string("/tags/cats/follow?account=") + account).status, 422) << account;
  }
  EXPECT_EQ(http.asked.size(), before);
}

}  // namespace
}  // namespace tagring::web
