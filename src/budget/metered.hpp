// What time a request, or what the reader of a stream says, takes of the two things that the node has one of,
// the loop and the database's thread, charged to whoever made it.
//
// It is known by the executor that the request runs on: whatever it calls, there it is still who asked. What
// a part does in a task group of its own is the node's doing, and nobody's debt.
#pragma once

#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "base/task.hpp"
#include "budget/manager.hpp"

namespace tagring::budget {

// Of one request, or of all that is said on one stream. Used on the executor that is metered only, which runs
// one task at a time, but for what is about the database.
class Meter {
 public:
  // `may_refuse`: what only reads is refused once the asker has had their time of the database. Whoever sends
  // something is heard to the end, since half of it may be written. `manager` must outlive it.
  Meter(Manager& manager, Spender asker, bool may_refuse)
      : manager_(manager), asker_(std::move(asker)), may_refuse_(may_refuse) {}

  // --- of the loop

  // Up to now, with what runs.
  [[nodiscard]] std::chrono::nanoseconds spent() const {
    return std::chrono::nanoseconds(spent_ + (begun_ == 0 ? 0 : now() - begun_));
  }

  // What has been spent since the last time: at the end of the request, and of whatever is said on a stream.
  void charge_loop() {
    const std::chrono::nanoseconds all = spent();
    manager_.count(Resource::kLoop, asker_, in_us(all - std::exchange(charged_, all)));
  }
  // The asker has not had all of their time yet.
  [[nodiscard]] bool has_time() { return manager_.take(Resource::kLoop, asker_, 0) == Duration::zero(); }

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

  // --- of the database; thread-safe

  // Charged at once, so that many requests at a time have no more than one after the other.
  void charge_database(std::chrono::nanoseconds time) {
    manager_.count(Resource::kDatabase, asker_, in_us(time));
  }
  [[nodiscard]] bool may_read() const {
    return !may_refuse_ || manager_.has_room(Resource::kDatabase, asker_, 0);
  }
  // With whom the request stands in line; empty: with what the node does of itself.
  [[nodiscard]] const std::string& line() const {
    static const std::string kNode;
    return asker_.known ? kNode : asker_.each;
  }
  // Whose share something is; thread-safe, too.
  [[nodiscard]] const std::string& whole() const { return asker_.whole(); }

 private:
  static std::uint64_t in_us(std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::microseconds>(time).count());
  }
  // Of this thread: what others did meanwhile is nobody's debt.
  static std::int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  }

  Manager& manager_;
  const Spender asker_;
  const bool may_refuse_;
  std::chrono::nanoseconds charged_{0};
  std::int64_t spent_ = 0;  // ns
  std::int64_t begun_ = 0;  // 0: nothing runs
};

// An executor that runs tasks on another one, with all properties of that, and says whose they are.
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
  [[nodiscard]] const std::shared_ptr<Meter>& meter() const { return meter_; }
  friend bool operator==(const Metered& a, const Metered& b) noexcept {
    return a.meter_ == b.meter_ && a.below_ == b.below_;
  }

 private:
  Executor below_;
  std::shared_ptr<Meter> meter_;
};

}  // namespace tagring::budget
