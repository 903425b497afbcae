#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "base/ip.hpp"
#include "base/json.hpp"
#include "base/time.hpp"
#include "base/url.hpp"

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

TEST(IpAddress, IsAllOfTheText) {
  EXPECT_TRUE(IpAddress::parse("192.0.2.1"));
  for (const std::string_view text : {std::string_view("192.0.2.1\0", 10), std::string_view("::1\0.evil", 9)})
    EXPECT_FALSE(IpAddress::parse(text));
  EXPECT_FALSE(IpAddress::parse(" ::1"));
  EXPECT_FALSE(IpAddress::parse("::1%eth0"));
}

TEST(Time, Rfc3339RoundTripsAndAcceptsWhatServersSend) {
  const auto time = from_rfc3339("2026-11-21T02:24:00.123456Z");
  ASSERT_TRUE(time);
  EXPECT_EQ(to_rfc3339(*time), "2026-11-21T02:24:00.123Z");
  EXPECT_EQ(from_rfc3339("2026-11-21T04:24:00+02:00"), from_rfc3339("2026-11-21T02:24:00Z"));
  EXPECT_FALSE(from_rfc3339("2026-11-21"));
  EXPECT_FALSE(from_rfc3339("2026-02-30T00:00:00Z"));
  EXPECT_FALSE(from_rfc3339("2026-11-21T02:24:00"));
}

TEST(Time, HttpDateIsImfFixdate) {
  const auto time = from_rfc3339("1994-11-06T08:49:37Z");
  EXPECT_EQ(to_http_date(*time), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(from_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), time);
  EXPECT_FALSE(from_http_date("Sunday, 06-Nov-94 08:49:37 GMT"));
}

TEST(Url, ParsesAndNormalisesTheAuthorityOnly) {
  const auto url = Url::parse("HTTPS://Example.ORG/users/A?x=1#main-key");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->text(), "https://example.org/users/A?x=1");
  EXPECT_EQ(url->path(), "/users/A");
  EXPECT_EQ(url->query(), "x=1");
  EXPECT_EQ(Url::parse("https://example.org:8443")->authority(), "example.org:8443");
  EXPECT_EQ(Url::parse("https://example.org:443/")->authority(), "example.org");
}

TEST(Url, RefusesWhatServersDisagreeAbout) {
  for (const char* text : {"ftp://example.org/", "https://user@example.org/", "https:///path",
                           "//example.org/", "https://example.org:0/", "https://example.org:99999/",
                           "https://ex ample.org/", "javascript:alert(1)", "",
                           "https://b\xC3\xBC"
                           "cher.example/"}) {
    EXPECT_FALSE(Url::parse(text)) << text;
  }
}

TEST(Url, AFragmentMayHaveAnotherMarkInIt) {
  EXPECT_EQ(Url::parse("https://example.org/part-4/#activity#activity")->text(),
            "https://example.org/part-4/");
  EXPECT_EQ(Url::parse("https://example.org#a#b")->text(), "https://example.org/");
  EXPECT_FALSE(Url::parse("https://example.org/#a b"));
}

TEST(Url, TheHostReachesToTheSlash) {
  for (const char* text : {"https://example.org:443.evil.example/", "https://example.org:443evil/",
                           "https://192.0.2.1.evil.example/", "https://192.0.2.1evil.example/",
                           "https://[::1]evil.example/", "https://[::1]:5x/"}) {
    EXPECT_FALSE(Url::parse(text)) << text << " is read as " << Url::parse(text)->text();
  }
  EXPECT_EQ(Url::parse("https://192.0.2.1:8443?x")->text(), "https://192.0.2.1:8443/?x");
}

TEST(Url, HostNamesAreWhatTheDnsIsAskedFor) {
  for (const std::string& name :
       {std::string("example.org"), std::string("xn--bcher-kva.example"), std::string("a-b.9.example"),
        std::string("my_tags.example"), std::string("localhost"), std::string(63, 'a') + ".example"}) {
    EXPECT_TRUE(is_host_name(name)) << name;
  }
  std::string longest = "example";
  while (longest.size() <= 251) longest.insert(0, "a.");
  EXPECT_EQ(longest.size(), 253U);
  EXPECT_TRUE(is_host_name(longest));
  EXPECT_FALSE(is_host_name("b" + longest));
  using namespace std::string_view_literals;
  for (const std::string_view text : {""sv,
                                      "."sv,
                                      ".example"sv,
                                      "example."sv,
                                      "a..example"sv,
                                      "Example.org"sv,
                                      "b\xC3\xBC"
                                      "cher.example"sv,
                                      "exa mple.org"sv,
                                      "example.org:443"sv,
                                      "example.org/x"sv,
                                      "user@example.org"sv,
                                      "-a.example"sv,
                                      "a-.example"sv,
                                      "192.0.2.1"sv,
                                      "127.1"sv,
                                      "2130706433"sv,
                                      "a.0x7f000001"sv,
                                      "[::1]"sv,
                                      "::1"sv,
                                      "a.4"sv,
                                      "_tagring._tcp"sv,
                                      "example.org\0"sv,
                                      "a%2e.example"sv,
                                      "*.example"sv}) {
    EXPECT_FALSE(is_host_name(text)) << text;
  }
  EXPECT_FALSE(is_host_name(std::string(64, 'a') + ".example"));
}

TEST(Url, BelowMeansAtALabelBoundary) {
  EXPECT_TRUE(is_same_or_below("example.org", "example.org"));
  EXPECT_TRUE(is_same_or_below("tags.example.org", "example.org"));
  EXPECT_FALSE(is_same_or_below("badexample.org", "example.org"));
  EXPECT_FALSE(is_same_or_below("example.org", "tags.example.org"));
  EXPECT_FALSE(is_same_or_below("example.org", ""));
}

TEST(Json, RefusesDepthBombsInvalidUtf8AndTrailingText) {
  EXPECT_TRUE(json::parse("{\"a\":[1]}"));
  EXPECT_FALSE(json::parse(std::string(100000, '[')));
  EXPECT_FALSE(json::parse("\"\xFF\""));
  EXPECT_FALSE(json::parse("{} {}"));
  EXPECT_FALSE(json::parse_object("[]"));
}

std::string object_of(std::size_t members, const std::string& prefix = "k") {
  std::string text = "{";
  for (std::size_t i = 0; i < members; ++i)
    text += (i == 0 ? "\"" : ",\"") + prefix + std::to_string(i) + "\":0";
  return text + "}";
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
