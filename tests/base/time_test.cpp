#include "base/time.hpp"

#include <gtest/gtest.h>

namespace tagring {
namespace {

using std::chrono::hours;

// Of a machine that sleeps, and whose date somebody may set.
class MachineClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] WallTime wall_now() const override { return wall_; }
  [[nodiscard]] Instant elapsed() const override { return elapsed_; }
  [[nodiscard]] boost::asio::awaitable<void> sleep_until(Instant) override { co_return; }

  void run(Duration time) {
    now_ += time;
    sleep(time);
  }
  void sleep(Duration time) {
    elapsed_ += time;
    wall_ += time;
  }
  void set_ahead(Duration by) { wall_ += by; }

 private:
  Instant now_{hours(1)};
  Instant elapsed_{hours(3)};
  WallTime wall_{std::chrono::days(20'000)};
};

TEST(SteadyDate, IsNotBelievedInTheFirstHour) {
  MachineClock clock;
  SteadyDate date(clock);
  EXPECT_FALSE(date.is_believed());
  clock.run(hours(1));
  EXPECT_TRUE(date.is_believed());
}

TEST(SteadyDate, IsBelievedADayAfterItWasSet) {
  MachineClock clock;
  SteadyDate date(clock);
  clock.run(hours(2));
  clock.set_ahead(hours(8));
  EXPECT_FALSE(date.is_believed());
  clock.run(hours(23));
  EXPECT_FALSE(date.is_believed());
  clock.run(hours(1));
  EXPECT_TRUE(date.is_believed());
}

// Also if nobody asked in that hour.
TEST(SteadyDate, IsDoubtedIfItWasWrongAtTheStart) {
  MachineClock clock;
  SteadyDate date(clock);
  clock.run(std::chrono::minutes(3));
  clock.set_ahead(-std::chrono::days(8));
  clock.run(hours(5));
  EXPECT_FALSE(date.is_believed());
}

TEST(SteadyDate, IsBelievedOfAMachineThatSleepsAtNight) {
  MachineClock clock;
  SteadyDate date(clock);
  for (int night = 0; night < 3; ++night) {
    clock.run(hours(16));
    clock.sleep(hours(8));
    EXPECT_TRUE(date.is_believed()) << night;
  }
}

}  // namespace
}  // namespace tagring
