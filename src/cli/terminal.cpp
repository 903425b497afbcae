#include "cli/terminal.hpp"

#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tagring::cli {

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

bool wait_for_reader_to_go(std::chrono::milliseconds patience) {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return ::poll(&output, 1, static_cast<int>(patience.count())) > 0;
}

}  // namespace tagring::cli
