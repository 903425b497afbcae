#include "fediverse/links.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tagring::fediverse {
namespace {

using testing::Eq;
using testing::Optional;

constexpr const char* kType = "application/activity+json";

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

// As in the heads of Mastodon, Friendica, WordPress and PeerTube.
TEST(ActivityLink, StandsInTheHeadOfAPage) {
  for (
      const char* link :
      {R"(<link href='https://a.example/users/u/1' rel='alternate' type='application/activity+json'>)",
       R"(<LINK REL="shortlink Alternate" TYPE="application/activity+json" HREF=" https://a.example/users/u/1 "/>)",
       R"(<link rel="alternate" type="application/ld+json; profile=&quot;https://www.w3.org/ns/activitystreams&quot;" href="https://a.example/users/u/1">)"}) {
    const std::string page = fmt::format(
        "<!DOCTYPE html><html><head><title>x</title><link rel=\"alternate\" type=\"application/rss+xml\" "
        "href=\"/rss\"/>{}</head><body>x",
        link);
    EXPECT_THAT(activity_link("", page), Optional(Eq("https://a.example/users/u/1"))) << link;
  }
}

TEST(ActivityLink, StandsInTheHeader) {
  EXPECT_THAT(
      activity_link(fmt::format("<https://a.example/feed>; rel=\"alternate\"; type=\"application/rss+xml\", "
                                "<https://a.example/?p=7>; rel=\"alternate\"; type=\"{}\"",
                                kType),
                    ""),
      Optional(Eq("https://a.example/?p=7")));
  EXPECT_THAT(
      activity_link(
          R"(</o/1>; type="application/ld+json; profile=\"https://www.w3.org/ns/activitystreams\""; rel=alternate)",
          "<link rel=alternate type=application/activity+json href=/o/2>"),
      Optional(Eq("/o/1")));
}

TEST(ActivityLink, IsNoneElsewhere) {
  for (const char* page :
       {"", "<", "no page", "<link rel=alternate type=text/html href=/1>", "<link rel=alternate href=/1>",
        "<link rel=icon type=application/activity+json href=/1>",
        "<link rel=alternate type=application/activity+json>",
        // What people write stands in the body.
        "<head></head><body><link rel=alternate type=application/activity+json href=/1>",
        "<!-- <link rel=alternate type=application/activity+json href=/1> -->",
        "<title><link rel=alternate type=application/activity+json href=/1></title>"})
    EXPECT_EQ(activity_link("", page), std::nullopt) << page;
  for (const char* header : {"", "<", "<>", "</1>", "</1>; rel=alternate",
                             "</1>; rel=\"alternate; type=application/activity+json"})
    EXPECT_EQ(activity_link(header, ""), std::nullopt) << header;
}

// A page of many elements is read as far as its head goes; what is no head for certain is not read.
TEST(ActivityLink, IsNotLookedForAtAnyCost) {
  const std::string link = "<link rel=alternate type=application/activity+json href=/1>";
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "<b><a>";
  EXPECT_THAT(activity_link("", "<head>" + link + "</head>" + many), Optional(Eq("/1")));
  EXPECT_EQ(activity_link("", many + link), std::nullopt);
  EXPECT_EQ(activity_link("", std::string(70'000, ' ') + link), std::nullopt);
  // All that is left open is opened again in each paragraph: 868 MB, of 60 kB.
  std::string costly = "<head>" + link + "</head><p>";
  for (int i = 0; i < 240; ++i) {
    costly += "<b a" + std::to_string(i);
    for (int j = 0; j < 78; ++j) costly += " " + std::to_string(j);
    costly += ">";
  }
  for (int i = 0; i < 240; ++i) costly += "<p>x";
  EXPECT_EQ(activity_link("", costly), std::nullopt);
}

}  // namespace
}  // namespace tagring::fediverse
