#include "followers/authority.hpp"

#include <gtest/gtest.h>

namespace tagring::followers {
namespace {

std::string text_of(std::string_view url) {
  const auto authority = Authority::of(url);
  return authority ? authority->text() : "none";
}

TEST(Authority, IsSchemeHostAndPort) {
  EXPECT_EQ(text_of("https://example.org/users/1"), "https://example.org");
  EXPECT_EQ(text_of("http://127.0.0.1:18081/users/a"), "http://127.0.0.1:18081");
  EXPECT_NE(text_of("https://example.org/1"), text_of("http://example.org/1"));
  EXPECT_NE(text_of("https://example.org/1"), text_of("https://example.org:8443/1"));
  EXPECT_NE(text_of("https://example.org/1"), text_of("https://www.example.org/1"));
}

TEST(Authority, OfFepExampleSelectsTheTwoActorsOfTheTestingServer) {
  const Authority testing = *Authority::of("https://testing.example.org/users/1");
  EXPECT_FALSE(testing.covers("https://example.org/users/2"));
  EXPECT_TRUE(testing.covers("https://testing.example.org/users/1"));
  EXPECT_FALSE(testing.covers("https://next.example.org/users/foo"));
  EXPECT_TRUE(testing.covers("https://testing.example.org/users/2"));
}

TEST(Authority, OfMastodonInteractionsSpecIsNoPrefixOfAnotherHost) {
  const std::string eve = "https://foo.org/users/eve";
  EXPECT_TRUE(Authority::of("https://foo.org/")->covers(eve));
  EXPECT_FALSE(Authority::of("https://foo.org.evil.com/")->covers(eve));
  EXPECT_FALSE(Authority::of("https://foo")->covers(eve));
  EXPECT_FALSE(Authority::of("https://foo.org/")->covers("https://foo.org.evil.com/users/eve"));
}

TEST(Authority, OfMastodonAccountSpecCoversAnInstanceActorWithoutAPath) {
  EXPECT_TRUE(Authority::of("https://top-level.example")->covers("https://top-level.example"));
  EXPECT_TRUE(Authority::of("https://host.example")->covers("https://host.example/user/a"));
  EXPECT_FALSE(Authority::of("https://host.example")->covers("https://top-level.example"));
}

TEST(Authority, OfEunhaInboxesKeepsThePortAndRefusesWhatIsNotHttp) {
  EXPECT_EQ(text_of("https://a.test:8443/inbox"), "https://a.test:8443");
  EXPECT_EQ(text_of("http://a.test"), "http://a.test");
  EXPECT_EQ(text_of("ftp://a.test/inbox"), "none");
  EXPECT_EQ(text_of("https:///x"), "none");
}

TEST(Authority, AsPixelfedComparesItIgnoresCaseAndDefaultPort) {
  EXPECT_EQ(text_of("HTTPS://Example.ORG:443/users/A"), "https://example.org");
  EXPECT_EQ(text_of("http://example.org:80"), "http://example.org");
}

TEST(Authority, IsNothingForUserInfoEmptyAndOversizedUrls) {
  EXPECT_EQ(text_of("https://foo.org@evil.com/users/eve"), "none");
  EXPECT_EQ(text_of(""), "none");
  EXPECT_EQ(text_of("did:key:z6Mk/actor"), "none");
  EXPECT_EQ(text_of("https://foo.org/" + std::string(2048, 'a')), "none");
}

}  // namespace
}  // namespace tagring::followers
