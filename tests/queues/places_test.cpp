#include "queues/places.hpp"

#include <gtest/gtest.h>

namespace tagring::queues {
namespace {

TEST(Places, GoToWhoHasWaitedLongestOfThoseWhoseDomainHasNotItsShare) {
  Places places(2 * Places::kShares);
  EXPECT_TRUE(places.take("a.example", "a1"));
  EXPECT_TRUE(places.take("a.example", "a2"));
  EXPECT_FALSE(places.take("a.example", "a3"));
  EXPECT_FALSE(places.next()) << "there are places, and none for that domain";
  for (std::size_t i = 2; i < 2 * Places::kShares; ++i)
    EXPECT_TRUE(places.take(std::to_string(i) + ".example", ""));
  EXPECT_FALSE(places.take("b.example", "b"));
  EXPECT_FALSE(places.take("c.example", "c"));
  places.give_back("2.example");
  EXPECT_EQ(places.next()->who, "b");
  EXPECT_FALSE(places.next());
  places.give_back("a.example");
  EXPECT_EQ(places.next()->who, "a3");
  places.give_back("3.example");
  EXPECT_EQ(places.next()->who, "c");
  EXPECT_EQ(places.taken(), 2 * Places::kShares);
}

TEST(Places, EveryDomainCanHaveOne) {
  Places places(1);
  EXPECT_TRUE(places.take("a.example", ""));
  EXPECT_FALSE(places.take("b.example", "b"));
  places.give_back("a.example");
  EXPECT_EQ(places.next()->domain, "b.example");
}

}  // namespace
}  // namespace tagring::queues
