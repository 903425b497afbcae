// Points in time and the port through which all time enters.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tagring {

using Duration = std::chrono::milliseconds;
// Monotonic time, for deadlines. Its epoch means nothing.
struct MonotonicEpoch {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<MonotonicEpoch>;
  static constexpr bool is_steady = true;
};
using Instant = MonotonicEpoch::time_point;
// Milliseconds since 1970-01-01T00:00:00Z, for dates that leave the process. May jump.
using WallTime = std::chrono::sys_time<Duration>;
constexpr std::int64_t to_ms(WallTime time) { return time.time_since_epoch().count(); }

// Where time comes from. Nothing outside an implementation of this asks the system.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
  [[nodiscard]] virtual WallTime wall_now() const = 0;
  // Completes at or after `deadline`. Throws operation_aborted if the calling task is cancelled.
  [[nodiscard]] virtual boost::asio::awaitable<void> sleep_until(Instant deadline) = 0;
};

// "2026-11-21T02:24:00Z", with ".123" when there are milliseconds (RFC 3339, as ActivityStreams uses it).
std::string to_rfc3339(WallTime time);
// Also accepts numeric offsets and any number of fractional digits. Nothing if it is no date and time.
std::optional<WallTime> from_rfc3339(std::string_view text);
// "Sat, 21 Nov 2026 02:24:00 GMT" (RFC 9110 §5.6.7, IMF-fixdate).
std::string to_http_date(WallTime time);
std::optional<WallTime> from_http_date(std::string_view text);
// "2026-11-21". Nothing unless it is exactly that form, and a day that there is.
std::string date(std::chrono::sys_days day);
std::optional<std::chrono::sys_days> parse_date(std::string_view text);

}  // namespace tagring
