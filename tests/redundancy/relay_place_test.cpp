#include "redundancy/relay_place.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <vector>

namespace tagring::redundancy {
namespace {

constexpr unsigned kPosts = 20'000;

std::string uri(unsigned i) { return fmt::format("https://example.org/posts/{}", i); }

// How many posts each relay gets.
std::vector<unsigned> loads(unsigned copies, unsigned relays) {
  std::vector<unsigned> loads(relays);
  for (unsigned i = 0; i < kPosts; ++i) {
    for (unsigned copy = 0; copy < copies; ++copy)
      ++loads[redundancy::relay_of_post(uri(i), copy, copies, relays)];
  }
  return loads;
}

TEST(RelayPlace, OneRelayGetsEverythingAndSoDoBothOfTwo) {
  EXPECT_EQ(loads(redundancy::copies_of_post(1), 1), std::vector<unsigned>{kPosts});
  EXPECT_EQ(loads(redundancy::copies_of_post(2), 2), (std::vector<unsigned>{kPosts, kPosts}));
}

TEST(RelayPlace, ADoublingHalvesTheLoadOfEveryRelay) {
  for (const unsigned at_rest : {1U, 2U, 4U}) {
    const unsigned copies = redundancy::copies_of_post(at_rest);
    for (unsigned relays = std::max(2U, at_rest); relays <= 32; relays *= 2) {
      const double expected = kPosts * static_cast<double>(copies) / relays;
      for (const unsigned load : loads(copies, relays)) {
        EXPECT_NEAR(load, expected, 5 * std::sqrt(expected))
            << relays << " relays, " << at_rest << " at rest";
      }
    }
  }
}

TEST(RelayPlace, TheCopiesOfAPostLieOppositeEachOther) {
  for (unsigned relays = 2; relays <= redundancy::kRelaysMax; relays *= 2) {
    for (unsigned i = 0; i < 50; ++i) {
      EXPECT_EQ(redundancy::relay_of_post(uri(i), 1, 2, relays),
                redundancy::relay_of_post(uri(i), 0, 2, relays) + relays / 2);
    }
  }
}

// A place is index / relays of the ring.
TEST(RelayPlace, ADoublingMovesHalfOfThePostsToTheNewRelays) {
  for (unsigned relays = 2; relays < redundancy::kRelaysMax; relays *= 2) {
    unsigned moved = 0;
    for (unsigned i = 0; i < 1000; ++i) {
      const unsigned before = redundancy::relay_of_post(uri(i), 0, 2, relays);
      const unsigned after = redundancy::relay_of_post(uri(i), 0, 2, relays * 2);
      EXPECT_EQ(after / 2, before);
      moved += after % 2;
    }
    EXPECT_NEAR(moved, 500, 100);
  }
}

TEST(RelayPlace, OnlyPowersOfTwoUpToTheLimitAreCounts) {
  for (const std::int64_t count : {1, 2, 4, 128, 256})
    EXPECT_TRUE(redundancy::is_relay_count(count)) << count;
  for (const std::int64_t count : {-2, 0, 3, 6, 255, 512})
    EXPECT_FALSE(redundancy::is_relay_count(count)) << count;
}

}  // namespace
}  // namespace tagring::redundancy
