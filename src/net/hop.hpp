// Awaiting a task that runs on another executor: the bridge between the node's loop and the I/O threads.
// Internal to net/.
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/task.hpp"

namespace tagring::net {
namespace detail {

// Shared by both sides. `signal` and `ended` belong to the target, `resume` is called once, on the caller's
// executor, after `value` was written.
template <class T>
struct Hop {
  boost::asio::cancellation_signal signal;
  bool ended = false;
  std::optional<T> value;
  Executor target;  // only here: an executor must not outlive its context
  Executor caller;  // counts as work there until the answer is back
  std::move_only_function<void(std::exception_ptr)> resume;
};

// The end of the target's task. It has its own cancellation slot because Boost 1.81's co_spawn posts a
// cancellation with a raw pointer when the handler is bound to an executor.
template <class T>
struct HopDone {
  using cancellation_slot_type = boost::asio::cancellation_slot;  // NOLINT: the name Asio looks for
  std::shared_ptr<Hop<T>> hop;

  explicit HopDone(std::shared_ptr<Hop<T>> shared) : hop(std::move(shared)) {}
  HopDone(HopDone&&) noexcept = default;
  HopDone& operator=(HopDone&&) = delete;
  // An executor that goes drops its tasks. Then the caller goes too: it would wait for ever, owning itself.
  ~HopDone() {
    if (!hop || hop->ended) return;
    hop->ended = true;
    hop->target = {};
    const auto dropped = std::move(hop->resume);
  }

  [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept { return hop->signal.slot(); }
  void operator()(std::exception_ptr error) const {
    hop->ended = true;
    Executor caller = std::move(hop->caller);
    boost::asio::post(caller, [resume = std::move(hop->resume), error]() mutable { resume(error); });
  }
};

template <class T>
Task<void> fill(Task<T> task, std::shared_ptr<Hop<T>> hop) {
  hop->value.emplace(co_await std::move(task));
}

}  // namespace detail

// Runs `task` on `target`, which must not run two handlers at once; resumes the caller on its own executor.
// Cancelling the caller cancels the task, and the caller goes on when the task has ended.
template <class T>
[[nodiscard]] Task<T> run_on(Executor target, Task<T> task) {
  const Executor caller = co_await boost::asio::this_coro::executor;
  auto hop = std::make_shared<detail::Hop<T>>();
  hop->target = std::move(target);
  auto start = [hop, caller, task = std::move(task)](auto handler) mutable {
    auto slot = boost::asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) {
      slot.assign([hop](boost::asio::cancellation_type type) {
        boost::asio::post(hop->target, [hop, type] {
          if (!hop->ended) hop->signal.emit(type);
        });
      });
    }
    hop->caller = boost::asio::prefer(caller, boost::asio::execution::outstanding_work.tracked);
    hop->resume = [handler = std::move(handler)](std::exception_ptr error) mutable {
      std::move(handler)(error);
    };
    boost::asio::co_spawn(hop->target, detail::fill<T>(std::move(task), hop), detail::HopDone<T>{hop});
  };
  co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(std::exception_ptr)>(
      std::move(start), boost::asio::use_awaitable);
  co_return std::move(*hop->value);
}

}  // namespace tagring::net
