#include "hashtag/typed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tagring {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(std::string_view text) {
  const Result<Tag> tag = parse_typed_tag(text);
  return tag ? "taken as " + tag->canonical() : tag.error().message;
}

TEST(TypedTag, IsTakenInAnySpellingOfOneHashtag) {
  for (const auto& [typed, canonical] : std::initializer_list<std::pair<const char*, const char*>>{
           {"cats", "cats"},
           {"#CaturDay", "caturday"},
           {"\uFF03cats", "cats"},
           {" cats\n", "cats"},
           {"\u00DCber", "uber"},
           {"u\u0308ber", "uber"},
           {"1_2", "1_2"},
           {"l\u00B7l", "l\u00B7l"},
           {"cats\uFE0F", "cats"},        // what an emoji left behind
           {"\u200Ecats\u200F", "cats"},  // pasted, and not seen
           {"xn--e1afmkfd", "\u043F\u0440\u0438\u043C\u0435\u0440"}}) {
    const Result<Tag> tag = parse_typed_tag(typed);
    ASSERT_TRUE(tag) << typed << ": " << tag.error().message;
    EXPECT_EQ(tag->canonical(), canonical);
  }
  // Its signs are no letters to Unicode, and left out by Mastodon; the word has no others.
  EXPECT_TRUE(parse_typed_tag("\u0939\u093F\u0928\u094D\u0926\u0940"));
}

TEST(TypedTag, SaysWhatIsWrongAndWhatWasPerhapsMeant) {
  EXPECT_EQ(refusal("https://mastodon.social/tags/cats"),
            "'https://mastodon.social/tags/cats' is an address, and no hashtag, did you mean \"cats\"?");
  EXPECT_THAT(refusal("https://pleroma.example/tag/%C3%9Cber?x=1"), HasSubstr("did you mean \"uber\"?"));
  EXPECT_THAT(refusal("https://social.example/@me"), Not(HasSubstr("did you mean")));
  EXPECT_EQ(refusal("@cats@tags.oak.example"),
            "'@cats@tags.oak.example' is an account, and no hashtag, did you mean \"cats\"?");
  EXPECT_THAT(refusal("xn--e1afmkfd@tags.oak.example"),
              HasSubstr("did you mean \"\u043F\u0440\u0438\u043C\u0435\u0440\"?"));
  EXPECT_EQ(refusal("cats,dogs"),
            "'cats,dogs' is no hashtag: \",\" cannot stand in one, did you mean \"cats\" \"dogs\"?");
  EXPECT_EQ(refusal("#cats#dogs"),
            "'#cats#dogs' is no hashtag: \"#\" cannot stand in one, did you mean \"cats\" \"dogs\"?");
  EXPECT_EQ(refusal("a b"), "'a b' has a space in it: a hashtag is one word, did you mean \"a\" \"b\"?");
  EXPECT_THAT(refusal("a\u00A0b"), HasSubstr("cannot stand in one"));
  EXPECT_EQ(refusal("rock'n'roll"),
            "'rock'n'roll' is no hashtag: \"'\" cannot stand in one, did you mean \"rocknroll\"?");
  EXPECT_THAT(refusal("cats\U0001F408"), HasSubstr("did you mean \"cats\"?"));
  EXPECT_THAT(refusal("@cats"), HasSubstr("did you mean \"cats\"?"));
  EXPECT_EQ(refusal("1234"), "'1234' is no hashtag: it has no letter");
  EXPECT_EQ(refusal("!?"), "'!?' is no hashtag: it has neither letters nor digits");
  EXPECT_EQ(refusal(" "), "no hashtag is named");
  EXPECT_EQ(refusal("\xFF"), "what is typed is not UTF-8, and no hashtag") << "no answer may quote it";
  EXPECT_THAT(refusal(std::string(2000, 'a')), HasSubstr("is too long"));
  EXPECT_THAT(refusal("cats\x1B[2J"), Not(HasSubstr("\x1B")));
}

TEST(TypedTag, NamesAFewThatWereMeant) {
  EXPECT_EQ(tags_meant_by("a b c d e f g").size(), 5U);
  EXPECT_EQ(tags_meant_by("cats, Cats").size(), 1U);
  EXPECT_TRUE(tags_meant_by("").empty());
}

}  // namespace
}  // namespace tagring
