#include "fediverse/consent.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "fediverse/actor.hpp"

namespace tagring::fediverse {
namespace {

RemoteActor actor(const std::string& words, std::optional<bool> indexable = true) {
  RemoteActor result;
  result.refuses = refuses(words);
  result.indexable = indexable;
  return result;
}

TEST(Consent, TheArchiveNeedsAYesAndRelayingOnlyNoNo) {
  EXPECT_EQ(wishes_of(actor("", true)), (Wishes{true, true}));
  EXPECT_EQ(wishes_of(actor("", false)), (Wishes{true, false}));
  EXPECT_EQ(wishes_of(actor("", std::nullopt)), (Wishes{true, false}));
}

TEST(Consent, WordsInTheProfileMeanNo) {
  for (const char* summary :
       {"#nobot", "I write. #NoBots please", "<p>#noindex</p>", "#NOTAGRING",
        "<p>cats, <a href=\"https://a.example/tags/nobot\" class=\"mention hashtag\""
        " rel=\"tag\">#<span>nobot</span></a></p>",
        "one<br>#nobot<br>two", "(#nobot)", "I <3 cats #nobot", "a<b #nobot", "<p>1 < 2, #nobot</p>"}) {
    EXPECT_EQ(wishes_of(actor(summary)), (Wishes{false, false})) << summary;
  }
}

TEST(Consent, OtherWordsDoNot) {
  for (const char* summary :
       {"nobot", "#nobotany", "I am #notabot", "C#nobot", "#no bot", "<p>#</p><p>nobot</p>"}) {
    EXPECT_EQ(wishes_of(actor(summary)), (Wishes{true, true})) << summary;
  }
}

TEST(Consent, AllOfAProfileIsRead) {
  for (const char* where :
       {R"("summary":"<p>#nobot</p>")", R"("name":"Alice #nobot")",
        R"("summaryMap":{"de":"<p>Katzen</p>","en":"<p>cats #nobot</p>"})",
        R"("nameMap":{"en":"Alice #nobot"})",
        R"("attachment":[{"type":"PropertyValue","name":"wishes","value":"<b>#nobot</b>"},7,{"name":1}])",
        R"("tag":[7,{"type":"Hashtag","name":"#nobot"}])", R"("tag":{"type":"Hashtag","name":"nobot"})"}) {
    const Result<RemoteActor> parsed = parse_actor(
        fmt::format(R"({{"id":"https://a.example/u","type":"Person","inbox":"https://a.example/u/inbox",
                         "indexable":true,{}}})",
                    where),
        "https://a.example/u");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(wishes_of(*parsed), (Wishes{false, false})) << where;
  }
}

TEST(Consent, AnEmojiOfThatNameIsNoWish) {
  const Result<RemoteActor> parsed = parse_actor(
      R"({"id":"https://a.example/u","type":"Person","inbox":"https://a.example/u/inbox","summaryMap":[],
          "tag":[{"type":"Emoji","name":"#nobot"}]})",
      "https://a.example/u");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(wishes_of(*parsed).relay);
}

}  // namespace
}  // namespace tagring::fediverse
