#include <gtest/gtest.h>

#include "sim/audit_run.hpp"

namespace tagring::sim {
namespace {

TEST(AuditRun, AStorageOwnerThatDropsPostsIsNamedWithEvidence) {
  AuditRunOptions options;
  const AuditRunResult result = run_audit(options);
  EXPECT_GT(result.dropped, 10U);
  EXPECT_EQ(result.named, result.dropped);
  EXPECT_EQ(result.proved, result.dropped);
  EXPECT_EQ(result.false_named, 0U);
  EXPECT_GE(result.seconds, 0);
  EXPECT_LE(result.seconds, 310);  // the first audit
  RecordProperty("seconds", std::to_string(result.seconds));
}

TEST(AuditRun, ARelayThatPassesNothingOnIsNamedAlthoughAnotherDid) {
  AuditRunOptions options;
  options.ring = Ring::kRelay;
  const AuditRunResult result = run_audit(options);
  EXPECT_GT(result.dropped, 10U);
  EXPECT_EQ(result.named, result.dropped);
  EXPECT_EQ(result.false_named, 0U);
  EXPECT_GE(result.seconds, 600);  // nobody is accused before that
  EXPECT_LE(result.seconds, 1000);
}

}  // namespace
}  // namespace tagring::sim
