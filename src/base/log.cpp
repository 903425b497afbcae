#include "base/log.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/json.hpp"
#include "base/printable.hpp"

namespace tagring {
namespace {

constexpr std::array kNames = {"debug", "info", "warn", "error", "off"};
constexpr std::array kPriorities = {"<7>", "<6>", "<4>", "<3>", ""};  // sd-daemon(3)

// Quoted where logfmt needs it; control characters become spaces, so that a stranger cannot forge a line.
std::string quoted(std::string_view value) {
  const auto is_plain = [](unsigned char c) { return c > ' ' && c != 0x7F && c != '"' && c != '='; };
  std::string shown = printable(value);
  if (!shown.empty() && std::ranges::all_of(shown, is_plain)) return shown;
  std::string result = "\"";
  for (const char c : shown) {
    if (c == '"' || c == '\\') result.push_back('\\');
    result.push_back(c);
  }
  return result + '"';
}

}  // namespace

const char* name_of(LogLevel level) { return kNames[static_cast<std::size_t>(level)]; }
const char* name_of(LogFormat format) { return format == LogFormat::kJson ? "json" : "logfmt"; }

std::optional<LogLevel> log_level_from(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end() || name == "off") return std::nullopt;
  return static_cast<LogLevel>(found - kNames.begin());
}

std::optional<LogFormat> log_format_from(std::string_view name) {
  if (name == "logfmt") return LogFormat::kLogfmt;
  if (name == "json") return LogFormat::kJson;
  return std::nullopt;
}

Log Log::to_stderr(LogLevel least, LogFormat format, const Clock* clock, bool with_priority) {
  return Log(
      [with_priority](LogLevel level, const std::string& line) {
        const char* priority = with_priority ? kPriorities[static_cast<std::size_t>(level)] : "";
        std::fprintf(stderr, "%s%s\n", priority, line.c_str());
      },
      least, format, clock);
}

void Log::write(LogLevel level, std::string_view event, Fields fields) {
  if (!writes(level)) return;
  sink_(level, format_ == LogFormat::kJson ? as_json(level, event, fields) : as_logfmt(level, event, fields));
}

std::string Log::as_logfmt(LogLevel level, std::string_view event, Fields fields) const {
  std::string line = clock_ == nullptr ? "" : fmt::format("time={} ", to_rfc3339(clock_->wall_now()));
  line += fmt::format("level={} event={}", name_of(level), event);
  for (const Field& field : fields) line += fmt::format(" {}={}", field.name, quoted(field.value));
  return line;
}

std::string Log::as_json(LogLevel level, std::string_view event, Fields fields) const {
  json::object line;
  if (clock_ != nullptr) line["time"] = to_rfc3339(clock_->wall_now());
  line["level"] = name_of(level);
  line["event"] = event;
  for (const Field& field : fields) line[field.name] = field.value;
  return json::serialize(line);
}

}  // namespace tagring
