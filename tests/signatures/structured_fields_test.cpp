#include "signatures/structured_fields.hpp"

#include <gtest/gtest.h>

namespace tagring::signatures::sf {
namespace {

std::string refusal(std::string_view text) {
  const Result<Dictionary> dictionary = parse_dictionary(text);
  return dictionary ? "accepted" : dictionary.error().message;
}

std::string list(std::string_view text) {
  const Result<Dictionary> dictionary = parse_dictionary(text);
  if (!dictionary) return dictionary.error().message;
  const auto* inner = std::get_if<InnerList>(&dictionary->front().value);
  return inner == nullptr ? "no list" : serialize(*inner);
}

TEST(StructuredFields, DictionariesKeepTheirOrderAndTypes) {
  const Dictionary dictionary =
      parse_dictionary("a=1, b=-42 ,\tc=\"x\\\"y\\\\\", d=:Zm9v:, e=tok/en:*, f=?0, g, *h=();i;j=\"k\"")
          .value();
  std::vector<std::string> texts;
  for (const Member& member : dictionary) {
    const auto* item = std::get_if<Item>(&member.value);
    texts.push_back(member.key + "=" + (item != nullptr ? serialize(item->value) : "list"));
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"a=1", "b=-42", R"(c="x\"y\\")", "d=:Zm9v:", "e=tok/en:*",
                                             "f=?0", "g=?1", "*h=list"}));
  EXPECT_EQ(*bytes_of(dictionary[3]), "foo");
  EXPECT_EQ(bytes_of(dictionary[0]), nullptr);
  EXPECT_EQ(bytes_of(dictionary[7]), nullptr);
}

TEST(StructuredFields, ListsAreWrittenCanonically) {
  EXPECT_EQ(list(R"(sig1=(  "@method"   "a";sf;x=?1;y=2 );  created=5;keyid="k";t=tok;b=:AA==:;f=?0)"),
            R"(("@method" "a";sf;x;y=2);created=5;keyid="k";t=tok;b=:AA==:;f=?0)");
  EXPECT_EQ(list("a=()"), "()");
  EXPECT_EQ(list("a=1"), "no list");
}

TEST(StructuredFields, ParametersAreFoundByKeyAndType) {
  const Dictionary dictionary = parse_dictionary("a=();n=7;s=\"t\"").value();
  const Parameters& parameters = std::get<InnerList>(dictionary[0].value).parameters;
  EXPECT_EQ(*find<std::int64_t>(parameters, "n"), 7);
  EXPECT_EQ(*find<std::string>(parameters, "s"), "t");
  EXPECT_EQ(find<std::string>(parameters, "n"), nullptr);
  EXPECT_EQ(find<std::string>(parameters, "x"), nullptr);
  EXPECT_TRUE(has(parameters, "n"));
  EXPECT_FALSE(has(parameters, "x"));
}

TEST(StructuredFields, EmptyIsADictionary) {
  EXPECT_TRUE(parse_dictionary("")->empty());
  EXPECT_TRUE(parse_dictionary("  ")->empty());
}

TEST(StructuredFields, RefusesWhatRfc8941Refuses) {
  EXPECT_EQ(refusal("SHA-256=:AA==:"), "a key starts with a-z or *");
  EXPECT_EQ(refusal("a=1,"), "nothing follows the last comma");
  EXPECT_EQ(refusal("a=1 b=2"), "a comma is missing");
  EXPECT_EQ(refusal("a="), "a value is missing");
  EXPECT_EQ(refusal("a=@"), "a value starts with a foreign character");
  EXPECT_EQ(refusal("a=1.5"), "a number is no integer of 15 digits");
  EXPECT_EQ(refusal("a=-"), "a number is no integer of 15 digits");
  EXPECT_EQ(refusal("a=1234567890123456"), "a number is no integer of 15 digits");
  EXPECT_EQ(refusal("a=?2"), "a boolean is neither ?0 nor ?1");
  EXPECT_EQ(refusal("a=\"x"), "a string does not end");
  EXPECT_EQ(refusal("a=\"x\\"), "a string does not end");
  EXPECT_EQ(refusal("a=\"\\n\""), "a string has a foreign character");
  EXPECT_EQ(refusal("a=\"\xc3\xa9\""), "a string has a foreign character");
  EXPECT_EQ(refusal("a=:AA=="), "a byte sequence does not end");
  EXPECT_EQ(refusal("a=:!!!!:"), "a byte sequence is not base64");
  EXPECT_EQ(refusal("a=(1"), "an inner list lacks a space or its end");
  EXPECT_EQ(refusal("a=(1 "), "a value is missing");
  EXPECT_EQ(refusal("a=(\"x\"\"y\")"), "an inner list lacks a space or its end");
  EXPECT_EQ(refusal("a=1;=2"), "a key starts with a-z or *");
}

TEST(StructuredFields, RefusesKeysThatOccurTwice) {
  EXPECT_EQ(refusal("a=1, a=2"), "a key occurs twice");
  EXPECT_EQ(refusal("a=();x=1;x=2"), "a parameter occurs twice");
}

TEST(StructuredFields, RefusesMoreThanItsLimits) {
  std::string members;
  std::string items;
  std::string parameters;
  for (int i = 0; i < 17; ++i) members += (i == 0 ? "" : ",") + ("a" + std::to_string(i));
  for (int i = 0; i < 65; ++i) items += " 1";
  for (int i = 0; i < 17; ++i) parameters += ";p" + std::to_string(i);
  EXPECT_EQ(refusal(members), "too many members");
  EXPECT_EQ(refusal(members.substr(0, members.rfind(','))), "accepted");
  EXPECT_EQ(refusal("a=(" + items + ")"), "an inner list is too long");
  EXPECT_EQ(refusal("a=(" + items.substr(2) + ")"), "accepted");
  EXPECT_EQ(refusal("a" + parameters), "too many parameters");
  EXPECT_EQ(refusal("a" + parameters.substr(0, parameters.rfind(';'))), "accepted");
  EXPECT_EQ(refusal("a=\"" + std::string(9000, 'x') + "\""), "it is too long");
}

}  // namespace
}  // namespace tagring::signatures::sf
