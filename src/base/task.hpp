// Coroutines and who owns them.
//
// All protocol logic is Task<T> on one logical thread per node. Functions that can fail return
// Task<Result<T>>. Parameters are values: a reference may die while the coroutine waits. Services are
// members.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"

namespace tagring {

template <class T = void>
using Task = boost::asio::awaitable<T>;

using Executor = boost::asio::any_io_executor;

// Owns the background tasks of one component: the only way to start a coroutine that nobody awaits.
//
// Usage: spawn as needed; on shutdown cancel(), then co_await join(). Destroying a group with live tasks
// aborts, because those tasks still point into their owner; unless the executor has dropped the tasks
// (a crash in the simulator), which counts as their end.
class TaskGroup {
 public:
  explicit TaskGroup(Executor executor);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // The task begins after this has returned, whatever the executor. `name` appears in the abort message if it
  // lets an exception escape that is not its cancellation. After cancel() nothing is started any more.
  void spawn(std::string name, Task<void> task);
  // Each task's current await throws operation_aborted.
  void cancel();
  // Allows spawn again after cancel() and join(). Without a cancel() before it, nothing changes.
  void reopen();
  // Completes when every task has ended. Cancelling who waits here cancels the tasks, and is not answered
  // before they have ended.
  [[nodiscard]] Task<void> join();
  [[nodiscard]] std::size_t size() const;

 private:
  struct State;
  struct Done;
  Executor executor_;
  std::shared_ptr<State> state_;
};

// Runs every task at once and completes when all have ended. Results keep the order of the tasks.
template <class T>
[[nodiscard]] Task<std::vector<T>> all_of(std::vector<Task<T>> tasks);

}  // namespace tagring

#include "base/task_impl.hpp"
