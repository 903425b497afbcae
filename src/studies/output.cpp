#include <chrono>
#include <cstdio>
#include <fmt/core.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include "studies/sim.hpp"

namespace tagring::studies {
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

int finish(const std::string& path, const json::object& figures) {
  if (path == "-") {
    fmt::print("{}\n", json::serialize(figures));
    return kExitOk;
  }
  std::ofstream file(path, std::ios::binary);
  file << json::serialize(figures) << '\n';
  file.close();
  return file ? kExitOk : report(Error(ErrorCode::kUnavailable, path + ": cannot be written"));
}

void add_common_options(CLI::App& command, std::uint64_t& seed, std::string& json) {
  command.add_option("--seed", seed, "Another seed, another run")->capture_default_str();
  command.add_option("--json", json, "Write the figures to that file; - is standard output")
      ->capture_default_str();
}

}  // namespace tagring::studies
