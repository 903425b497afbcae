#include "machine/systemd.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tagring::machine {
namespace {

TEST(Journal, HasWhatGoesToStderrOnlyIfThatIsItsStream) {
  ::unsetenv("JOURNAL_STREAM");
  EXPECT_FALSE(stderr_is_journal());
  ::setenv("JOURNAL_STREAM", "8:1", 1);  // inherited from who runs the tests
  EXPECT_FALSE(stderr_is_journal());
  struct stat status{};
  ASSERT_EQ(::fstat(STDERR_FILENO, &status), 0);
  ::setenv("JOURNAL_STREAM", fmt::format("{}:{}", status.st_dev, status.st_ino).c_str(), 1);
  EXPECT_TRUE(stderr_is_journal());
  ::unsetenv("JOURNAL_STREAM");
}

}  // namespace
}  // namespace tagring::machine
