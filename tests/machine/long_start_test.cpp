#include "machine/long_start.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

namespace tagring::machine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Looks without waiting in between, and ends when it has looked so often.
class Supervised {
 public:
  explicit Supervised(std::vector<std::uint64_t> efforts, bool is_watched = true)
      : efforts_(std::move(efforts)), is_watched_(is_watched) {}

  std::vector<std::string> told() {
    LongStart start({.effort = [this] { return next(); },
                     .tell = [this](const std::string& state) { told_.push_back(state); },
                     .is_watched = is_watched_,
                     .every = std::chrono::milliseconds(0)});
    start.note("upgrading, step 1 of 2");
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return looks_ > efforts_.size(); });
    return told_;
  }

 private:
  // Both are called by one thread, which has told all before it looks for the last time.
  std::uint64_t next() {
    const std::scoped_lock lock(mutex_);
    ++looks_;
    ended_.notify_one();
    return looks_ > efforts_.size() ? efforts_.back() : efforts_[looks_ - 1];
  }

  const std::vector<std::uint64_t> efforts_;
  const bool is_watched_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t looks_ = 0;
  std::vector<std::string> told_;
};

TEST(LongStart, HasAsLongAsItNeedsWhileSomethingHappens) {
  const std::vector<std::string> told = Supervised({1, 2, 3, 4}).told();
  ASSERT_EQ(told.size(), 4U);
  for (const std::string& state : told) {
    EXPECT_THAT(state, StartsWith("EXTEND_TIMEOUT_USEC=300000000\n"));
    EXPECT_THAT(state, HasSubstr("\nWATCHDOG_USEC=300000000\nWATCHDOG=1\n"));
    EXPECT_THAT(state, HasSubstr("\nSTATUS=upgrading, step 1 of 2"));
  }
}

TEST(LongStart, WhoHasNoWatchdogGetsNone) {
  EXPECT_EQ(Supervised({1}, /*is_watched=*/false).told(),
            std::vector<std::string>{"EXTEND_TIMEOUT_USEC=300000000\nSTATUS=upgrading, step 1 of 2"});
}

TEST(LongStart, OfOneThatHangsNothingIsSaid) {
  EXPECT_EQ(Supervised({7, 7, 7, 7}).told().size(), 1U);
  EXPECT_EQ(Supervised({7, 7, 8, 8}).told().size(), 2U);
  EXPECT_EQ(Supervised({7, 8, 7, 8, 6, 8}).told().size(), 2U) << "a measure that trembles";
}

TEST(LongStart, WorkOfOtherThreadsIsSeenAndWaitingIsNot) {
  const LongStart::Options options = LongStart::of_process(/*is_elsewhere=*/false);
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::jthread looks([&] {
    before = options.effort();
    std::jthread([] {
      volatile std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < 50'000'000; ++i) sum = sum + i;
    }).join();
    after = options.effort();
  });
  looks.join();
  EXPECT_GT(after, before + 1'000) << "microseconds";
  const LongStart::Options elsewhere = LongStart::of_process(/*is_elsewhere=*/true);
  const std::uint64_t first = elsewhere.effort();
  EXPECT_GT(elsewhere.effort(), first);
}

}  // namespace
}  // namespace tagring::machine
