// Where work goes that would block the loop: signatures, TLS, SQL.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <type_traits>

#include "base/task.hpp"

namespace tagring {

// A pool that runs blocking jobs. In the simulator there is none, and jobs run where they are asked for.
class Workers {
 public:
  // `pool` empty: jobs run inline, on the caller's executor.
  explicit Workers(Executor pool = {}) : pool_(std::move(pool)) {}

  // Runs `job` on the pool; resumes the caller on its own executor with the answer. `job` must own what it
  // uses.
  template <class F>
  [[nodiscard]] Task<std::invoke_result_t<F>> run(F job) {
    if (!pool_) co_return job();
    // Asio makes an empty answer for the case of an exception, hence the optional.
    auto answer = co_await boost::asio::co_spawn(pool_, run_job(std::move(job)), boost::asio::use_awaitable);
    co_return std::move(*answer);
  }

 private:
  template <class F>
  static Task<std::optional<std::invoke_result_t<F>>> run_job(F job) {
    co_return std::optional(job());
  }
  Executor pool_;
};

}  // namespace tagring
