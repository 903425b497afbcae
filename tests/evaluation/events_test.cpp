#include "evaluation/events.hpp"

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

TEST(Events, TablesAreRead) {
  const auto outages = parse_outages("rank\tdown\tup\n2\t1.5\t3\n").value();
  EXPECT_EQ(outages.at(0).node, 1U);
  EXPECT_EQ(outages.at(0).up, 3);
  EXPECT_EQ(parse_outages("rank\tdown\tup\n1\t5\t3\n").error().message, "line 2: no rank, or up before down");
  const Stream stream = parse_stream("rank_before\tposts\nall\t0:5 2:7\n4\t0:2\n").value();
  EXPECT_EQ(stream.of_hour, (std::vector<double>{5, 0, 7}));
  EXPECT_EQ(stream.tags.at(0).rank_before, 4U);
  EXPECT_EQ(parse_stream("rank_before\tposts\nall\t0-5\n").error().message, "line 2: '0-5' is no time:posts");
  EXPECT_FALSE(parse_stream("rank_before\tposts\n4\t0:2\n"));
}

TEST(Events, TheBuiltInTablesCoverTheSameWeeks) {
  const Stream stream = parse_stream(built_in_stream()).value();
  EXPECT_EQ(stream.of_hour.size(), 46U * 24);
  double last = 0;
  for (const Outage& outage : parse_outages(built_in_outages()).value()) {
    EXPECT_LT(outage.node, 1'020U);
    last = std::max(last, outage.up);
  }
  EXPECT_NEAR(last, 46 * 24, 1);
}

}  // namespace
}  // namespace tagring::evaluation
