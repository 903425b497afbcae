#include "base/log.hpp"

#include <gtest/gtest.h>

namespace tagring {
namespace {

// As "journalctl -p warning" chooses: the names in the lines are nothing to it.
TEST(Log, LinesForTheJournalBeginWithTheirPriority) {
  for (const LogFormat format : {LogFormat::kLogfmt, LogFormat::kJson}) {
    ::testing::internal::CaptureStderr();
    Log log = Log::to_stderr(LogLevel::kDebug, format, nullptr, /*with_priority=*/true);
    log.debug("a");
    log.info("b");
    log.warn("c");
    log.error("d");
    const std::string written = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(written, format == LogFormat::kJson ? R"(<7>{"level":"debug","event":"a"}
<6>{"level":"info","event":"b"}
<4>{"level":"warn","event":"c"}
<3>{"level":"error","event":"d"}
)"
                                                  : "<7>level=debug event=a\n<6>level=info event=b\n"
                                                    "<4>level=warn event=c\n<3>level=error event=d\n");
  }
}

TEST(Log, ElsewhereLinesBeginAsTheyAre) {
  ::testing::internal::CaptureStderr();
  Log::to_stderr(LogLevel::kInfo).warn("c");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "level=warn event=c\n");
}

}  // namespace
}  // namespace tagring
