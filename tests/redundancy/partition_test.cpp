#include "redundancy/partition.hpp"

#include <gtest/gtest.h>

#include "tests/tag_literal.hpp"

namespace tagring::redundancy {
namespace {

TEST(Partition, HasTheNameOfItsHashtagAndANumberButForTheFirst) {
  EXPECT_EQ((redundancy::Partition{"caturday"_tag, 0}).name(), "caturday");
  EXPECT_EQ((redundancy::Partition{"caturday"_tag, 32}).name(), "caturday/32");
}

TEST(Partition, ReadsWhatItWrites) {
  for (unsigned number = 0; number < redundancy::kPartitionsMax; ++number) {
    const redundancy::Partition partition{"猫"_tag, number};
    EXPECT_EQ(redundancy::Partition::parse(partition.name()).value(), partition);
    EXPECT_EQ(redundancy::Partition::from_name(partition.name()), partition);
  }
}

TEST(Partition, RefusesOtherSpellings) {
  for (const char* name : {"cats/", "cats/0", "cats/01", "cats/256", "cats/-1", "cats/1/2", "cats/x",
                           "cats/1 ", "Cats", "Cats/1", "#cats/1", "/1", ""})
    EXPECT_FALSE(redundancy::Partition::parse(name)) << name;
}

TEST(Partition, OfTheWholeHashtagIsTheHashtag) {
  const redundancy::Partition whole = "caturday"_tag;
  EXPECT_EQ(whole, (redundancy::Partition{"caturday"_tag, 0}));
  EXPECT_EQ(whole.key(), "caturday"_tag.key());
}

TEST(Partition, LiesAsManyPartsOf256BehindTheHashtagAsItsNumberSays) {
  const RingId key = RingId::power_of_two(255) + RingId::power_of_two(3);
  EXPECT_EQ(redundancy::partition_key(key, 0), key);
  EXPECT_EQ(redundancy::partition_key(key, 1), key + RingId::power_of_two(248));
  EXPECT_EQ(redundancy::partition_key(key, 128), RingId::power_of_two(3));
}

}  // namespace
}  // namespace tagring::redundancy
