// Randomised exponential backoff (paper §5.5): the n-th wait is drawn from [½, 1½] · first · 2^(n−1), at most
// `longest`. Who is tried besides, because it is heard from, fails more often in the same time: nobody waits
// for longer than twice the time for which it has failed.
#pragma once

#include <algorithm>

#include "base/rng.hpp"
#include "base/time.hpp"

namespace tagring::queues {

struct Backoff {
  Duration first = std::chrono::seconds(1);
  Duration longest = std::chrono::minutes(10);

  // `failures` in a row, at least 1, the first of them `failing_for` ago.
  [[nodiscard]] Duration wait(unsigned failures, Rng& rng, Duration failing_for = Duration::max()) const {
    const unsigned doublings = std::min(failures - 1, 20U);
    const Duration most = failing_for < longest / 2 ? std::max(first, 2 * failing_for) : longest;
    const Duration base = std::min(Duration(first.count() << doublings), most);
    return base / 2 +
           Duration(static_cast<Duration::rep>(rng.below(static_cast<std::uint64_t>(base.count()) + 1)));
  }
};

}  // namespace tagring::queues
