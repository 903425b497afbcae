#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "base/printable.hpp"
#include "base/time.hpp"

namespace tagring {
namespace {

TEST(Bytes, Base64FollowsRfc4648) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(from_base64("Zg=="), "f");
  EXPECT_EQ(from_base64("Zm9vYmFy"), "foobar");
  EXPECT_FALSE(from_base64("Zg="));
  EXPECT_FALSE(from_base64("Zg= ="));
  EXPECT_FALSE(from_base64("===="));
}

TEST(Bytes, Base64UrlHasItsOwnAlphabetAndNoPadding) {
  EXPECT_EQ(from_base64url(""), "");
  EXPECT_EQ(from_base64url("-_8"), "\xfb\xff");
  EXPECT_EQ(from_base64url("Zm8"), "fo");
  EXPECT_FALSE(from_base64url("Zm8="));
  EXPECT_FALSE(from_base64url("+/8"));
  EXPECT_FALSE(from_base64url("Zm9vY"));
}

// The examples of draft-msporny-base58.
TEST(Bytes, Base58KeepsLeadingZeros) {
  using namespace std::string_view_literals;
  EXPECT_EQ(from_base58(""), "");
  EXPECT_EQ(from_base58("2NEpo7TZRRrLZSi2U"), "Hello World!");
  EXPECT_EQ(from_base58("11233QC4"), "\0\0\x28\x7f\xb4\xcd"sv);
  EXPECT_FALSE(from_base58("0OIl"));
}

TEST(Bytes, Utf8RejectsOverlongSurrogateAndTruncated) {
  EXPECT_TRUE(is_utf8("caf\xC3\xA9 \xF0\x9F\x98\xB8"));
  EXPECT_FALSE(is_utf8("\xC0\xAF"));
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));
  EXPECT_FALSE(is_utf8("\xE2\x82"));
}

TEST(Time, Rfc3339RoundTripsAndAcceptsWhatServersSend) {
  const auto time = from_rfc3339("2026-11-21T02:24:00.123456Z");
  ASSERT_TRUE(time);
  EXPECT_EQ(to_rfc3339(*time), "2026-11-21T02:24:00.123Z");
  EXPECT_EQ(from_rfc3339("2026-11-21T04:24:00+02:00"), from_rfc3339("2026-11-21T02:24:00Z"));
  for (const char* same : {"2026-11-21T02:24:00", "2026-11-21T02:24Z", "2026-11-21 02:24:00.0",
                           "2026-11-21T04:24:00+0200", "2026-11-20T22:24-0400"}) {
    EXPECT_EQ(from_rfc3339(same), from_rfc3339("2026-11-21T02:24:00Z")) << same;
  }
  EXPECT_EQ(from_rfc3339("2026-11-21"), from_rfc3339("2026-11-21T00:00:00Z"));
  for (const char* none : {"", "2026", "2026-02-30", "2026-02-30T00:00:00Z", "2026-11-21T", "2026-11-21T02",
                           "2026-11-21T02:24:", "2026-11-21T02:24:00+", "2026-11-21T02:24:00+02",
                           "2026-11-21T02:24:00Z.", "2026-11-21T02:24:00 UTC", "2026-11-21Z"}) {
    EXPECT_FALSE(from_rfc3339(none)) << none;
  }
}

TEST(Time, HttpDateIsImfFixdate) {
  const auto time = from_rfc3339("1994-11-06T08:49:37Z");
  EXPECT_EQ(to_http_date(*time), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(from_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), time);
  EXPECT_FALSE(from_http_date("Sunday, 06-Nov-94 08:49:37 GMT"));
}

TEST(Json, RefusesDepthBombsInvalidUtf8AndTrailingText) {
  EXPECT_TRUE(json::parse("{\"a\":[1]}"));
  EXPECT_FALSE(json::parse(std::string(100000, '[')));
  EXPECT_FALSE(json::parse("\"\xFF\""));
  EXPECT_FALSE(json::parse("{} {}"));
  EXPECT_FALSE(json::parse_object("[]"));
}

TEST(Json, AFlagIsSetIfItIsThereAndTrue) {
  const json::object o = {{"yes", true}, {"no", false}, {"text", "true"}, {"number", 1}};
  EXPECT_TRUE(json::get_flag(o, "yes"));
  for (const char* key : {"no", "text", "number", "missing"}) EXPECT_FALSE(json::get_flag(o, key)) << key;
}

std::string object_of(std::size_t members, const std::string& prefix = "k") {
  std::string text = "{";
  for (std::size_t i = 0; i < members; ++i)
    text += (i == 0 ? "\"" : ",\"") + prefix + std::to_string(i) + "\":0";
  return text + "}";
}

TEST(Printable, LeavesNothingThatATerminalWouldObey) {
  EXPECT_EQ(printable("one\ntwo\x1b[2J\x7f"), "one two [2J ");
  EXPECT_EQ(printable("\u0085\u009b2J \u202egnp.exe\u202c \u2066x\u2069 \u200f \u2028"),
            "  2J  gnp.exe   x     ");
  EXPECT_EQ(printable("caf\u00e9 \u732b \U0001f408 \u00a0\u200d"), "caf\u00e9 \u732b \U0001f408 \u00a0\u200d")
      << "nor less";
}

TEST(Json, MembersOfAnObjectAreCountedBeforeItIsBuilt) {
  EXPECT_TRUE(json::parse(object_of(1'000)));
  EXPECT_EQ(json::parse(object_of(1'001)).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(json::parse("[1,{\"a\":" + object_of(1'001) + "}]").error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(json::parse(object_of(65'536).substr(0, 400'000)).error().code, ErrorCode::kTooLarge)
      << "before the text turns out to be cut off";
  EXPECT_TRUE(json::parse(R"({"a":")" + std::string(2'000, ':') + "\"}")) << "inside a text they are none";
  EXPECT_TRUE(json::parse(R"({"a\"{:":"\\","b":"\"]}:,"})"));
}

TEST(Json, ManyObjectsOfManyMembersAreRefusedTogether) {
  std::string text = "[" + object_of(1'000);
  for (int i = 0; i < 12; ++i) text += "," + object_of(1'000);
  EXPECT_EQ(json::parse(text + "]").error().code, ErrorCode::kTooLarge);
  std::string honest = "[" + object_of(20);
  for (int i = 0; i < 10'000; ++i) honest += "," + object_of(20);
  EXPECT_TRUE(json::parse(honest + "]"));
}

TEST(Json, ValuesAndLevelsAreBounded) {
  const auto list = [](std::size_t values) {
    std::string text = "[0";
    for (std::size_t i = 1; i < values; ++i) text += ",0";
    return text + "]";
  };
  EXPECT_TRUE(json::parse(list(249'000)));
  EXPECT_EQ(json::parse(list(251'000)).error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(json::parse(std::string(32, '[') + std::string(32, ']')));
  EXPECT_FALSE(json::parse(std::string(33, '[') + std::string(33, ']')));
  EXPECT_FALSE(json::parse(std::string(100'000, '[')));
}

}  // namespace
}  // namespace tagring
