// What is remembered of posts that were shown.
#include "posts/post_cache.hpp"

#include <algorithm>
#include <functional>

#include "delivery/role_fixture.hpp"
#include "posts/ids.hpp"

namespace tagring::posts {
namespace {

class PostCacheTest : public RoleTest {
 protected:
  ~PostCacheTest() override { finish(posts.stop()); }

  StatusId show(int number) {
    Post post;
    post.uri = "https://a.example/" + std::to_string(number);
    post.author = "https://a.example/u";
    const auto id = static_cast<StatusId>(number);
    (void)posts.show({std::make_shared<Post>(post), std::make_shared<json::object>()}, id);
    return id;
  }

  Site site{identity.origin()};
  PostCache posts{{.remembered_max = 3}, client, site, runtime};
};

TEST_F(PostCacheTest, WhoReadsBackCanOpenWhatWasShownLast) {
  for (const int number : {90, 91, 92, 13, 12, 11}) show(number);
  for (const int number : {13, 12, 11})
    EXPECT_EQ(posts.shown_as(static_cast<StatusId>(number)), "https://a.example/" + std::to_string(number));
  EXPECT_EQ(posts.shown_as(90), "");
}

TEST_F(PostCacheTest, WhatIsShownAgainTakesNoRoom) {
  for (const int number : {1, 2, 3, 3, 3}) show(number);
  EXPECT_EQ(posts.shown_as(1), "https://a.example/1");
}

// Every server takes its time, as those do that somebody has set up to be waited for.
class Tarpits final : public HttpClient {
 public:
  explicit Tarpits(Clock& clock) : clock_(clock) {}
  Task<Result<HttpResponse>> send(HttpCall call) override {
    asked.push_back(call.url.text());
    const Instant end = clock_.now() + std::chrono::seconds(20);
    co_await clock_.sleep_until(end);
    co_return fail(ErrorCode::kTimedOut, "no answer");
  }
  std::vector<std::string> asked;

 private:
  Clock& clock_;
};

TEST_F(PostCacheTest, WhatReadersNameHoldsFewOfThePlaces) {
  Tarpits tarpits(clock);
  federation::SignedClient slow(identity, tarpits, runtime);
  PostCache cache({.concurrent_max = 8, .named_concurrent_max = 2}, slow, site, runtime);
  const Instant now = clock.now();
  std::vector<PostCache::Wanted> named;
  for (int i = 0; i < 20; ++i)
    named.push_back({.uri = "https://s" + std::to_string(i) + ".example/1", .author = {}, .named = true});
  const std::string shown = named.back().uri;
  (void)run(cache.read(std::move(named), now));
  EXPECT_EQ(tarpits.asked.size(), 2U);
  std::vector<PostCache::Wanted> of_timeline = {{.uri = shown, .author = {}}};
  (void)run(cache.read(std::move(of_timeline), now));
  EXPECT_EQ(tarpits.asked.back(), shown);
  finish(cache.stop());
}

TEST_F(PostCacheTest, ADomainHoldsFewOfThePlacesHoweverManyHostsItHas) {
  Tarpits tarpits(clock);
  federation::SignedClient slow(identity, tarpits, runtime);
  PostCache cache({.concurrent_max = 8, .waiting_max = 20, .per_domain_max = 4, .domain_waiting_max = 10},
                  slow, site, runtime);
  const Instant now = clock.now();
  std::vector<PostCache::Wanted> of_one_domain;
  for (int i = 0; i < 100; ++i)
    of_one_domain.push_back(
        {.uri = (i % 2 == 0 ? "https://s" : "https://s_") + std::to_string(i) + ".evil.example/1",
         .author = {}});
  (void)run(cache.read(std::move(of_one_domain), now));
  EXPECT_EQ(tarpits.asked.size(), 4U);
  const std::string other = "https://other.example/1";
  std::vector<PostCache::Wanted> of_another = {{.uri = other, .author = {}}};
  (void)run(cache.read(std::move(of_another), now));
  EXPECT_EQ(tarpits.asked.back(), other);
  // Each of these in its turn.
  loop.run_for(std::chrono::minutes(2));
  EXPECT_EQ(tarpits.asked.size(), 11U);
  finish(cache.stop());
}

TEST_F(PostCacheTest, ADomainHasTwoOfTheLastPlaces) {
  Tarpits tarpits(clock);
  federation::SignedClient slow(identity, tarpits, runtime);
  PostCache cache({}, slow, site, runtime);
  std::vector<PostCache::Wanted> wanted;
  for (int i = 0; i < 48; ++i)
    wanted.push_back({.uri = "https://other" + std::to_string(i) + ".example/1", .author = {}});
  for (int i = 0; i < 8; ++i)
    wanted.push_back({.uri = "https://large.example/" + std::to_string(i), .author = {}});
  (void)run(cache.read(std::move(wanted), clock.now()));
  EXPECT_EQ(tarpits.asked.size(), 50U);
  finish(cache.stop());
}

TEST_F(PostCacheTest, AFewDomainsLeavePlacesAndRoomInLineToOthersHoweverManyPostsTheyHave) {
  Tarpits tarpits(clock);
  federation::SignedClient slow(identity, tarpits, runtime);
  PostCache cache({}, slow, site, runtime);
  const Instant now = clock.now();
  std::vector<PostCache::Wanted> of_few;
  for (int i = 0; i < 4'000; ++i)
    of_few.push_back({.uri = "https://s" + std::to_string(i) + ".evil" + std::to_string(i % 8) + ".example/1",
                      .author = {}});
  (void)run(cache.read(of_few, now));
  EXPECT_EQ(tarpits.asked.size(), 48U);
  (void)run(cache.read(std::move(of_few), now));  // in line, in place of those
  EXPECT_EQ(tarpits.asked.size(), 48U);
  std::vector<PostCache::Wanted> of_others;
  for (int i = 0; i < 100; ++i)
    of_others.push_back({.uri = "https://other" + std::to_string(i) + ".example/1", .author = {}});
  (void)run(cache.read(std::move(of_others), now));
  EXPECT_EQ(tarpits.asked.size(), 64U);
  // Those behind them have had room in line.
  loop.run_for(std::chrono::minutes(3));
  EXPECT_EQ(
      std::ranges::count_if(tarpits.asked, [](const std::string& url) { return url.contains("other"); }),
      100);
  finish(cache.stop());
}

// Sends whoever asks on and on, each time when the time for a request is almost over.
class Wanderer final : public HttpClient {
 public:
  explicit Wanderer(Clock& clock) : clock_(clock) {}
  Task<Result<HttpResponse>> send(HttpCall call) override {
    const Instant end = std::min(call.deadline, clock_.now() + std::chrono::seconds(19));
    co_await clock_.sleep_until(end);
    if (end == call.deadline) co_return fail(ErrorCode::kTimedOut, "no answer");
    co_return HttpResponse{
        .status = 302, .headers = {{"Location", std::string(call.url.path())}}, .body = {}};
  }

 private:
  Clock& clock_;
};

TEST_F(PostCacheTest, AFetchThatIsSentOnTakesNoLongerThanAnother) {
  Wanderer wanderer(clock);
  federation::SignedClient slow(identity, wanderer, runtime);
  PostCache cache({}, slow, site, runtime);
  const Instant asked = clock.now();
  std::vector<PostCache::Wanted> wanted = {{.uri = "https://a.example/1", .author = {}}};
  EXPECT_FALSE(run(cache.read(std::move(wanted), asked + std::chrono::minutes(2))).front());
  EXPECT_EQ(clock.now() - asked, std::chrono::seconds(20));
  finish(cache.stop());
}

// A post that is edited while it is being fetched.
class Edited final : public HttpClient {
 public:
  explicit Edited(Clock& clock) : clock_(clock) {}
  Task<Result<HttpResponse>> send(HttpCall call) override {
    const bool is_author = call.url.path() == "/u";
    const std::string body =
        is_author ? R"({"id":"https://a.example/u","type":"Person","preferredUsername":"u","indexable":true,
                        "inbox":"https://a.example/in"})"
                  : R"({"id":"https://a.example/1","type":"Note","attributedTo":"https://a.example/u",
                        "published":"2026-05-01T00:00:00Z","to":"https://www.w3.org/ns/activitystreams#Public",
                        "content":"version )" +
                        std::to_string(++versions) + R"("})";
    const Instant end = clock_.now() + std::chrono::seconds(1);
    co_await clock_.sleep_until(end);
    if (!is_author) meanwhile();
    co_return HttpResponse{
        .status = 200,
        .headers = {{"Content-Type", "application/activity+json"}, {"Cache-Control", cache_control}},
        .body = body};
  }
  std::function<void()> meanwhile = [] {};
  std::string cache_control = "no-cache";
  int versions = 0;

 private:
  Clock& clock_;
};

// Only one server answers.
class OneAnswers final : public HttpClient {
 public:
  explicit OneAnswers(Clock& clock) : tarpits_(clock), edited_(clock) {}
  Task<Result<HttpResponse>> send(HttpCall call) override {
    if (call.url.text().starts_with("https://a.example/")) return edited_.send(std::move(call));
    return tarpits_.send(std::move(call));
  }

 private:
  Tarpits tarpits_;
  Edited edited_;
};

// One server has what it is asked for, and all others have nothing.
class OneHas final : public HttpClient {
 public:
  explicit OneHas(Clock& clock) : edited_(clock) {}
  Task<Result<HttpResponse>> send(HttpCall call) override {
    if (call.url.text().starts_with("https://a.example/")) co_return co_await edited_.send(std::move(call));
    co_return HttpResponse{.status = 404, .headers = {}, .body = {}};
  }

 private:
  Edited edited_;
};

TEST_F(PostCacheTest, PostsOfOneDomainPushOutNoneOfAnotherThatAreFresh) {
  OneHas servers(clock);
  federation::SignedClient speaker(identity, servers, runtime);
  PostCache cache({.remembered_max = 20}, speaker, site, runtime);
  const auto read = [&](const std::string& uri) {
    std::vector<PostCache::Wanted> wanted = {{.uri = uri, .author = {}}};
    return run(cache.read(std::move(wanted), cache.deadline())).front().has_value();
  };
  const std::string uri = "https://a.example/1";
  ASSERT_TRUE(read(uri));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(read("https://n" + std::to_string(i) + ".evil.example/1"));
  EXPECT_TRUE(cache.has(uri));
  EXPECT_TRUE(cache.has("https://n99.evil.example/1")) << "they have their share";
  finish(cache.stop());
}

TEST_F(PostCacheTest, WhatThereIsNoRoomToFetchAnewIsNotShownAsItWas) {
  OneAnswers answers(clock);
  federation::SignedClient speaker(identity, answers, runtime);
  PostCache cache({.named_concurrent_max = 1, .named_waiting_max = 1}, speaker, site, runtime);
  const auto is_shown = [&](const std::string& uri, Instant deadline) {
    std::vector<PostCache::Wanted> wanted = {{.uri = uri, .author = {}, .named = true}};
    return run(cache.read(std::move(wanted), deadline)).front().has_value();
  };
  EXPECT_TRUE(is_shown("https://a.example/1", cache.deadline()));
  loop.run_for(std::chrono::minutes(11));
  for (const char* slow : {"https://s1.example/1", "https://s2.example/1"})
    EXPECT_FALSE(is_shown(slow, clock.now()));
  EXPECT_FALSE(is_shown("https://a.example/1", cache.deadline()));
  EXPECT_EQ(run(cache.account("https://a.example/u", cache.deadline())), nullptr);
  finish(cache.stop());
}

TEST_F(PostCacheTest, AServerThatDoesNotAnswerSaysNothingOfAnotherPort) {
  OneAnswers answers(clock);
  federation::SignedClient speaker(identity, answers, runtime);
  PostCache cache({}, speaker, site, runtime);
  const auto is_shown = [&](const std::string& uri) {
    std::vector<PostCache::Wanted> wanted = {{.uri = uri, .author = {}}};
    return run(cache.read(std::move(wanted), clock.now() + std::chrono::seconds(25))).front().has_value();
  };
  EXPECT_FALSE(is_shown("https://a.example:9/1"));
  EXPECT_TRUE(is_shown("https://a.example/1"));
  finish(cache.stop());
}

TEST_F(PostCacheTest, WhoWaitsForAPostThatIsEditedMeanwhileGetsWhatItSaysThen) {
  Edited edited(clock);
  federation::SignedClient speaker(identity, edited, runtime);
  PostCache cache({}, speaker, site, runtime);
  edited.meanwhile = [&] {
    if (edited.versions == 1) cache.forget("https://a.example/1");
  };
  std::vector<PostCache::Wanted> wanted = {{.uri = "https://a.example/1", .author = "https://a.example/u"}};
  const auto read = run(cache.read(std::move(wanted), cache.deadline()));
  ASSERT_TRUE(read.front());
  EXPECT_THAT(json::text_of(read.front()->post->status, "content"), testing::HasSubstr("version 2"));
  finish(cache.stop());
}

TEST_F(PostCacheTest, WhatItsServersCacheMayHaveFromBeforeAChangeIsFreshUntilThatIsOver) {
  const std::string uri = "https://a.example/1";
  Edited edited(clock);
  edited.cache_control = "max-age=180, public";
  federation::SignedClient speaker(identity, edited, runtime);
  PostCache cache({}, speaker, site, runtime);
  const auto read = [&] {
    std::vector<PostCache::Wanted> wanted = {{.uri = uri, .author = "https://a.example/u"}};
    EXPECT_TRUE(run(cache.read(std::move(wanted), cache.deadline())).front());
    return cache.outdated_until(uri);
  };
  EXPECT_EQ(read(), std::nullopt);
  const Instant changed = clock.now();
  cache.forget(uri);
  EXPECT_EQ(read(), changed + std::chrono::minutes(3));
  EXPECT_TRUE(cache.has(uri));
  loop.run_for(std::chrono::minutes(3));
  EXPECT_EQ(read(), std::nullopt);
  EXPECT_EQ(edited.versions, 3);
  finish(cache.stop());
}

}  // namespace
}  // namespace tagring::posts
