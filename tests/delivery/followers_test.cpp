#include "delivery/followers.hpp"

#include <gtest/gtest.h>

namespace tagring::delivery {
namespace {

Follower follower(const std::string& tag, const std::string& actor, const std::string& inbox,
                  Via via = Via::kBoost, std::uint64_t since = 7) {
  return {tag, actor, inbox, "", via, since};
}

TEST(Followers, AreFoundByTag) {
  Followers followers;
  followers.add(follower("cats", "https://a.test/u", "https://a.test/inbox"));
  followers.add(follower("cats", "https://n.test/actor", "https://n.test/inbox", Via::kNode));
  followers.add(follower("dogs", "https://a.test/u", "https://a.test/inbox"));
  ASSERT_NE(followers.targets("cats"), nullptr);
  ASSERT_EQ(followers.targets("cats")->size(), 2U);
  const Followers::Target& node = followers.targets("cats")->at("https://n.test/inbox");
  EXPECT_EQ(node.via(), Via::kNode);
  EXPECT_EQ(node.since, 7U);
  EXPECT_EQ(node.host, "n.test");
  EXPECT_EQ(followers.targets("birds"), nullptr);
  EXPECT_TRUE(followers.follows("dogs", "https://a.test/u"));
  EXPECT_FALSE(followers.follows("dogs", "https://n.test/actor"));
  EXPECT_EQ(followers.people("cats"), 1U) << "a node is nobody";
  EXPECT_EQ(followers.people("birds"), 0U);
  EXPECT_EQ(followers.size(), 3U);
}

TEST(Followers, NodesAreNoReasonToWantATag) {
  Followers followers;
  followers.add(follower("cats", "https://n.test/actor", "https://n.test/inbox", Via::kNode));
  EXPECT_FALSE(followers.has_people("cats"));
  followers.add(follower("cats", "https://a.test/u", "https://a.test/inbox"));
  EXPECT_TRUE(followers.has_people("cats"));
  followers.remove("cats", "https://a.test/u");
  EXPECT_FALSE(followers.has_people("cats"));
  followers.add(follower("cats", "https://m.test/actor", "https://m.test/inbox", Via::kRelay));
  EXPECT_TRUE(followers.has_people("cats"));
}

TEST(Followers, AnInboxIsATargetUntilItsLastFollowerGoes) {
  Followers followers;
  followers.add(follower("cats", "https://a.test/u", "https://a.test/inbox"));
  followers.add(follower("cats", "https://a.test/v", "https://a.test/inbox"));
  EXPECT_EQ(followers.targets("cats")->size(), 1U);
  EXPECT_EQ(followers.actors("cats", "https://a.test/inbox"),
            (std::vector<std::string>{"https://a.test/u", "https://a.test/v"}));
  followers.remove("cats", "https://a.test/u");
  EXPECT_EQ(followers.target("cats", "https://a.test/inbox")->count(), 1U);
  followers.remove("cats", "https://a.test/v");
  EXPECT_EQ(followers.target("cats", "https://a.test/inbox"), nullptr);
  EXPECT_EQ(followers.targets("cats"), nullptr);
  EXPECT_EQ(followers.size(), 0U);
}

TEST(Followers, TheMostVisibleWayWinsAtOneInbox) {
  Followers followers;
  const std::string inbox = "https://m.test/inbox";
  followers.add(follower("cats", "https://m.test/actor", inbox, Via::kRelay, 9));
  EXPECT_EQ(followers.target("cats", inbox)->via(), Via::kRelay);
  EXPECT_EQ(followers.target("cats", inbox)->since, 9U);
  followers.add(follower("cats", "https://m.test/u", inbox, Via::kBoost, 11));
  EXPECT_EQ(followers.target("cats", inbox)->via(), Via::kBoost);
  EXPECT_EQ(followers.target("cats", inbox)->since, 9U);
  followers.remove("cats", "https://m.test/u");
  EXPECT_EQ(followers.target("cats", inbox)->via(), Via::kRelay);
}

TEST(Followers, FollowingAgainReplacesTheInbox) {
  Followers followers;
  followers.add(follower("cats", "https://a.test/u", "https://a.test/old"));
  followers.add(follower("cats", "https://a.test/u", "https://a.test/new"));
  EXPECT_EQ(followers.size(), 1U);
  EXPECT_EQ(followers.target("cats", "https://a.test/old"), nullptr);
  EXPECT_NE(followers.target("cats", "https://a.test/new"), nullptr);
}

TEST(Followers, RemovingWhoIsNotThereChangesNothing) {
  Followers followers;
  followers.add(follower("cats", "https://a.test/u", "https://a.test/inbox"));
  followers.remove("cats", "https://a.test/other");
  followers.remove("dogs", "https://a.test/u");
  EXPECT_EQ(followers.size(), 1U);
  EXPECT_NE(followers.target("cats", "https://a.test/inbox"), nullptr);
}

TEST(Followers, KnowWhatAnActorFollows) {
  Followers followers;
  const std::string actor = "https://a.test/u";
  for (const char* tag : {"cats", "dogs", "cats"})
    followers.add(follower(tag, actor, "https://a.test/inbox"));
  followers.add(follower("cats", "https://b.test/u", "https://b.test/inbox"));
  EXPECT_EQ(followers.tags_of(actor), (std::vector<std::string>{"cats", "dogs"}));
  EXPECT_EQ(followers.remove("cats", actor), Via::kBoost);
  EXPECT_EQ(followers.remove("cats", actor), std::nullopt);
  EXPECT_EQ(followers.tags_of(actor), (std::vector<std::string>{"dogs"}));
  EXPECT_EQ(followers.tags_of("https://b.test/u"), (std::vector<std::string>{"cats"}));
  followers.remove("dogs", actor);
  EXPECT_TRUE(followers.tags_of(actor).empty());
}

}  // namespace
}  // namespace tagring::delivery
