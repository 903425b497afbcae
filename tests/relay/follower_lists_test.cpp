// What relays tell each other of a hashtag's followers, put together.
#include "relay/follower_lists.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tagring::relay {
namespace {

const std::string kFollower = "https://tags.fan.example/actor";
const std::string kInbox = "https://tags.fan.example/inbox";

WallTime at(int seconds) { return WallTime(std::chrono::seconds(seconds)); }

TEST(FollowerListsMerge, OfWhatTwoSayOfAFollowerTheLatestRequestCounts) {
  FollowerLists::List all;
  FollowerLists::merge({{kFollower, {"https://tags.fan.example/old", at(1)}}}, &all);
  FollowerLists::merge({{kFollower, {kInbox, at(2)}}}, &all);
  EXPECT_EQ(all.at(kFollower).inbox, kInbox);
  FollowerLists::merge({{kFollower, {"https://tags.fan.example/old", at(1)}}}, &all);
  EXPECT_EQ(all.at(kFollower).inbox, kInbox);
}

TEST(FollowerListsMerge, AListThatIsFullKeepsNobodyOffThatAnotherOneNames) {
  FollowerLists::List invented;
  for (std::size_t n = 0; n < FollowerLists::kPage * FollowerLists::kPagesMax; ++n)
    invented.emplace(fmt::format("https://never{}.example/actor", n), FollowerLists::Listed{"", at(1)});
  FollowerLists::List all;
  FollowerLists::merge(std::move(invented), &all);
  FollowerLists::merge({{kFollower, {kInbox, at(1)}}}, &all);
  EXPECT_TRUE(all.contains(kFollower));
}

}  // namespace
}  // namespace tagring::relay
