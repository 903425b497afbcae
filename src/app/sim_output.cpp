#include <chrono>
#include <cstdio>
#include <fmt/core.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include "app/sim.hpp"

namespace tagring::app {
namespace {
constexpr int kBarWidth = 30;
constexpr double kGuessFrom = 0.05;  // before that nobody knows how long it takes
}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1), start_(steady_seconds()) {}

void Progress::show(std::string_view step, double done) const {
  if (!terminal_) return;
  const double spent = steady_seconds() - start_;
  const int filled = static_cast<int>(done * kBarWidth);
  const std::string left =
      done > kGuessFrom ? fmt::format("about {:.0f} s left", spent / done * (1 - done)) : "";
  fmt::print(stderr, "\r\033[K[{:=<{}}{: <{}}] {}  {}", "", filled, "", kBarWidth - filled, step, left);
  if (done >= 1) fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::kInvalid, path + ": cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<void> write_result(const std::string& path, std::string_view text) {
  if (path == "-") {
    fmt::print("{}\n", text);
    return {};
  }
  std::ofstream file(path, std::ios::binary);
  file << text << '\n';
  file.close();
  if (!file) return fail(ErrorCode::kUnavailable, path + ": cannot be written");
  return {};
}

}  // namespace tagring::app
