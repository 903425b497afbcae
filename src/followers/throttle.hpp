// How often and how many: a header costs its sender nothing, and acting on it costs its receiver a fetch.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <utility>

namespace tagring::followers {

struct ThrottleLimits {
  std::chrono::milliseconds cooldown = std::chrono::minutes(15);
  std::size_t per_server = 20;  // actors of one server, or group, within a cooldown
  std::size_t per_server_running = 1;
  std::size_t concurrent_max = 4;    // all together
  std::size_t senders_max = 10'000;  // remembered within a cooldown
};

// One synchronisation with an actor in a cooldown; a few with all actors of a server, which may make up
// actors at will, and one at a time, so that a slow server does not use up the few that may run altogether.
// What is refused is not lost: the next header says the same again.
class Throttle {
 public:
  explicit Throttle(ThrottleLimits limits = {}) : limits_(limits) {}

  // True if a synchronisation with `actor` may begin now: then call finish() when it has ended, however it
  // ended. `now` is time since any fixed point, of a clock that does not go back. `group`: with whom the
  // actor counts as of one server, such as its registered domain, below which names cost nothing; empty: with
  // whoever has its scheme, host and port.
  [[nodiscard]] bool start(const std::string& actor, std::chrono::milliseconds now, std::string group = {});
  void finish(const std::string& actor);

  [[nodiscard]] std::size_t running() const { return running_; }

 private:
  struct Sender {
    std::string server;
    bool is_running = true;
    bool is_cooling = true;
  };
  struct Server {
    std::size_t senders = 0;
    std::size_t running = 0;
  };
  void cool_down(std::chrono::milliseconds now);
  void forget(std::map<std::string, Sender>::iterator sender);

  ThrottleLimits limits_;
  std::map<std::string, Sender> senders_;                                  // those that run or cool down
  std::map<std::string, Server> servers_;                                  // theirs
  std::deque<std::pair<std::chrono::milliseconds, std::string>> cooling_;  // by time of start
  std::size_t running_ = 0;
};

}  // namespace tagring::followers
