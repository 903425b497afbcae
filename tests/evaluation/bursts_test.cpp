#include "evaluation/bursts.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace tagring::evaluation {
namespace {

constexpr std::string_view kTable = "burst\tminute\tposts\na\t0\t10\na\t1\t30\nb\t0\t7\n";

TEST(Bursts, ComeInOrderAsManyAndAsFastAsAsked) {
  const auto arrivals = burst_arrivals(kTable, "a", 2, 4, 1);
  ASSERT_TRUE(arrivals);
  EXPECT_EQ(arrivals->size(), 80U);
  EXPECT_TRUE(std::ranges::is_sorted(*arrivals));
  EXPECT_EQ(arrivals->front(), 0);
  EXPECT_LE(arrivals->back(), 30);
  EXPECT_GT(arrivals->back(), 15);
  EXPECT_EQ(*arrivals, *burst_arrivals(kTable, "a", 2, 4, 1));
  EXPECT_EQ(burst_arrivals(kTable, "b", 0.5, 1, 1)->size(), 3U);
}

TEST(Bursts, RefuseWhatIsNotThere) {
  EXPECT_EQ(burst_arrivals(kTable, "c", 1, 1, 1).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(burst_arrivals("burst\tminute\tposts\na\t0\n", "a", 1, 1, 1).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(burst_arrivals("burst\tminute\tposts\na\tx\t1\n", "a", 1, 1, 1).error().code,
            ErrorCode::kInvalid);
  EXPECT_EQ(burst_arrivals(kTable, "a", 1e6, 1, 1).error().code, ErrorCode::kTooLarge);
}

TEST(Bursts, TwoAreBuiltIn) {
  EXPECT_EQ(burst_names(built_in_bursts()), (std::vector<std::string>{"40o20", "ripstevejobs"}));
  EXPECT_EQ(burst_arrivals(built_in_bursts(), "40o20", 1, 1, 1)->size(), 2616U);
}

}  // namespace
}  // namespace tagring::evaluation
