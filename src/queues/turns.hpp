// Tasks that do the same thing take turns, so that who comes later finds what came of it.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "base/task.hpp"
#include "base/time.hpp"
#include "queues/alarm.hpp"

namespace tagring::queues {

class Turns {
 public:
  Turns(Clock& clock, Executor executor) : ended_(clock, std::move(executor)) {}

  // Lasts for as long as it lives. The turns outlive it.
  class Turn {
   public:
    Turn(Turns& turns, std::string about) : turns_(&turns), about_(std::move(about)) {}
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), about_(std::move(other.about_)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ == nullptr) return;
      turns_->taken_.erase(about_);
      turns_->ended_.ring();
    }

   private:
    Turns* turns_;
    std::string about_;
  };
  // Waits until nobody else has the turn.
  [[nodiscard]] Task<Turn> take(std::string about) {
    while (taken_.contains(about)) co_await ended_.wait_until(Instant::max());
    taken_.insert(about);
    co_return Turn(*this, std::move(about));
  }

 private:
  std::set<std::string> taken_;
  Alarm ended_;
};

}  // namespace tagring::queues
