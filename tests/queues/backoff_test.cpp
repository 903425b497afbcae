#include "queues/backoff.hpp"

#include <gtest/gtest.h>

namespace tagring::queues {
namespace {

TEST(Backoff, EveryWaitIsWithinHalfOfItsDoubledBase) {
  const Backoff backoff{.first = Duration(1000), .longest = Duration(1'000'000)};
  Rng rng(1);
  for (unsigned failures = 1; failures <= 9; ++failures) {
    const Duration base = Duration(1000) * (1U << (failures - 1));
    Duration least = Duration::max();
    Duration most = Duration::zero();
    for (int i = 0; i < 500; ++i) {
      const Duration wait = backoff.wait(failures, rng);
      least = std::min(least, wait);
      most = std::max(most, wait);
    }
    EXPECT_GE(least, base / 2);
    EXPECT_LE(most, base * 3 / 2);
    // Spread over the whole range, or many nodes would come back at once.
    EXPECT_LT(least, base * 6 / 10);
    EXPECT_GT(most, base * 14 / 10);
  }
}

TEST(Backoff, StopsGrowingAtTheLongest) {
  const Backoff backoff{.first = Duration(1000), .longest = Duration(5000)};
  Rng rng(2);
  for (const unsigned failures : {4U, 21U, 22U, 64U, 1'000'000U, ~0U}) {
    const Duration wait = backoff.wait(failures, rng);
    EXPECT_GE(wait, Duration(2500)) << failures;
    EXPECT_LE(wait, Duration(7500)) << failures;
  }
}

TEST(Backoff, IsNoLongerThanTwiceTheTimeOfFailing) {
  const Backoff backoff{.first = Duration(1000), .longest = Duration(600'000)};
  Rng rng(3);
  for (int i = 0; i < 100; ++i) {
    EXPECT_LE(backoff.wait(10, rng, Duration(40'000)), Duration(120'000));
    EXPECT_GE(backoff.wait(10, rng, Duration(40'000)), Duration(40'000));
    EXPECT_LE(backoff.wait(10, rng, Duration::zero()), Duration(1500));
    EXPECT_LE(backoff.wait(3, rng, Duration(40'000)), Duration(6000)) << "nor than its doubled base";
    EXPECT_GE(backoff.wait(20, rng, Duration(400'000)), Duration(300'000));
  }
}

}  // namespace
}  // namespace tagring::queues
