#include "ring_sim/loop.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <utility>

#include "base/assert.hpp"

namespace tagring::ring_sim {
namespace asio = boost::asio;

Loop::Loop(std::uint64_t seed, std::function<void()> after_event)
    : rng_(seed), after_event_(std::move(after_event)) {}

Loop::~Loop() {
  // Continuations may own each other; take them out before they die.
  auto ready = std::exchange(ready_, {});
  auto timed = std::exchange(timed_, {});
  auto waiting = std::exchange(waiting_, {});
}

Loop::Executor Loop::executor(OwnerId owner) { return {*this, owner}; }

WallTime Loop::wall_now() const {
  constexpr WallTime kStart{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)};
  return kStart + now_.time_since_epoch();
}

void Loop::push_ready(OwnerId owner, std::move_only_function<void()> job) {
  ready_.push_back({owner, std::move(job)});
}

void Loop::at(Instant time, OwnerId owner, std::move_only_function<void()> job) {
  timed_[std::max(time, now_)].jobs.push_back({owner, std::move(job)});
}

Task<void> Loop::wait(OwnerId owner, std::uint64_t token, Instant deadline) {
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(boost::system::error_code)>(
      [this, owner, token, deadline](auto handler) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) {
          slot.assign([this, token](asio::cancellation_type) { resume(token, true); });
        }
        waiting_.emplace(token, Waiter{owner, [h = std::move(handler)](bool aborted) mutable {
                                         boost::system::error_code error;
                                         if (aborted) error = asio::error::operation_aborted;
                                         std::move(h)(error);
                                       }});
        at(deadline, owner, [this, token] { resume(token, false); });
      },
      asio::use_awaitable);
}

void Loop::complete(std::uint64_t token) { resume(token, false); }

void Loop::resume(std::uint64_t token, bool aborted) {
  const auto it = waiting_.find(token);
  if (it == waiting_.end()) return;
  Waiter waiter = std::move(it->second);
  waiting_.erase(it);
  push_ready(waiter.owner, [resume = std::move(waiter.resume), aborted]() mutable { resume(aborted); });
}

bool Loop::step(Instant limit) {
  if (ready_.empty()) {
    const auto next = timed_.begin();
    if (next == timed_.end() || next->first > limit) return false;
    now_ = next->first;
    Moment& moment = next->second;
    ready_.push_back(std::move(moment.jobs[moment.done++]));
    if (moment.done == moment.jobs.size()) timed_.erase(next);
  }
  const std::size_t pick = ready_.size() == 1 ? 0 : rng_.below(ready_.size());
  Job job = std::move(ready_[pick]);
  if (pick + 1 != ready_.size()) ready_[pick] = std::move(ready_.back());
  ready_.pop_back();
  ++events_;
  last_event_owner_ = job.owner;
  note(static_cast<std::uint64_t>(now_.time_since_epoch().count()) << 20U ^ job.owner);
  job.run();
  after_event_();
  return true;
}

void Loop::spawn(OwnerId owner, Task<void> task) {
  boost::asio::co_spawn(executor(owner), std::move(task), [](std::exception_ptr error) {
    if (!error) return;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "simulation: %s\n", e.what());
      std::abort();
    }
  });
}

void Loop::run_until(Instant time) {
  while (step(time)) {
  }
  now_ = std::max(now_, time);
}

void Loop::drop(OwnerId owner) {
  TR_ASSERT(owner != 0);
  drop_if([owner](OwnerId of) { return of == owner; });
}

void Loop::drop_all() {
  drop_if([](OwnerId of) { return of != 0; });
}

template <class Condition>
void Loop::drop_if(Condition condition) {
  // Destroying a coroutine may destroy or queue others of the same owner: repeat until none is left.
  for (;;) {
    std::vector<Job> doomed_jobs;
    std::map<std::uint64_t, Waiter> doomed_waiters;  // in the order of their tokens, always the same
    const auto doom = [&](std::vector<Job>& jobs, std::size_t done) {
      std::size_t kept = done;
      for (std::size_t i = done; i < jobs.size(); ++i) {
        if (condition(jobs[i].owner)) {
          doomed_jobs.push_back(std::move(jobs[i]));
        } else if (kept++ != i) {
          jobs[kept - 1] = std::move(jobs[i]);
        }
      }
      jobs.resize(kept);
    };
    doom(ready_, 0);
    for (auto it = timed_.begin(); it != timed_.end();) {
      Moment& moment = it->second;
      doom(moment.jobs, moment.done);
      it = moment.done == moment.jobs.size() ? timed_.erase(it) : std::next(it);
    }
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      if (condition(it->second.owner)) {
        doomed_waiters.emplace(it->first, std::move(it->second));
        it = waiting_.erase(it);
      } else {
        ++it;
      }
    }
    if (doomed_jobs.empty() && doomed_waiters.empty()) return;
  }
}

}  // namespace tagring::ring_sim
