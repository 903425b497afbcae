// An executor that runs tasks on another one, and adds up what time of the processor they take there: who
// asked is charged for it. Internal to server/.
#pragma once

#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <chrono>
#include <ctime>
#include <memory>
#include <utility>

#include "base/task.hpp"

namespace tagring::server {

// Used on the executor that is metered only, which runs one task at a time.
class Meter {
 public:
  // Up to now, with what runs.
  [[nodiscard]] std::chrono::nanoseconds spent() const {
    return std::chrono::nanoseconds(spent_ + (begun_ == 0 ? 0 : now() - begun_));
  }

  // Counts for as long as it lives. One within another does not: that one counts.
  class Run {
   public:
    explicit Run(Meter& meter) : meter_(std::exchange(runs_, true) ? nullptr : &meter) {
      if (meter_ != nullptr) meter_->begun_ = now();
    }
    ~Run() {
      if (meter_ == nullptr) return;
      meter_->spent_ += now() - std::exchange(meter_->begun_, 0);
      runs_ = false;
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    static inline thread_local bool runs_ = false;
    Meter* meter_;
  };

 private:
  // Of this thread: what others did meanwhile is nobody's debt.
  static std::int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  }

  std::int64_t spent_ = 0;  // ns
  std::int64_t begun_ = 0;  // 0: nothing runs
};

// With all properties of the executor below it.
class Metered {
 public:
  Metered(Executor below, std::shared_ptr<Meter> meter)
      : below_(std::move(below)), meter_(std::move(meter)) {}

  template <class F>
  void execute(F&& task) const {
    below_.execute([task = std::forward<F>(task), meter = meter_]() mutable {
      const Meter::Run run(*meter);
      std::move(task)();
    });
  }
  template <class Property>
  [[nodiscard]] auto query(const Property& property) const
      -> decltype(boost::asio::query(std::declval<const Executor&>(), property)) {
    return boost::asio::query(below_, property);
  }
  template <class Property>
  [[nodiscard]] auto require(const Property& property) const
      -> decltype(Metered(boost::asio::require(std::declval<const Executor&>(), property), nullptr)) {
    return {boost::asio::require(below_, property), meter_};
  }
  template <class Property>
  [[nodiscard]] auto prefer(const Property& property) const
      -> decltype(Metered(boost::asio::prefer(std::declval<const Executor&>(), property), nullptr)) {
    return {boost::asio::prefer(below_, property), meter_};
  }
  friend bool operator==(const Metered& a, const Metered& b) noexcept {
    return a.meter_ == b.meter_ && a.below_ == b.below_;
  }

 private:
  Executor below_;
  std::shared_ptr<Meter> meter_;
};

}  // namespace tagring::server
