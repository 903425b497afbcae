#include "net/system_clock.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <ctime>

namespace tagring::net {
namespace {
constexpr std::chrono::hours kAheadMax{24};
}

Instant steady_now() {
  // Up, so that a sleep until now() + x never ends before x has passed.
  return Instant(std::chrono::ceil<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

WallTime system_wall_now() { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }

std::chrono::steady_clock::time_point to_steady(Instant deadline) {
  const Instant bounded = std::clamp(deadline, Instant(Duration::zero()), steady_now() + kAheadMax);
  return std::chrono::steady_clock::time_point(bounded.time_since_epoch());
}

// Where there is none that goes on in sleep, what slept is doubted for a day (SteadyDate).
Instant SystemClock::elapsed() const {
#ifdef CLOCK_BOOTTIME
  timespec time{};
  if (::clock_gettime(CLOCK_BOOTTIME, &time) == 0)
    return Instant(std::chrono::floor<Duration>(std::chrono::seconds(time.tv_sec) +
                                                std::chrono::nanoseconds(time.tv_nsec)));
#endif
  return now();
}

Task<void> SystemClock::sleep_until(Instant deadline) {
  while (steady_now() < deadline) {
    boost::asio::steady_timer timer(executor_);
    timer.expires_at(to_steady(deadline));
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
}

}  // namespace tagring::net
