// A flash crowd: many posts under one hashtag within minutes, with many subscribers (paper §7.1). The relays,
// publishers and some of the subscribers are whole nodes; the other subscribers are Endpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tagring::runs {

struct FlashCrowdOptions {
  std::uint64_t seed = 1;
  std::size_t nodes = 32;
  std::size_t vservers = 2;
  std::size_t subscribers = 1000;       // those that are nodes included
  std::size_t subscribed_nodes = 4;     // of them
  std::uint32_t capacity = 2000;        // of every node, deliveries a second
  std::uint32_t cooldown_seconds = 60;  // of a set of relays, at first
  std::vector<double> arrivals;         // of the posts, in seconds since the first, ascending
  std::function<void(double done)> on_progress = [](double) {};
};

struct FlashCrowdResult {
  std::size_t posts = 0;
  std::size_t acknowledged = 0;
  std::size_t lost = 0;  // acknowledged posts that some subscriber did not get
  double delay_max = 0;  // seconds from publishing until the last subscriber had it
  unsigned relays_max = 0;
  unsigned relays_end = 0;  // when nothing had come for a while
  double fetch_peak = 0;    // documents an author's server was asked for in one second, at most
  // Longest time in seconds that a node sent more than its capacity, over ten seconds.
  double over_capacity = 0;
  double busiest_minute = 0;  // most deliveries a second of a node over a minute, in capacities
  std::uint64_t deliveries = 0;
  std::uint64_t messages = 0;
  std::uint64_t trace = 0;
};

FlashCrowdResult run_flash_crowd(const FlashCrowdOptions& options);

}  // namespace tagring::runs
