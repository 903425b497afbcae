// What is remembered of posts that were shown.
#include "mastodon_api/post_cache.hpp"

#include "mastodon_api/ids.hpp"
#include "relay/role_fixture.hpp"

namespace tagring::mastodon_api {
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

}  // namespace
}  // namespace tagring::mastodon_api
