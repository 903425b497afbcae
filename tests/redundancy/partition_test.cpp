#include "redundancy/partition.hpp"

#include <gtest/gtest.h>

namespace tagring::redundancy {
namespace {

TEST(Partition, HasTheNameOfItsHashtagAndANumberButForTheFirst) {
  EXPECT_EQ((redundancy::Partition{"caturday", 0}).name(), "caturday");
  EXPECT_EQ((redundancy::Partition{"caturday", 32}).name(), "caturday/32");
}

TEST(Partition, ReadsWhatItWrites) {
  for (unsigned slot = 0; slot < redundancy::kPartitionsMax; ++slot) {
    const Result<redundancy::Partition> shelf =
        redundancy::Partition::parse(redundancy::Partition{"猫", slot}.name());
    ASSERT_TRUE(shelf);
    EXPECT_EQ(shelf->tag, "猫");
    EXPECT_EQ(shelf->number, slot);
  }
}

TEST(Partition, RefusesOtherSpellings) {
  for (const char* name :
       {"cats/", "cats/0", "cats/01", "cats/256", "cats/-1", "cats/1/2", "cats/x", "cats/1 "})
    EXPECT_FALSE(redundancy::Partition::parse(name)) << name;
}

TEST(Partition, LiesAsManyPartsOf256BehindTheHashtagAsItsNumberSays) {
  const RingId key = RingId::power_of_two(255) + RingId::power_of_two(3);
  EXPECT_EQ(redundancy::partition_key(key, 0), key);
  EXPECT_EQ(redundancy::partition_key(key, 1), key + RingId::power_of_two(248));
  EXPECT_EQ(redundancy::partition_key(key, 128), RingId::power_of_two(3));
}

}  // namespace
}  // namespace tagring::redundancy
