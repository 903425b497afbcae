#include "hashtag/punycode.hpp"

#include <gtest/gtest.h>

namespace tagring {
namespace {

// RFC 3492 §7.1: (A) Arabic, (B) Chinese, (E) Hebrew, (L) Japanese with digits, (N) with Latin, (S) ASCII
// only.
TEST(Punycode, GivesTheRfcsSamples) {
  struct {
    std::u32string_view text;
    std::string_view code;
  } const samples[] = {
      {U"ليهمابتكلموشعربي؟", "egbpdaj6bu4bxfgehfvwxn"},
      {U"他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"},
      {U"למההםפשוטלאמדבריםעברית", "4dbcagdahymbxekheh6e0a7fei0b"},
      {U"3年B組金八先生", "3B-ww4c5e180e575a65lsy2b"},
      {U"Hello-Another-Way-それぞれの場所", "Hello-Another-Way--fc4qua05auwb3674vfr0b"},
      {U"-> $1.00 <-", "-> $1.00 <--"},
  };
  for (const auto& sample : samples) {
    EXPECT_EQ(punycode_encode(sample.text), sample.code);
    EXPECT_EQ(punycode_decode(sample.code), sample.text);
  }
}

TEST(Punycode, RefusesMalformedCode) {
  EXPECT_FALSE(punycode_decode("z"));           // integer without its end
  EXPECT_FALSE(punycode_decode("a!"));          // foreign digit
  EXPECT_FALSE(punycode_decode("99999999"));    // overflow
  EXPECT_FALSE(punycode_decode("\xC3\xA9-a"));  // not ASCII before the delimiter
  EXPECT_FALSE(punycode_decode(std::string(200, '9')));
}

}  // namespace
}  // namespace tagring
