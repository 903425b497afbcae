// Virtual time: a seeded event queue that runs the code of many nodes in one thread.
//
// Every pending continuation belongs to an owner (a node's incarnation). A crash drops all of an owner's
// continuations: its coroutines are destroyed where they wait, as a killed process's are. Jobs that are ready
// at the same time run in an order drawn from the seed. Same seed, same run: trace() is a hash of every
// event.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "base/task.hpp"
#include "base/time.hpp"

namespace tagring::ring_sim {

using OwnerId = std::uint32_t;
inline constexpr OwnerId kWorld = 0;  // never dropped

class Loop : public boost::asio::execution_context {
 public:
  class Executor;

  // `after_event` is called after every event.
  explicit Loop(std::uint64_t seed, std::function<void()> after_event = [] {});
  ~Loop();

  [[nodiscard]] Executor executor(OwnerId owner);
  [[nodiscard]] Instant now() const { return now_; }
  // The wall clock starts at 2026-01-01T00:00:00Z.
  [[nodiscard]] WallTime wall_now() const;

  // Runs `job` at `time` (now, if that is past) on behalf of `owner`.
  void at(Instant time, OwnerId owner, std::move_only_function<void()> job);

  // Runs a task on behalf of `owner`. An exception out of it ends the program, with its message.
  void spawn(OwnerId owner, Task<void> task);

  // Lets time pass, a step at a time, until `task` has come to its end on behalf of `owner`: what it gives,
  // or nothing if that takes longer than `limit`.
  template <class T>
  std::optional<T> await(OwnerId owner, Task<T> task, Duration limit, Duration every = Duration(20));

  // A place where a coroutine waits: wait() returns once complete() was called for the token, or at the
  // deadline.
  [[nodiscard]] std::uint64_t new_token() { return ++last_token_; }
  // Throws operation_aborted if the waiting task is cancelled.
  [[nodiscard]] Task<void> wait(OwnerId owner, std::uint64_t token, Instant deadline);
  void complete(std::uint64_t token);

  // Runs events up to and including `time`; then it is `time`.
  void run_until(Instant time);
  void run_for(Duration duration) { run_until(now_ + duration); }
  // Destroys everything that waits or is due on behalf of `owner`.
  void drop(OwnerId owner);
  // Of every owner, in one go.
  void drop_all();

  [[nodiscard]] std::uint64_t events() const { return events_; }
  // On whose behalf the latest event ran.
  [[nodiscard]] OwnerId last_event_owner() const { return last_event_owner_; }
  [[nodiscard]] std::uint64_t trace() const { return trace_; }
  // Mixes something that must be the same in every run of a seed into the trace.
  void note(std::uint64_t value) { trace_ = (trace_ ^ value) * 0x100000001B3U; }

 private:
  template <class Condition>
  void drop_if(Condition condition);
  struct Job {
    OwnerId owner;
    std::move_only_function<void()> run;
  };
  struct Waiter {
    OwnerId owner;
    std::move_only_function<void(bool aborted)> resume;
  };
  // What is to happen in one millisecond, in the order in which it was asked for.
  struct Moment {
    std::vector<Job> jobs;
    std::size_t done = 0;
  };

  void push_ready(OwnerId owner, std::move_only_function<void()> job);
  void resume(std::uint64_t token, bool aborted);
  bool step(Instant limit);

  Rng rng_;
  const std::function<void()> after_event_;
  Instant now_{};
  std::vector<Job> ready_;
  std::map<Instant, Moment> timed_;
  std::unordered_map<std::uint64_t, Waiter> waiting_;  // by token
  std::uint64_t last_token_ = 0;
  std::uint64_t events_ = 0;
  OwnerId last_event_owner_ = 0;
  std::uint64_t trace_ = 0xCBF29CE484222325U;
};

// For whoever looks at `result` later.
template <class T>
Task<void> store_result(Task<T> task, std::shared_ptr<std::optional<T>> result) {
  result->emplace(co_await std::move(task));
}

template <class T>
std::optional<T> Loop::await(OwnerId owner, Task<T> task, Duration limit, Duration every) {
  auto result = std::make_shared<std::optional<T>>();
  spawn(owner, store_result<T>(std::move(task), result));
  const Instant end = now_ + limit;
  while (!*result && now_ < end) run_for(every);
  return std::move(*result);
}

// What Asio needs of an executor.
class Loop::Executor {
 public:
  Executor(Loop& loop, OwnerId owner) noexcept : loop_(&loop), owner_(owner) {}

  Loop& query(boost::asio::execution::context_t) const noexcept { return *loop_; }
  static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking.never;
  }
  template <class F>
  void execute(F function) const {
    loop_->push_ready(owner_, std::move(function));
  }
  friend bool operator==(const Executor&, const Executor&) noexcept = default;

 private:
  Loop* loop_;
  OwnerId owner_;
};

// A node's clock on the loop. `skew` shifts its wall time; what the machine slept only now() does not count.
class LoopClock final : public Clock {
 public:
  LoopClock(Loop& loop, OwnerId owner, Duration skew = Duration::zero())
      : loop_(loop), owner_(owner), skew_(skew) {}
  [[nodiscard]] Instant now() const override { return loop_.now(); }
  [[nodiscard]] WallTime wall_now() const override { return loop_.wall_now() + skew_ + slept_; }
  [[nodiscard]] Instant elapsed() const override { return loop_.now() + slept_; }
  void set_skew(Duration skew) { skew_ = skew; }
  void sleep(Duration duration) { slept_ += duration; }
  [[nodiscard]] Task<void> sleep_until(Instant deadline) override {
    return loop_.wait(owner_, loop_.new_token(), deadline);
  }

 private:
  Loop& loop_;
  OwnerId owner_;
  Duration skew_;
  Duration slept_ = Duration::zero();
};

// A value that arrives at a waiting coroutine once, or not in time. The sender keeps the shared pointer.
template <class T>
struct Box {
  std::uint64_t token = 0;
  std::optional<T> value;
};

}  // namespace tagring::ring_sim
