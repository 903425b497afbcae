// Who is needed to reach everybody.
#include "followers/cover.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

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

TEST(Cover, ManyWhoAreInTheSameGroupsCostNoMoreThanOne) {
  std::vector<std::string> names;
  for (int i = 0; i < 200'000; ++i) names.push_back("https://far.example/users/" + std::to_string(i));
  std::vector<Audience> groups;
  for (std::size_t i = 0; i < 8; ++i) groups.push_back({names[i]});
  groups.emplace_back(names.begin(), names.end());
  groups.push_back({"zzz"});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(smallest_cover(groups, {}), ElementsAre(8, 9));
  // Each choice tried with each of them took a minute.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace tagring::followers
