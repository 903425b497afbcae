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
  EXPECT_EQ(parse_social_relay(R"({"subscribe":true,"scope":"aéééééééééé"})")->ignored,
            R"(scope "aééééééééé" is not served, only "tags" is)")
      << "no character is cut in two";
}

TEST(SocialRelayDocument, ThatIsNoneIsAnError) {
  for (const char* body : {"", "[]", "{}", R"({"subscribe":"yes"})", R"({"subscribe":true,"scope":"tags"})",
                           R"({"subscribe":true,"scope":"tags","tags":"foo"})"}) {
    EXPECT_FALSE(parse_social_relay(body)) << body;
  }
}

}  // namespace
}  // namespace tagring::fediverse
