#include "base/log.hpp"

#include <array>
#include <cstdio>

namespace tagring {
namespace {

constexpr std::array kNames = {"debug", "info", "warn", "error", "off"};

// Quoted where logfmt needs it; control characters become spaces, so that a stranger cannot forge a line.
std::string quoted(std::string_view value) {
  if (!value.empty() && value.find_first_of(" \"=\n\r\t") == std::string_view::npos)
    return std::string(value);
  std::string result = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') result.push_back('\\');
    result.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
  }
  return result + '"';
}

}  // namespace

Log Log::to_stderr(LogLevel least) {
  return Log([](LogLevel, const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }, least);
}

void Log::write(LogLevel level, std::string_view event, Fields fields) {
  if (level < least_) return;
  std::string line = fmt::format("level={} event={}", kNames[static_cast<std::size_t>(level)], event);
  for (const Field& field : fields) line += fmt::format(" {}={}", field.name, quoted(field.value));
  sink_(level, line);
}

}  // namespace tagring
