#include "administrators/administrator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tagring::administrators {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view text) {
  const auto tokens = parse_tokens(text);
  return tokens ? "" : tokens.error().message;
}

TEST(Tokens, AreOfNamedAdministratorsWithRoles) {
  const auto tokens = parse_tokens(
      "# who may ask from outside\n"
      "anna  moderate\t0123456789abcdef\r\n"
      "\n"
      "prometheus look #23456789abcdef#\n");
  ASSERT_TRUE(tokens) << tokens.error().message;
  const std::vector<Token> expected = {{{"anna", Role::kModerate}, "0123456789abcdef"},
                                       {{"prometheus", Role::kLook}, "#23456789abcdef#"}};
  EXPECT_EQ(*tokens, expected);
}

TEST(Tokens, OneAloneMayDoEverything) {
  const auto tokens = parse_tokens("correct-horse-battery\n");
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(whose(*tokens, "correct-horse-battery"), (Administrator{"token", Role::kAll}));
}

TEST(Tokens, AreRefusedWithTheNumberOfTheLine) {
  EXPECT_THAT(refusal(""), HasSubstr("no token"));
  EXPECT_THAT(refusal("\nanna boss 0123456789abcdef"),
              HasSubstr("line 2: 'boss' must be look, moderate or all"));
  EXPECT_THAT(refusal("an/na look 0123456789abcdef"), HasSubstr("line 1: 'an/na' cannot be a name"));
  EXPECT_THAT(refusal("token look 0123456789abcdef"), HasSubstr("'token' cannot be a name"));
  EXPECT_THAT(refusal("anna look short"), HasSubstr("16 characters or more"));
  EXPECT_THAT(refusal("anna look"), HasSubstr("NAME ROLE TOKEN"));
  EXPECT_THAT(refusal("anna look 0123456789abcdéf"), HasSubstr("beyond ASCII"));
  EXPECT_THAT(refusal("anna look 0123456789abcdef\nbert all 0123456789abcdef"),
              HasSubstr("line 2: that token stands there already"));
}

TEST(Tokens, AreOfNobodyElse) {
  const auto tokens = parse_tokens("anna look 0123456789abcdef");
  EXPECT_EQ(whose(*tokens, "0123456789abcde"), std::nullopt);
  EXPECT_EQ(whose(*tokens, ""), std::nullopt);
  EXPECT_EQ(whose({}, ""), std::nullopt);
}

TEST(Names, AreShortAndOfAscii) {
  EXPECT_TRUE(is_name("anna.b-c_2"));
  EXPECT_FALSE(is_name(""));
  EXPECT_FALSE(is_name("local socket"));
  EXPECT_FALSE(is_name("ä"));
  EXPECT_TRUE(is_name(std::string(32, 'a')));
  EXPECT_FALSE(is_name(std::string(33, 'a')));
}

TEST(Names, AreNotThoseOfNobody) {
  EXPECT_FALSE(is_name("SIGHUP"));
  EXPECT_FALSE(is_name("token"));
  EXPECT_FALSE(parse_tokens("SIGHUP all 0123456789abcdef"));
}

TEST(Names, OfWhoIsAtTheMachineSayWhoThatIs) {
  EXPECT_EQ(local_socket("anna").name, "local socket (anna)");
  EXPECT_EQ(local_socket("").name, "local socket");
  EXPECT_EQ(local_socket("an\nna").name, "local socket");
}

}  // namespace
}  // namespace tagring::administrators
