#include "base/counted.hpp"

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace tagring {
namespace {

TEST(MakeRoom, WhoFillsAContainerDoesNotDriveOutAllThatIsSortedBeforeIt) {
  constexpr int kMost = 1'000;
  constexpr int kHonest = 100;
  std::set<int> numbers;
  for (int i = 0; i < kHonest; ++i) numbers.insert(i);
  for (int i = 0; i < kMost; ++i) {
    make_room(numbers, kMost);
    numbers.insert(1'000'000 + i);
    ASSERT_LE(numbers.size(), kMost);
  }
  EXPECT_GE(std::distance(numbers.begin(), numbers.lower_bound(kHonest)), kHonest / 2);
}

TEST(MakeRoom, TheSmallestContainersLoseOneToo) {
  std::set<int> numbers = {1, 2};
  make_room(numbers, 2);
  EXPECT_EQ(numbers.size(), 1U);
  make_room(numbers, 2);
  EXPECT_EQ(numbers.size(), 1U);
}

TEST(Held, IsInTheSetForAsLongAsTheFirstLives) {
  std::set<std::string> held;
  {
    const Held first(held, "cats");
    EXPECT_TRUE(first.is_first());
    {
      const Held second(held, "cats");
      EXPECT_FALSE(second.is_first());
    }
    EXPECT_TRUE(held.contains("cats")) << "the first one is there";
  }
  EXPECT_TRUE(held.empty());
}

}  // namespace
}  // namespace tagring
