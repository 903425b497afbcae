#include "http/url.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "http/ip.hpp"

namespace tagring {
namespace {

TEST(IpAddress, IsAllOfTheText) {
  EXPECT_TRUE(IpAddress::parse("192.0.2.1"));
  for (const std::string_view text : {std::string_view("192.0.2.1\0", 10), std::string_view("::1\0.evil", 9)})
    EXPECT_FALSE(IpAddress::parse(text));
  EXPECT_FALSE(IpAddress::parse(" ::1"));
  EXPECT_FALSE(IpAddress::parse("::1%eth0"));
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

TEST(Url, NothingIsInItThatATerminalObeys) {
  EXPECT_TRUE(Url::parse("https://a.example/caf\u00e9"));
  for (const char* mark : {"\u009b2J", "\u202e", "\u2066", "\n", "\x1b"})
    EXPECT_FALSE(Url::parse(std::string("https://a.example/x") + mark + "y")) << mark;
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

TEST(Url, ATargetIsPathAndQuery) {
  EXPECT_EQ(path_of("/a?b=1?c"), "/a");
  EXPECT_EQ(query_of("/a?b=1?c"), "b=1?c");
  EXPECT_EQ(path_of("/a"), "/a");
  EXPECT_EQ(query_of("/a"), "");
  EXPECT_EQ(query_of("/a?"), "");
}

TEST(Url, BelowMeansAtALabelBoundary) {
  EXPECT_TRUE(is_same_or_below("example.org", "example.org"));
  EXPECT_TRUE(is_same_or_below("tags.example.org", "example.org"));
  EXPECT_FALSE(is_same_or_below("badexample.org", "example.org"));
  EXPECT_FALSE(is_same_or_below("example.org", "tags.example.org"));
  EXPECT_FALSE(is_same_or_below("example.org", ""));
}

}  // namespace
}  // namespace tagring
