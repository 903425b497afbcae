#include "delivery/followers.hpp"

#include <gtest/gtest.h>

#include "tests/tag_literal.hpp"

namespace tagring::delivery {
namespace {

Follower follower(const Tag& tag, const std::string& actor, const std::string& inbox, Via via = Via::kBoost,
                  std::uint64_t since = 7) {
  return {tag, actor, inbox, "", via, since};
}

TEST(Followers, AreFoundByTag) {
  Followers followers;
  followers.add(follower("cats"_tag, "https://a.test/u", "https://a.test/inbox"));
  followers.add(follower("cats"_tag, "https://n.test/actor", "https://n.test/inbox", Via::kNode));
  followers.add(follower("dogs"_tag, "https://a.test/u", "https://a.test/inbox"));
  ASSERT_NE(followers.targets("cats"_tag), nullptr);
  ASSERT_EQ(followers.targets("cats"_tag)->size(), 2U);
  const Followers::Target& node = followers.targets("cats"_tag)->at("https://n.test/inbox");
  EXPECT_EQ(node.via(), Via::kNode);
  EXPECT_EQ(node.since, 7U);
  EXPECT_EQ(node.host, "n.test");
  EXPECT_EQ(followers.targets("birds"_tag), nullptr);
  EXPECT_TRUE(followers.follows("dogs"_tag, "https://a.test/u"));
  EXPECT_FALSE(followers.follows("dogs"_tag, "https://n.test/actor"));
  EXPECT_EQ(followers.people("cats"_tag), 1U) << "a node is nobody";
  EXPECT_EQ(followers.people("birds"_tag), 0U);
  EXPECT_EQ(followers.size(), 3U);
}

TEST(Followers, NodesAreNoReasonToWantATag) {
  Followers followers;
  followers.add(follower("cats"_tag, "https://n.test/actor", "https://n.test/inbox", Via::kNode));
  EXPECT_FALSE(followers.has_people("cats"_tag));
  followers.add(follower("cats"_tag, "https://a.test/u", "https://a.test/inbox"));
  EXPECT_TRUE(followers.has_people("cats"_tag));
  followers.remove("cats"_tag, "https://a.test/u");
  EXPECT_FALSE(followers.has_people("cats"_tag));
  followers.add(follower("cats"_tag, "https://m.test/actor", "https://m.test/inbox", Via::kRelay));
  EXPECT_TRUE(followers.has_people("cats"_tag));
}

TEST(Followers, AnInboxIsATargetUntilItsLastFollowerGoes) {
  Followers followers;
  followers.add(follower("cats"_tag, "https://a.test/u", "https://a.test/inbox"));
  followers.add(follower("cats"_tag, "https://a.test/v", "https://a.test/inbox"));
  EXPECT_EQ(followers.targets("cats"_tag)->size(), 1U);
  EXPECT_EQ(followers.actors("cats"_tag, "https://a.test/inbox"),
            (std::vector<std::string>{"https://a.test/u", "https://a.test/v"}));
  followers.remove("cats"_tag, "https://a.test/u");
  EXPECT_EQ(followers.target("cats"_tag, "https://a.test/inbox")->count(), 1U);
  followers.remove("cats"_tag, "https://a.test/v");
  EXPECT_EQ(followers.target("cats"_tag, "https://a.test/inbox"), nullptr);
  EXPECT_EQ(followers.targets("cats"_tag), nullptr);
  EXPECT_EQ(followers.size(), 0U);
}

TEST(Followers, TheMostVisibleWayWinsAtOneInbox) {
  Followers followers;
  const std::string inbox = "https://m.test/inbox";
  followers.add(follower("cats"_tag, "https://m.test/actor", inbox, Via::kRelay, 9));
  EXPECT_EQ(followers.target("cats"_tag, inbox)->via(), Via::kRelay);
  EXPECT_EQ(followers.target("cats"_tag, inbox)->since, 9U);
  followers.add(follower("cats"_tag, "https://m.test/u", inbox, Via::kBoost, 11));
  EXPECT_EQ(followers.target("cats"_tag, inbox)->via(), Via::kBoost);
  EXPECT_EQ(followers.target("cats"_tag, inbox)->since, 9U);
  followers.remove("cats"_tag, "https://m.test/u");
  EXPECT_EQ(followers.target("cats"_tag, inbox)->via(), Via::kRelay);
}

TEST(Followers, FollowingAgainReplacesTheInbox) {
  Followers followers;
  followers.add(follower("cats"_tag, "https://a.test/u", "https://a.test/old"));
  followers.add(follower("cats"_tag, "https://a.test/u", "https://a.test/new"));
  EXPECT_EQ(followers.size(), 1U);
  EXPECT_EQ(followers.target("cats"_tag, "https://a.test/old"), nullptr);
  EXPECT_NE(followers.target("cats"_tag, "https://a.test/new"), nullptr);
}

TEST(Followers, RemovingWhoIsNotThereChangesNothing) {
  Followers followers;
  followers.add(follower("cats"_tag, "https://a.test/u", "https://a.test/inbox"));
  followers.remove("cats"_tag, "https://a.test/other");
  followers.remove("dogs"_tag, "https://a.test/u");
  EXPECT_EQ(followers.size(), 1U);
  EXPECT_NE(followers.target("cats"_tag, "https://a.test/inbox"), nullptr);
}

TEST(Followers, KnowWhatAnActorFollows) {
  Followers followers;
  const std::string actor = "https://a.test/u";
  for (const Tag& tag : {"cats"_tag, "dogs"_tag, "cats"_tag})
    followers.add(follower(tag, actor, "https://a.test/inbox"));
  followers.add(follower("cats"_tag, "https://b.test/u", "https://b.test/inbox"));
  EXPECT_EQ(followers.tags_of(actor), (std::vector<Tag>{"cats"_tag, "dogs"_tag}));
  EXPECT_EQ(followers.remove("cats"_tag, actor), Via::kBoost);
  EXPECT_EQ(followers.remove("cats"_tag, actor), std::nullopt);
  EXPECT_EQ(followers.tags_of(actor), (std::vector<Tag>{"dogs"_tag}));
  EXPECT_EQ(followers.tags_of("https://b.test/u"), (std::vector<Tag>{"cats"_tag}));
  followers.remove("dogs"_tag, actor);
  EXPECT_TRUE(followers.tags_of(actor).empty());
}

}  // namespace
}  // namespace tagring::delivery
