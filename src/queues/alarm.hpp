// Tasks that wait until something changes, or until a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/task.hpp"
#include "base/time.hpp"

namespace tagring::queues {

class Alarm {
 public:
  Alarm(Clock& clock, Executor executor) : clock_(clock), executor_(std::move(executor)) {}

  // Completes at `deadline`, when ring() is called, or when who waits is cancelled. Why, is for the caller to
  // look. `other`: its ring() counts as well; it outlives the wait.
  [[nodiscard]] Task<void> wait_until(Instant deadline, Alarm* other = nullptr) {
    const auto waiter = std::make_shared<TaskGroup>(executor_);
    const std::uint64_t place = add(waiter);
    const std::uint64_t place_there = other == nullptr ? 0 : other->add(waiter);
    waiter->spawn("alarm", clock_.sleep_until(deadline));
    co_await waiter->join();
    waiters_.erase(place);
    if (other != nullptr) other->waiters_.erase(place_there);
  }
  // Wakes everybody who waits now.
  void ring() {
    const auto waiters = std::exchange(waiters_, {});
    for (const auto& [place, waiter] : waiters) waiter->cancel();
  }

 private:
  std::uint64_t add(std::shared_ptr<TaskGroup> waiter) {
    waiters_.emplace(++last_, std::move(waiter));
    return last_;
  }

  Clock& clock_;
  Executor executor_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::shared_ptr<TaskGroup>> waiters_;  // in the order in which they came
};

}  // namespace tagring::queues
