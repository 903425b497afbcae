// Points in time, the port through which all time enters, and how far it is to be believed.
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
  // What nobody sets either, and goes on while the machine sleeps. Of another epoch than now().
  [[nodiscard]] virtual Instant elapsed() const { return now(); }
  // Completes at or after `deadline`. Throws operation_aborted if the calling task is cancelled.
  [[nodiscard]] virtual boost::asio::awaitable<void> sleep_until(Instant deadline) = 0;
};

// Whether what is old may be given up or deleted by its date. A clock that is set to another day, and back a
// minute later, must not take with it what is still owed; one that stays so is believed a day later. Whoever
// deletes has one, from the start of the process on.
class SteadyDate {
 public:
  static constexpr Duration kSetBy = std::chrono::hours(1);  // a clock that somebody has set
  static constexpr Duration kBelievedAfter = std::chrono::hours(24);
  // From the start. Machines that start with a wrong date ask for the right one then.
  static constexpr Duration kFirstBelievedAfter = std::chrono::hours(1);

  explicit SteadyDate(const Clock& clock)
      : clock_(clock),
        wall_at_(clock.wall_now()),
        at_(clock.elapsed()),
        believed_at_(at_ + kFirstBelievedAfter) {}

  // To be asked each time.
  [[nodiscard]] bool is_believed() {
    const WallTime wall = clock_.wall_now();
    const Instant now = clock_.elapsed();
    const Duration set_by = wall - wall_at_ - (now - at_);
    wall_at_ = wall;
    at_ = now;
    if (set_by > kSetBy || set_by < -kSetBy) doubt();
    return now >= believed_at_;
  }
  // As if the clock had just been set.
  void doubt() { believed_at_ = clock_.elapsed() + kBelievedAfter; }

 private:
  const Clock& clock_;
  // When it was asked last what both clocks said.
  WallTime wall_at_;
  Instant at_;
  Instant believed_at_;
};

// "2026-11-21T02:24:00Z", with ".123" when there are milliseconds (RFC 3339, as ActivityStreams uses it).
std::string to_rfc3339(WallTime time);
// Also accepts numeric offsets, any number of fractional digits, and what servers write besides: an offset
// without its colon; neither offset nor "Z", which is UTC; no seconds, as ActivityStreams allows; a date
// alone, which is its midnight UTC. Nothing if it is no date.
std::optional<WallTime> from_rfc3339(std::string_view text);
// "Sat, 21 Nov 2026 02:24:00 GMT" (RFC 9110 §5.6.7, IMF-fixdate).
std::string to_http_date(WallTime time);
std::optional<WallTime> from_http_date(std::string_view text);
// "2026-11-21". Nothing unless it is exactly that form, and a day that there is.
std::string date(std::chrono::sys_days day);
std::optional<std::chrono::sys_days> parse_date(std::string_view text);

}  // namespace tagring
