#include "cli/terminal.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tagring::cli {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

std::string painted(Colour colour, std::string_view text) {
  constexpr std::array kCodes = {"31", "32", "33", "1"};
  const char* no_colour = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): nobody sets any
  if (::isatty(STDOUT_FILENO) != 1 || (no_colour != nullptr && no_colour[0] != '\0'))
    return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", kCodes.at(static_cast<std::size_t>(colour)), text);
}

std::optional<std::size_t> terminal_width() {
  constexpr std::size_t kUsual = 80;
  if (::isatty(STDOUT_FILENO) != 1) return std::nullopt;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return size.ws_col;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string_view first_columns(std::string_view text, std::size_t count) {
  const auto is_next = [left = count](char c) mutable { return begins_character(c) && left-- == 0; };
  return {text.begin(), std::ranges::find_if(text, is_next)};
}

std::string wrapped(std::string_view text, std::size_t indent, std::optional<std::size_t> width) {
  const std::size_t room = !width ? text.size() : *width - std::min(*width - 1, indent);
  std::string lines;
  while (columns_of(text) > room) {
    // The blank may be the one behind a line that is full.
    std::size_t end = first_columns(text, room + 1).rfind(' ');
    if (end == std::string_view::npos) end = text.find(' ');
    if (end == std::string_view::npos) break;
    lines += fmt::format("{}\n{:{}}", text.substr(0, end), "", indent);
    text.remove_prefix(end + 1);
  }
  return lines + std::string(text);
}

bool wait_for_reader_to_go(std::chrono::milliseconds patience) {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return ::poll(&output, 1, static_cast<int>(patience.count())) > 0;
}

}  // namespace tagring::cli
