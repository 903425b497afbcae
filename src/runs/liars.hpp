// Whole nodes of which a part lies, all together: what do honest people miss, and what are they shown that is
// not so? Only hashtags count that an honest node relays and an honest node stores, all the time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "sim/lies.hpp"

namespace tagring::runs {

struct LiarRunOptions {
  std::uint64_t seed = 1;
  std::size_t nodes = 40;  // at least 8
  double malicious = 0.2;  // part of them
  sim::LiarRoles roles = sim::kAllRoles;
  std::size_t hashtags = 20;
  Duration attack = std::chrono::minutes(10);
  std::function<void(double done)> on_progress = [](double) {};
};

// Pairs are of a post and who should have it: a subscriber in its feed, a reader in the history.
struct LiarRunResult {
  std::uint64_t lost = 0;      // pairs of living posts that are not there
  std::uint64_t invented = 0;  // pairs of posts that never were, or are removed, and are there
  std::uint64_t altered = 0;   // pairs with another date or author
  static constexpr std::size_t kWrongMax = 20;
  std::vector<std::string> wrong;              // each of these in words, the first so many
  double third_party_requests_per_minute = 0;  // of honest nodes, at a host that has nothing to do with it
  std::size_t posts = 0;                       // living, under hashtags that count
  std::size_t removed = 0;                     // the same, removed
  std::size_t readers = 0;                     // feeds and histories looked at
  std::size_t pairs = 0;                       // of a living post with each of those
  std::size_t liars = 0;
  std::size_t hashtags_counted = 0;
  std::map<std::string, std::uint64_t> lies;  // told, by role
  bool rested = false;                        // everything was delivered in the end
  std::uint64_t messages = 0;
  std::uint64_t trace = 0;
};

LiarRunResult run_liars(const LiarRunOptions& options);

}  // namespace tagring::runs
