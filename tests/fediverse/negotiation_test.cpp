#include "fediverse/negotiation.hpp"

#include <gtest/gtest.h>

namespace tagring::fediverse {
namespace {

TEST(Negotiation, GivesPagesToWhoPrefersThem) {
  for (const char* browser :
       {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html", "TEXT/HTML; level=1",
        "text/html, application/activity+json;q=0.5", "application/ld+json;q=0.1, text/html;q=0.9",
        "application/xhtml+xml", "text/*, */*;q=0.1", "text/html;q=0.2, application/json ; q=0.19",
        "text/html, application/*;q=0", R"(application/ld+json;profile="a,b;q=1";q=0.3, text/html;q=0.4)",
        "text/html;q=0.001"})
    EXPECT_TRUE(prefers_html(browser)) << browser;
}

TEST(Negotiation, GivesActivitiesToTheRest) {
  for (const char* server :
       {"", "*/*", "application/activity+json", "application/activity+json, application/ld+json",
        "application/activity+json, application/ld+json, text/html;q=0.1", "text/html;q=0, */*",
        "text/html, application/activity+json", "text/html, application/json", "image/png",
        R"(application/ld+json; profile="https://www.w3.org/ns/activitystreams", text/html;q=0.9)",
        "*/*, text/html;q=0.5", "text/html;q=0.5, application/*;q=0.5", "text/html;q=0.0",
        ",;,q=", "text/*;q=0.1, */*", "\"text/html"})
    EXPECT_FALSE(prefers_html(server)) << server;
}

TEST(Negotiation, GivesActorsInPlaceOfPagesToWhoNamesActivities) {
  for (const char* server :
       {"application/activity+json", "application/activity+json, application/ld+json, text/html;q=0.1",
        R"(application/ld+json; profile="https://www.w3.org/ns/activitystreams", text/html;q=0.9)"})
    EXPECT_TRUE(prefers_activities(server)) << server;
  for (const char* reader :
       {"", "*/*", "text/html,application/xhtml+xml,*/*;q=0.8", "application/*", "application/json",
        "text/html, application/activity+json", "application/activity+json;q=0"})
    EXPECT_FALSE(prefers_activities(reader)) << reader;
}

TEST(Negotiation, GivesActivitiesInPlaceOfJsonByWeightAndThenByOrder) {
  for (const char* server : {"application/activity+json", "application/json;q=0.1, application/activity+json",
                             "application/LD+json, application/json", "application/activity+json, */*",
                             "application/activity+json;q=0.2"})
    EXPECT_TRUE(prefers_activities_to_json(server)) << server;
  for (const char* program :
       {"", "*/*", "application/json", "application/activity+json;q=0.1, application/json",
        "application/json, application/activity+json", "application/activity+json;q=0"})
    EXPECT_FALSE(prefers_activities_to_json(program)) << program;
}

TEST(Negotiation, GivesJsonInPlaceOfPagesToWhoNamesIt) {
  for (const char* script :
       {"application/json", "application/json, text/plain, */*", "text/html;q=0.5, application/json"})
    EXPECT_TRUE(prefers_json(script)) << script;
  for (const char* reader : {"", "*/*", "text/html,application/xhtml+xml,*/*;q=0.8", "application/*",
                             "application/json;q=0.1, text/html", "application/json;q=0"})
    EXPECT_FALSE(prefers_json(reader)) << reader;
}

}  // namespace
}  // namespace tagring::fediverse
