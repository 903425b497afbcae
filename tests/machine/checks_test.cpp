#include "machine/checks.hpp"

#include <gmock/gmock.h>

namespace tagring::machine {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kGigabyte = 1'000'000'000;

TEST(Disk, TheLastTenthIsForOthers) {
  EXPECT_EQ(room_on({100 * kGigabyte, 30 * kGigabyte, 0}), static_cast<std::int64_t>(20 * kGigabyte));
  EXPECT_EQ(room_on({100 * kGigabyte, 10 * kGigabyte, 0}), 0);
  EXPECT_EQ(room_on({100 * kGigabyte, 4 * kGigabyte, 0}), -static_cast<std::int64_t>(6 * kGigabyte));
}

TEST(Disk, IsBadFromTheReserveOn) {
  EXPECT_TRUE(judge({100 * kGigabyte, 11 * kGigabyte, kGigabyte}, 10 * kGigabyte).ok);
  const health::Check full = judge({100 * kGigabyte, 10 * kGigabyte, kGigabyte}, 10 * kGigabyte);
  EXPECT_FALSE(full.ok);
  EXPECT_EQ(full.detail, "10.0 GB of 100.0 GB free; the node's data takes 1.0 GB, and may take 10.0 GB");
  EXPECT_THAT(full.what_to_do, HasSubstr("keeps off the last 10 %"));
}

TEST(Disk, IsBadBelowAGigabyteHoweverSmallItIs) {
  EXPECT_TRUE(judge({2 * kGigabyte, kGigabyte, 0}, kGigabyte).ok);
  EXPECT_FALSE(judge({2 * kGigabyte, kGigabyte - 1, 0}, kGigabyte).ok);
}

}  // namespace
}  // namespace tagring::machine
