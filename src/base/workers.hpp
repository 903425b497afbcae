// Where work goes that would block the loop: signatures, TLS, SQL.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/task.hpp"

namespace tagring {

// A pool that runs blocking jobs. In the simulator there is none, and jobs run where they are asked for.
class Workers {
 public:
  // `pool` empty: jobs run inline, on the caller's executor.
  explicit Workers(Executor pool = {}) : pool_(std::move(pool)) {}

  // Runs `job` on the pool; resumes the caller on its own executor with the answer. `job` must own what it
  // uses. Who is cancelled goes on when the job has ended: a coroutine on the pool would be cancelled by
  // another thread than runs it.
  template <class F>
  [[nodiscard]] Task<std::invoke_result_t<F>> run(F job) {
    if (!pool_) co_return job();
    namespace asio = boost::asio;
    using Answer = std::optional<std::invoke_result_t<F>>;
    // Counts as work there until the answer is back.
    const auto caller =
        asio::prefer(co_await asio::this_coro::executor, asio::execution::outstanding_work.tracked);
    auto start = [this, caller](auto handler, F work) {
      asio::post(pool_, [caller, handler = std::move(handler), work = std::move(work)]() mutable {
        std::exception_ptr error;
        Answer answer;
        try {
          answer.emplace(work());
        } catch (...) {
          error = std::current_exception();
        }
        asio::post(caller, [handler = std::move(handler), error, answer = std::move(answer)]() mutable {
          std::move(handler)(error, std::move(answer));
        });
      });
    };
    Answer answer =
        co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr, Answer)>(
            std::move(start), asio::use_awaitable, std::move(job));
    co_return std::move(*answer);
  }

 private:
  Executor pool_;
};

}  // namespace tagring
