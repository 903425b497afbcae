// Sessions of administrators at the web page. Who may use the control socket opens one (`tagring login`); it
// ends by itself, and when the node is stopped.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "crypto/hash.hpp"

namespace tagring::admin {

class Logins {
 public:
  explicit Logins(Clock& clock) : clock_(clock) {}
  static constexpr Duration kLifetime = std::chrono::hours(12);
  // The oldest makes room.
  static constexpr std::size_t kMax = 16;

  // The secret of a new session; only its hash is kept.
  [[nodiscard]] std::string open();
  [[nodiscard]] bool knows(std::string_view secret) const;
  // Ends all.
  void close() { sessions_.clear(); }

 private:
  struct Session {
    crypto::Hash256 hash;
    Instant until;
  };
  Clock& clock_;
  std::deque<Session> sessions_;  // newest first
};

}  // namespace tagring::admin
