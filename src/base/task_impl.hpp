// Template part of base/task.hpp.
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace tagring {
namespace detail {

// Runs `task`, stores what it returns, and reports to `finish` (a move-only callable held by shared_ptr).
template <class T>
Task<void> run_into(Task<T> task, std::shared_ptr<std::optional<T>> slot) {
  slot->emplace(co_await std::move(task));
}

}  // namespace detail

template <class T>
Task<std::vector<T>> all_of(std::vector<Task<T>> tasks) {
  const auto executor = co_await boost::asio::this_coro::executor;
  std::vector<std::shared_ptr<std::optional<T>>> slots;
  {
    TaskGroup group(executor);
    for (Task<T>& task : tasks) {
      auto slot = std::make_shared<std::optional<T>>();
      slots.push_back(slot);
      group.spawn("all_of", detail::run_into<T>(std::move(task), std::move(slot)));
    }
    co_await group.join();
  }
  std::vector<T> results;
  results.reserve(slots.size());
  for (const auto& slot : slots) {
    if (!*slot) throw boost::system::system_error(boost::asio::error::operation_aborted);  // cancelled
    results.push_back(std::move(**slot));
  }
  co_return results;
}

}  // namespace tagring
