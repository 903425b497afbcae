// The system's clocks. The only place of the daemon that asks them.
#pragma once

#include <chrono>

#include "base/task.hpp"
#include "base/time.hpp"

namespace tagring::net {

// What SystemClock::now() says, for code that runs on other threads than the node's.
[[nodiscard]] Instant steady_now();
[[nodiscard]] WallTime system_wall_now();

// The same point in time for a timer; at most a day ahead, because a timer cannot count further than its
// nanoseconds reach, and nothing here waits that long.
[[nodiscard]] std::chrono::steady_clock::time_point to_steady(Instant deadline);

class SystemClock final : public Clock {
 public:
  // Sleeps resume on `executor`.
  explicit SystemClock(Executor executor) : executor_(std::move(executor)) {}

  [[nodiscard]] Instant now() const override { return steady_now(); }
  [[nodiscard]] WallTime wall_now() const override { return system_wall_now(); }
  [[nodiscard]] Instant elapsed() const override;
  [[nodiscard]] Task<void> sleep_until(Instant deadline) override;

 private:
  Executor executor_;
};

}  // namespace tagring::net
