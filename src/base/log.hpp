// The log: event name first, then fields, as logfmt. A port: production writes to stderr, tests capture, the
// simulator drops.
//
//   log.info("peer_joined", {{"peer", host}, {"hops", hops}});
//   level=info event=peer_joined peer=… hops=3
//
// error: an operator must act. warn: something is wrong, we cope. info: rare, and no stranger can cause it in
// volume. debug: the rest. Never log bodies, keys, or people's search terms.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tagring {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError, kOff };

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

  explicit Log(Sink sink, LogLevel least = LogLevel::kInfo) : sink_(std::move(sink)), least_(least) {}
  static Log to_stderr(LogLevel least);
  static Log off() {
    return Log([](LogLevel, const std::string&) {}, LogLevel::kOff);
  }

  void debug(std::string_view event, Fields fields = {}) { write(LogLevel::kDebug, event, fields); }
  void info(std::string_view event, Fields fields = {}) { write(LogLevel::kInfo, event, fields); }
  void warn(std::string_view event, Fields fields = {}) { write(LogLevel::kWarn, event, fields); }
  void error(std::string_view event, Fields fields = {}) { write(LogLevel::kError, event, fields); }

 private:
  void write(LogLevel level, std::string_view event, Fields fields);
  Sink sink_;
  LogLevel least_;
};

}  // namespace tagring
