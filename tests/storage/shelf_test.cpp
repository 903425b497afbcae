#include "storage/shelf.hpp"

#include <gtest/gtest.h>

namespace tagring::storage {
namespace {

TEST(Shelf, HasTheNameOfItsHashtagAndANumberButForTheFirst) {
  EXPECT_EQ((Shelf{"caturday", 0}).name(), "caturday");
  EXPECT_EQ((Shelf{"caturday", 32}).name(), "caturday/32");
}

TEST(Shelf, ReadsWhatItWrites) {
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    const Result<Shelf> shelf = Shelf::parse(Shelf{"猫", slot}.name());
    ASSERT_TRUE(shelf);
    EXPECT_EQ(shelf->tag, "猫");
    EXPECT_EQ(shelf->slot, slot);
  }
}

TEST(Shelf, RefusesOtherSpellings) {
  for (const char* name :
       {"cats/", "cats/0", "cats/01", "cats/256", "cats/-1", "cats/1/2", "cats/x", "cats/1 "})
    EXPECT_FALSE(Shelf::parse(name)) << name;
}

TEST(Shelf, LiesAsManyPartsOf256BehindTheHashtagAsItsNumberSays) {
  const RingId key = RingId::power_of_two(255) + RingId::power_of_two(3);
  EXPECT_EQ(shelf_key(key, 0), key);
  EXPECT_EQ(shelf_key(key, 1), key + RingId::power_of_two(248));
  EXPECT_EQ(shelf_key(key, 128), RingId::power_of_two(3));
}

}  // namespace
}  // namespace tagring::storage
