#include "redundancy/storage_place.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "hashtag/tag.hpp"

namespace tagring::redundancy {
namespace {

constexpr unsigned kPosts = 2'000;

std::string uri(unsigned i) { return fmt::format("https://example.org/posts/{}", i); }

RingId key() { return Tag::parse("caturday").value().key(); }

// The positions of a post's copies.
std::set<RingId> places(const std::string& post, unsigned copies, unsigned replicas) {
  std::set<RingId> places;
  const unsigned number = redundancy::partition_of_post(post, copies, replicas);
  for (unsigned copy = 0; copy < copies; ++copy)
    places.insert(replica_key(redundancy::partition_key(key(), number), copy, copies));
  return places;
}

std::set<RingId> places_of_set(unsigned replicas) {
  std::set<RingId> places;
  for (unsigned i = 0; i < replicas; ++i) places.insert(replica_key(key(), i, replicas));
  return places;
}

// Calls `check` for every size that a set may have, in networks with every number of owners at rest.
template <class Check>
void for_every_set(Check check) {
  for (unsigned at_rest = 1; at_rest <= 16; at_rest *= 2) {
    for (unsigned replicas = at_rest; replicas <= redundancy::kRelaysMax; replicas *= 2) {
      SCOPED_TRACE(fmt::format("{} replicas, {} at rest", replicas, at_rest));
      check(at_rest, redundancy::copies_in_storage(at_rest), replicas);
    }
  }
}

TEST(StoragePlace, NetworksWithFourOwnersOrMoreKeepFourCopiesAndOthersAsManyAsTheyHaveOwners) {
  EXPECT_EQ(redundancy::copies_in_storage(1), 1U);
  EXPECT_EQ(redundancy::copies_in_storage(2), 2U);
  for (const unsigned at_rest : {4U, 8U, 16U}) EXPECT_EQ(redundancy::copies_in_storage(at_rest), 4U);
}

TEST(StoragePlace, ASetOfOneTwoOrFourAtRestIsOnePartition) {
  for (const unsigned at_rest : {1U, 2U, 4U})
    EXPECT_EQ(redundancy::partitions_of_set(redundancy::copies_in_storage(at_rest), at_rest),
              std::vector<unsigned>{0});
}

TEST(StoragePlace, ThePartitionsAreAQuarterOfTheReplicasWhereThereAreFourCopies) {
  for (unsigned replicas = 4; replicas <= redundancy::kRelaysMax; replicas *= 2)
    EXPECT_EQ(redundancy::partitions_of_set(4, replicas).size(), replicas / 4);
}

TEST(StoragePlace, EveryPostHasExactlyItsCopiesAtPlacesOfTheSet) {
  for_every_set([](unsigned, unsigned copies, unsigned replicas) {
    const std::set<RingId> all = places_of_set(replicas);
    for (unsigned i = 0; i < 50; ++i) {
      const std::set<RingId> own = places(uri(i), copies, replicas);
      EXPECT_EQ(own.size(), copies);
      EXPECT_TRUE(std::ranges::includes(all, own));
    }
  });
}

TEST(StoragePlace, ThePartitionsTogetherHaveEveryPlaceOfTheSetOnce) {
  for_every_set([](unsigned, unsigned copies, unsigned replicas) {
    std::multiset<RingId> found;
    for (const unsigned number : redundancy::partitions_of_set(copies, replicas)) {
      for (unsigned copy = 0; copy < copies; ++copy)
        found.insert(replica_key(redundancy::partition_key(key(), number), copy, copies));
    }
    const std::set<RingId> all = places_of_set(replicas);
    EXPECT_TRUE(std::ranges::equal(found, all));
  });
}

// The owner of replica i has partition i mod P, as the paper numbers them.
TEST(StoragePlace, ReplicaIHasThePartitionIModuloP) {
  for (unsigned replicas = 4; replicas <= redundancy::kRelaysMax; replicas *= 2) {
    const unsigned parts = replicas / 4;
    for (unsigned i = 0; i < 50; ++i) {
      const unsigned part = redundancy::interval_of_post(uri(i), parts);
      std::set<RingId> expected;
      for (unsigned replica = part; replica < replicas; replica += parts)
        expected.insert(replica_key(key(), replica, replicas));
      EXPECT_EQ(places(uri(i), 4, replicas), expected);
    }
  }
}

TEST(StoragePlace, APartitionHasItsShareOfThePosts) {
  for (unsigned replicas = 4; replicas <= 64; replicas *= 2) {
    std::map<unsigned, unsigned> loads;
    for (unsigned i = 0; i < kPosts; ++i) ++loads[redundancy::partition_of_post(uri(i), 4, replicas)];
    const double expected = kPosts * 4.0 / replicas;
    for (const unsigned number : redundancy::partitions_of_set(4, replicas))
      EXPECT_NEAR(loads[number], expected, 5 * std::sqrt(expected)) << number << " of " << replicas;
  }
}

TEST(StoragePlace, ADoublingLeavesHalfOfThePostsInPlaceAndGivesTheOthersToTheNewOwners) {
  for_every_set([](unsigned, unsigned copies, unsigned replicas) {
    if (replicas == redundancy::kRelaysMax) return;
    const std::set<RingId> old = places_of_set(replicas);
    unsigned moved = 0;
    for (unsigned i = 0; i < 1'000; ++i) {
      const std::set<RingId> before = places(uri(i), copies, replicas);
      const std::set<RingId> after = places(uri(i), copies, replicas * 2);
      if (before == after) continue;
      ++moved;
      for (const RingId& place : after) EXPECT_FALSE(old.contains(place));
      // To the owner that is its old one's neighbour in the set, and that a halving merges with it again.
      EXPECT_EQ(redundancy::partition_of_post(uri(i), copies, replicas * 2),
                redundancy::sibling_of_partition(redundancy::partition_of_post(uri(i), copies, replicas),
                                                 replicas));
    }
    EXPECT_NEAR(moved, 500, 100);
  });
}

TEST(StoragePlace, ReadersOfASetFindEveryPostThatCameWhenItWasSmaller) {
  for_every_set([](unsigned at_rest, unsigned copies, unsigned replicas) {
    const std::vector<unsigned> read = redundancy::partitions_of_set(copies, replicas);
    for (unsigned i = 0; i < 50; ++i) {
      for (unsigned before = at_rest; before <= replicas; before *= 2) {
        EXPECT_TRUE(std::ranges::binary_search(read, redundancy::partition_of_post(uri(i), copies, before)));
      }
    }
  });
}

TEST(StoragePlace, ARemovalGoesWhereverThePostMayHaveBeenPut) {
  for_every_set([](unsigned at_rest, unsigned copies, unsigned replicas) {
    for (unsigned i = 0; i < 50; ++i) {
      const std::vector<unsigned> partitions =
          redundancy::partitions_of_post(uri(i), copies, at_rest, replicas);
      EXPECT_TRUE(std::ranges::is_sorted(partitions));
      EXPECT_EQ(partitions.size(), std::set(partitions.begin(), partitions.end()).size());
      std::set<unsigned> expected;
      for (unsigned before = at_rest; before <= replicas; before *= 2)
        expected.insert(redundancy::partition_of_post(uri(i), copies, before));
      EXPECT_EQ(std::set(partitions.begin(), partitions.end()), expected);
    }
  });
}

TEST(StoragePlace, APostMayBeWhereItWasPutWhateverItsHashtagHadAndNowhereElse) {
  for (unsigned i = 0; i < 50; ++i) {
    const std::vector<unsigned> partitions =
        redundancy::partitions_of_post(uri(i), 4, 4, redundancy::kRelaysMax);
    for (unsigned number = 0; number < redundancy::kPartitionsMax; ++number)
      EXPECT_EQ(redundancy::may_be_in_partition(uri(i), number, 4),
                std::ranges::binary_search(partitions, number));
  }
}

// What is sent to the next one after those that have it must not depend on how large the set has become.
TEST(StoragePlace, AGrowingSetAddsToTheEndOfThePartitionsThatARemovalGoesTo) {
  for (unsigned reach = 4; reach < redundancy::kRelaysMax; reach *= 2) {
    for (unsigned i = 0; i < 50; ++i) {
      const std::vector<unsigned> before = redundancy::partitions_of_post(uri(i), 4, 4, reach);
      const std::vector<unsigned> after = redundancy::partitions_of_post(uri(i), 4, 4, reach * 2);
      ASSERT_GE(after.size(), before.size());
      EXPECT_TRUE(std::ranges::equal(before, std::vector(after.begin(), after.begin() + std::ssize(before))));
    }
  }
}

}  // namespace
}  // namespace tagring::redundancy
