// Sessions of administrators at the web page. Who may use the control socket opens one (`tagring login`), for
// whom and with what role they like; it ends by itself, and when the node is stopped.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "administrators/administrator.hpp"
#include "base/time.hpp"
#include "crypto/hash.hpp"

namespace tagring::administrators {

class Logins {
 public:
  explicit Logins(Clock& clock) : clock_(clock) {}
  static constexpr Duration kLifetime = std::chrono::hours(12);
  // Of one name, whose oldest makes room: who opens many ends nobody else's.
  static constexpr std::size_t kMax = 16;

  // The secret of a new session; only its hash is kept.
  [[nodiscard]] std::string open(Administrator who);
  [[nodiscard]] std::optional<Administrator> whose(std::string_view secret) const;
  // Ends those of that name, whoever opened them, or all if it is empty; how many.
  std::size_t close(std::string_view name);

 private:
  struct Session {
    crypto::Hash256 hash;
    Instant until;
    Administrator who;
  };
  Clock& clock_;
  std::deque<Session> sessions_;  // newest first
};

}  // namespace tagring::administrators
