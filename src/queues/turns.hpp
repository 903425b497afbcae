// Tasks that do the same thing take turns, in the order in which they asked, so that who comes later finds
// what came of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
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
    // Stands in line.
    Turn(Turns& turns, std::string about) : turns_(&turns), about_(std::move(about)), number_(++turns.last_) {
      turns.lines_[about_].push_back(number_);
    }
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)),
          about_(std::move(other.about_)),
          number_(other.number_) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) turns_->leave(about_, number_);
    }
    [[nodiscard]] bool has_come() const { return turns_->lines_.at(about_).front() == number_; }

   private:
    Turns* turns_;
    std::string about_;
    std::uint64_t number_;
  };
  // Waits until all who asked before are done.
  [[nodiscard]] Task<Turn> take(std::string about) {
    Turn turn(*this, std::move(about));
    while (!turn.has_come()) co_await ended_.wait_until(Instant::max());
    co_return std::move(turn);
  }

 private:
  void leave(const std::string& about, std::uint64_t number) {
    const auto line = lines_.find(about);
    std::erase(line->second, number);
    if (line->second.empty()) {
      lines_.erase(line);
    } else {
      ended_.ring();
    }
  }

  std::uint64_t last_ = 0;
  // Of the turns that were asked for, in that order; the first of each has come.
  std::map<std::string, std::deque<std::uint64_t>> lines_;
  Alarm ended_;
};

}  // namespace tagring::queues
