#include "fediverse/tag_wishes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tagring::fediverse {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FollowedTags, AreReadInCanonicalFormOnce) {
  const auto tags = parse_followed_tags(
      R"([{"id":"1","name":"Cats","url":"https://a.example/tags/cats","history":[],"following":true},
          {"name":"cats"},{"name":"#Dogs"},{"name":"!"}])");
  ASSERT_TRUE(tags) << tags.error().message;
  EXPECT_THAT(*tags, ElementsAre("cats", "dogs"));
  EXPECT_THAT(parse_followed_tags("[]").value(), IsEmpty());
}

TEST(FollowedTags, AnythingElseIsAnError) {
  for (const char* body : {"", "{}", R"({"error":"The access token is invalid"})", R"(["cats"])",
                           R"([{"id":"1"}])", R"([{"name":1}])", "<html>"}) {
    EXPECT_FALSE(parse_followed_tags(body)) << body;
  }
}

TEST(NextLink, IsFoundAmongOthers) {
  EXPECT_EQ(
      next_link(
          R"(<https://a.example/x?max_id=7>; rel="next", <https://a.example/x?since_id=9>; rel="prev")"),
      "https://a.example/x?max_id=7");
  EXPECT_EQ(next_link(R"(<https://a.example/1>; rel="prev", <https://a.example/2,3;4>; title=x; REL=next)"),
            "https://a.example/2,3;4");
  EXPECT_EQ(next_link(R"(<https://a.example/1>;rel="last next")"), "https://a.example/1");
}

TEST(NextLink, IsNoneOnTheLastPage) {
  for (const char* header :
       {"", "next", "<", "<>", "<https://a.example/1", R"(<https://a.example/1>; rel="prev")",
        R"(<https://a.example/1>; rel="nextcloud")", "<https://a.example/1>; next"}) {
    EXPECT_EQ(next_link(header), std::nullopt) << header;
  }
}

TEST(SocialRelayDocument, NamesHashtags) {
  const auto wish =
      parse_social_relay(R"({"subscribe":true,"scope":"tags","tags":["Foo","#bar","!",3,"foo"]})");
  ASSERT_TRUE(wish) << wish.error().message;
  EXPECT_THAT(wish->tags, ElementsAre("foo", "bar"));
  EXPECT_EQ(wish->ignored, "");
}

TEST(SocialRelayDocument, ThatWantsNothingWantsNothing) {
  const auto wish = parse_social_relay(R"({"subscribe":false,"scope":"all","tags":["foo"]})");
  ASSERT_TRUE(wish) << wish.error().message;
  EXPECT_THAT(wish->tags, IsEmpty());
  EXPECT_EQ(wish->ignored, "");
}

TEST(SocialRelayDocument, ThatWantsEverythingGetsNothingAndAReason) {
  const auto wish = parse_social_relay(R"({"subscribe":true,"scope":"all","tags":["foo"]})");
  ASSERT_TRUE(wish) << wish.error().message;
  EXPECT_THAT(wish->tags, IsEmpty());
  EXPECT_EQ(wish->ignored, R"(scope "all" is not served, only "tags" is)");
}

TEST(SocialRelayDocument, ThatIsNoneIsAnError) {
  for (const char* body : {"", "[]", "{}", R"({"subscribe":"yes"})", R"({"subscribe":true,"scope":"tags"})",
                           R"({"subscribe":true,"scope":"tags","tags":"foo"})"}) {
    EXPECT_FALSE(parse_social_relay(body)) << body;
  }
}

}  // namespace
}  // namespace tagring::fediverse
