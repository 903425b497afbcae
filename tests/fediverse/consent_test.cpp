#include "fediverse/consent.hpp"

#include <gtest/gtest.h>

namespace tagring::fediverse {
namespace {

RemoteActor actor(std::string summary, std::optional<bool> indexable = true, std::string fields = {}) {
  RemoteActor result;
  result.summary = std::move(summary);
  result.fields = std::move(fields);
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
  EXPECT_EQ(wishes_of(actor("", true, "about\n<p>#nobots</p>\n")), (Wishes{false, false}));
}

TEST(Consent, OtherWordsDoNot) {
  for (const char* summary :
       {"nobot", "#nobotany", "I am #notabot", "C#nobot", "#no bot", "<p>#</p><p>nobot</p>"}) {
    EXPECT_EQ(wishes_of(actor(summary)), (Wishes{true, true})) << summary;
  }
}

TEST(Consent, TheFieldsOfAProfileAreRead) {
  const Result<RemoteActor> parsed = parse_actor(
      R"({"id":"https://a.example/u","type":"Person","inbox":"https://a.example/u/inbox","indexable":true,
          "attachment":[{"type":"PropertyValue","name":"wishes","value":"<b>#nobot</b>"},7,{"name":1}]})",
      "https://a.example/u");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_FALSE(wishes_of(*parsed).relay);
}

}  // namespace
}  // namespace tagring::fediverse
