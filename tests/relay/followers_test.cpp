#include "relay/followers.hpp"

#include <gtest/gtest.h>

namespace tagring::relay {
namespace {

Follower follower(const std::string& tag, const std::string& actor, const std::string& inbox,
                  bool is_node = false) {
  return {tag, actor, inbox, "", is_node, 7};
}

TEST(Followers, AreFoundByTag) {
  Followers followers;
  followers.add(follower("cats", "https://a.test/u", "https://a.test/inbox"));
  followers.add(follower("cats", "https://n.test/actor", "https://n.test/inbox", true));
  followers.add(follower("dogs", "https://a.test/u", "https://a.test/inbox"));
  ASSERT_NE(followers.of("cats"), nullptr);
  ASSERT_EQ(followers.of("cats")->size(), 2U);
  const Followers::Target& node = followers.of("cats")->at("https://n.test/actor");
  EXPECT_EQ(node.inbox, "https://n.test/inbox");
  EXPECT_TRUE(node.is_node);
  EXPECT_EQ(node.since, 7U);
  EXPECT_EQ(followers.of("birds"), nullptr);
  EXPECT_EQ(followers.tags_of("https://a.test/u"), (std::vector<std::string>{"cats", "dogs"}));
  EXPECT_EQ(followers.size(), 3U);
}

TEST(Followers, NodesAreNoReasonToWantATag) {
  Followers followers;
  followers.add(follower("cats", "https://n.test/actor", "https://n.test/inbox", true));
  EXPECT_FALSE(followers.has_people("cats"));
  followers.add(follower("cats", "https://a.test/u", "https://a.test/inbox"));
  EXPECT_TRUE(followers.has_people("cats"));
  followers.remove("cats", "https://a.test/u");
  EXPECT_FALSE(followers.has_people("cats"));
}

TEST(Followers, AnInboxIsInUseUntilItsLastFollowerGoes) {
  Followers followers;
  followers.add(follower("cats", "https://a.test/u", "https://a.test/inbox"));
  followers.add(follower("cats", "https://a.test/v", "https://a.test/inbox"));
  followers.remove("cats", "https://a.test/u");
  EXPECT_TRUE(followers.uses_inbox("https://a.test/inbox"));
  followers.remove("cats", "https://a.test/v");
  EXPECT_FALSE(followers.uses_inbox("https://a.test/inbox"));
  EXPECT_EQ(followers.of("cats"), nullptr);
  EXPECT_EQ(followers.size(), 0U);
}

TEST(Followers, FollowingAgainReplacesTheInbox) {
  Followers followers;
  followers.add(follower("cats", "https://a.test/u", "https://a.test/old"));
  followers.add(follower("cats", "https://a.test/u", "https://a.test/new"));
  EXPECT_EQ(followers.size(), 1U);
  EXPECT_FALSE(followers.uses_inbox("https://a.test/old"));
  EXPECT_TRUE(followers.uses_inbox("https://a.test/new"));
}

TEST(Followers, RemovingWhoIsNotThereChangesNothing) {
  Followers followers;
  followers.add(follower("cats", "https://a.test/u", "https://a.test/inbox"));
  followers.remove("cats", "https://a.test/other");
  followers.remove("dogs", "https://a.test/u");
  EXPECT_EQ(followers.size(), 1U);
  EXPECT_TRUE(followers.uses_inbox("https://a.test/inbox"));
}

}  // namespace
}  // namespace tagring::relay
