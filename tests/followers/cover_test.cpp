// Who is needed to reach everybody.
#include "followers/cover.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tagring::followers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Cover, NobodyNeedsNobody) {
  EXPECT_THAT(smallest_cover({}, {}), IsEmpty());
  EXPECT_THAT(smallest_cover({{"ada"}}, {"ada"}), IsEmpty());
}

TEST(Cover, TheFirstOfEqualsIsTaken) {
  EXPECT_THAT(smallest_cover({{"ada"}, {"ada"}}, {}), ElementsAre(0));
  EXPECT_THAT(smallest_cover({{"ada"}, {"bob"}, {"ada", "bob"}}, {}), ElementsAre(2));
}

TEST(Cover, WhoWasReachedNeedsNoMore) {
  EXPECT_THAT(smallest_cover({{"ada", "bob"}, {"bob", "eve"}}, {"ada", "bob"}), ElementsAre(1));
}

TEST(Cover, TheLargestFirstIsNotAlwaysTheFewest) {
  // Greedy takes the four in the middle first, and then needs both others.
  EXPECT_THAT(smallest_cover({{"a", "b", "c"}, {"b", "c", "d", "e"}, {"d", "e", "f"}}, {}),
              ElementsAre(0, 2));
}

TEST(Cover, OfManyGroupsEverybodyIsReachedAllTheSame) {
  std::vector<Audience> groups;
  const std::string names = "abcdefghijklmnopqrstuvwxyz";
  for (std::size_t i = 0; i + 1 < names.size(); ++i) groups.push_back({{&names[i], 1}, {&names[i + 1], 1}});
  std::set<std::string_view> reached;
  for (const std::size_t i : smallest_cover(groups, {})) reached.insert(groups[i].begin(), groups[i].end());
  EXPECT_EQ(reached.size(), names.size());
}

}  // namespace
}  // namespace tagring::followers
