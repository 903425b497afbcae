#include "base/ring_id.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace tagring {
namespace {

RingId at(std::uint64_t top) {
  std::array<std::uint8_t, 32> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(top >> (56 - 8 * i));
  return RingId::from_bytes(bytes);
}

RingId random_id(Rng& rng) {
  std::array<std::uint8_t, 32> bytes{};
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(rng.next());
  return RingId::from_bytes(bytes);
}

TEST(RingId, HexRoundTripsAndRejectsOtherLengths) {
  const std::string hex = "00ff" + std::string(56, '0') + "abcd";
  ASSERT_TRUE(RingId::from_hex(hex));
  EXPECT_EQ(RingId::from_hex(hex)->hex(), hex);
  EXPECT_FALSE(RingId::from_hex(hex + "00"));
  EXPECT_FALSE(RingId::from_hex(hex.substr(2)));
  EXPECT_FALSE(RingId::from_hex("g" + hex.substr(1)));
}

TEST(RingId, AdditionAndSubtractionAreInverseModuloTheRing) {
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    const RingId a = random_id(rng);
    const RingId b = random_id(rng);
    EXPECT_EQ(a + b - b, a);
    EXPECT_EQ(a - b + b, a);
  }
  EXPECT_EQ(RingId() - RingId::power_of_two(0) + RingId::power_of_two(0), RingId());
}

TEST(RingId, OpenIntervalWrapsAroundZero) {
  EXPECT_TRUE(in_open(at(10), at(15), at(20)));
  EXPECT_FALSE(in_open(at(10), at(10), at(20)));
  EXPECT_FALSE(in_open(at(10), at(20), at(20)));
  EXPECT_TRUE(in_open(at(20), at(5), at(10)));
  EXPECT_FALSE(in_open(at(20), at(15), at(10)));
  EXPECT_TRUE(in_open(at(10), at(11), at(10)));
  EXPECT_FALSE(in_open(at(10), at(10), at(10)));
}

TEST(RingId, HalfOpenIntervalHoldsItsEndAndALoneOwnerHoldsAll) {
  EXPECT_TRUE(in_half_open(at(10), at(20), at(20)));
  EXPECT_FALSE(in_half_open(at(10), at(10), at(20)));
  EXPECT_TRUE(in_half_open(at(20), at(20), at(20)));
  EXPECT_TRUE(in_half_open(at(20), at(3), at(20)));
}

TEST(RingId, ReplicasStandEquidistantAndMapBack) {
  Rng rng(2);
  for (const unsigned replicas : {1U, 2U, 4U, 256U}) {
    const RingId key = random_id(rng);
    RingId position = key;
    for (unsigned i = 0; i < replicas; ++i) {
      EXPECT_EQ(replica_key(key, i, replicas), position);
      EXPECT_EQ(key_of_replica(position, i, replicas), key);
      if (replicas > 1) {
        unsigned bits = 0;
        while ((1U << bits) < replicas) ++bits;
        position = position + RingId::power_of_two(256 - bits);
      }
    }
    EXPECT_EQ(position, key);  // once round the ring
  }
}

}  // namespace
}  // namespace tagring
