#include "fediverse/builders.hpp"

#include <gtest/gtest.h>

#include "fediverse/activity.hpp"
#include "fediverse/vocabulary.hpp"

namespace tagring::fediverse {
namespace {

const WallTime kNow = *from_rfc3339("2026-11-21T10:00:00Z");
const WallTime kEarlier = *from_rfc3339("2026-11-21T09:00:00Z");
constexpr std::string_view kId = "https://n.example/activities/1";
constexpr std::string_view kActor = "https://n.example/actor";

std::vector<PostRef> two_posts() {
  const Tag cats = *Tag::parse("Cats");
  const Tag umlaut = *Tag::parse("日本");
  return {PostRef{"https://a.example/1", "https://a.example/u", kEarlier, {cats, umlaut}},
          PostRef{"https://b.example/2", "https://b.example/u", kEarlier, {cats}}};
}

template <class T>
T sent(const json::object& built) {
  Result<Activity> result = parse_activity(json::serialize(built), kNow);
  EXPECT_TRUE(result) << result.error().message;
  if (!result || !std::holds_alternative<T>(result->content)) {
    ADD_FAILURE() << json::serialize(built);
    return T();
  }
  EXPECT_EQ(result->id, built.at("id").as_string());
  EXPECT_EQ(result->actor, built.at("actor").as_string());
  return std::get<T>(std::move(result->content));
}

void expect_same(const std::vector<PostRef>& a, const std::vector<PostRef>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].uri, b[i].uri);
    EXPECT_EQ(a[i].author, b[i].author);
    EXPECT_EQ(a[i].published, b[i].published);
    EXPECT_EQ(a[i].updated, b[i].updated);
    EXPECT_EQ(a[i].tags, b[i].tags);
  }
}

TEST(Builders, AddHasTheFormAgreedBetweenNodes) {
  const json::object add = make_add(kId, kActor, "https://o.example/relay", {two_posts()[1]});
  EXPECT_EQ(
      json::serialize(add),
      R"({"@context":["https://www.w3.org/ns/activitystreams",{"Hashtag":"as:Hashtag","toot":"http://joinmastodon.org/ns#","indexable":"toot:indexable"}],)"
      R"("id":"https://n.example/activities/1","type":"Add","actor":"https://n.example/actor",)"
      R"("target":"https://o.example/relay","object":[{"id":"https://b.example/2","type":"Note",)"
      R"("attributedTo":"https://b.example/u","published":"2026-11-21T09:00:00Z",)"
      R"("tag":[{"type":"Hashtag","name":"#cats"}]}]})");
}

TEST(Builders, BatchesArriveAsTheyWereSent) {
  std::vector<PostRef> posts = two_posts();
  posts[1].updated = kEarlier + Duration(1);
  const Add add = sent<Add>(make_add(kId, kActor, "https://o.example/relay", posts));
  EXPECT_EQ(add.target, "https://o.example/relay");
  expect_same(add.posts, posts);
  const Remove remove = sent<Remove>(make_remove(kId, kActor, "https://o.example/storage", two_posts()));
  EXPECT_EQ(remove.target, "https://o.example/storage");
  expect_same(remove.posts, two_posts());
  expect_same(sent<Announce>(make_batched_announce(kId, kActor, two_posts(), kNow)).posts, two_posts());
  expect_same(sent<UndoAnnounce>(make_batched_undo(kId, kActor, two_posts())).posts, two_posts());
}

TEST(Builders, AnnounceForFollowersIsPublicAndOmitsTheAuthor) {
  const std::string actor = "https://n.example/tag/cats";
  const json::object announce =
      make_announce(kId, actor, "https://a.example/1", kEarlier, Audience::kPublic, kNow);
  EXPECT_EQ(
      json::serialize(announce),
      R"({"@context":"https://www.w3.org/ns/activitystreams","id":"https://n.example/activities/1",)"
      R"("type":"Announce","actor":"https://n.example/tag/cats","published":"2026-11-21T10:00:00Z",)"
      R"("to":["https://www.w3.org/ns/activitystreams#Public"],"cc":["https://n.example/tag/cats/followers"],)"
      R"("object":"https://a.example/1"})");
  EXPECT_EQ(sent<Announce>(announce).posts[0].uri, "https://a.example/1");
}

TEST(Builders, AnnounceForARelayGoesToFollowersOnly) {
  const json::object announce =
      make_announce(kId, kActor, "https://a.example/1", kEarlier, Audience::kFollowers, kNow);
  EXPECT_EQ(json::serialize(announce.at("to")), R"(["https://n.example/actor/followers"])");
  EXPECT_FALSE(announce.contains("cc"));
}

TEST(Builders, AnnounceIsNeverOlderThanThePost) {
  const WallTime later = kNow + std::chrono::minutes(3);
  EXPECT_EQ(make_announce(kId, kActor, "https://a.example/1", later, Audience::kPublic, kNow).at("published"),
            "2026-11-21T10:03:00Z");
  std::vector<PostRef> posts = two_posts();
  posts[1].published = later;
  EXPECT_EQ(make_batched_announce(kId, kActor, posts, kNow).at("published"), "2026-11-21T10:03:00Z");
}

TEST(Builders, UndoOfAnAnnounceNamesIt) {
  const UndoAnnounce undo = sent<UndoAnnounce>(
      make_undo_announce(kId, kActor, "https://n.example/activities/0", "https://a.example/1"));
  EXPECT_EQ(undo.announce_id, "https://n.example/activities/0");
  EXPECT_EQ(undo.posts[0].uri, "https://a.example/1");
}

TEST(Builders, FollowOfOneIsPlainAndOfManyAList) {
  const json::object one = make_follow(kId, kActor, {"https://o.example/tag/x"});
  EXPECT_EQ(one.at("object"), "https://o.example/tag/x");
  const std::vector<std::string> tags = {"https://o.example/tag/x", "https://o.example/tag/y"};
  EXPECT_EQ(sent<Follow>(make_follow(kId, kActor, tags)).objects, tags);
  const UndoFollow undo =
      sent<UndoFollow>(make_undo_follow(kId, kActor, "https://n.example/activities/0", tags));
  EXPECT_EQ(undo.follow.id, "https://n.example/activities/0");
  EXPECT_EQ(undo.follow.objects, tags);
  EXPECT_EQ(sent<UndoFollow>(make_undo_follow(kId, kActor, "", tags)).follow.id, "");
}

TEST(Builders, AnswersEchoTheFollowUnchanged) {
  const json::object follow = *json::parse_object(
      R"({"@context":"x","id":"https://p.example/f","type":"Follow","actor":"https://p.example/actor",
          "object":"https://www.w3.org/ns/activitystreams#Public","state":"pending"})");
  for (const json::object& answer : {make_accept(kId, kActor, follow), make_reject(kId, kActor, follow)}) {
    EXPECT_EQ(answer.at("object"), json::value(follow));
    EXPECT_EQ(json::serialize(answer.at("to")), R"(["https://p.example/actor"])");
  }
  EXPECT_EQ(sent<Accept>(make_accept(kId, kActor, follow)).follows[0].id, "https://p.example/f");
  EXPECT_EQ(sent<Reject>(make_reject(kId, kActor, follow)).follows[0].id, "https://p.example/f");
}

}  // namespace
}  // namespace tagring::fediverse
