#include "followers/digest.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace tagring::followers {
namespace {

using Ids = std::vector<std::string>;

const std::string kZeros(64, '0');
const std::string kFirst = "https://testing.example.org/users/1";
const std::string kSecond = "https://testing.example.org/users/2";
const std::string kBoth = "c33f48cd341ef046a206b8a72ec97af65079f9a3a9b90eef79c5920dce45c61f";
const std::string kAlice = "https://example.org/users/alice";
const std::string kBob = "https://example.org/users/bob";

std::string hex_of(const Ids& ids) { return Digest::of(ids).hex(); }

TEST(Digest, OfFepExample) {
  EXPECT_EQ(hex_of({kFirst}), "3a06e99569547f444c352ab7f52e4bab207abec5ca6f07b0045cfdc9723f8fa9");
  EXPECT_EQ(hex_of({kSecond}), "f939a1585d4a8f02ee339210dbe7315d7003476663d6095f7d996fc4bc7a49b6");
  EXPECT_EQ(hex_of({kFirst, kSecond}), kBoth);
}

TEST(Digest, OfNobodyIsZero) {
  EXPECT_EQ(hex_of({}), kZeros);
  EXPECT_EQ(Digest().hex(), kZeros);
}

TEST(Digest, OfFedifyCollectionTestCountsARepeatedIdOnce) {
  EXPECT_EQ(hex_of({kFirst, kSecond, kSecond}), kBoth);
  EXPECT_EQ(hex_of({kSecond, kSecond}), hex_of({kSecond}));
}

TEST(Digest, OfUnfathomablyAndSprezzDoesNotDependOnTheOrder) { EXPECT_EQ(hex_of({kSecond, kFirst}), kBoth); }

TEST(Digest, OfMastodonInteractionsSpecFollowsEachChange) {
  Digest digest;
  digest.add("https://example.org");  // an instance actor, without a path
  digest.add(kBob);
  digest.add(kAlice);
  EXPECT_EQ(digest.hex(), "20aecbe774b3d61c25094370baf370012b9271c5b172ecedb05caff8d79ef0c7");
  digest.remove("https://example.org");
  EXPECT_EQ(digest.hex(), "707962e297b7bd94468a21bc8e506a1bcea607a9142cd64e27c9b106b2a5f6ec");
  digest.remove(kAlice);
  EXPECT_EQ(digest.hex(), "241b00794ce9b46aa864f3220afadef128318da2659782985bac5ed5bd436bff");
  digest.add(kAlice);
  EXPECT_EQ(digest.hex(), "707962e297b7bd94468a21bc8e506a1bcea607a9142cd64e27c9b106b2a5f6ec");
  digest.remove(kAlice);
  digest.remove(kBob);
  EXPECT_EQ(digest.hex(), kZeros);
  EXPECT_EQ(hex_of({"https://foo.org/users/eve"}),
            "ccb9c18a67134cfff9d62c7f7e7eb88e6b803446c244b84265565f4eba29df0e");
}

TEST(Digest, OfMastodonDocumentation) {
  const std::string gargron = "https://mastodon.social/users/Gargron";
  EXPECT_EQ(hex_of({gargron}), "b08ab6951c7d6cc2b91e17ebd9557da7fae02489728e9332fcb3a97748244d50");
  EXPECT_EQ(hex_of({gargron, "https://mastodon.social/users/Edent"}),
            "f11cad446acb5adc7b125c686741840c177d3947308201e13e66671f841a1a2e");
}

TEST(Digest, OfAThousand) {
  Ids ids;
  for (int i = 1; i <= 1000; ++i) ids.push_back("https://peer.example/users/u" + std::to_string(i));
  EXPECT_EQ(hex_of(ids), "b2e09dbde9e7e05ee5b002618a42018e4490a13a01bc8368679f6c3d7ba515ff");
}

TEST(Digest, HashesIdsAsTheyArePublished) {
  EXPECT_NE(hex_of({kAlice}), hex_of({kAlice + "/"}));
  EXPECT_NE(hex_of({kAlice}), hex_of({"https://Example.org/users/alice"}));
}

TEST(Digest, HasOneHexadecimalForm) {
  const auto lower = Digest::from_hex(kBoth);
  const auto upper = Digest::from_hex("C33F48CD341EF046A206B8A72EC97AF65079F9A3A9B90EEF79C5920DCE45C61F");
  ASSERT_TRUE(lower && upper);
  EXPECT_EQ(*lower, *upper);
  EXPECT_EQ(*lower, Digest::of(Ids{kFirst, kSecond}));
  EXPECT_EQ(upper->hex(), kBoth);
  EXPECT_EQ(Digest(lower->bytes()), *lower);
}

TEST(Digest, IsNothingElseThan64HexadecimalDigits) {
  EXPECT_FALSE(Digest::from_hex(""));
  EXPECT_FALSE(Digest::from_hex(kBoth.substr(1)));
  EXPECT_FALSE(Digest::from_hex(kBoth.substr(2)));
  EXPECT_FALSE(Digest::from_hex(kBoth + "00"));
  EXPECT_FALSE(Digest::from_hex(kBoth.substr(1) + "g"));
  EXPECT_FALSE(Digest::from_hex("sha-256=" + kBoth.substr(8)));
}

}  // namespace
}  // namespace tagring::followers
