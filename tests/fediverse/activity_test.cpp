#include "fediverse/activity.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fediverse/vocabulary.hpp"

namespace tagring::fediverse {
namespace {

using ::testing::HasSubstr;

const WallTime kNow = *from_rfc3339("2026-11-21T10:00:00Z");

std::string create(std::string_view object_members, std::string_view type = "Create") {
  return fmt::format(
      R"({{"@context":"https://www.w3.org/ns/activitystreams","id":"https://a.example/1/activity",
      "type":"{}","actor":"https://a.example/users/u","object":{{"id":"https://a.example/1","type":"Note",
      "attributedTo":"https://a.example/users/u","published":"2026-11-21T09:00:00Z","to":"as:Public"{}}}}})",
      type, object_members);
}

std::string activity(std::string_view members) {
  return fmt::format(R"({{"id":"https://a.example/activity","actor":"https://a.example/actor",{}}})",
                     members);
}

Result<Note> note_of(std::string_view object_members) {
  TRY(const Activity result, parse_activity(create(object_members), kNow));
  return std::get<Create>(result.content).note;
}

std::vector<std::string> canonical(const std::vector<Tag>& tags) {
  std::vector<std::string> names;
  for (const Tag& tag : tags) names.push_back(tag.canonical());
  return names;
}

std::vector<std::string> tags_of(std::string_view tag_value) {
  const Result<Note> note = note_of(fmt::format(R"(,"tag":{})", tag_value));
  EXPECT_TRUE(note) << note.error().message;
  return note ? canonical(note->tags) : std::vector<std::string>();
}

template <class T>
T content_of(const std::string& body) {
  Result<Activity> result = parse_activity(body, kNow);
  EXPECT_TRUE(result) << result.error().message;
  if (!result) return T();
  EXPECT_TRUE(std::holds_alternative<T>(result->content)) << result->content.index();
  return std::holds_alternative<T>(result->content) ? std::get<T>(std::move(result->content)) : T();
}

std::string refusal(const std::string& body) {
  const Result<Activity> result = parse_activity(body, kNow);
  return result ? "accepted" : result.error().message;
}

// --- every activity ------------------------------------------------------------------------------------

TEST(Activity, RefusesWhatIsNoActivity) {
  EXPECT_THAT(refusal(""), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("\"\xC3\x28\""), HasSubstr("not UTF-8"));
  EXPECT_EQ(refusal("{}"), "type is missing");
  EXPECT_EQ(refusal(R"({"type":7})"), "type is missing");
  EXPECT_EQ(refusal(R"({"type":"Follow"})"), "id is missing");
  EXPECT_EQ(refusal(R"({"type":"Create","id":"https://a.example/1"})"), "actor is missing");
  EXPECT_EQ(refusal(R"({"type":"Create","id":"urn:uuid:1","actor":"https://a.example/u"})"),
            "id is not an http(s) URL");
  EXPECT_EQ(refusal(R"({"type":"Like","id":"https://b.example/1","actor":"https://a.example/u"})"),
            "id is on another server than the actor");
  EXPECT_EQ(refusal(R"({"type":"Like","actor":"https://a.example/u","id":"https://a.example/)" +
                    std::string(2048, 'x') + "\"}"),
            "id is too long");
}

TEST(Activity, RefusesDepthBombs) {
  const std::string bomb = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(refusal(bomb), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(R"({"a":)" + bomb + "}"), HasSubstr("not JSON"));
}

TEST(Activity, CarriesIdAndActorHoweverTheActorIsGiven) {
  for (const char* actor : {R"("https://a.example/u")", R"({"id":"https://a.example/u","type":"Person"})"}) {
    const Result<Activity> result = parse_activity(
        fmt::format(R"({{"type":"Like","id":"https://a.example/1","actor":{}}})", actor), kNow);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->id, "https://a.example/1");
    EXPECT_EQ(result->actor, "https://a.example/u");
  }
}

TEST(Activity, IgnoresTypesWithoutUse) {
  const Ignored ignored = content_of<Ignored>(activity(R"("type":"Like","object":"https://b.example/1")"));
  EXPECT_EQ(ignored.type, "Like");
  EXPECT_EQ(ignored.reason, "no use for this type");
}

TEST(Activity, TypeMayBeAList) {
  EXPECT_EQ(content_of<Delete>(activity(R"("type":["as:Delete"],"object":"https://a.example/1")")).uri,
            "https://a.example/1");
}

// --- spellings of JSON-LD ------------------------------------------------------------------------------

TEST(JsonLd, KeywordsAreReadAsIdAndType) {
  const Create create = content_of<Create>(R"({"@context":"https://www.w3.org/ns/activitystreams",
      "@id":"https://a.example/1/activity","@type":["Create"],"actor":{"@id":"https://a.example/users/u"},
      "object":{"@id":"https://a.example/1","@type":"Note","attributedTo":"https://a.example/users/u",
      "to":{"@id":"as:Public"},"tag":{"@type":["Hashtag"],"name":"#cats"}}})");
  EXPECT_EQ(create.note.id, "https://a.example/1");
  EXPECT_EQ(create.note.author, "https://a.example/users/u");
  EXPECT_EQ(create.note.visibility, Visibility::kPublic);
  EXPECT_EQ(canonical(create.note.tags), std::vector<std::string>{"cats"});
}

TEST(JsonLd, TheExpandedFormIsReadAsThePlainOne) {
  const Create create = content_of<Create>(R"([{"@id":"https://a.example/1/activity",
      "@type":["https://www.w3.org/ns/activitystreams#Create"],
      "https://www.w3.org/ns/activitystreams#actor":[{"@id":"https://a.example/users/u"}],
      "https://www.w3.org/ns/activitystreams#object":[{"@id":"https://a.example/1",
        "@type":["https://www.w3.org/ns/activitystreams#Note"],
        "https://www.w3.org/ns/activitystreams#attributedTo":[{"@id":"https://a.example/users/u"}],
        "https://www.w3.org/ns/activitystreams#published":[{"@value":"2026-11-21T09:00:00Z",
          "@type":"http://www.w3.org/2001/XMLSchema#dateTime"}],
        "https://www.w3.org/ns/activitystreams#to":[{"@id":"https://www.w3.org/ns/activitystreams#Public"}],
        "https://www.w3.org/ns/activitystreams#tag":[{"@list":[
          {"@type":["https://www.w3.org/ns/activitystreams#Hashtag"],
           "https://www.w3.org/ns/activitystreams#name":[{"@value":"#cats"}]}]}]}]}])");
  EXPECT_EQ(create.note.id, "https://a.example/1");
  EXPECT_EQ(to_rfc3339(create.note.published), "2026-11-21T09:00:00Z");
  EXPECT_EQ(create.note.visibility, Visibility::kPublic);
  EXPECT_EQ(canonical(create.note.tags), std::vector<std::string>{"cats"});
}

TEST(JsonLd, APlainMemberCountsBeforeItsOtherSpelling) {
  EXPECT_EQ(content_of<Delete>(activity(R"("type":"Delete","@type":"Follow","as:object":"https://a.example/2",
      "object":"https://a.example/1")"))
                .uri,
            "https://a.example/1");
}

TEST(JsonLd, WhatIsNoDocumentIsRefused) {
  EXPECT_THAT(refusal("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(R"([{"@type":"Delete"},{}])"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(R"({"@value":{"@value":7}})"), HasSubstr("not a JSON object"));
  EXPECT_EQ(refusal(activity(R"("type":"Like","object":{"@id":"https://b.example/1","id":7})")), "accepted");
}

// --- Create and Update ---------------------------------------------------------------------------------

TEST(Note, IsReadFromCreateAndUpdate) {
  const std::string members = R"(,"updated":"2026-11-21T09:30:00Z","inReplyTo":"https://b.example/2",
      "tag":[{"type":"Hashtag","name":"#Caturday","href":"https://a.example/tags/caturday"}])";
  for (const Note& note :
       {content_of<Create>(create(members)).note, content_of<Update>(create(members, "Update")).note}) {
    EXPECT_EQ(note.id, "https://a.example/1");
    EXPECT_EQ(note.type, "Note");
    EXPECT_EQ(note.author, "https://a.example/users/u");
    EXPECT_EQ(to_rfc3339(note.published), "2026-11-21T09:00:00Z");
    EXPECT_EQ(to_rfc3339(note.updated.value()), "2026-11-21T09:30:00Z");
    EXPECT_EQ(note.visibility, Visibility::kPublic);
    EXPECT_EQ(canonical(note.tags), std::vector<std::string>{"caturday"});
    EXPECT_EQ(note.in_reply_to, "https://b.example/2");
  }
}

TEST(Note, SaysWhenAnUpdateOfItWasMadeIfItHasNoTimeOfItsOwn) {
  const auto told = [](const std::string& members, const std::string& published) {
    json::object text = json::parse_object(create(members, "Update")).value();
    text["published"] = published;
    return content_of<Update>(json::serialize(text)).note.told;
  };
  EXPECT_EQ(to_rfc3339(told("", "2026-11-21T09:30:00Z").value()), "2026-11-21T09:30:00Z");
  EXPECT_EQ(told("", "yesterday"), std::nullopt);
  EXPECT_EQ(told(R"(,"updated":"2026-11-21T09:30:00Z")", "2026-11-21T09:30:00Z"), std::nullopt);
  EXPECT_EQ(content_of<Update>(create("", "Update")).note.told, std::nullopt);
}

TEST(Note, TagsComeAsObjectListOrGarbage) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(tags_of(R"({"type":"Hashtag","name":"#one"})"), Names{"one"});
  EXPECT_EQ(tags_of(R"([{"type":["Hashtag"],"name":"two"},{"type":["Link","as:Hashtag"],"name":"#ONE"}])"),
            (Names{"one", "two"}));
  EXPECT_EQ(
      tags_of(
          R"([{"type":"Hashtag","name":"#b"},{"type":"Hashtag","name":"#B"},{"type":"Hashtag","name":"#a"}])"),
      (Names{"a", "b"}));
  EXPECT_EQ(tags_of(R"([{"type":"Mention","name":"@u"},{"type":"Emoji","name":":x:"},{"name":"#untyped"}])"),
            Names());
  EXPECT_EQ(tags_of(R"("#string")"), Names());
  EXPECT_EQ(tags_of("null"), Names());
  EXPECT_EQ(tags_of("7"), Names());
  EXPECT_EQ(tags_of(R"([[{"type":"Hashtag","name":"#nested"}],null,true,"x",{}])"), Names());
  EXPECT_EQ(
      tags_of(
          R"([{"type":"Hashtag","name":["#list"]},{"type":"Hashtag","name":""},{"type":"Hashtag","name":"#12345"},
                        {"type":"Hashtag"},{"type":"Hashtag","name":"#!?"}])"),
      Names());
}

// [Pixelfed 05d68ff, CreateNote: array_merge of a mention and of lists]
TEST(Note, TagsMayBeNumberedMembersOfAMention) {
  using Names = std::vector<std::string>;
  const auto merged = [](std::string_view members) {
    return tags_of(fmt::format(
        R"({{"type":"Mention","href":"https://b.example/users/w","name":"@w@b.example",{}}})", members));
  };
  EXPECT_EQ(merged(R"("0":{"type":"Mention","name":"@x"},"1":{"type":"Hashtag","name":"#owl"},
                      "2":{"type":"Hashtag","name":"#Night"})"),
            (Names{"night", "owl"}));
  EXPECT_EQ(merged(R"("icon":{"type":"Hashtag","name":"#owl"},"0":["#night"],"1":null,"2":"#night")"),
            Names());
  EXPECT_EQ(tags_of(R"([{"type":"Mention","0":{"type":"Hashtag","name":"#owl"}}])"), Names())
      << "which nobody writes";
  std::string list;
  for (int i = 0; i < 65; ++i)
    list += fmt::format(R"({}"{}":{{"type":"Hashtag","name":"#tag{}"}})", i == 0 ? "" : ",", i, i);
  EXPECT_EQ(merged(list).size(), 64U);
}

TEST(Note, TagsWithoutNameAreReadFromTheirPage) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(tags_of(R"({"type":"Hashtag","href":"https://a.example/tags/cats"})"), Names{"cats"});
  EXPECT_EQ(tags_of(R"({"type":"Hashtag","href":"https://a.example/tags/%E7%8C%AB/?x=1"})"), Names{"猫"});
  EXPECT_EQ(tags_of(R"({"type":"Hashtag","href":"https://a.example/"})"), Names());
  EXPECT_EQ(tags_of(R"({"type":"Hashtag","href":"cats"})"), Names());
}

std::string many_tags(int count) {
  std::string list;
  for (int i = 0; i < count; ++i)
    list += fmt::format(R"({}{{"type":"Hashtag","name":"#tag{}"}})", i == 0 ? "" : ",", i);
  return "[" + list + "]";
}

TEST(Note, OfTooManyTagsTheFirstCount) {
  const std::vector<std::string> first = tags_of(many_tags(64));
  EXPECT_EQ(first.size(), 64U);
  EXPECT_EQ(tags_of(many_tags(65)), first);
  EXPECT_EQ(tags_of(many_tags(10'000)), first);
}

TEST(Note, HashtagsMayBeAddressedByTheirUris) {
  const auto addressed = [](std::string_view members) {
    const Result<Note> note = note_of(members);
    return note ? canonical(note->tags) : std::vector<std::string>{note.error().message};
  };
  using Tags = std::vector<std::string>;
  EXPECT_EQ(addressed(R"(,"to":["as:Public","hashtag:Cats"])"), Tags{"cats"});
  EXPECT_EQ(addressed(R"(,"cc":"hashtag:caf%C3%A9")"), Tags{"cafe"});
  EXPECT_EQ(
      addressed(
          R"(,"audience":[{"id":"hashtag:dogs","type":"Service"}],"tag":{"type":"Hashtag","name":"#Dogs"})"),
      Tags{"dogs"});
  EXPECT_EQ(addressed(R"(,"to":["as:Public","hashtag:","hashtag:a/b","hashtag:%ff",7,null])"), Tags{});
  EXPECT_EQ(note_of(R"(,"to":"hashtag:cats","cc":"as:Public")")->visibility, Visibility::kUnlisted);
  // What stands around the post does not count: who fetches the post does not see it.
  std::string outside = create("");
  outside.insert(outside.find(R"("object")"), R"("cc":"hashtag:cats",)");
  EXPECT_TRUE(content_of<Create>(outside).note.tags.empty());
}

TEST(Note, OfTooManyAddressedHashtagsTheFirstCount) {
  const auto with = [](int count) {
    std::string list = R"("as:Public")";
    for (int i = 0; i < count; ++i) list += fmt::format(R"(,"hashtag:addressed{}x")", i);
    return note_of(fmt::format(R"(,"to":[{}],"tag":{})", list, many_tags(60)));
  };
  EXPECT_EQ(with(4)->tags.size(), 64U);
  EXPECT_EQ(with(5)->tags, with(4)->tags);
  EXPECT_EQ(with(5000)->tags, with(4)->tags);
}

// Nobody else reads it so: the post would be shown nowhere.
TEST(Note, PublicAsAudienceOnlyIsNotPublic) {
  const auto note = content_of<Create>(R"({"id":"https://a.example/1/activity","type":"Create",
      "actor":"https://a.example/users/u","object":{"id":"https://a.example/1","type":"Note",
      "attributedTo":"https://a.example/users/u","audience":"as:Public"}})")
                        .note;
  EXPECT_EQ(note.visibility, Visibility::kDirect);
}

TEST(Note, OnlyPublicInToIsPublic) {
  const auto visibility = [](std::string_view to, std::string_view cc) {
    // The last of two members with one name counts.
    return note_of(fmt::format(R"(,"to":{},"cc":{})", to, cc))->visibility;
  };
  EXPECT_EQ(visibility(R"("as:Public")", "[]"), Visibility::kPublic);
  EXPECT_EQ(visibility(R"(["https://a.example/users/u/followers","Public"])", "null"), Visibility::kPublic);
  EXPECT_EQ(visibility(R"([{"id":"https://www.w3.org/ns/activitystreams#Public"}])", "null"),
            Visibility::kPublic);
  EXPECT_EQ(visibility(R"(["https://a.example/users/u/followers"])",
                       R"(["https://www.w3.org/ns/activitystreams#Public"])"),
            Visibility::kUnlisted);
  EXPECT_EQ(visibility("[]", R"("as:Public")"), Visibility::kUnlisted);
  EXPECT_EQ(visibility(R"("https://a.example/users/u/followers")", "[]"), Visibility::kFollowers);
  EXPECT_EQ(visibility(R"(["https://b.example/users/x"])", "[]"), Visibility::kDirect);
  EXPECT_EQ(visibility(R"("https://b.example/users/x/followers")", "[]"), Visibility::kDirect);
  EXPECT_EQ(visibility("null", "7"), Visibility::kDirect);
}

TEST(Note, PublishedFallsBackToNowAndIsNeverAhead) {
  const auto published = [](std::string_view value) {
    return to_rfc3339(note_of(fmt::format(R"(,"published":{})", value))->published);
  };
  EXPECT_EQ(published("null"), "2026-11-21T10:00:00Z");
  EXPECT_EQ(published(R"("yesterday")"), "2026-11-21T10:00:00Z");
  EXPECT_EQ(published(R"("2099-01-01T00:00:00Z")"), "2026-11-21T10:00:00Z");
  EXPECT_EQ(published(R"("2026-11-21T10:04:00Z")"), "2026-11-21T10:04:00Z");
  EXPECT_EQ(published(R"("0001-01-01T00:00:00Z")"), "1970-01-01T00:00:00Z");
  EXPECT_EQ(published(R"("2021-04-09T15:41:24.5+02:00")"), "2021-04-09T13:41:24.500Z");
  EXPECT_EQ(published(R"("2021-04-09T13:41:24")"), "2021-04-09T13:41:24Z");
}

TEST(Note, IsDatedByWhatCanBeReadAndIsNotToCome) {
  const auto is_dated = [](std::string_view value) {
    return note_of(fmt::format(R"(,"published":{})", value))->is_dated;
  };
  for (const char* none : {"null", R"("yesterday")", R"("2099-01-01T00:00:00Z")"})
    EXPECT_FALSE(is_dated(none)) << none;
  for (const char* date : {R"("2026-11-21T10:04:00Z")", R"("2026-11-21T10:00:00Z")", R"("2021-04-09")"})
    EXPECT_TRUE(is_dated(date)) << date;
}

TEST(Note, MustBelongToTheActorAndItsServer) {
  EXPECT_EQ(refusal(create(R"(,"id":"https://b.example/1")")),
            "object.id is on another server than the actor");
  EXPECT_EQ(refusal(create(R"(,"id":null)")), "object.id is missing");
  EXPECT_EQ(refusal(create(R"(,"attributedTo":"https://b.example/users/u")")),
            "object.attributedTo is on another server than the object");
  EXPECT_EQ(refusal(create(R"(,"attributedTo":["https://a.example/users/u","https://b.example/users/u"])")),
            "object.attributedTo is on another server than the object");
  EXPECT_EQ(refusal(create(R"(,"attributedTo":"https://a.example/users/other")")),
            "object.attributedTo is not the actor");
  EXPECT_EQ(refusal(create(R"(,"attributedTo":null)")), "object.attributedTo is missing");
}

TEST(Note, AttributedToMayBeObjectOrList) {
  for (
      const char* value :
      {R"({"type":"Person","id":"https://a.example/users/u"})",
       R"([{"type":"Group","id":"https://a.example/c/videos"},{"type":"Person","id":"https://a.example/users/u"}])"}) {
    EXPECT_EQ(note_of(fmt::format(R"(,"attributedTo":{})", value))->author, "https://a.example/users/u");
  }
}

TEST(Note, OtherObjectsAreIgnoredWithAReason) {
  for (const char* type : {"Article", "Question", "Page", "Video", "Image", "Audio", "Event"}) {
    EXPECT_EQ(note_of(fmt::format(R"(,"type":"{}")", type))->type, type);
  }
  EXPECT_EQ(content_of<Ignored>(create(R"(,"type":"Person")")).reason, "the object is not a post");
  EXPECT_EQ(content_of<Ignored>(activity(R"("type":"Create")")).reason, "there is no object, or several");
  EXPECT_EQ(content_of<Ignored>(
                activity(R"("type":"Create","object":["https://a.example/1","https://a.example/2"])"))
                .reason,
            "there is no object, or several");
}

TEST(Activity, APostMayBeGivenByItsUriAlone) {
  for (const char* object :
       {R"("https://a.example/1")", R"(["https://a.example/1"])", R"({"id":"https://a.example/1"})"}) {
    const Told created = content_of<Told>(activity(fmt::format(R"("type":"Create","object":{})", object)));
    EXPECT_EQ(created.uri, "https://a.example/1");
    EXPECT_FALSE(created.is_update);
    EXPECT_TRUE(content_of<Told>(activity(fmt::format(R"("type":"Update","object":{})", object))).is_update);
  }
  EXPECT_EQ(refusal(activity(R"("type":"Create","object":"https://b.example/1")")),
            "object is on another server than the actor");
}

TEST(Activity, UpdateOfTheActorItselfIsKnown) {
  content_of<UpdateActor>(activity(
      R"("type":"Update","object":{"type":"Person","id":"https://a.example/actor","indexable":false})"));
  content_of<UpdateActor>(activity(R"("type":"Update","object":"https://a.example/actor")"));
}

// --- Delete, Follow, Undo, answers ---------------------------------------------------------------------

TEST(Activity, DeleteOfPostTombstoneOrActor) {
  EXPECT_EQ(content_of<Delete>(
                activity(R"("type":"Delete","object":{"id":"https://a.example/1","type":"Tombstone"})"))
                .uri,
            "https://a.example/1");
  EXPECT_EQ(content_of<Delete>(activity(R"("type":"Delete","object":"https://a.example/actor")")).uri,
            "https://a.example/actor");
  for (const char* foreign :
       {R"("https://b.example/1")", R"({"id":"https://b.example/1","type":"Tombstone"})"})
    EXPECT_EQ(content_of<Ignored>(activity(fmt::format(R"("type":"Delete","object":{})", foreign))).reason,
              "a removal by another server than the post's");
  EXPECT_EQ(refusal(activity(R"("type":"Delete","object":"no URL")")), "object is not an http(s) URL");
  EXPECT_EQ(refusal(activity(R"("type":"Delete","object":[])")), "object is missing");
  const auto is_signed = [](const std::string& signature) {
    return content_of<Delete>(
               activity(R"("type":"Delete","object":"https://a.example/1","signature":)" + signature))
        .is_signed;
  };
  EXPECT_TRUE(is_signed(R"({"type":"RsaSignature2017","signatureValue":"eA=="})"));
  EXPECT_FALSE(is_signed(R"({"type":"RsaSignature2017"})"));
  EXPECT_FALSE(is_signed(R"("eA==")"));
}

TEST(Activity, FollowOfOnePublicOrMany) {
  using Objects = std::vector<std::string>;
  EXPECT_EQ(content_of<Follow>(activity(R"("type":"Follow","object":"https://t.example/tag/x")")).objects,
            Objects{"https://t.example/tag/x"});
  EXPECT_EQ(content_of<Follow>(activity(R"("type":"Follow","object":"as:Public")")).objects,
            Objects{"https://www.w3.org/ns/activitystreams#Public"});
  EXPECT_EQ(
      content_of<Follow>(
          activity(
              R"("type":"Follow","object":["https://t.example/tag/x",{"id":"https://t.example/tag/y"}])"))
          .objects,
      (Objects{"https://t.example/tag/x", "https://t.example/tag/y"}));
  EXPECT_EQ(refusal(activity(R"("type":"Follow","object":["https://t.example/tag/x",7])")),
            "object is missing");
  EXPECT_EQ(refusal(activity(R"("type":"Follow","object":[])")), "object is empty");
}

std::string list_of(std::string_view element, std::size_t count) {
  std::string list = "[";
  for (std::size_t i = 0; i < count; ++i) list += fmt::format("{}{}", i == 0 ? "" : ",", element);
  return list + "]";
}

TEST(Activity, FollowOfAHashtagByItsUri) {
  for (const char* object : {R"("hashtag:Caf%c3%a9")", R"(["HASHTAG:cafe"])", R"({"id":"hashtag:cafe"})"}) {
    EXPECT_EQ(content_of<Follow>(activity(fmt::format(R"("type":"Follow","object":{})", object))).objects,
              std::vector<std::string>{"hashtag:cafe"});
    EXPECT_EQ(content_of<UndoFollow>(
                  activity(fmt::format(R"("type":"Undo","object":{{"type":"Follow","object":{}}})", object)))
                  .follow.objects,
              std::vector<std::string>{"hashtag:cafe"});
  }
  EXPECT_EQ(refusal(activity(R"("type":"Follow","object":"hashtag://cafe")")),
            "hashtag: URI has a character that must be percent-encoded");
  EXPECT_EQ(refusal(activity(R"("type":"Follow","object":["hashtag:a","hashtag:b"])")),
            "object is not an http(s) URL");
}

TEST(Activity, RefusesListsBeyondTheLimit) {
  const std::string url = R"("https://t.example/tag/x")";
  EXPECT_EQ(
      content_of<Follow>(activity(R"("type":"Follow","object":)" + list_of(url, 10'000))).objects.size(),
      10'000U);
  for (const char* type : {"Follow", "Announce", "Accept", "Reject"}) {
    const Result<Activity> result =
        parse_activity(activity(fmt::format(R"("type":"{}","object":{})", type, list_of(url, 10'001))), kNow);
    ASSERT_FALSE(result) << type;
    EXPECT_EQ(result.error().code, ErrorCode::kTooLarge) << type;
  }
}

TEST(Activity, UndoOfAFollow) {
  const UndoFollow whole = content_of<UndoFollow>(activity(
      R"("type":"Undo","object":{"type":"Follow","id":"https://a.example/f","actor":"https://a.example/actor","object":"https://t.example/tag/x"})"));
  EXPECT_EQ(whole.follow.id, "https://a.example/f");
  EXPECT_EQ(whole.follow.objects, std::vector<std::string>{"https://t.example/tag/x"});
  const UndoFollow without_id = content_of<UndoFollow>(activity(
      R"("type":"Undo","object":{"type":"Follow","object":["https://t.example/tag/x","https://t.example/tag/y"]})"));
  EXPECT_EQ(without_id.follow.id, "");
  EXPECT_EQ(without_id.follow.objects.size(), 2U);
  for (const char* by_id : {R"("https://a.example/f")", R"({"type":"Follow","id":"https://a.example/f"})"})
    EXPECT_EQ(content_of<UndoById>(activity(fmt::format(R"("type":"Undo","object":{})", by_id))).id,
              "https://a.example/f");
}

TEST(Activity, AListOfOneIsAsGoodAsThatOne) {
  EXPECT_EQ(
      content_of<UndoFollow>(
          activity(
              R"("type":"Undo","object":[{"type":"Follow","actor":["https://a.example/actor"],"object":["https://t.example/x"]}])"))
          .follow.objects,
      std::vector<std::string>{"https://t.example/x"});
  EXPECT_EQ(content_of<UndoById>(activity(R"("type":"Undo","object":["https://a.example/f"])")).id,
            "https://a.example/f");
  EXPECT_EQ(content_of<Block>(activity(R"("type":"Block","object":["https://t.example/x"])")).object,
            "https://t.example/x");
  EXPECT_EQ(content_of<UndoBlock>(
                activity(R"("type":"Undo","object":[{"type":"Block","object":["https://t.example/x"]}])"))
                .object,
            "https://t.example/x");
}

TEST(Activity, AFlagIsAboutWhateverHasAnAddress) {
  EXPECT_EQ(
      content_of<Flag>(activity(R"("type":"Flag","object":["urn:uuid:1","https://t.example/x",7])")).objects,
      std::vector<std::string>{"https://t.example/x"});
  EXPECT_EQ(refusal(activity(R"("type":"Flag","object":["urn:uuid:1"])")), "object is not an http(s) URL");
}

TEST(Activity, UndoOfAnAnnounce) {
  const UndoAnnounce undo = content_of<UndoAnnounce>(activity(
      R"("type":"Undo","object":{"type":"Announce","id":"https://a.example/n","object":"https://b.example/1"})"));
  EXPECT_EQ(undo.announce_id, "https://a.example/n");
  ASSERT_EQ(undo.posts.size(), 1U);
  EXPECT_EQ(undo.posts[0].uri, "https://b.example/1");
  EXPECT_EQ(
      content_of<UndoAnnounce>(
          activity(
              R"("type":"Undo","object":{"type":"Announce","object":["https://b.example/1","https://b.example/2"]})"))
          .posts.size(),
      2U);
}

TEST(Activity, UndoOnlyOfWhatIsTheActors) {
  EXPECT_EQ(
      refusal(activity(
          R"("type":"Undo","object":{"type":"Follow","actor":"https://a.example/other","object":"https://t.example/x"})")),
      "what is undone is by another actor");
  EXPECT_EQ(
      refusal(activity(
          R"("type":"Undo","object":{"type":"Follow","id":"https://b.example/f","object":"https://t.example/x"})")),
      "object.id is on another server than the actor");
  EXPECT_EQ(refusal(activity(R"("type":"Undo","object":"https://b.example/f")")),
            "object is on another server than the actor");
  EXPECT_EQ(refusal(activity(R"("type":"Undo","object":{"type":"Follow"})")),
            "the Follow has neither id nor object");
  EXPECT_EQ(refusal(activity(R"("type":"Undo","object":{"type":"Announce"})")), "object is missing");
  EXPECT_EQ(content_of<Ignored>(
                activity(R"("type":"Undo","object":{"type":"Like","object":"https://b.example/1"})"))
                .reason,
            "the object is neither a Follow nor an Announce");
}

TEST(Activity, AnswersNameTheirFollows) {
  const Accept by_id = content_of<Accept>(activity(R"("type":"Accept","object":"https://t.example/f1")"));
  ASSERT_EQ(by_id.follows.size(), 1U);
  EXPECT_EQ(by_id.follows[0].id, "https://t.example/f1");
  const Accept batched = content_of<Accept>(activity(
      R"("type":"Accept","object":{"type":"Follow","id":"https://t.example/f1","object":["https://a.example/tag/x","https://a.example/tag/y"]})"));
  EXPECT_EQ(batched.follows[0].objects.size(), 2U);
  const Reject list = content_of<Reject>(activity(
      R"("type":"Reject","object":["https://t.example/f1",{"type":"Follow","id":"https://t.example/f2"}])"));
  EXPECT_EQ(list.follows.size(), 2U);
  EXPECT_EQ(
      content_of<Ignored>(activity(R"("type":"Accept","object":{"type":"Offer","id":"https://t.example/o"})"))
          .reason,
      "the object is not a Follow");
  EXPECT_EQ(refusal(activity(R"("type":"Accept")")), "object is missing");
}

// --- posts of others -----------------------------------------------------------------------------------

constexpr std::string_view kItem =
    R"({"id":"https://b.example/1","type":"Note","attributedTo":"https://b.example/u",
    "published":"2026-11-21T08:00:00Z","tag":[{"type":"Hashtag","name":"#x"}]})";

TEST(Activity, AnnounceOfOnePostByUriOrWhole) {
  const Announce by_uri =
      content_of<Announce>(activity(R"("type":"Announce","object":"https://b.example/1")"));
  EXPECT_EQ(by_uri.posts[0].uri, "https://b.example/1");
  EXPECT_EQ(by_uri.posts[0].author, "");
  EXPECT_FALSE(by_uri.posts[0].published);
  const Announce whole =
      content_of<Announce>(activity(fmt::format(R"("type":"Announce","object":{})", kItem)));
  EXPECT_EQ(whole.posts[0].author, "https://b.example/u");
  EXPECT_EQ(to_rfc3339(whole.posts[0].published.value()), "2026-11-21T08:00:00Z");
  EXPECT_EQ(canonical(whole.posts[0].tags), std::vector<std::string>{"x"});
}

TEST(Activity, AnnounceOfManyPosts) {
  const Announce mixed = content_of<Announce>(
      activity(fmt::format(R"("type":"Announce","object":[{},"https://c.example/2"])", kItem)));
  ASSERT_EQ(mixed.posts.size(), 2U);
  EXPECT_EQ(mixed.posts[1].uri, "https://c.example/2");
  EXPECT_EQ(refusal(activity(R"("type":"Announce","object":["https://c.example/2",{"type":"Note"}])")),
            "object 1: post id is missing");
  EXPECT_EQ(refusal(activity(R"("type":"Announce","object":"as:Public")")),
            "object 0: post id is the public collection");
  EXPECT_EQ(refusal(activity(R"("type":"Announce")")), "object is missing");
}

TEST(Activity, AGroupAnnouncesWhatHappenedToAPost) {
  using Of = Announce::Of;
  for (const auto& [type, of] : {std::pair("Create", Of::kPosts), std::pair("Update", Of::kUpdate),
                                 std::pair("Delete", Of::kDelete)}) {
    for (const char* object : {R"("https://b.example/1")", R"({"type":"Page","id":"https://b.example/1"})",
                               R"([{"type":"Note","id":"https://b.example/1"}])",
                               R"({"type":"Tombstone","id":"https://b.example/1"})"}) {
      const Announce announce = content_of<Announce>(activity(fmt::format(
          R"("type":"Announce","object":{{"type":"{}","id":"https://b.example/c","actor":"https://b.example/u","object":{}}})",
          type, object)));
      EXPECT_EQ(announce.of, of);
      ASSERT_EQ(announce.posts.size(), 1U);
      EXPECT_EQ(announce.posts[0].uri, "https://b.example/1");
    }
  }
  for (const char* object : {R"({"type":"Create","id":"https://b.example/c"})",
                             R"({"type":"Like","object":"https://b.example/1"})",
                             R"({"type":"Undo","object":{"type":"Delete","object":"https://b.example/1"}})",
                             R"({"type":"Update","object":{"type":"Group","id":"https://b.example/c"}})",
                             R"({"type":"Delete","object":["https://b.example/1","https://b.example/2"]})"}) {
    const std::string text = activity(fmt::format(R"("type":"Announce","object":{})", object));
    EXPECT_EQ(content_of<Ignored>(text).reason, "the object is not a post") << object;
  }
}

TEST(Activity, AddAndRemoveCarryCompletePosts) {
  const Add add = content_of<Add>(
      activity(fmt::format(R"("type":"Add","target":"https://o.example/relay","object":[{0},{0}])", kItem)));
  EXPECT_EQ(add.target, "https://o.example/relay");
  EXPECT_EQ(add.posts.size(), 2U);
  const Remove remove = content_of<Remove>(
      activity(fmt::format(R"("type":"Remove","target":"https://o.example/storage","object":{})", kItem)));
  EXPECT_EQ(remove.posts[0].uri, "https://b.example/1");
}

TEST(Activity, AddRefusesIncompleteAndForeignPosts) {
  const auto add = [](std::string_view item) {
    return refusal(
        activity(fmt::format(R"("type":"Add","target":"https://o.example/relay","object":[{}])", item)));
  };
  EXPECT_THAT(add(R"("https://b.example/1")"), HasSubstr("lacks"));
  EXPECT_THAT(
      add(R"({"id":"https://b.example/1","attributedTo":"https://b.example/u","published":"2026-01-01T00:00:00Z"})"),
      HasSubstr("lacks"));
  EXPECT_THAT(
      add(R"({"id":"https://b.example/1","attributedTo":"https://b.example/u","tag":{"type":"Hashtag","name":"x"}})"),
      HasSubstr("lacks"));
  EXPECT_THAT(
      add(R"({"id":"https://b.example/1","published":"2026-01-01T00:00:00Z","tag":{"type":"Hashtag","name":"x"}})"),
      HasSubstr("lacks"));
  EXPECT_THAT(add(R"({"id":"https://b.example/1","attributedTo":"https://c.example/u"})"),
              HasSubstr("another server"));
}

// Of its own, it says who does not follow the sender any more; of another server's, who follows the sender
// now.
TEST(Activity, RemoveFromTheFollowersOfAnotherIsOfOneWhoMoved) {
  const RemoveFollower remove = content_of<RemoveFollower>(activity(
      R"("type":"Remove","target":"https://o.example/tag/cats/followers","object":"https://b.example/u")"));
  EXPECT_EQ(remove.followed, "https://o.example/tag/cats");
  EXPECT_EQ(remove.follower, "https://b.example/u");
}

TEST(Activity, RemoveFromFollowersNamesOneWhoFollowsAnActor) {
  for (const char* bad : {R"("target":"https://o.example/followers","object":"u")",
                          R"("target":"https://o.example/tag/cats/followers")",
                          R"("target":"https:/followers","object":"https://b.example/u")",
                          R"("target":"/followers","object":"https://b.example/u")"})
    EXPECT_FALSE(parse_activity(activity(fmt::format(R"("type":"Remove",{})", bad)), kNow)) << bad;
}

TEST(Activity, AddToAPinnedCollectionIsIgnored) {
  EXPECT_THAT(
      content_of<Ignored>(
          activity(
              R"("type":"Add","target":"https://a.example/users/u/collections/featured","object":"https://a.example/1")"))
          .reason,
      HasSubstr("not the relay or storage"));
}

TEST(Form, NoHashtagIsReadBeforeItIsKnownWhoSaysIt) {
  for (const char* type : {"Accept", "Reject", "Follow", "Undo"}) {
    const std::string follow = R"({"type":"Follow","object":"hashtag:!"})";
    const std::string object = type == std::string("Follow") ? R"("hashtag:!")" : follow;
    const std::string text =
        fmt::format(R"({{"id":"https://a.example/1","type":"{}","actor":"https://a.example/u","object":{}}})",
                    type, object);
    EXPECT_TRUE(parse_activity(text, WallTime(), {.with_tags = false})) << type;
    const bool is_answer = object == follow && type != std::string("Undo");
    EXPECT_EQ(parse_activity(text, WallTime(), {}).has_value(), is_answer) << type << ": it is no hashtag";
  }
}

TEST(Activity, ACreateMayBeTransientAndBeginWithAByteOrderMark) {
  const std::string create =
      "\xEF\xBB\xBF"
      R"({"type":"Create","actor":"https://a.example/u","object":{"type":"Note",)"
      R"("id":"https://a.example/n","attributedTo":"https://a.example/u",)"
      R"("to":"https://www.w3.org/ns/activitystreams#Public"}})";
  const Result<Activity> activity = parse_activity(create, kNow);
  ASSERT_TRUE(activity) << activity.error().message;
  EXPECT_EQ(activity->id, "");
  EXPECT_EQ(std::get<Create>(activity->content).note.id, "https://a.example/n");
  EXPECT_FALSE(parse_activity(
      R"({"type":"Follow","actor":"https://a.example/u","object":"https://b.example/u"})", kNow));
}

}  // namespace
}  // namespace tagring::fediverse
