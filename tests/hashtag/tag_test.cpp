#include "hashtag/tag.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <sstream>
#include <vector>

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "tests/source_dir.hpp"

namespace tagring {
namespace {

json::object vectors() {
  std::ifstream file(source_dir() / "docs/vectors/tags.json");
  std::stringstream text;
  text << file.rdbuf();
  Result<json::object> parsed = json::parse_object(text.str());
  return parsed ? *std::move(parsed) : json::object{};
}

std::string text(const json::value& row, std::string_view field) {
  return json::get_string(row.as_object(), field).value();
}

std::string reason(std::string_view spelling) {
  const Result<Tag> tag = Tag::parse(spelling);
  return tag ? "accepted as " + tag->canonical() : tag.error().message;
}

TEST(Tag, BetweenNodesHasOneSpelling) {
  EXPECT_EQ(Tag::parse_canonical("cafe").value(), Tag::parse("#Café").value());
  for (const char* other : {"Cafe", "#cafe", "café", "cafe/1", "ca fe", "", "1"})
    EXPECT_FALSE(Tag::parse_canonical(other)) << other;
}

TEST(Tag, PublishedSpellingsHaveTheirCanonicalFormActorAndKey) {
  const json::object file = vectors();
  const json::value* rows = json::find(file, "tags");
  ASSERT_NE(rows, nullptr);
  ASSERT_GE(rows->as_array().size(), 40U);
  for (const json::value& row : rows->as_array()) {
    const Result<Tag> tag = Tag::parse(text(row, "spelling"));
    ASSERT_TRUE(tag) << text(row, "note") << ": " << tag.error().message;
    EXPECT_EQ(tag->canonical(), text(row, "canonical")) << text(row, "note");
    EXPECT_EQ(tag->actor_name(), text(row, "actor")) << text(row, "note");
    EXPECT_EQ(tag->key().hex(), text(row, "key")) << text(row, "note");
  }
}

TEST(Tag, PublishedNonTagsAreRefusedWithAReason) {
  const json::object file = vectors();
  const json::value* rows = json::find(file, "rejected");
  ASSERT_NE(rows, nullptr);
  ASSERT_GE(rows->as_array().size(), 20U);
  for (const json::value& row : rows->as_array()) {
    const Result<Tag> tag = Tag::parse(text(row, "spelling"));
    ASSERT_FALSE(tag) << text(row, "note") << ": " << tag->canonical();
    EXPECT_EQ(tag.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(tag.error().message.contains(text(row, "reason")))
        << text(row, "note") << ": " << tag.error().message;
  }
}

TEST(Tag, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(reason("caf\xE9"), "hashtag is not UTF-8");
  EXPECT_EQ(reason("cat\xC0\xAF"), "hashtag is not UTF-8");
  EXPECT_EQ(reason("cat\xED\xA0\x80"), "hashtag is not UTF-8");
  EXPECT_EQ(reason("cat\xE2\x82"), "hashtag is not UTF-8");
}

TEST(Tag, IgnoresNul) {
  using namespace std::string_view_literals;
  EXPECT_EQ(Tag::parse("a\0b"sv)->canonical(), "ab");
}

TEST(Tag, OneCanonicalFormIsOneTag) {
  EXPECT_EQ(*Tag::parse("Café"), *Tag::parse("#cafe"));
  EXPECT_LT(*Tag::parse("a"), *Tag::parse("b"));
}

TEST(Tag, FoldsExactlyTheLettersThatMastodonFolds) {
  // Upper and lower case, from both ends of the table, and neighbours that are not in it.
  const std::string folded =
      "ÀÁÂÃÄÅàáâãäåĀāĂăĄąÇçĆćĈĉĊċČčÐðĎďĐđÈÉÊËèéêëĒēĔĕĖėĘęĚěĜĝĞğĠġĢģĤĥĦħÌÍÎÏìíîïĨĩĪīĬĭĮįİıĴĵĶķĸĹĺĻļĽľŁł"
      "ÑñŃńŅņŇňŊŋÒÓÔÕÖØòóôõöøŌōŎŏŐőŔŕŖŗŘřŚśŜŝŞşŠšſŢţŤťŦŧÙÚÛÜùúûüŨũŪūŬŭŮůŰűŲųŴŵÝýÿŶŷŸŹźŻżŽž";
  const std::string ascii =
      "aaaaaaaaaaaaaaaaaaccccccccccddddddeeeeeeeeeeeeeeeeeegggggggghhhhiiiiiiiiiiiiiiiiiijjkkkllllllllnnnnn"
      "nnnnnoooooooooooooooooorrrrrrsssssssssttttttuuuuuuuuuuuuuuuuuuuuwwyyyyyyzzzzzz";
  std::string got;
  for (std::size_t i = 0; i < folded.size(); i += 2) got += Tag::parse(folded.substr(i, 2))->canonical();
  EXPECT_EQ(got, ascii);
  for (const char* kept : {"æ", "œ", "ß", "þ", "ș", "ț", "ǎ", "ơ", "ẽ", "ɓ"}) {
    EXPECT_EQ(Tag::parse(kept)->canonical(), kept);
  }
}

TEST(HashtagActor, NameLeadsBackToTheTag) {
  for (const char* spelling :
       {"caturday", "猫", "cat猫", "قطط", "Straße", "_1a", "one·two", "نرم\u200cافزار"}) {
    const Tag tag = *Tag::parse(spelling);
    const Result<Tag> again = Tag::from_actor_name(tag.actor_name());
    ASSERT_TRUE(again) << spelling << ": " << again.error().message;
    EXPECT_EQ(*again, tag);
  }
}

TEST(HashtagActor, NameIsCaseInsensitiveAndMayBeASpelling) {
  EXPECT_EQ(Tag::from_actor_name("XN--Z7X")->canonical(), "猫");
  EXPECT_EQ(Tag::from_actor_name("CaturDay")->canonical(), "caturday");
  EXPECT_EQ(Tag::from_actor_name("猫")->canonical(), "猫");
}

TEST(HashtagActor, TagsThatLookLikePunycodeShareNoName) {
  const Tag cat = *Tag::parse("猫");
  const Tag fake = *Tag::parse("xn--z7x");
  EXPECT_EQ(fake.canonical(), "xnz7x");
  EXPECT_NE(fake.actor_name(), cat.actor_name());
}

TEST(HashtagActor, RefusesPunycodeThatNoTagGives) {
  for (const char* name : {"xn--", "xn--!", "xn--99999999", "xn--abc-", "xn--caturday-", "xn--z", "xn---z7x",
                           "xn--0ca",  // à, which folds to "a"
                           "xn--猫"}) {
    EXPECT_FALSE(Tag::from_actor_name(name)) << name;
  }
  EXPECT_FALSE(Tag::from_actor_name("xn--" + std::string(5000, 'a')));
}

// Strings of the characters that make normalisation hard.
class RandomTags {
 public:
  std::string next() {
    static const std::vector<std::string> kPieces = {
        "a",      "Z",      "1", "_",      "-",          "·",      "・", "\u200c", "\u200d", "\u0301",
        "\u0345", "α",      "Σ", "İ",      "I",          "ſ",      "ŀ",  "ŉ",      "\u1100", "\u1161",
        "\u11a8", "가",     "ｶ", "ﾞ",      "か",         "\u3099", "猫", "𐐀",      "ﷺ",      "\u05b0",
        "ב",      "\u064e", "ق", "\u0e47", "ก",          "ǰ",      "J",  "\u030c", "\u094d", "क",
        "Å",      "ẞ",      "Ⓐ", "😸",     "\U0001D4B3", "\u0323", "s",  "\u0307"};
    std::string out;
    const unsigned count = 1 + pick_(engine_) % 12;
    for (unsigned i = 0; i < count; ++i) out += kPieces[pick_(engine_) % kPieces.size()];
    return out;
  }

 private:
  std::mt19937 engine_{20261121};
  std::uniform_int_distribution<unsigned> pick_{0, 1U << 30};
};

TEST(Tag, CanonicalFormIsItsOwnCanonicalForm) {
  RandomTags random;
  unsigned tags = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string spelling = random.next();
    const Result<Tag> tag = Tag::parse(spelling);
    if (!tag) continue;
    ++tags;
    EXPECT_EQ(Tag::from_canonical(tag->canonical()), *tag) << spelling;
    EXPECT_EQ(Tag::from_canonical(tag->canonical()).key(), tag->key()) << spelling;
    const Result<Tag> again = Tag::parse(tag->canonical());
    ASSERT_TRUE(again) << to_hex(spelling);
    ASSERT_EQ(again->canonical(), tag->canonical()) << to_hex(spelling);
  }
  EXPECT_GT(tags, 10'000U);
}

TEST(HashtagActor, NoTwoTagsShareAName) {
  RandomTags random;
  std::set<std::string> canonical;
  std::set<std::string> names;
  for (int i = 0; i < 20'000; ++i) {
    const Result<Tag> tag = Tag::parse(random.next());
    if (!tag) continue;
    canonical.insert(tag->canonical());
    names.insert(tag->actor_name());
    const Result<Tag> again = Tag::from_actor_name(tag->actor_name());
    ASSERT_TRUE(again) << tag->actor_name();
    ASSERT_EQ(again->canonical(), tag->canonical());
  }
  EXPECT_EQ(names.size(), canonical.size());
}

}  // namespace
}  // namespace tagring
