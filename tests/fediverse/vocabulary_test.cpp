#include "fediverse/vocabulary.hpp"

#include <gtest/gtest.h>

namespace tagring::fediverse {
namespace {

TEST(MediaType, IsActivityJsonOrLdJsonWithTheProfile) {
  for (
      const char* type :
      {"application/activity+json", "application/activity+json; charset=utf-8",
       "Application/Activity+JSON;charset=UTF-8",
       R"(application/ld+json; profile="https://www.w3.org/ns/activitystreams")",
       R"(application/ld+json;profile=https://www.w3.org/ns/activitystreams)",
       R"(application/ld+json; charset=utf-8; profile="https://example.org/x https://www.w3.org/ns/activitystreams")",
       R"( application/ld+json ; Profile = "https://www.w3.org/ns/activitystreams" )"}) {
    EXPECT_TRUE(is_activity_json(type)) << type;
  }
  for (const char* type :
       {"", "application/json", "application/ld+json", "text/html", "application/activity+jsonx", "image/png",
        R"(application/ld+json; profile="https://www.w3.org/ns/activitystreams.evil")",
        R"(text/plain; x="; profile=https://www.w3.org/ns/activitystreams")",
        R"(application/ld+json; x="; profile=https://www.w3.org/ns/activitystreams")",
        "text/plain, application/activity+json"}) {
    EXPECT_FALSE(is_activity_json(type)) << type;
  }
}

TEST(Vocabulary, PublicHasThreeSpellings) {
  EXPECT_TRUE(is_public("https://www.w3.org/ns/activitystreams#Public"));
  EXPECT_TRUE(is_public("as:Public"));
  EXPECT_TRUE(is_public("Public"));
  EXPECT_FALSE(is_public("public"));
  EXPECT_FALSE(is_public("http://www.w3.org/ns/activitystreams#Public"));
}

TEST(Vocabulary, TypesLoseTheirPrefixes) {
  const auto object = json::parse_object(
      R"({"type":["as:Note","https://www.w3.org/ns/activitystreams#Page","Article",7,"toot:Emoji"]})");
  EXPECT_EQ(types_of(*object), (std::vector<std::string>{"Note", "Page", "Article", "toot:Emoji"}));
  EXPECT_TRUE(has_type(*object, "Page"));
  EXPECT_FALSE(has_type(*object, "Video"));
}

TEST(Vocabulary, OriginIsSchemeHostAndPort) {
  EXPECT_TRUE(is_same_origin("https://a.example/x#y", "https://A.example:443/"));
  EXPECT_FALSE(is_same_origin("https://a.example/", "http://a.example/"));
  EXPECT_FALSE(is_same_origin("https://a.example/", "https://a.example:8443/"));
  EXPECT_FALSE(is_same_origin("https://a.example/", "https://a.example.evil.example/"));
  EXPECT_FALSE(is_same_origin("", ""));
}

TEST(Vocabulary, IdsAreUrlsOfBoundedLength) {
  const auto id = [](std::string_view text) {
    const json::value value = json::parse(text).value();
    return parse_id(&value, "x");
  };
  EXPECT_EQ(id(R"("https://a.example/1")"), "https://a.example/1");
  EXPECT_EQ(id(R"({"id":"https://a.example/1","type":"Note"})"), "https://a.example/1");
  EXPECT_EQ(id(R"("as:Public")"), std::string(kPublic));
  EXPECT_EQ(id(R"("urn:uuid:1")").error().message, "x is not an http(s) URL");
  EXPECT_EQ(id("[]").error().message, "x is missing");
  EXPECT_EQ(id("\"https://a.example/" + std::string(2048, 'a') + '"').error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(parse_id(nullptr, "x").error().message, "x is missing");
}

}  // namespace
}  // namespace tagring::fediverse
