#include "base/counted.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iterator>
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

using Numbers = Shares<std::set<int>>;

void add(Numbers& numbers, const std::string& who, int number) {
  numbers.change(who, [&](std::set<int>& its) { its.insert(number); });
}

TEST(Shares, KnowWhoHasMost) {
  Numbers numbers;
  for (int i = 0; i < 3; ++i) add(numbers, "three", i);
  add(numbers, "one", 1);
  EXPECT_EQ(numbers.heaviest(), "three");
  EXPECT_EQ(numbers.size(), 4U);
  EXPECT_EQ(numbers.of("three"), 3U);
  add(numbers, "one", 1);
  EXPECT_EQ(numbers.of("one"), 1U) << "it was there";
  numbers.change("three", [](std::set<int>& its) { its.clear(); });
  EXPECT_EQ(numbers.find("three"), nullptr);
  EXPECT_EQ(numbers.heaviest(), "one");
  EXPECT_EQ(numbers.size(), 1U);
}

TEST(Shares, ForgetWhoHasNothing) {
  Numbers numbers;
  numbers.change("nobody", [](std::set<int>&) {});
  EXPECT_EQ(numbers.find("nobody"), nullptr);
  add(numbers, "a", 1);
  add(numbers, "b", 2);
  numbers.change_all([](std::set<int>& its) { its.erase(1); });
  EXPECT_EQ(numbers.find("a"), nullptr);
  EXPECT_EQ(numbers.size(), 1U);
  EXPECT_EQ(numbers.heaviest(), "b");
}

TEST(Shares, WhoHasMostGivesWayToWhoHasLess) {
  constexpr std::size_t kMost = 4;
  Numbers numbers;
  const auto drop_last = [](std::set<int>& its) { its.erase(std::prev(its.end())); };
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(numbers.make_room("a", kMost, drop_last));
    add(numbers, "a", i);
  }
  EXPECT_FALSE(numbers.make_room("a", kMost, drop_last)) << "nobody has more";
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(numbers.make_room("b", kMost, drop_last));
    add(numbers, "b", i);
  }
  EXPECT_EQ(*numbers.find("a"), (std::set{0, 1}));
  EXPECT_FALSE(numbers.make_room("b", kMost, drop_last)) << "they have as much";
  EXPECT_TRUE(numbers.make_room("c", kMost, drop_last));
  add(numbers, "c", 1);
  EXPECT_FALSE(numbers.make_room("c", kMost, drop_last)) << "the other one could ask for it back";
  EXPECT_EQ(numbers.size(), kMost);
}

TEST(Shares, FewerThanThereArePlacesLeaveSomeToOthers) {
  constexpr std::size_t kMost = 300;
  Numbers numbers;
  const auto drop_last = [](std::set<int>& its) { its.erase(std::prev(its.end())); };
  const auto add_if_room = [&](const std::string& who, int number) {
    if (!numbers.make_room(who, kMost, drop_last)) return;
    add(numbers, who, number);
  };
  for (const int flooding : {1, 4, 64}) {
    for (int of = 0; of < flooding; ++of)
      for (int i = 0; i < 1'000; ++i) add_if_room(fmt::format("flood{}.example", of), i);
    for (int i = 0; i < 3; ++i) add_if_room("home.example", i);
    EXPECT_EQ(numbers.of("home.example"), 3U) << flooding;
    EXPECT_LE(numbers.size(), kMost);
  }
}

TEST(Shares, AsManyAsThereArePlacesShutOutWhoeverIsNew) {
  constexpr std::size_t kMost = 4;
  Numbers numbers;
  const auto drop_last = [](std::set<int>& its) { its.erase(std::prev(its.end())); };
  for (const char* who : {"a", "b", "c", "d"}) {
    EXPECT_TRUE(numbers.make_room(who, kMost, drop_last));
    add(numbers, who, 1);
  }
  EXPECT_FALSE(numbers.make_room("home", kMost, drop_last)) << "they would only change places";
}

TEST(Shares, WhatIsNewTakesThePlaceOfWhatIsTheirsWhoHaveMost) {
  Numbers numbers;
  const auto lower = [](const std::set<int>& a, const std::set<int>& b) { return *a.begin() < *b.begin(); };
  add(numbers, "a", 2);
  add(numbers, "b", 1);
  EXPECT_EQ(numbers.gives_way_to("new", lower), "b") << "all have as little, and that is the first";
  EXPECT_EQ(numbers.gives_way_to("a", lower), "a");
  add(numbers, "a", 3);
  EXPECT_EQ(numbers.gives_way_to("b", lower), "b") << "they would only change places";
  EXPECT_EQ(numbers.gives_way_to("new", lower), "a");
  add(numbers, "a", 4);
  EXPECT_EQ(numbers.gives_way_to("b", lower), "a");
  EXPECT_EQ(numbers.gives_way_to("a", lower), "a");
  EXPECT_EQ(numbers.holders(), 2U);
}

TEST(Shares, ThoseWhoHaveSomethingTakeTurns) {
  Numbers numbers;
  for (const char* who : {"a", "c"}) add(numbers, who, 1);
  EXPECT_EQ(numbers.next_after(""), "a");
  EXPECT_EQ(numbers.next_after("a"), "c");
  EXPECT_EQ(numbers.next_after("b"), "c");
  EXPECT_EQ(numbers.next_after("c"), "a");
}

std::size_t fill(DynamicThreshold& places, const std::string& who) {
  while (places.has_room(who)) places.add(who);
  return places.of(who);
}

TEST(DynamicThreshold, WhoeverIsNewFindsAPlaceHoweverManyOthersTake) {
  constexpr std::size_t kMost = 1'000;
  DynamicThreshold places(kMost);
  EXPECT_EQ(fill(places, "flood.example"), kMost / 2);
  EXPECT_EQ(fill(places, "second.example"), kMost / 4);
  EXPECT_FALSE(places.has_room("flood.example"));
  EXPECT_GE(fill(places, "home.example"), kMost / 10);
  EXPECT_LE(places.size(), kMost);
}

TEST(DynamicThreshold, WhoGivesBackMakesRoomForOthers) {
  DynamicThreshold places(4);
  fill(places, "a");
  fill(places, "b");
  fill(places, "c");
  EXPECT_EQ(places.size(), 4U);
  EXPECT_FALSE(places.has_room("d"));
  places.remove("b");
  EXPECT_EQ(places.of("b"), 0U);
  EXPECT_TRUE(places.has_room("d"));
  EXPECT_FALSE(places.has_room("a"));
}

}  // namespace
}  // namespace tagring
