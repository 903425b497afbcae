#include "base/time.hpp"

#include <array>
#include <charconv>
#include <fmt/format.h>

namespace tagring {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// Reads fixed-width numbers and separators from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}
  std::optional<int> number(std::size_t width) {
    if (rest_.size() < width) return std::nullopt;
    int value = 0;
    for (const char c : rest_.substr(0, width)) {
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(width);
    return value;
  }
  bool accept(std::string_view literal) {
    if (!rest_.starts_with(literal)) return false;
    rest_.remove_prefix(literal.size());
    return true;
  }
  char take() {
    const char c = rest_.empty() ? '\0' : rest_.front();
    if (!rest_.empty()) rest_.remove_prefix(1);
    return c;
  }
  [[nodiscard]] char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  [[nodiscard]] bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::optional<WallTime> make_time(int year, int month, int day, int hour, int minute, int second) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return std::chrono::time_point_cast<Duration>(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + std::chrono::seconds(second);
}

struct Parts {
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<Duration> clock;
  unsigned weekday;
};

Parts split(WallTime time) {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  return {std::chrono::year_month_day(days), std::chrono::hh_mm_ss<Duration>(time - days),
          std::chrono::weekday(days).c_encoding()};
}

}  // namespace

std::string to_rfc3339(WallTime time) {
  const Parts parts = split(time);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(parts.date.year()),
                  static_cast<unsigned>(parts.date.month()), static_cast<unsigned>(parts.date.day()),
                  parts.clock.hours().count(), parts.clock.minutes().count(), parts.clock.seconds().count());
  const auto milliseconds = parts.clock.subseconds().count();
  if (milliseconds != 0) text += fmt::format(".{:03}", milliseconds);
  return text + "Z";
}

std::optional<WallTime> from_rfc3339(std::string_view text) {
  Scanner scan(text);
  const auto year = scan.number(4);
  if (!year || !scan.accept("-")) return std::nullopt;
  const auto month = scan.number(2);
  if (!month || !scan.accept("-")) return std::nullopt;
  const auto day = scan.number(2);
  if (day && scan.done()) return make_time(*year, *month, *day, 0, 0, 0);
  if (!day || !(scan.accept("T") || scan.accept("t") || scan.accept(" "))) return std::nullopt;
  const auto hour = scan.number(2);
  if (!hour || !scan.accept(":")) return std::nullopt;
  const auto minute = scan.number(2);
  const auto second = scan.accept(":") ? scan.number(2) : 0;
  if (!minute || !second) return std::nullopt;
  auto time = make_time(*year, *month, *day, *hour, *minute, *second);
  if (!time) return std::nullopt;
  if (scan.accept(".")) {
    int unit = 100;
    int milliseconds = 0;
    if (scan.peek() < '0' || scan.peek() > '9') return std::nullopt;
    while (scan.peek() >= '0' && scan.peek() <= '9') {
      milliseconds += (scan.take() - '0') * unit;
      unit /= 10;
    }
    *time += Duration(milliseconds);
  }
  if (scan.done()) return time;
  const char zone = scan.take();
  if (zone == '+' || zone == '-') {
    const auto hours = scan.number(2);
    scan.accept(":");
    const auto minutes = scan.number(2);
    if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
    const Duration offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
    *time -= zone == '+' ? offset : -offset;
  } else if (zone != 'Z' && zone != 'z') {
    return std::nullopt;
  }
  return scan.done() ? time : std::nullopt;
}

std::string to_http_date(WallTime time) {
  const Parts parts = split(time);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[parts.weekday],
                     static_cast<unsigned>(parts.date.day()),
                     kMonths[static_cast<unsigned>(parts.date.month()) - 1],
                     static_cast<int>(parts.date.year()), parts.clock.hours().count(),
                     parts.clock.minutes().count(), parts.clock.seconds().count());
}

std::optional<WallTime> from_http_date(std::string_view text) {
  if (text.size() != 29 || text.substr(3, 2) != ", ") return std::nullopt;
  Scanner scan(text.substr(5));
  const auto day = scan.number(2);
  if (!day || !scan.accept(" ")) return std::nullopt;
  int month = 0;
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (scan.accept(kMonths[i])) month = static_cast<int>(i) + 1;
  }
  if (month == 0 || !scan.accept(" ")) return std::nullopt;
  const auto year = scan.number(4);
  if (!year || !scan.accept(" ")) return std::nullopt;
  const auto hour = scan.number(2);
  if (!hour || !scan.accept(":")) return std::nullopt;
  const auto minute = scan.number(2);
  if (!minute || !scan.accept(":")) return std::nullopt;
  const auto second = scan.number(2);
  if (!second || !scan.accept(" GMT") || !scan.done()) return std::nullopt;
  return make_time(*year, month, *day, *hour, *minute, *second);
}

std::string date(std::chrono::sys_days day) { return to_rfc3339(WallTime(day)).substr(0, 10); }

std::optional<std::chrono::sys_days> parse_date(std::string_view text) {
  if (text.size() != 10) return std::nullopt;
  const std::optional<WallTime> time = from_rfc3339(std::string(text) + "T00:00:00Z");
  if (!time) return std::nullopt;
  return std::chrono::floor<std::chrono::days>(*time);
}

}  // namespace tagring
