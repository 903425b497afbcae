// Randomised exponential backoff (paper §5.5): the n-th wait is drawn from [½, 1½] · first · 2^(n−1), at most
// `longest`.
#pragma once

#include <algorithm>

#include "base/rng.hpp"
#include "base/time.hpp"

namespace tagring::queues {

struct Backoff {
  Duration first = std::chrono::seconds(1);
  Duration longest = std::chrono::minutes(10);

  // `failures` in a row, at least 1.
  [[nodiscard]] Duration wait(unsigned failures, Rng& rng) const {
    const unsigned doublings = std::min(failures - 1, 20U);
    const Duration base = std::min(Duration(first.count() << doublings), longest);
    return base / 2 +
           Duration(static_cast<Duration::rep>(rng.below(static_cast<std::uint64_t>(base.count()) + 1)));
  }
};

}  // namespace tagring::queues
