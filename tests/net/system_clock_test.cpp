#include "net/system_clock.hpp"

#include <gtest/gtest.h>

#include "net/fixture.hpp"

namespace tagring::net {
namespace {

using std::chrono::milliseconds;

Task<Duration> time_a_sleep(SystemClock* clock, Duration length) {
  const Instant start = clock->now();
  co_await clock->sleep_until(start + length);
  co_return clock->now() - start;
}

Task<void> sleep_for_ever(SystemClock* clock) { co_await clock->sleep_until(Instant::max()); }

Task<bool> cancel_a_sleeper(SystemClock* clock) {
  TaskGroup group(co_await boost::asio::this_coro::executor);
  group.spawn("sleeper", sleep_for_ever(clock));
  co_await clock->sleep_until(clock->now() + milliseconds(5));
  group.cancel();
  co_await group.join();
  co_return true;
}

TEST(SystemClock, NeverWakesTooEarly) {
  boost::asio::io_context loop(1);
  SystemClock clock(loop.get_executor());
  EXPECT_GE(run(loop, time_a_sleep(&clock, milliseconds(20))), milliseconds(20));
}

TEST(SystemClock, WhatHasElapsedGoesOnInASleep) {
  boost::asio::io_context loop(1);
  SystemClock clock(loop.get_executor());
  const Instant before = clock.elapsed();
  run(loop, time_a_sleep(&clock, milliseconds(20)));
  EXPECT_GE(clock.elapsed() - before, milliseconds(19)) << "it counts whole milliseconds";
}

TEST(SystemClock, DoesNotSleepUntilWhatIsPast) {
  boost::asio::io_context loop(1);
  SystemClock clock(loop.get_executor());
  // An hour, so that a busy machine cannot be taken for a sleep.
  EXPECT_LT(run(loop, time_a_sleep(&clock, -std::chrono::hours(1))), std::chrono::minutes(1));
}

TEST(SystemClock, ASleeperCanBeCancelled) {
  boost::asio::io_context loop(1);
  SystemClock clock(loop.get_executor());
  EXPECT_TRUE(run(loop, cancel_a_sleeper(&clock)));
}

TEST(SystemClock, BoundsDeadlinesThatATimerCannotHold) {
  EXPECT_GT(to_steady(Instant::max()), std::chrono::steady_clock::now());
  EXPECT_LT(to_steady(Instant::min()), std::chrono::steady_clock::now());
}

}  // namespace
}  // namespace tagring::net
