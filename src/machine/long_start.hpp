// A part of the start that blocks everything else for as long as it needs, as an upgrade of a large database:
// whoever supervises the node waits as long as something happens.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tagring::machine {

class LongStart {
 public:
  // One of which nothing has been seen for so long hangs: a disk may need a minute or two for what it was
  // told to write.
  static constexpr std::chrono::minutes kHangs{5};

  struct Options {
    // What this process has done so far, in any unit that only grows while something happens.
    std::function<std::uint64_t()> effort;
    // Takes what goes to systemd.
    std::function<void(const std::string& state)> tell;
    // Systemd watches it; it would begin to, if it were told how long it may be silent.
    bool is_watched = false;
    std::chrono::milliseconds every{10'000};
  };
  // The system's. `is_elsewhere`: the work is done by another machine, and cannot be seen; when that is done,
  // or gone, it is over.
  static Options of_process(bool is_elsewhere);

  explicit LongStart(Options options) : options_(std::move(options)) {}

  // How far it is, in words. The first one begins it; it ends with the object.
  void note(std::string status);

 private:
  void tell_for_ever(const std::stop_token& stop);

  const Options options_;
  std::mutex mutex_;
  std::string status_;
  std::condition_variable_any ends_;
  std::jthread thread_;  // uses the others
};

}  // namespace tagring::machine
