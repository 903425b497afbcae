// How many requests of a kind somebody may make: so many in a window of time, counted by IPv4 address or IPv6
// /64.
#pragma once

#include <algorithm>
#include <map>

#include "base/counted.hpp"
#include "base/time.hpp"
#include "http/ip.hpp"

namespace tagring::federation {

class RateLimit {
 public:
  struct Options {
    std::uint32_t requests = 300;  // Mastodon's own limit for those who are not logged in
    Duration window = std::chrono::minutes(5);
    std::size_t peers_max = 50'000;  // remembered; beyond that, some are forgotten
  };
  RateLimit(Options options, Clock& clock) : options_(options), clock_(clock) {}

  struct Verdict {
    bool allowed = true;
    std::uint32_t limit = 0;
    std::uint32_t remaining = 0;
    WallTime reset;  // when the window ends
    Duration wait;   // until then
  };
  // How long until that peer may make a request; nothing is counted.
  [[nodiscard]] Duration wait(const IpAddress& peer) const {
    const auto known = peers_.find(peer.prefix64());
    const bool full = known != peers_.end() && known->second.used >= options_.requests;
    return full ? std::max(known->second.end - clock_.now(), Duration::zero()) : Duration::zero();
  }
  Verdict count(const IpAddress& peer) {
    const Instant now = clock_.now();
    if (peers_.size() >= options_.peers_max && now >= next_look_) {
      next_look_ = now + options_.window;
      std::erase_if(peers_, [now](const auto& entry) { return now >= entry.second.end; });
    }
    if (!peers_.contains(peer.prefix64())) make_room(peers_, options_.peers_max);
    Window& window = peers_[peer.prefix64()];
    if (now >= window.end) window = {0, now + options_.window};
    const bool allowed = window.used < options_.requests;
    if (allowed) ++window.used;
    return {allowed, options_.requests, options_.requests - window.used,
            clock_.wall_now() + (window.end - now), window.end - now};
  }

 private:
  struct Window {
    std::uint32_t used = 0;
    Instant end;
  };
  Options options_;
  Clock& clock_;
  std::map<Prefix64, Window> peers_;
  Instant next_look_;  // for those whose window is over
};

}  // namespace tagring::federation
