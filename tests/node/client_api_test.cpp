// What a reader gets: timelines of hashtags, the hashtags themselves, search.
#include <fmt/format.h>

#include "budget/metered.hpp"
#include "fediverse/vocabulary.hpp"
#include "mastodon_api/entity_fields.hpp"
#include "mastodon_api/tag_api.hpp"
#include "node/fixture.hpp"
#include "posts/ids.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::node {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class Reading : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");
  Author bob = make_author("https://home.example/users/bob");

  // Publishes a post, which its server has from then on.
  std::string publish(const std::string& name, std::vector<std::string> tags, const std::string& published,
                      const std::function<void(json::object&)>& change = {}) {
    const PostText post{
        .uri = "https://home.example/notes/" + name, .author = alice.id, .tags = std::move(tags)};
    json::object note = note_object(post);
    note["published"] = published;
    note["content"] = "<p>post " + name + "</p>";
    if (change) change(note);
    json::object create = json::parse_object(create_text(post)).value();
    create["object"] = note;
    EXPECT_EQ(post_signed(json::serialize(create), alice).status, 202);
    internet.serve(post.uri, json::serialize(note));
    settle(Duration(500));
    return post.uri;
  }
  json::array list(const HttpResponse& response) {
    EXPECT_EQ(response.status, 200) << response.body;
    const auto value = json::parse(response.body);
    EXPECT_TRUE(value && value->is_array()) << response.body;
    return value && value->is_array() ? value->get_array() : json::array();
  }
  json::object object(const HttpResponse& response) {
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse_object(response.body).value_or(json::object());
  }
  // The names of the posts that are shown.
  std::vector<std::string> names(const HttpResponse& response) {
    std::vector<std::string> found;
    for (const json::value& v : list(response)) {
      const std::string uri = json::get_string(v.as_object(), "uri").value_or("?");
      found.push_back(uri.substr(uri.rfind('/') + 1));
    }
    return found;
  }
  std::vector<std::string> timeline(const std::string& tag_and_query) {
    return names(get("/api/v1/timelines/tag/" + tag_and_query));
  }
  // The target of that relation in Link, without the origin; empty if there is none.
  std::string link(const HttpResponse& response, const std::string& relation) {
    const std::string all = response.headers.find("Link").value_or("");
    const std::size_t end = all.find(">; rel=\"" + relation + "\"");
    if (end == std::string::npos) return {};
    const std::size_t begin = all.rfind('<', end) + 1;
    EXPECT_THAT(all.substr(begin, end - begin), testing::StartsWith(origin));
    return all.substr(begin + origin.size(), end - begin - origin.size());
  }
  // What there is from that page on in one direction of Link, newest first.
  std::vector<std::string> read_on(std::string target, const std::string& relation) {
    std::vector<std::string> all;
    for (int pages = 0; !target.empty() && pages < 30; ++pages) {
      const HttpResponse response = get(target);
      const std::vector<std::string> page = names(response);
      all.insert(relation == "next" ? all.end() : all.begin(), page.begin(), page.end());
      target = link(response, relation);
    }
    return all;
  }
};

TEST_F(Reading, ATimelineHasTheContentFromTheAuthorsServerNewestFirst) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  publish("2", {"cats", "dogs"}, "2025-12-30T11:00:00Z");
  publish("3", {"dogs"}, "2025-12-30T12:00:00Z");
  const HttpResponse response = get("/api/v1/timelines/tag/Cats");
  EXPECT_THAT(names(response), ElementsAre("2", "1"));
  const json::object status = list(response).front().as_object();
  EXPECT_EQ(mastodon_api::wrong_fields("Status", status), "");
  EXPECT_EQ(mastodon_api::wrong_fields("Account", status.at("account").as_object()), "");
  EXPECT_EQ(status.at("content"), "<p>post 2</p>");
  EXPECT_EQ(status.at("created_at"), "2025-12-30T11:00:00.000Z");
  EXPECT_EQ(status.at("account").as_object().at("acct"), "somebody@home.example");
  EXPECT_EQ(status.at("account").as_object().at("header"),
            json::value(origin + "/headers/original/missing.png"));
  EXPECT_EQ(response.headers.find("Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(response.headers.find("X-RateLimit-Limit"), "300");
  EXPECT_THAT(timeline("nothing"), IsEmpty());
}

// What an author wishes stands in the profile.
TEST_F(Reading, WhoseProfileCannotBeHadIsNotShown) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  internet.documents[alice.id] = with_status(503);
  EXPECT_THAT(timeline("cats"), IsEmpty());
  internet.serve(alice);
  settle(std::chrono::minutes(1));
  EXPECT_THAT(timeline("cats"), ElementsAre("1"));
}

TEST_F(Reading, PagesLeadThroughTheWholeHistoryAndBack) {
  std::vector<std::string> all;
  for (int i = 0; i < 11; ++i) {
    // Three of them in one millisecond.
    const int minute = i < 5 ? i : (i < 8 ? 5 : i);
    publish(fmt::format("{:02}", i), {"cats"}, fmt::format("2025-12-30T10:{:02}:00Z", minute));
  }
  std::vector<std::string> seen;
  std::string target = "/api/v1/timelines/tag/cats?limit=3";
  std::string last;
  for (int pages = 0; !target.empty() && pages < 8; ++pages) {
    const HttpResponse response = get(target);
    for (const std::string& name : names(response)) seen.push_back(name);
    if (!names(response).empty()) last = link(response, "prev");
    target = link(response, "next");
  }
  EXPECT_THAT(seen, SizeIs(11));
  EXPECT_THAT(std::set<std::string>(seen.begin(), seen.end()), SizeIs(11));
  // Back from the oldest page, each the nearest newer ones.
  std::vector<std::string> back;
  for (int pages = 0; !last.empty() && pages < 8; ++pages) {
    const HttpResponse response = get(last);
    const std::vector<std::string> page = names(response);
    back.insert(back.begin(), page.begin(), page.end());
    last = page.empty() ? "" : link(response, "prev");
  }
  EXPECT_THAT(back, SizeIs(9));
  EXPECT_TRUE(std::equal(back.begin(), back.end(), seen.begin())) << testing::PrintToString(back);
}

TEST_F(Reading, NoPageEndsBetweenPostsThatShareAnId) {
  // The first 20 bits of the hashes of these two URIs are the same.
  const std::string time = "2025-12-30T10:00:00Z";
  ASSERT_EQ(posts::status_id(*from_rfc3339(time), publish("778", {"cats"}, time)),
            posts::status_id(*from_rfc3339(time), publish("1171", {"cats"}, time)));
  publish("older", {"cats"}, "2025-12-30T09:00:00Z");
  publish("newer", {"cats"}, "2025-12-30T11:00:00Z");
  for (const char* direction : {"next", "prev"}) {
    std::vector<std::string> seen;
    std::string target = std::string("/api/v1/timelines/tag/cats?limit=1") +
                         (std::string_view(direction) == "prev" ? "&min_id=1" : "");
    for (int pages = 0; !target.empty() && pages < 8; ++pages) {
      const HttpResponse response = get(target);
      const std::vector<std::string> page = names(response);
      seen.insert(seen.end(), page.begin(), page.end());
      target = page.empty() ? "" : link(response, direction);
    }
    EXPECT_THAT(seen, testing::UnorderedElementsAre("778", "1171", "older", "newer")) << direction;
  }
}

TEST_F(Reading, ATimelineGoesOnBehindAWaveOfDeletedPostsAndOfPostsOfOneMoment) {
  publish("oldest", {"cats"}, "2025-12-30T10:00:00Z");
  const WallTime begin = *from_rfc3339("2025-12-30T11:00:00Z");
  std::vector<storage::HistoryEntry> wave;
  for (int i = 0; i < 1'500; ++i) {
    const std::string uri = fmt::format("https://home.example/wave/{}", i);
    wave.push_back({"cats"_tag, uri + "/deleted", alice.id, begin + std::chrono::seconds(i), true});
    wave.push_back({"cats"_tag, uri + "/gone", alice.id, begin + std::chrono::hours(1)});
  }
  ASSERT_TRUE(run(stores->history.put(std::move(wave))));
  publish("newest", {"cats"}, "2025-12-30T13:00:00Z");
  for (const char* direction : {"next", "prev"}) {
    std::vector<std::string> seen;
    std::string target = std::string("/api/v1/timelines/tag/cats?limit=40") +
                         (std::string_view(direction) == "prev" ? "&min_id=1" : "");
    for (int pages = 0; !target.empty() && seen.size() < 2 && pages < 20; ++pages) {
      const HttpResponse response = get(target);
      for (const std::string& name : names(response)) seen.push_back(name);
      target = link(response, direction);
    }
    EXPECT_THAT(seen, testing::UnorderedElementsAre("oldest", "newest")) << direction;
  }
}

TEST_F(Reading, NoHashtagIsOvertakenWhileItsDeletedPostsArePassedOver) {
  const auto publish_dogs = [&](int from) {
    for (int i = from; i < from + 20; ++i)
      publish(fmt::format("dog{}", i), {"dogs"}, fmt::format("2025-12-30T{}:{}:00Z", i < 30 ? 10 : 15, i));
  };
  publish_dogs(10);
  publish("old-cat", {"cats"}, "2025-12-30T10:50:00Z");
  std::vector<storage::HistoryEntry> wave;
  for (int i = 0; i < 2'500; ++i) {
    const std::string uri = fmt::format("https://home.example/wave/{}", i);
    const WallTime time = *from_rfc3339("2025-12-30T11:00:00Z") + std::chrono::seconds(i);
    wave.push_back({"cats"_tag, uri, alice.id, time, true});
  }
  ASSERT_TRUE(run(stores->history.put(std::move(wave))));
  publish("new-cat", {"cats"}, "2025-12-30T15:10:00Z");
  publish_dogs(30);
  std::vector<std::string> all;
  for (int i = 49; i >= 30; --i) all.push_back(fmt::format("dog{}", i));
  all.insert(all.end(), {"new-cat", "old-cat"});
  for (int i = 29; i >= 10; --i) all.push_back(fmt::format("dog{}", i));
  const std::string target = "/api/v1/timelines/tag/cats?any[]=dogs&limit=40";
  EXPECT_EQ(read_on(target, "next"), all);
  EXPECT_EQ(read_on(target + "&min_id=1", "prev"), all);
}

// A page that is full may be so before the last of the posts that were looked at for it.
TEST_F(Reading, AFilteredTimelineCanBeReadToItsEnd) {
  const auto with_media = [](json::object& note) {
    note["attachment"] = json::array{json::object{
        {"type", "Document"}, {"mediaType", "image/png"}, {"url", "https://home.example/1.png"}}};
  };
  std::vector<std::string> all;
  for (int i = 0; i < 35; ++i) {
    const std::string name = fmt::format("{:02}", i);
    publish(name, {"cats", "pets"}, fmt::format("2025-12-30T10:{}:00Z", name), with_media);
    all.insert(all.begin(), name);
    if (i != 11 && i != 34) continue;
    for (const char* filter : {"only_media=true", "local=true", "all[]=pets", "none[]=dogs"}) {
      const std::string target = fmt::format("/api/v1/timelines/tag/cats?limit=5&{}", filter);
      EXPECT_EQ(read_on(target, "next"), all) << filter;
      EXPECT_EQ(read_on(target + "&since_id=1", "next"), all) << filter;
      EXPECT_EQ(read_on(target + "&min_id=1", "prev"), all) << filter;
    }
  }
}

TEST_F(Reading, APageOfLargePostsIsShortAndLeadsOn) {
  json::array pictures;
  for (int i = 0; i < 16; ++i)
    pictures.push_back(json::object{{"type", "Image"},
                                    {"url", fmt::format("https://home.example/{}.png", i)},
                                    {"name", std::string(10'000, 'x')}});
  std::vector<std::string> all;
  for (int i = 10; i < 35; ++i) {
    const std::string uri = publish(std::to_string(i), {"cats"}, fmt::format("2025-12-30T10:{}:00Z", i));
    json::object note = json::parse_object(internet.documents[uri].body).value();
    note["attachment"] = pictures;
    internet.serve(uri, json::serialize(note));
    all.insert(all.begin(), std::to_string(i));
  }
  for (const char* target :
       {"/api/v1/timelines/tag/cats?limit=40", "/api/v1/timelines/tag/cats?limit=40&min_id=1"}) {
    const HttpResponse page = get(target);
    EXPECT_THAT(names(page), SizeIs(13)) << target;
    EXPECT_LT(page.body.size(), 2'500'000U) << target;
  }
  EXPECT_EQ(read_on("/api/v1/timelines/tag/cats?limit=40", "next"), all);
  EXPECT_EQ(read_on("/api/v1/timelines/tag/cats?limit=40&min_id=1", "prev"), all);
}

TEST_F(Reading, WhatWasTakenDownHereIsShownToNobody) {
  const std::string uri = publish("1", {"cats", "dogs"}, "2025-12-30T10:00:00Z");
  publish("2", {"cats"}, "2025-12-30T11:00:00Z");
  ASSERT_THAT(timeline("cats"), ElementsAre("2", "1"));
  const json::object request = {{"tag", "cats"}, {"uri", uri}, {"reason", "a court"}};
  ASSERT_EQ(control("/takedown", json::serialize(request)).status, 200);
  EXPECT_THAT(timeline("cats"), ElementsAre("2"));
  // Others may still have it and say so.
  storage::HistoryEntry entry{"cats"_tag, uri, alice.id, *from_rfc3339("2025-12-30T10:00:00Z")};
  EXPECT_FALSE(node->history().is_shown(entry));
  entry.partition = "dogs"_tag;
  EXPECT_TRUE(node->history().is_shown(entry));
  const std::string search = "/api/v2/search?q=" + percent_encode(uri);
  EXPECT_EQ(object(get(search)).at("statuses").as_array().size(), 1U);  // it is under #dogs still
  ASSERT_EQ(control("/takedown", R"({"tag":"dogs","uri":")" + uri + R"(","reason":"a court"})").status, 200);
  EXPECT_TRUE(object(get(search)).at("statuses").as_array().empty());
  start(config());
  EXPECT_FALSE(node->history().is_shown(entry));
}

TEST_F(Reading, IdsBoundATimeline) {
  for (int i = 0; i < 6; ++i) publish(std::to_string(i), {"cats"}, fmt::format("2025-12-30T10:0{}:00Z", i));
  const json::array all = list(get("/api/v1/timelines/tag/cats"));
  const auto id = [&](std::size_t i) { return json::get_string(all[5 - i].as_object(), "id").value_or(""); };
  EXPECT_THAT(timeline("cats?max_id=" + id(2)), ElementsAre("1", "0"));
  EXPECT_THAT(timeline("cats?since_id=" + id(2)), ElementsAre("5", "4", "3"));
  EXPECT_THAT(timeline("cats?limit=2&since_id=" + id(2)), ElementsAre("5", "4"));
  EXPECT_THAT(timeline("cats?limit=2&min_id=" + id(2)), ElementsAre("4", "3"));
  EXPECT_THAT(timeline("cats?min_id=" + id(1) + "&max_id=" + id(4)), ElementsAre("3", "2"));
  EXPECT_THAT(timeline("cats?max_time=2025-12-30T10:02:00Z"), ElementsAre("2", "1", "0"));
  EXPECT_THAT(timeline("cats?until=2025-12-30T10:01:30Z&limit=1"), ElementsAre("1"));
  EXPECT_THAT(timeline("cats?limit=-2"), ElementsAre("5", "4"));
  // As Rails reads what is no number.
  for (const char* none : {"cats?max_id=abc", "cats?limit=0", "cats?limit=abc"})
    EXPECT_THAT(timeline(none), IsEmpty()) << none;
  EXPECT_THAT(timeline("cats?limit=2&since_id=abc"), ElementsAre("5", "4"));
  EXPECT_THAT(timeline("cats?max_id=99999999999999999999999&limit=1"), ElementsAre("5"));
  EXPECT_EQ(get("/api/v1/timelines/tag/cats?max_time=yesterday").status, 422);
}

TEST_F(Reading, HashtagsAreCombined) {
  publish("c", {"cats"}, "2025-12-30T10:00:00Z");
  publish("cd", {"cats", "dogs"}, "2025-12-30T11:00:00Z");
  publish("d", {"dogs"}, "2025-12-30T12:00:00Z");
  publish("cdm", {"cats", "dogs", "mice"}, "2025-12-30T13:00:00Z");
  EXPECT_THAT(timeline("cats?any[]=dogs"), ElementsAre("cdm", "d", "cd", "c"));
  EXPECT_THAT(timeline("cats?any%5B%5D=Dogs&limit=2"), ElementsAre("cdm", "d"));
  EXPECT_THAT(timeline("cats?all[]=dogs"), ElementsAre("cdm", "cd"));
  EXPECT_THAT(timeline("cats?all[]=dogs&none[]=mice"), ElementsAre("cd"));
  EXPECT_THAT(timeline("cats?none[]=dogs"), ElementsAre("c"));
  std::string many = "cats?";
  for (int i = 0; i < 100; ++i) many += fmt::format("any[]=t{}&", i);
  EXPECT_THAT(timeline(many + "any[]=dogs"), ElementsAre("cdm", "cd", "c")) << "only the first four count";
}

TEST_F(Reading, OnlyMediaOnlyLocalOnlyRemote) {
  publish("plain", {"cats"}, "2025-12-30T10:00:00Z");
  publish("image", {"cats"}, "2025-12-30T11:00:00Z", [](json::object& note) {
    note["attachment"] = json::array{json::object{{"type", "Document"},
                                                  {"mediaType", "image/png"},
                                                  {"url", "https://home.example/1.png"},
                                                  {"name", "a cat"}}};
  });
  EXPECT_THAT(timeline("cats?only_media=true"), ElementsAre("image"));
  EXPECT_THAT(timeline("cats?local=true"), ElementsAre("image", "plain"));
  EXPECT_THAT(timeline("cats?remote=true"), IsEmpty());
  EXPECT_THAT(timeline("cats?limit=1000"), SizeIs(2));
}

TEST_F(Reading, WhatIsGoneOrNoLongerPublicOrTaggedIsLeftOut) {
  for (const char* name : {"stays", "gone", "tombstone", "private", "untagged", "foreign", "broken"})
    publish(name, {"cats"}, "2025-12-30T10:00:00Z");
  const auto change = [&](const std::string& name, const std::function<void(json::object&)>& f) {
    const std::string uri = "https://home.example/notes/" + name;
    json::object note = json::parse_object(internet.documents[uri].body).value();
    f(note);
    internet.serve(uri, json::serialize(note));
  };
  internet.documents["https://home.example/notes/gone"] = with_status(410);
  change("tombstone", [](json::object& note) { note["type"] = "Tombstone"; });
  change("private", [](json::object& note) { note["to"] = "https://home.example/users/alice/followers"; });
  change("untagged", [](json::object& note) { note["tag"] = json::array(); });
  change("foreign", [&](json::object& note) { note["attributedTo"] = bob.id; });
  internet.serve("https://home.example/notes/broken", "{");
  EXPECT_THAT(timeline("cats"), ElementsAre("stays"));
}

TEST_F(Reading, ContentIsFetchedOnceForAWhileAndAgainLater) {
  const std::string uri = publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  internet.calls.clear();
  EXPECT_THAT(timeline("cats"), ElementsAre("1"));
  EXPECT_THAT(timeline("cats"), ElementsAre("1"));
  EXPECT_THAT(internet.sent_to(uri), SizeIs(1));
  settle(std::chrono::minutes(6));
  EXPECT_THAT(timeline("cats"), ElementsAre("1"));
  EXPECT_THAT(internet.sent_to(uri), SizeIs(2));
}

TEST_F(Reading, ADeletionTakesEffectAtOnce) {
  const std::string uri = publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  EXPECT_THAT(timeline("cats"), ElementsAre("1"));
  EXPECT_EQ(post_signed(delete_text(uri, alice.id), alice).status, 202);
  settle();
  EXPECT_THAT(timeline("cats"), IsEmpty());
}

TEST_F(Reading, AServerThatDoesNotAnswerCostsItsPostsOnlyAndNotForEver) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  const std::string late = publish("2", {"cats"}, "2025-12-30T11:00:00Z");
  internet.answers[late] = [](const HttpCall&) -> Result<HttpResponse> {
    return fail(ErrorCode::kTimedOut, "no answer");
  };
  EXPECT_THAT(timeline("cats"), ElementsAre("1"));
  internet.answers.clear();
  settle(std::chrono::seconds(31));
  EXPECT_THAT(timeline("cats"), ElementsAre("2", "1"));
}

TEST_F(Reading, APostThatItsServerFailsToShowHidesNoOther) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  EXPECT_THAT(timeline("cats"), ElementsAre("1"));
  internet.documents[publish("2", {"cats"}, "2025-12-30T11:00:00Z")] = with_status(500);
  EXPECT_THAT(timeline("cats"), ElementsAre("1"));
  publish("3", {"cats"}, "2025-12-30T12:00:00Z");
  EXPECT_THAT(timeline("cats"), ElementsAre("3", "1"));
}

TEST_F(Reading, WhatAReaderNamesInVainHidesNoPostOfThatServer) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  const std::string refused = "https://home.example:9/x";
  internet.answers[refused] = [](const HttpCall&) -> Result<HttpResponse> {
    return fail(ErrorCode::kDenied, "port 9 is not allowed");
  };
  const std::string late = "https://home.example/x";
  internet.answers[late] = [](const HttpCall&) -> Result<HttpResponse> {
    return fail(ErrorCode::kTimedOut, "no answer");
  };
  for (const std::string& named : {refused, late}) {
    EXPECT_THAT(object(get("/api/v2/search?q=" + percent_encode(named))).at("statuses").as_array(),
                IsEmpty());
    EXPECT_THAT(internet.sent_to(named), SizeIs(1));
  }
  EXPECT_THAT(timeline("cats"), ElementsAre("1"));
}

TEST_F(Reading, MarkupIsSanitisedInStatusAndAccount) {
  alice.summary = "<script>x</script><p onclick=x>me</p>";
  internet.serve(alice);
  publish("1", {"cats"}, "2025-12-30T10:00:00Z", [](json::object& note) {
    note["content"] = "<p>hi<img src=x onerror=alert(1)></p><script>alert(1)</script>";
    note["summary"] = "<b>careful</b>";
    note["url"] = "javascript:alert(1)";
  });
  const json::object status = list(get("/api/v1/timelines/tag/cats")).at(0).as_object();
  EXPECT_EQ(status.at("content"), "<p>hi</p>");
  EXPECT_EQ(status.at("spoiler_text"), "careful");
  EXPECT_EQ(status.at("sensitive"), true);
  EXPECT_EQ(status.at("url"), "https://home.example/notes/1");
  EXPECT_EQ(status.at("account").as_object().at("note"), "<p>me</p>");
}

TEST_F(Reading, AWarningThatLooksLikeMarkupWarns) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z", [](json::object& note) { note["summary"] = "<Dune>"; });
  const json::object status = list(get("/api/v1/timelines/tag/cats")).at(0).as_object();
  EXPECT_EQ(status.at("spoiler_text"), "<Dune>");
  EXPECT_EQ(status.at("sensitive"), true);
}

TEST_F(Reading, AHashtagSaysHowMuchItWasUsed) {
  const std::string today = to_rfc3339(loop.wall_now());
  publish("1", {"cats"}, today);
  publish("2", {"cats"}, today, [](json::object& note) { note["to"] = fediverse::kPublic; });
  const json::object tag = object(get("/api/v1/tags/Cats"));
  EXPECT_EQ(mastodon_api::wrong_fields("Tag", tag), "");
  EXPECT_EQ(tag.at("name"), "cats");
  EXPECT_EQ(tag.at("url"), json::value(origin + "/tags/cats"));
  ASSERT_THAT(tag.at("history").as_array(), SizeIs(7));
  const json::object day = tag.at("history").as_array().at(0).as_object();
  EXPECT_EQ(mastodon_api::wrong_fields("History", day), "");
  EXPECT_EQ(day.at("uses"), "2");
  EXPECT_EQ(day.at("accounts"), "1");
  for (const char* most : {"", "?limit=-1", "?limit=99999999999999999999999"})
    EXPECT_THAT(list(get(std::string("/api/v1/trends/tags") + most)), SizeIs(1)) << most;
  EXPECT_THAT(list(get("/api/v1/trends/tags?limit=abc")), IsEmpty());
  EXPECT_EQ(get("/api/v1/tags/%21").status, 422);
  for (const char* path : {"/api/v1/tags/cats,dogs", "/api/tagring/tags/cats,dogs/days"}) {
    const HttpResponse response = get(path);
    EXPECT_EQ(response.status, 422) << path;
    EXPECT_THAT(response.body, HasSubstr("did you mean")) << path;
  }
}

TEST_F(Reading, WhatIsOldOrGoneIsNotInUse) {
  const auto trends = [this] {
    std::vector<std::string> names;
    for (const json::value& tag : list(get("/api/v1/trends/tags")))
      names.push_back(json::text_of(tag.as_object(), "name"));
    return names;
  };
  publish("1", {"spring"}, to_rfc3339(loop.wall_now() - std::chrono::days(300)));
  publish("2", {"yesterday"}, to_rfc3339(loop.wall_now() - std::chrono::hours(25)));
  const std::string uri = publish("3", {"now"}, to_rfc3339(loop.wall_now()));
  EXPECT_THAT(trends(), ElementsAre("now"));
  EXPECT_EQ(post_signed(delete_text(uri, alice.id), alice).status, 202);
  settle(mastodon_api::TagApi::kDaysFresh);
  EXPECT_THAT(trends(), IsEmpty());
}

TEST_F(Reading, AListOfHashtagsComesInTimeThoughWhatIsKnownOfThemDoesNot) {
  std::vector<std::string> tags;
  for (char c = 'a'; c <= 'l'; ++c) tags.push_back("cats" + std::string(4, c));
  publish("1", tags, to_rfc3339(loop.wall_now()));
  const auto trends = [this] { return list(get("/api/v1/trends/tags?limit=20")); };
  const auto uses = [](const json::value& tag) { return tag.at("history").at(0).at("uses"); };
  const auto asked_within = [this](Duration limit, const std::function<json::array()>& ask_for) {
    const Instant asked = clock.now();
    json::array answer = ask_for();
    EXPECT_LT(clock.now() - asked, limit);
    return answer;
  };
  const Duration wait = mastodon_api::TagApi::kDaysWait + std::chrono::seconds(1);
  database_pause = std::chrono::seconds(30);
  const json::array late = asked_within(wait, trends);
  ASSERT_THAT(late, SizeIs(12));
  EXPECT_EQ(uses(late.front()), "0");
  EXPECT_THAT(
      asked_within(wait, [this] { return object(get("/api/v2/search?q=cats")).at("hashtags").as_array(); }),
      SizeIs(13));
  database_pause = Duration::zero();
  settle(std::chrono::seconds(60));
  for (const json::value& tag : trends()) EXPECT_EQ(uses(tag), "1");
}

TEST_F(Reading, OneHashtagDoesNotWaitBehindThoseOfAList) {
  std::vector<std::string> tags;
  for (char c = 'a'; c <= 'l'; ++c) tags.push_back("cats" + std::string(4, c));
  publish("1", tags, to_rfc3339(loop.wall_now()));
  database_pause = std::chrono::minutes(1);
  const json::array listed = list(get("/api/v1/trends/tags?limit=20"));
  ASSERT_GT(listed.size(), mastodon_api::TagApi::kAskedMax);
  database_pause = Duration::zero();
  const Instant asked = clock.now();
  const json::object last = object(get("/api/v1/tags/" + json::text_of(listed.back().as_object(), "name")));
  EXPECT_LT(clock.now() - asked, std::chrono::seconds(1));
  EXPECT_EQ(last.at("history").at(0).at("uses"), "1");
}

// Lists of hashtags, each of which an owner takes a while for.
class ReadingBesideAFlood : public Reading {
 protected:
  static constexpr std::size_t kOfList = 13;  // with the one that was searched for

  static std::string searched(int list) { return fmt::format("flood{}x", list); }
  void flood(int lists) {
    for (int i = 0; i < lists; ++i) {
      std::vector<std::string> tags;
      for (char c = 'a'; c <= 'l'; ++c) tags.push_back(searched(i) + std::string(4, c));
      publish(std::to_string(i), tags, to_rfc3339(loop.wall_now()));
    }
    database_pause = std::chrono::milliseconds(400);
    for (int i = 0; i < lists; ++i) search("flood", searched(i));
  }
  void search(const std::string& who, const std::string& text) {
    HttpRequest request;
    request.target = "/api/v2/search?q=" + text;
    const auto meter = std::make_shared<budget::Meter>(manager, budget::Spender{who, ""}, true);
    boost::asio::co_spawn(budget::Metered(loop.executor(kOwner), meter), node->answer(std::move(request)),
                          [this, who, text](std::exception_ptr, const HttpResponse& answer) {
                            found[{who, text}] = object(answer).at("hashtags").as_array();
                          });
    settle(Duration(1));
  }
  // In time, and with what is known of them.
  void expect_found(const std::string& who, const std::string& text, std::size_t count) {
    settle(mastodon_api::TagApi::kDaysWait + std::chrono::seconds(1));
    const json::array& tags = found[{who, text}];
    ASSERT_THAT(tags, SizeIs(count));
    for (std::size_t i = 1; i < count; ++i)
      EXPECT_EQ(tags.at(i).at("history").at(0).at("uses"), "1") << tags.at(i).at("name");
  }

  budget::Manager manager{budget::default_budgets(), clock};
  std::map<std::pair<std::string, std::string>, json::array> found;  // by who asked, and for what
};

TEST_F(ReadingBesideAFlood, WhoeverAsksForManyListsLeavesRoomInLineForThoseOfOthers) {
  publish("home", {"homecats", "homedogs"}, to_rfc3339(loop.wall_now()));
  constexpr int kLists = 20;
  static_assert(kLists * kOfList > mastodon_api::TagApi::kWaitingMax + mastodon_api::TagApi::kAskedMax);
  flood(kLists);
  search("home", "home");
  expect_found("home", "home", 3);
}

TEST_F(ReadingBesideAFlood, WhatSomebodyAsksForBehindMuchElseIsThereInTimeForWhoAsksForLittle) {
  constexpr int kLists = 15;
  flood(kLists);
  search("home", searched(kLists - 1));
  expect_found("home", searched(kLists - 1), kOfList);
}

TEST_F(Reading, WhoAsksForDaysIsAnsweredHoweverManyOthersAsk) {
  database_pause = std::chrono::seconds(1);
  std::vector<int> statuses;
  constexpr std::size_t kAsked = mastodon_api::TagApi::kDaysMax + 100;
  for (std::size_t i = 0; i < kAsked; ++i) {
    HttpRequest request;
    request.target = fmt::format("/api/tagring/tags/cats{}/days", i);
    request.peer = *IpAddress::parse(fmt::format("2001:db8:{}::1", i + 1));
    boost::asio::co_spawn(
        loop.executor(kOwner), node->answer(std::move(request)),
        [&](std::exception_ptr, const HttpResponse& answer) { statuses.push_back(answer.status); });
    settle(Duration(1));  // all before the first answer
  }
  settle(std::chrono::seconds(10));
  ASSERT_THAT(statuses, SizeIs(kAsked));
  EXPECT_THAT(statuses, Each(200));
}

TEST_F(Reading, DaysAreReadInTheTimeOfWhoAsks) {
  publish("1", {"cats"}, to_rfc3339(loop.wall_now()));
  budget::Manager manager(budget::default_budgets(), clock);
  const budget::Spender stranger{"stranger", ""};
  const budget::Metered theirs(loop.executor(kOwner),
                               std::make_shared<budget::Meter>(manager, stranger, /*may_refuse=*/true));
  const auto used = [&] { return manager.used(budget::Resource::kDatabase, stranger); };
  std::vector<HttpResponse> answers;
  const auto ask_for_days = [&](const Executor& executor) {
    HttpRequest request;
    request.target = "/api/tagring/tags/cats/days";
    boost::asio::co_spawn(executor, node->answer(std::move(request)),
                          [&](std::exception_ptr, const HttpResponse& answer) { answers.push_back(answer); });
  };
  manager.count(budget::Resource::kDatabase, stranger, 1'000'000'000);
  ask_for_days(theirs);
  settle();
  ask_for_days(loop.executor(kOwner));
  settle();
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_EQ(answers[0].status, 503);
  EXPECT_EQ(answers[0].headers.find("Retry-After"), "10");
  EXPECT_EQ(answers[1].status, 200) << "who has no time left keeps it from nobody else";
  settle(std::chrono::minutes(10));
  answers.clear();
  EXPECT_EQ(used(), 0U);
  ask_for_days(theirs);
  settle();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].status, 200);
  EXPECT_GT(used(), 0U);
}

TEST_F(Reading, WhoseTimeOfTheDatabaseIsOverIsToldWhenToComeBack) {
  publish("1", {"cats"}, to_rfc3339(loop.wall_now()));
  budget::Manager manager(budget::default_budgets(), clock);
  const budget::Spender stranger{"stranger", ""};
  const budget::Metered theirs(loop.executor(kOwner),
                               std::make_shared<budget::Meter>(manager, stranger, /*may_refuse=*/true));
  manager.count(budget::Resource::kDatabase, stranger, 1'000'000'000);
  for (const char* target : {"/api/v1/timelines/tag/cats", "/tags/cats.rss", "/tags/cats"}) {
    HttpRequest request;
    request.target = target;
    request.headers.add("Accept", "text/html");
    std::optional<HttpResponse> answer;
    boost::asio::co_spawn(theirs, node->answer(std::move(request)),
                          [&](std::exception_ptr, HttpResponse given) { answer = std::move(given); });
    settle();
    ASSERT_TRUE(answer) << target;
    EXPECT_EQ(answer->status, 503) << target;
    EXPECT_EQ(answer->headers.find("Retry-After"), "10") << target;
  }
}

TEST_F(Reading, TrendsAreThoseOfTheLastDayAfterARestartToo) {
  const auto trends = [this] {
    std::vector<std::string> names;
    for (const json::value& tag : list(get("/api/v1/trends/tags")))
      names.push_back(json::text_of(tag.as_object(), "name"));
    return names;
  };
  publish("1", {"morning"}, to_rfc3339(loop.wall_now() - std::chrono::hours(23)));
  publish("2", {"cats"}, to_rfc3339(loop.wall_now()));
  EXPECT_THAT(trends(), testing::UnorderedElementsAre("morning", "cats"));
  start(config());
  settle();
  EXPECT_THAT(trends(), testing::UnorderedElementsAre("morning", "cats"));
  settle(std::chrono::hours(2));
  EXPECT_THAT(trends(), ElementsAre("cats"));
}

TEST_F(Reading, PostsPerDay) {
  publish("1", {"cats"}, "2025-12-28T23:59:59Z");
  publish("2", {"cats"}, "2025-12-30T00:00:00Z");
  publish("3", {"cats"}, "2025-12-30T23:00:00Z");
  const HttpResponse response = get("/api/tagring/tags/cats/days?from=2025-12-28&to=2025-12-30");
  EXPECT_EQ(response.body,
            R"([{"day":"2025-12-28","posts":1,"authors":1},{"day":"2025-12-30","posts":2,"authors":1}])");
  EXPECT_EQ(get("/api/tagring/tags/cats/days?from=2025-12-28&to=2025-12-29").body,
            R"([{"day":"2025-12-28","posts":1,"authors":1}])");
  EXPECT_EQ(get("/api/tagring/tags/cats/days?from=1900-01-01&to=2025-12-29").status, 422);
  EXPECT_EQ(get("/api/tagring/tags/cats/days?from=2025-13-01").status, 422);
}

TEST_F(Reading, AnOutageIsNotToldAsDaysWithoutPosts) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  const auto lose = [](sql::Connection& db) { return db.execute("ALTER TABLE history RENAME TO away"); };
  ASSERT_TRUE(run(stores->database->write(lose)));
  EXPECT_EQ(get("/api/tagring/tags/cats/days?from=2025-12-28&to=2025-12-30").status, 503);
  EXPECT_EQ(get("/api/v1/tags/cats").status, 200) << "clients need the hashtag to follow it";
}

TEST_F(Reading, SearchFindsHashtagsAndPosts) {
  const std::string uri = publish("1", {"catsoftheworld"}, to_rfc3339(loop.wall_now()));
  json::object found = object(get("/api/v2/search?q=%23cats"));
  EXPECT_EQ(mastodon_api::wrong_fields("Search", found), "");
  ASSERT_THAT(found.at("hashtags").as_array(), SizeIs(2));
  EXPECT_EQ(found.at("hashtags").as_array().at(1).as_object().at("name"), "catsoftheworld");
  found = object(get("/api/v2/search?resolve=true&q=" + uri));
  ASSERT_THAT(found.at("statuses").as_array(), SizeIs(1));
  const json::object status = found.at("statuses").as_array().at(0).as_object();
  EXPECT_EQ(mastodon_api::wrong_fields("Status", status), "");
  EXPECT_EQ(status.at("id"), list(get("/api/v1/timelines/tag/catsoftheworld")).at(0).as_object().at("id"));
  EXPECT_THAT(object(get("/api/v2/search?q=https://home.example/none")).at("statuses").as_array(), IsEmpty());
  EXPECT_EQ(get("/api/v2/search").status, 400);
}

TEST_F(Reading, WhatWasShownCanBeOpenedByItsId) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  publish("2", {"cats"}, "2025-12-30T11:00:00Z",
          [](json::object& note) { note["inReplyTo"] = "https://home.example/notes/1"; });
  const std::string early =
      std::to_string(posts::status_id(*from_rfc3339("2025-12-30T10:00:00Z"), "https://home.example/notes/1"));
  EXPECT_EQ(get("/api/v1/statuses/" + early).status, 404) << "it was not shown yet";
  const json::array page = list(get("/api/v1/timelines/tag/cats"));
  ASSERT_THAT(page, SizeIs(2));
  const json::object reply = page.at(0).as_object();
  const json::object parent = page.at(1).as_object();
  EXPECT_EQ(reply.at("in_reply_to_id"), parent.at("id"));
  EXPECT_EQ(reply.at("in_reply_to_account_id"), parent.at("account").at("id"));
  EXPECT_TRUE(parent.at("in_reply_to_id").is_null());
  const auto path = [](const json::object& status) {
    return "/api/v1/statuses/" + std::string(status.at("id").as_string());
  };
  EXPECT_EQ(object(get(path(parent))), parent);
  EXPECT_EQ(object(get(path(reply))), reply);
  EXPECT_EQ(mastodon_api::wrong_fields("Status", object(get(path(reply)))), "");
  EXPECT_EQ(object(get(path(reply) + "/context")).at("ancestors"), json::value(json::array{parent}));
  EXPECT_EQ(object(get(path(reply) + "/context")).at("descendants"), json::value(json::array()));
  EXPECT_EQ(object(get(path(parent) + "/context")).at("descendants"), json::value(json::array{reply}));
  const json::object account = reply.at("account").as_object();
  EXPECT_EQ(object(get("/api/v1/accounts/" + std::string(account.at("id").as_string()))), account);
  for (const char* none :
       {"/api/v1/statuses/1", "/api/v1/statuses/", "/api/v1/statuses/abc/context", "/api/v1/accounts/1"})
    EXPECT_EQ(get(none).status, 404) << none;
}

// Many servers tell the time of a post in whole seconds, and a busy hashtag has more of one second than a
// page holds.
TEST_F(Reading, APostIsOpenedByItsIdHoweverManyWerePublishedAtThatMoment) {
  constexpr int kPosts = 30;
  for (int i = 0; i < kPosts; ++i) publish(fmt::format("{:02}", i), {"cats"}, "2025-12-30T10:00:00Z");
  const json::array page = list(get("/api/v1/timelines/tag/cats?limit=40"));
  ASSERT_THAT(page, SizeIs(kPosts));
  for (const json::value& status : page) {
    const std::string id(status.at("id").as_string());
    EXPECT_EQ(object(get("/api/v1/statuses/" + id)), status.as_object()) << status.at("uri");
  }
  EXPECT_THAT(object(get("/api/v2/search?q=https://home.example/notes/00")).at("statuses").as_array(),
              SizeIs(1));
}

TEST_F(Reading, SearchesAimOnlySoMuchAtOneServer) {
  const auto search = [&](const std::string& url, unsigned char subnet) {
    HttpRequest request;
    request.target = "/api/v2/search?q=" + percent_encode(url);
    request.peer = IpAddress::from_v4({192, 0, subnet, 1});
    return ask(std::move(request));
  };
  for (unsigned char i = 0; i < 100; ++i)
    EXPECT_EQ(search(fmt::format("https://victim.example/{}", i), i).status, 200);
  EXPECT_LE(internet.calls.size(), 10U);
  internet.calls.clear();
  for (int i = 0; i < 10; ++i) search(fmt::format("https://s{}.example/1", i), 200);
  const HttpResponse refused = search("https://one.example/1", 200);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.find("Retry-After"), "60");
  settle(std::chrono::minutes(1));
  EXPECT_EQ(search("https://one.example/1", 200).status, 200);
}

TEST_F(Reading, ASearchThatIsSentOnCountsForEachRequest) {
  internet.calls.clear();
  for (unsigned char i = 0; i < 20; ++i) {
    const std::string place = fmt::format("https://victim.example/{}", i);
    internet.refuse_late(place);
    HttpRequest request;
    request.target = "/api/v2/search?q=" + percent_encode(place);
    request.peer = IpAddress::from_v4({192, 0, i, 1});
    EXPECT_EQ(ask(std::move(request)).status, 200);
  }
  EXPECT_LE(internet.calls.size(), 10U);
}

TEST_F(Reading, WhoReadsTooMuchIsToldWhenToComeBackOnThePageToo) {
  const auto read = [this](const std::string& target) {
    HttpRequest request;
    request.target = target;
    request.headers.add("Accept", "text/html");
    request.peer = IpAddress::from_v4({192, 0, 2, 1});
    return ask(std::move(request));
  };
  HttpResponse refused;
  for (int i = 0; i < 1000 && refused.status != 429; ++i) refused = read("/tags/cats");
  ASSERT_EQ(refused.status, 429);
  EXPECT_TRUE(refused.headers.find("Retry-After"));
}

TEST_F(Reading, AnEmptyTimelineHasNoLink) {
  publish("1", {"cats"}, to_rfc3339(loop.wall_now()));
  EXPECT_FALSE(get("/api/v1/timelines/tag/cats?only_media=true").headers.find("Link"))
      << "Mastodon.py falls over it";
  EXPECT_FALSE(get("/api/v1/timelines/tag/cats?none[]=cats").headers.find("Link"));
  EXPECT_TRUE(get("/api/v1/timelines/tag/cats").headers.find("Link"));
}

TEST_F(Reading, WhatIsGoneCannotBeOpenedByItsId) {
  const std::string uri = publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  const std::string path =
      "/api/v1/statuses/" + std::string(list(get("/api/v1/timelines/tag/cats")).at(0).at("id").as_string());
  EXPECT_EQ(get(path).status, 200);
  EXPECT_EQ(post_signed(delete_text(uri, alice.id), alice).status, 202);
  settle();
  EXPECT_EQ(get(path).status, 404);
  EXPECT_EQ(get(path + "/context").status, 404);
}

TEST_F(Reading, SearchFindsAPostByTheAddressThatABrowserShows) {
  const std::string uri = publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  const std::string shown = "https://home.example/@alice/1";
  internet.serve(shown, internet.documents.at(uri));
  const auto found = [&](const std::string& address) {
    return object(get("/api/v2/search?q=" + percent_encode(address))).at("statuses").as_array();
  };
  ASSERT_THAT(found(shown), SizeIs(1));
  EXPECT_EQ(found(shown).at(0).at("uri"), json::value(uri));
  for (const char* pasted :
       {"home.example/@alice/1", " https://home.example/@alice/1\n", "HTTPS://Home.Example/@alice/1",
        "https://home.example/@alice/1#reply", "http://home.example/@alice/1"})
    EXPECT_THAT(found(pasted), SizeIs(1)) << pasted;
  // Friendica's and WordPress's pages are pages whoever asks, and say where the post is.
  const std::string page =
      fmt::format(R"(<html><head><link rel="alternate" type="application/activity+json" href="{}">)", uri);
  internet.serve("https://home.example/display/1",
                 {.status = 200, .headers = {{"Content-Type", "text/html"}}, .body = page});
  ASSERT_THAT(found("https://home.example/display/1"), SizeIs(1));
  EXPECT_EQ(found("https://home.example/display/1").at(0).at("uri"), json::value(uri));
  internet.serve("https://home.example/?p=1",
                 {.status = 200,
                  .headers = {{"Content-Type", "text/html; charset=UTF-8"},
                              {"Link", "</notes/1>; rel=\"alternate\"; type=\"application/activity+json\""}},
                  .body = "<html>"});
  EXPECT_THAT(found("https://home.example/?p=1"), SizeIs(1));
  internet.serve("https://other.example/1",
                 {.status = 200, .headers = {{"Content-Type", "text/html"}}, .body = page});
  EXPECT_THAT(found("https://other.example/1"), IsEmpty());
  // Another server has no say.
  internet.serve("https://other.example/@alice/1", internet.documents.at(uri));
  EXPECT_THAT(found("https://other.example/@alice/1"), IsEmpty());
  // Nor does an address that leads to what was never published here.
  const PostText untold{.uri = "https://home.example/notes/untold", .author = alice.id, .tags = {"cats"}};
  internet.serve(untold.uri, json::serialize(note_object(untold)));
  internet.serve("https://home.example/@alice/untold", internet.documents.at(untold.uri));
  EXPECT_THAT(found("https://home.example/@alice/untold"), IsEmpty());
}

TEST_F(Reading, SearchFindsAHashtagByItsAddress) {
  const auto found = [&](const std::string& text) {
    std::vector<std::string> names;
    for (const json::value& tag :
         object(get("/api/v2/search?q=" + percent_encode(text))).at("hashtags").as_array())
      names.emplace_back(tag.at("name").as_string());
    return names;
  };
  for (const char* address :
       {"@cats@tags.home.example", "cats@tags.home.example", "https://tags.home.example/tags/cats",
        "https://tags.home.example/tag/cats", "#cats", " @cats@tags.home.example ",
        "acct:cats@tags.home.example", "tags.home.example/tags/cats", "HTTPS://TAGS.home.example/tags/Cats/",
        "https://tags.home.example/tags/cats?any=dogs#posts"})
    EXPECT_THAT(found(address), ElementsAre("cats")) << address;
  EXPECT_THAT(found("https://tags.home.example/tags/%E7%8C%AB"), ElementsAre("猫"));
  for (const char* other : {"@a6@src.example", "a6@src.example", "@no.such@tags.home.example",
                            "https://tags.home.example/actor", "src.example/tags/cats"})
    EXPECT_THAT(found(other), IsEmpty()) << other;
}

TEST_F(Reading, WhatIsNoHashtagFindsNoOther) {
  for (const char* text : {"cats,dogs", "cats dogs", "cats+dogs"}) {
    const std::string q = percent_encode(text);
    EXPECT_THAT(object(get("/api/v2/search?q=" + q)).at("hashtags").as_array(), IsEmpty()) << text;
    const std::string page = get("/search?q=" + q).body;
    EXPECT_THAT(page, HasSubstr(R"(<a href="/tags/cats")")) << text;
    EXPECT_THAT(page, HasSubstr(R"(<a href="/tags/dogs")")) << text;
    EXPECT_THAT(page, Not(HasSubstr("catsdogs"))) << text;
  }
}

TEST_F(Reading, NobodyReadsThroughTheNodeWhatItsAuthorDidNotGive) {
  const auto found = [&](const std::string& uri) {
    return object(get("/api/v2/search?q=" + uri)).at("statuses").as_array().size();
  };
  const PostText untold{.uri = "https://home.example/notes/untold", .author = alice.id, .tags = {"cats"}};
  internet.serve(untold.uri, json::serialize(note_object(untold)));
  EXPECT_EQ(found(untold.uri), 0U) << "never published here";
  alice.indexable = false;
  internet.serve(alice);
  EXPECT_EQ(found(publish("1", {"cats"}, to_rfc3339(loop.wall_now()))), 0U) << "not for archives";
}

// Or whoever writes one with many hashtags has this node ask the owners of all of them, as often as they
// like.
TEST_F(Reading, APostThatStandsInNoHistoryIsLookedForOnlyOnceInAWhile) {
  const auto found = [&](const std::string& uri) {
    return object(get("/api/v2/search?q=" + uri)).at("statuses").as_array().size();
  };
  std::vector<std::string> tags;
  for (char c = 'a'; c <= 'j'; ++c) tags.emplace_back(4, c);
  const PostText untold{.uri = "https://home.example/notes/1", .author = alice.id, .tags = tags};
  internet.serve(untold.uri, json::serialize(note_object(untold)));
  EXPECT_EQ(found(untold.uri), 0U);
  publish("1", tags, to_rfc3339(loop.wall_now()));
  EXPECT_EQ(found(untold.uri), 0U);
  settle(std::chrono::minutes(6));
  EXPECT_EQ(found(untold.uri), 1U);
}

TEST_F(Reading, AFewHashtagsOfAPostAreLookedAt) {
  std::vector<std::string> tags;
  for (char c = 'a'; c <= 'j'; ++c) tags.emplace_back(4, c);
  for (const std::size_t lost : {7U, 8U}) {
    const std::string uri = publish(std::to_string(lost), tags, to_rfc3339(loop.wall_now()));
    for (std::size_t i = 0; i < lost; ++i)
      ASSERT_TRUE(run(stores->history.correct(Tag::from_canonical(tags[i]), uri, {}, false)));
    EXPECT_EQ(object(get("/api/v2/search?q=" + uri)).at("statuses").as_array().size(), lost < 8 ? 1U : 0U);
  }
}

TEST_F(Reading, WhoIsNamedAsAPostIsStillShown) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z", [&](json::object& note) { note["inReplyTo"] = alice.id; });
  internet.serve("https://home.example/@alice", internet.documents.at(alice.id));
  for (const std::string& named : {std::string("https://home.example/@alice"), alice.id}) {
    const std::string q = percent_encode(named);
    EXPECT_THAT(object(get("/api/v2/search?type=statuses&q=" + q)).at("statuses").as_array(), IsEmpty());
    EXPECT_THAT(timeline("cats"), ElementsAre("1")) << named;
  }
  const std::string id(list(get("/api/v1/timelines/tag/cats")).at(0).at("id").as_string());
  settle(std::chrono::minutes(11));
  EXPECT_EQ(get("/api/v1/statuses/" + id + "/context").status, 200);
  EXPECT_THAT(timeline("cats"), ElementsAre("1"));
}

TEST_F(Reading, NobodyIsFoundByTheAddressOfSomebodyElse) {
  const std::string other = "https://bank.example/@chief";
  json::object document = json::parse_object(alice.document()).value();
  document["url"] = other;
  internet.serve(alice.id, json::serialize(document));
  const std::string uri =
      publish("1", {"cats"}, "2025-12-30T10:00:00Z", [&](json::object& note) { note["url"] = other + "/1"; });
  const json::object status = list(get("/api/v1/timelines/tag/cats")).at(0).as_object();
  EXPECT_EQ(status.at("url"), json::value(uri));
  EXPECT_EQ(status.at("account").at("url"), json::value(alice.id));
  const std::string q = percent_encode(other);
  EXPECT_THAT(object(get("/api/v2/search?q=" + q)).at("accounts").as_array(), IsEmpty());
  EXPECT_THAT(list(get("/api/v1/accounts/search?q=" + q)), IsEmpty());
}

TEST_F(Reading, WhoHidesFromTheWebIsNotShown) {
  const std::string uri = publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  json::object document = json::parse_object(alice.document()).value();
  document["hidesToPublicFromUnauthedWeb"] = true;
  internet.serve(alice.id, json::serialize(document));
  EXPECT_THAT(timeline("cats"), IsEmpty());
  EXPECT_THAT(object(get("/api/v2/search?q=" + uri)).at("statuses").as_array(), IsEmpty());
  EXPECT_THAT(get("/tags/cats.rss").body, Not(HasSubstr("notes/1")));
}

TEST_F(Reading, WhatNotEverybodyMayAnnounceIsNotShown) {
  const std::string uri = publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  json::object document = json::parse_object(internet.documents[uri].body).value();
  document["interactionPolicy"] =
      json::object{{"canAnnounce", json::object{{"automaticApproval", json::array()}}}};
  internet.serve(uri, json::serialize(document));
  EXPECT_THAT(timeline("cats"), IsEmpty());
  EXPECT_THAT(object(get("/api/v2/search?q=" + uri)).at("statuses").as_array(), IsEmpty());
}

TEST_F(Reading, WhoWithdrawsIsNotShownFromMemory) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  const json::object account = list(get("/api/v1/timelines/tag/cats")).at(0).at("account").as_object();
  const std::string by_id = "/api/v1/accounts/" + std::string(account.at("id").as_string());
  EXPECT_EQ(get(by_id).status, 200);
  alice.summary = "<p>#nobot</p>";
  internet.serve(alice);
  const json::object update = {{"id", alice.id + "#updates/1"},
                               {"type", "Update"},
                               {"actor", alice.id},
                               {"object", json::parse_object(alice.document()).value()}};
  EXPECT_EQ(post_signed(json::serialize(update), alice).status, 202);
  settle();
  EXPECT_EQ(get(by_id).status, 404);
}

TEST_F(Reading, AnAccountIsShownNoLongerThanItsPostsAre) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  const json::object account = list(get("/api/v1/timelines/tag/cats")).at(0).at("account").as_object();
  const std::string by_id = "/api/v1/accounts/" + std::string(account.at("id").as_string());
  const std::string by_name = "/api/v1/accounts/lookup?acct=" + std::string(account.at("acct").as_string());
  EXPECT_EQ(object(get(by_id)), account);
  EXPECT_EQ(object(get(by_name)), account);
  EXPECT_EQ(object(get("/api/v1/accounts/lookup?acct=@SomeBody@Home.EXAMPLE")), account);
  const std::string url(account.at("url").as_string());
  for (const std::string& named : {std::string("@SomeBody@Home.EXAMPLE"), url, alice.id}) {
    const std::string q = percent_encode(named);
    EXPECT_EQ(object(get("/api/v2/search?q=" + q)).at("accounts"), (json::value(json::array{account})))
        << named;
    EXPECT_THAT(object(get("/api/v2/search?type=hashtags&q=" + q)).at("accounts").as_array(), IsEmpty());
    EXPECT_EQ(list(get("/api/v1/accounts/search?q=" + q)), json::array{account}) << named;
  }
  EXPECT_THAT(list(get("/api/v1/accounts/search?q=nobody")), IsEmpty());
  EXPECT_THAT(list(get(by_id + "/statuses")), IsEmpty());
  EXPECT_EQ(get("/api/v1/accounts/lookup?acct=nobody@home.example").status, 404);
  const auto expect_status = [&](int status) {
    for (const std::string& path : {by_id, by_name, by_id + "/statuses"})
      EXPECT_EQ(get(path).status, status) << path;
  };
  const std::string block = R"({"kind":"author","what":")" + alice.id + R"(","reason":"spam"})";
  EXPECT_EQ(control("/blocks/add", block).status, 200);
  expect_status(404);
  EXPECT_EQ(control("/blocks/remove", block).status, 200);
  expect_status(200);
  // What is remembered of her grows old.
  json::object document = json::parse_object(alice.document()).value();
  document["summary"] = "<p>#nobot</p>";
  internet.serve(alice.id, json::serialize(document));
  loop.run_for(std::chrono::minutes(11));
  expect_status(404);
}

TEST_F(Reading, AMentionLeadsWhereTheTextDoes) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z", [](json::object& note) {
    note["content"] =
        R"(<p><a href="https://b.example/@bobby" class="u-url mention">@<span>bobby</span></a> )"
        R"(<a href="https://b.example/@bob" class="u-url mention">@<span>bob</span></a> )"
        R"(<a href="https://evil.example/@ann" class="u-url mention">@<span>ann</span></a></p>)";
    for (const char* name : {"bob", "ann"})
      note["tag"].as_array().push_back(json::object{{"type", "Mention"},
                                                    {"href", std::string("https://b.example/users/") + name},
                                                    {"name", std::string("@") + name + "@b.example"}});
  });
  const json::array mentions = list(get("/api/v1/timelines/tag/cats")).at(0).at("mentions").as_array();
  ASSERT_THAT(mentions, SizeIs(2));
  EXPECT_EQ(mentions.at(0).at("url"), "https://b.example/@bob");
  EXPECT_EQ(mentions.at(1).at("url"), "https://b.example/users/ann") << "another server's page";
}

TEST_F(Reading, WhatClientsAskForBesideHasItsShape) {
  for (const char* path : {"directory", "timelines/public", "instance/peers", "instance/rules",
                           "custom_emojis", "trends/links", "trends/statuses"})
    EXPECT_THAT(list(get(std::string("/api/v1/") + path)), IsEmpty()) << path;
  EXPECT_EQ(object(get("/api/v1/instance/extended_description")).at("content"), "");
  EXPECT_THAT(object(get("/api/v1/instance/translation_languages")), IsEmpty());
  // Nobody is logged in.
  for (const char* path :
       {"v1/preferences", "v1/markers", "v1/timelines/home", "v1/timelines/list/1", "v1/lists/1/accounts",
        "v1/accounts/verify_credentials", "v1/accounts/relationships?id[]=1", "v1/notifications/unread_count",
        "v2/notifications", "v1/conversations", "v1/follow_requests", "v1/mutes", "v1/blocks"}) {
    const HttpResponse response = get(std::string("/api/") + path);
    EXPECT_EQ(response.status, 401) << path;
    EXPECT_EQ(response.headers.find("WWW-Authenticate"), "Bearer") << path;
  }
  EXPECT_EQ(get("/api/v1/listsome").status, 404);
  // Mastodon's answer where the administrator shows them to nobody.
  EXPECT_EQ(get("/api/v1/instance/domain_blocks").status, 404);
}

TEST_F(Reading, FeedsForFeedReaders) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z", [](json::object& note) {
    note["content"] = "<p>a & b ]]></p>";
    note["summary"] = "careful";
    note["attachment"] = json::array{json::object{
        {"type", "Image"}, {"mediaType", "image/png"}, {"url", "https://home.example/1.png?a&b"}}};
  });
  const HttpResponse rss = get("/tags/cats.rss");
  EXPECT_EQ(rss.headers.find("X-Robots-Tag"), "noindex");
  EXPECT_EQ(rss.headers.find("Content-Type"), "application/rss+xml; charset=utf-8");
  EXPECT_THAT(rss.body, HasSubstr("<guid isPermaLink=\"false\">https://home.example/notes/1</guid>"));
  EXPECT_THAT(rss.body, HasSubstr("<pubDate>Tue, 30 Dec 2025 10:00:00 GMT</pubDate>"));
  EXPECT_THAT(rss.body, HasSubstr("careful&lt;/p&gt;&lt;hr&gt;&lt;p&gt;a &amp;amp; b"));
  EXPECT_THAT(rss.body,
              HasSubstr("<media:content url=\"https://home.example/1.png?a&amp;b\" medium=\"image\">"
                        "<media:rating scheme=\"urn:simple\">adult</media:rating>"));
  const HttpResponse atom = get("/tags/cats.atom");
  EXPECT_EQ(atom.headers.find("Content-Type"), "application/atom+xml; charset=utf-8");
  EXPECT_THAT(atom.body, HasSubstr("<id>https://home.example/notes/1</id>"));
  EXPECT_THAT(atom.body, HasSubstr("<updated>2025-12-30T10:00:00.000Z</updated>"));
  EXPECT_THAT(atom.body, HasSubstr("<title>Content warning: careful</title>"));
  EXPECT_THAT(atom.body, Not(HasSubstr("enclosure")));
  EXPECT_THAT(get("/tags/nothing.atom").body, Not(HasSubstr("<entry>")));
  EXPECT_EQ(get("/tags/%21.rss").status, 422);
}

TEST_F(Reading, AFeedIsAsNewAsTheLatestEditInIt) {
  const std::string uri = publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  json::object edited = json::parse_object(internet.documents[uri].body).value();
  edited["updated"] = "2025-12-30T13:00:00Z";
  internet.serve(uri, json::serialize(edited));
  publish("2", {"cats"}, "2025-12-30T11:00:00Z");
  const std::string atom = get("/tags/cats.atom").body;
  EXPECT_THAT(atom.substr(0, atom.find("<entry>")), HasSubstr("<updated>2025-12-30T13:00:00.000Z</updated>"));
  EXPECT_THAT(get("/tags/cats.rss").body,
              HasSubstr("<lastBuildDate>Tue, 30 Dec 2025 13:00:00 GMT</lastBuildDate>"));
}

TEST_F(Reading, AHashtagThatIsBlockedIsNotShown) {
  publish("1", {"cats"}, "2025-12-30T10:00:00Z");
  EXPECT_EQ(control("/blocks/add", R"({"kind":"tag","what":"cats","reason":"a brand"})").status, 200);
  for (const char* target :
       {"/api/v1/timelines/tag/cats", "/api/v1/tags/cats", "/api/tagring/tags/cats/days"}) {
    const HttpResponse response = get(target);
    EXPECT_EQ(response.status, 404) << target;
    EXPECT_THAT(response.body, HasSubstr("not offered here"));
  }
  EXPECT_THAT(timeline("dogs?any[]=cats"), IsEmpty());
  EXPECT_THAT(object(get("/api/v2/search?q=cats")).at("hashtags").as_array(), IsEmpty());
}

TEST_F(Reading, WhoBlocksAHashtagActorIsNotShownUnderItAndWhoBlocksTheNodeNowhere) {
  publish("1", {"cats", "dogs"}, "2025-12-30T10:00:00Z");
  const auto block = [&](const std::string& actor) {
    const json::object text = {{"id", alice.id + "/blocks" + actor},
                               {"type", "Block"},
                               {"actor", alice.id},
                               {"object", origin + actor}};
    EXPECT_EQ(post_signed(json::serialize(text), alice).status, 202);
  };
  block("/tag/cats");
  EXPECT_THAT(timeline("cats"), IsEmpty());
  EXPECT_THAT(get("/tags/cats.atom").body, Not(HasSubstr("notes/1")));
  EXPECT_THAT(timeline("dogs"), ElementsAre("1"));
  block("/actor");
  // Others may still have it and say so.
  const storage::HistoryEntry entry{"dogs"_tag, "https://home.example/notes/1", alice.id, WallTime()};
  EXPECT_FALSE(node->history().is_shown(entry));
}

TEST_F(Reading, TheNodeDescribesItselfAsMastodonDoes) {
  const json::object v2 = object(get("/api/v2/instance"));
  EXPECT_EQ(mastodon_api::wrong_fields("Instance", v2), "");
  EXPECT_EQ(v2.at("domain"), "tags.home.example");
  EXPECT_EQ(v2.at("configuration").at("urls").at("streaming"), "wss://tags.home.example");
  EXPECT_EQ(mastodon_api::wrong_fields("V1_Instance", object(get("/api/v1/instance"))), "");
  for (const char* picture : {"/avatars/original/missing.png", "/headers/original/missing.png"})
    EXPECT_EQ(get(picture).headers.find("Content-Type"), "image/png");
}

TEST_F(Reading, ErrorsAndLimitsAreSaidAsMastodonSaysThem) {
  HttpResponse response = get("/api/v1/no/such/thing");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, R"({"error":"Record not found"})");
  HttpRequest preflight;
  preflight.method = "OPTIONS";
  preflight.target = "/api/v1/timelines/tag/cats";
  response = ask(std::move(preflight));
  EXPECT_EQ(response.status, 204);
  EXPECT_THAT(response.headers.find("Access-Control-Allow-Headers").value_or(""), HasSubstr("Authorization"));
  for (int i = 0; i < 310; ++i) response = get("/api/v1/custom_emojis");
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.body, R"({"error":"Too many requests"})");
  EXPECT_EQ(response.headers.find("X-RateLimit-Remaining"), "0");
  settle(std::chrono::minutes(5));
  EXPECT_EQ(get("/api/v1/custom_emojis").status, 200);
}

}  // namespace
}  // namespace tagring::node
