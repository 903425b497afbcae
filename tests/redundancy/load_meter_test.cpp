#include "redundancy/load_meter.hpp"

#include <gtest/gtest.h>

#include "tests/tag_literal.hpp"

namespace tagring::redundancy {
namespace {

class HandClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] WallTime wall_now() const override { return WallTime(now_.time_since_epoch()); }
  [[nodiscard]] boost::asio::awaitable<void> sleep_until(Instant) override { co_return; }
  void pass(Duration time) { now_ += time; }

 private:
  Instant now_{std::chrono::hours(1)};
};

// Offers a stream of so many deliveries a second, which is taken as long as there is room. What was taken.
double offer(redundancy::LoadMeter& meter, HandClock& clock, const Tag& tag, double per_second, int seconds) {
  double taken = 0;
  for (int i = 0; i < seconds * 10; ++i) {
    if (!meter.is_overloaded()) {
      meter.add(tag, per_second / 10);
      taken += per_second / 10;
    }
    clock.pass(std::chrono::milliseconds(100));
  }
  return taken;
}

TEST(LoadMeter, TakesWhatTheNodeCanSend) {
  HandClock clock;
  redundancy::LoadMeter meter(1000, clock);
  EXPECT_EQ(offer(meter, clock, "caturday"_tag, 700, 120), 700 * 120);
  EXPECT_NEAR(meter.rate(), 700, 1);
}

TEST(LoadMeter, KeepsANodeBelowItsCapacityOverAMinuteWhateverComes) {
  for (const double flood : {1200.0, 5000.0, 100'000.0}) {
    HandClock clock;
    redundancy::LoadMeter meter(1000, clock);
    EXPECT_LE(offer(meter, clock, "caturday"_tag, flood, 60), 1000 * 60 + flood / 10) << flood;
    EXPECT_TRUE(meter.is_strained());
  }
}

TEST(LoadMeter, RecoversWhenNothingComes) {
  HandClock clock;
  redundancy::LoadMeter meter(1000, clock);
  offer(meter, clock, "caturday"_tag, 5000, 30);
  EXPECT_FALSE(meter.is_calm("caturday"_tag));
  clock.pass(std::chrono::seconds(25));
  EXPECT_FALSE(meter.is_overloaded());
  EXPECT_FALSE(meter.is_strained());
  EXPECT_TRUE(meter.is_calm("caturday"_tag));
  EXPECT_EQ(meter.rate(), 0);
}

TEST(LoadMeter, IsCalmOnlyIfItCouldBearTwiceTheTag) {
  HandClock clock;
  redundancy::LoadMeter meter(1000, clock);
  offer(meter, clock, "caturday"_tag, 240, 60);
  EXPECT_TRUE(meter.is_calm("caturday"_tag));
  offer(meter, clock, "caturday"_tag, 300, 60);
  EXPECT_FALSE(meter.is_calm("caturday"_tag));
  EXPECT_TRUE(meter.is_calm("dogs"_tag));
}

TEST(LoadMeter, BlamesTheTagThatBringsTheLoad) {
  HandClock clock;
  redundancy::LoadMeter meter(1000, clock);
  for (int i = 0; i < 100; ++i) {
    meter.add("caturday"_tag, 80);
    meter.add("dogs"_tag, 1);
    clock.pass(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(meter.is_major("caturday"_tag));
  EXPECT_FALSE(meter.is_major("dogs"_tag));
}

// Or whoever refuses for other reasons would give an idle hashtag ever more relays.
TEST(LoadMeter, BlamesNobodyWhereThereIsNoLoad) {
  HandClock clock;
  redundancy::LoadMeter meter(1000, clock);
  EXPECT_FALSE(meter.is_major("caturday"_tag));
  meter.add("caturday"_tag, 80);
  clock.pass(std::chrono::minutes(1));
  EXPECT_FALSE(meter.is_major("caturday"_tag));
}

}  // namespace
}  // namespace tagring::redundancy
