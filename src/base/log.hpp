// The log: time, level and name of the event, then fields, as logfmt or JSON. A port: production writes to
// stderr, tests capture, the simulator drops.
//
//   log.info("peer_joined", {{"peer", host}, {"hops", hops}});
//   time=2026-11-23T04:20:00.123Z level=info event=peer_joined peer=… hops=3
//
// error: an operator must act. warn: something is wrong, we cope. info: rare, and no stranger can cause it in
// volume. debug: the rest. Never log bodies, keys, or people's search terms.
#pragma once

#include <atomic>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace tagring {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError, kOff };
enum class LogFormat : std::uint8_t { kLogfmt, kJson };
std::optional<LogLevel> log_level_from(std::string_view name);    // "debug", "info", "warn", "error"
std::optional<LogFormat> log_format_from(std::string_view name);  // "logfmt", "json"
const char* name_of(LogLevel level);
const char* name_of(LogFormat format);

class Log {
 public:
  struct Field {
    Field(std::string_view field_name, std::string_view text) : name(field_name), value(text) {}
    Field(std::string_view field_name, const char* text) : name(field_name), value(text) {}
    Field(std::string_view field_name, const std::string& text) : name(field_name), value(text) {}
    template <class T>
      requires std::is_arithmetic_v<T>
    Field(std::string_view field_name, T number) : name(field_name), value(fmt::to_string(number)) {}
    std::string_view name;
    std::string value;
  };
  using Fields = std::initializer_list<Field>;
  using Sink = std::function<void(LogLevel level, const std::string& line)>;

  // `clock`, if there is one, gives each line its time; it outlives the log.
  explicit Log(Sink sink, LogLevel least = LogLevel::kInfo, LogFormat format = LogFormat::kLogfmt,
               const Clock* clock = nullptr)
      : sink_(std::move(sink)), least_(least), format_(format), clock_(clock) {}
  // `with_priority`: each line begins with its level as the journal takes it, "<4>", and leaves it out.
  static Log to_stderr(LogLevel least, LogFormat format = LogFormat::kLogfmt, const Clock* clock = nullptr,
                       bool with_priority = false);
  static Log off() {
    return Log([](LogLevel, const std::string&) {}, LogLevel::kOff);
  }

  // From any thread.
  void set_least(LogLevel least) { least_ = least; }
  // For those whose fields cost something.
  [[nodiscard]] bool writes(LogLevel level) const { return level >= least_; }
  void debug(std::string_view event, Fields fields = {}) { write(LogLevel::kDebug, event, fields); }
  void info(std::string_view event, Fields fields = {}) { write(LogLevel::kInfo, event, fields); }
  void warn(std::string_view event, Fields fields = {}) { write(LogLevel::kWarn, event, fields); }
  void error(std::string_view event, Fields fields = {}) { write(LogLevel::kError, event, fields); }

 private:
  void write(LogLevel level, std::string_view event, Fields fields);
  [[nodiscard]] std::string as_logfmt(LogLevel level, std::string_view event, Fields fields) const;
  [[nodiscard]] std::string as_json(LogLevel level, std::string_view event, Fields fields) const;

  const Sink sink_;
  std::atomic<LogLevel> least_;
  LogFormat format_;
  const Clock* clock_;
};

}  // namespace tagring
