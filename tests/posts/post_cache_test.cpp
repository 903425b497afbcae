// What is remembered of posts that were shown.
#include "posts/post_cache.hpp"

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
  EXPECT_FALSE(cache.has(uri));
  EXPECT_EQ(read(), std::nullopt);
  EXPECT_EQ(edited.versions, 3);
  finish(cache.stop());
}

}  // namespace
}  // namespace tagring::posts
