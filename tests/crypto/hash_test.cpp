#include "crypto/hash.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/bytes.hpp"

namespace tagring::crypto {
namespace {

// From FIPS 180-4, FIPS 202 and their published examples.
TEST(Hash, Sha256GivesThePublishedValues) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Hash, OfSixtyFourBitsIsTheBeginningOfSha256) { EXPECT_EQ(hash64("abc"), 0xba7816bf8f01cfeaU); }

TEST(Hash, OfADrawTellsNothingOfTheGenerator) {
  Rng rng(7);
  const std::string told = public_draw(rng);
  EXPECT_EQ(told.size(), 16U);
  EXPECT_EQ(told, public_draw(Rng(7))) << "the same seed, the same id";
  EXPECT_NE(told, public_draw(rng)) << "each is drawn";
  Rng same(7);
  const std::uint64_t draw = same.next();
  EXPECT_EQ(std::stoull(told, nullptr, 16), hash64(fmt::format("{:016x}", draw)));
}

TEST(Hash, Sha512GivesThePublishedValue) {
  EXPECT_EQ(to_hex(sha512("abc")),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
}

TEST(Hash, Sha3GivesThePublishedValues) {
  EXPECT_EQ(to_hex(sha3_256("")), "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a");
  EXPECT_EQ(to_hex(sha3_256("abc")), "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532");
}

TEST(Hash, Shake128GivesThePublishedValues) {
  EXPECT_EQ(to_hex(shake128_128("")), "7f9c2ba4e88f827d616045507605853e");
  EXPECT_EQ(to_hex(shake128_128("abc")), "5881092dd818bf5cf8a3ddb793fbcba7");
}

TEST(Hash, NulBytesCount) {
  using namespace std::string_view_literals;
  EXPECT_NE(sha3_256("a"), sha3_256("a\0"sv));
  EXPECT_NE(shake128_128("a"), shake128_128("a\0"sv));
}

}  // namespace
}  // namespace tagring::crypto
