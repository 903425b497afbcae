#include "ring_sim/trace.hpp"

#include <gtest/gtest.h>

namespace tagring::ring_sim {
namespace {

RingTrace calm(std::size_t hosts, Duration length) {
  RingTrace trace;
  trace.hosts = hosts;
  trace.length = length;
  trace.lookup_every = std::chrono::milliseconds(200);
  return trace;
}

TEST(RingTrace, NoLookUpFailsWhereNobodyGoes) {
  const RingTraceResult result = run_ring_trace(1, calm(40, std::chrono::minutes(5)));
  EXPECT_GT(result.lookups, 1'000U);
  EXPECT_EQ(result.failed_first, 0U);
  EXPECT_TRUE(result.ideal);
}

// One of forty hosts goes and comes back every 40 s: thousands of times what servers do.
TEST(RingTrace, NearlyEveryLookUpSucceedsAtTheSecondAttemptAmongHostsThatComeAndGo) {
  RingTrace trace = calm(40, std::chrono::minutes(20));
  for (std::size_t i = 0; i < 30; ++i) {
    const Duration at = std::chrono::seconds(40) * static_cast<Duration::rep>(i);
    trace.changes.push_back({at, i, false});
    trace.changes.push_back({at + std::chrono::seconds(20), i, true});
  }
  const RingTraceResult result = run_ring_trace(1, trace);
  EXPECT_EQ(result.crashes, 30U);
  EXPECT_EQ(result.joins, 30U);
  EXPECT_EQ(result.up_at_least, 39U);
  EXPECT_GT(result.failed_first, 0U);  // those that asked who had just gone
  EXPECT_LT(static_cast<double>(result.failed), 0.01 * static_cast<double>(result.lookups));
  EXPECT_TRUE(result.ideal);
}

}  // namespace
}  // namespace tagring::ring_sim
