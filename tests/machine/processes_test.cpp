#include "machine/processes.hpp"

#include <gmock/gmock.h>

namespace tagring::machine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Standby, SaysWhoIsTheNodeAndWhoWaits) {
  const health::Check check = judge(sql::Tenure{7, "tagring, process 1 from 192.0.2.11", {"another"}});
  EXPECT_TRUE(check.ok);
  EXPECT_EQ(check.detail,
            "the node, in term 7, is tagring, process 1 from 192.0.2.11; to take over waits another");
}

TEST(Standby, IsMissedWhereNobodyWaits) {
  const health::Check check = judge(sql::Tenure{7, "tagring, process 1", {}});
  EXPECT_FALSE(check.ok);
  EXPECT_THAT(check.detail, AllOf(HasSubstr("term 7"), HasSubstr("no other process waits to take over")));
  EXPECT_THAT(check.what_to_do, HasSubstr("start tagring on the other machine"));
}

TEST(Standby, IsNoUseWhereNobodyIsTheNode) {
  EXPECT_FALSE(judge(sql::Tenure{7, "", {"another"}}).ok);
  EXPECT_FALSE(judge(Result<sql::Tenure>(fail(ErrorCode::kUnavailable, "PostgreSQL cannot be reached"))).ok);
}

TEST(FrontHere, SaysWhichCoreItReaches) {
  const health::Check check = judge({"10.0.0.6:7946", "1.2.3", "10.0.0.5:7946", true});
  EXPECT_TRUE(check.ok);
  EXPECT_EQ(check.detail, "runs here at 10.0.0.6:7946, tagring 1.2.3, and reaches its core at 10.0.0.5:7946");
  EXPECT_THAT(check.what_to_do, HasSubstr("on the core's machine"));
}

TEST(FrontHere, IsBadWithoutACore) {
  const health::Check silent = judge({"10.0.0.6:7946", "1.2.3", "10.0.0.5:7946", false});
  EXPECT_FALSE(silent.ok);
  EXPECT_THAT(silent.what_to_do, HasSubstr("may connect to 10.0.0.5:7946"));
  const health::Check none = judge({"10.0.0.6:7946", "1.2.3", "", false});
  EXPECT_FALSE(none.ok);
  EXPECT_THAT(none.detail, HasSubstr("found no core"));
}

TEST(FrontHere, IsNotLookedForWhereNobodyAnswersForMachines) { EXPECT_FALSE(find_front(config::Config())); }

}  // namespace
}  // namespace tagring::machine
