// Tasks that wait until something changes, or until a time.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/task.hpp"
#include "base/time.hpp"

namespace tagring::queues {

class Alarm {
 public:
  Alarm(Clock& clock, Executor executor) : clock_(clock), executor_(std::move(executor)) {}

  // Completes at `deadline`, when ring() is called, or when who waits is cancelled. Why, is for the caller to
  // look.
  [[nodiscard]] Task<void> wait_until(Instant deadline) {
    auto waiter = std::make_shared<TaskGroup>(executor_);
    waiters_.push_back(waiter);
    waiter->spawn("alarm", clock_.sleep_until(deadline));
    co_await waiter->join();
    std::erase(waiters_, waiter);
  }
  // Wakes everybody who waits now.
  void ring() {
    const auto waiters = std::exchange(waiters_, {});
    for (const auto& waiter : waiters) waiter->cancel();
  }

 private:
  Clock& clock_;
  Executor executor_;
  std::vector<std::shared_ptr<TaskGroup>> waiters_;
};

}  // namespace tagring::queues
