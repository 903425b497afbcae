#include "machine/long_start.hpp"

#include <fmt/format.h>
#include <optional>
#include <sys/resource.h>

#include "machine/systemd.hpp"

namespace tagring::machine {
namespace {

// In microseconds, and blocks of the disk.
std::int64_t effort_of(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto microseconds = [](const timeval& time) { return time.tv_sec * 1'000'000 + time.tv_usec; };
  return microseconds(usage.ru_utime) + microseconds(usage.ru_stime) + usage.ru_inblock + usage.ru_oublock;
}

// Without that of the thread that looks: what that has done itself leaves a few microseconds more or less.
std::uint64_t effort_of_others() {
  return static_cast<std::uint64_t>(effort_of(RUSAGE_SELF) - effort_of(RUSAGE_THREAD));
}

}  // namespace

LongStart::Options LongStart::of_process(bool is_elsewhere) {
  auto waits = [ticks = std::uint64_t{0}]() mutable { return ++ticks; };
  return {.effort = is_elsewhere ? std::function<std::uint64_t()>(waits) : effort_of_others,
          .tell = [](const std::string& state) { notify_systemd(state); },
          .is_watched = watchdog_interval().has_value()};
}

void LongStart::note(std::string status) {
  const std::scoped_lock lock(mutex_);
  status_ = std::move(status);
  if (!thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& stop) { tell_for_ever(stop); });
}

// One that stood by counts as started, and has a watchdog, to which the usual interval is told again by
// whoever pleases it later.
void LongStart::tell_for_ever(const std::stop_token& stop) {
  const auto patience = std::chrono::microseconds(kHangs).count();
  const std::string watchdog =
      options_.is_watched ? fmt::format("WATCHDOG_USEC={}\nWATCHDOG=1\n", patience) : "";
  std::optional<std::uint64_t> seen;
  std::unique_lock lock(mutex_);
  do {  // once at least, however short it is
    const std::uint64_t effort = options_.effort();
    if (!seen || effort > *seen) {
      options_.tell(fmt::format("EXTEND_TIMEOUT_USEC={}\n{}STATUS={}", patience, watchdog, status_));
      seen = effort;
    }
    ends_.wait_for(lock, stop, options_.every, [] { return false; });
  } while (!stop.stop_requested());
}

}  // namespace tagring::machine
