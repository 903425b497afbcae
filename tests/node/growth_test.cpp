// When the disk will be full, by samples of what it was.
#include "health/growth.hpp"

#include <gmock/gmock.h>

#include "base/rng.hpp"
#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using health::Disk;
using health::Forecast;
using health::Growth;
using health::Sizes;
using ::testing::HasSubstr;

constexpr std::uint64_t kDisk = 100'000'000'000;
constexpr std::uint64_t kNoLimit = 1'000'000'000'000'000;

// One a day: the disk loses `a_day` bytes, of which the history takes `of_history`.
std::vector<Sizes> line(int days, std::int64_t room, std::int64_t a_day, std::uint64_t of_history = 0) {
  std::vector<Sizes> samples;
  for (int i = 0; i <= days; ++i) {
    samples.push_back({WallTime(std::chrono::days(20'000 + i)), kDisk, room + (days - i) * a_day,
                       static_cast<std::uint64_t>(i) * of_history});
  }
  return samples;
}

TEST(Forecast, IsTheDayOnWhichTheLineReachesTheLimit) {
  const std::optional<Forecast> found = health::forecast(line(10, 50'000'000'000, 1'000'000'000), kNoLimit);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->disk_full_in_days, 50);
  EXPECT_EQ(found->days_seen, 10);
  EXPECT_NEAR(found->bytes_a_day, 1e9, 1);
  EXPECT_EQ(found->history_full_in_days, std::nullopt);
  EXPECT_THAT(found->text(), HasSubstr("the disk is full in 50 days"));
  EXPECT_THAT(found->text(), HasSubstr("old posts make room"));
}

TEST(Forecast, SaysNothingBeforeThereIsAWeekOfSamples) {
  EXPECT_FALSE(health::forecast({}, kNoLimit));
  EXPECT_FALSE(health::forecast(line(0, 1'000, 1), kNoLimit));
  EXPECT_FALSE(health::forecast(line(6, 1'000, 1), kNoLimit));
  EXPECT_TRUE(health::forecast(line(7, 1'000, 1), kNoLimit));
}

TEST(Forecast, ADiskThatDoesNotFillUpIsNeverFull) {
  for (const std::int64_t a_day : {0, -1'000'000, 1'000}) {
    const std::optional<Forecast> found = health::forecast(line(10, 50'000'000'000, a_day), kNoLimit);
    EXPECT_EQ(found->disk_full_in_days, std::nullopt) << a_day;
    EXPECT_THAT(found->text(), HasSubstr("does not fill up"));
  }
}

TEST(Forecast, ADiskThatIsFullIsFullNow) {
  EXPECT_EQ(health::forecast(line(10, -5, 1'000'000'000), kNoLimit)->disk_full_in_days, 0);
}

TEST(Forecast, AHistoryAtItsLimitFillsTheDiskNoMore) {
  // 1.2 GB a day, 1 of them history, which has 10 of its 20 GB: full in 10 days, with 38 of 50 GB left.
  const auto samples = line(10, 50'000'000'000, 1'200'000'000, 1'000'000'000);
  const std::optional<Forecast> found = health::forecast(samples, 20'000'000'000);
  EXPECT_EQ(found->history_full_in_days, 10);
  EXPECT_EQ(found->disk_full_in_days, 10 + 190);
  EXPECT_THAT(found->text(), HasSubstr("storage.max_octets in 10 days; from then on its oldest posts go"));
  // Nothing else grows.
  const auto alone = line(10, 50'000'000'000, 1'000'000'000, 1'000'000'000);
  EXPECT_EQ(health::forecast(alone, 20'000'000'000)->disk_full_in_days, std::nullopt);
}

TEST(Forecast, SamplesOfAnotherDiskDoNotCount) {
  std::vector<Sizes> samples = line(20, 50'000'000'000, 1'000'000'000);
  for (int i = 0; i < 10; ++i) samples[static_cast<std::size_t>(i)].disk = kDisk / 2;
  EXPECT_EQ(health::forecast(samples, kNoLimit)->days_seen, 10);
  for (int i = 10; i < 18; ++i) samples[static_cast<std::size_t>(i)].disk = kDisk / 2;
  EXPECT_FALSE(health::forecast(samples, kNoLimit));
}

TEST(Forecast, ADiskWhoseSizeChangesALittleIsTheSame) {
  std::vector<Sizes> samples = line(20, 50'000'000'000, 1'000'000'000);
  const auto before = health::forecast(samples, kNoLimit);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].disk -= i * (kDisk / 1000);
  const auto found = health::forecast(samples, kNoLimit);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->disk_full_in_days, before->disk_full_in_days);
}

// A disk that fills up by 1 GB a day.
class GrowingMachine final : public health::Machine {
 public:
  explicit GrowingMachine(const Clock& clock) : clock_(clock), began_(clock.now()) {}
  Task<health::Checks> look() override { co_return health::Checks(); }
  Task<Result<void>> try_to_write() override { co_return Result<void>(); }
  [[nodiscard]] bool can_write() const override { return true; }
  [[nodiscard]] std::optional<Disk> disk() const override { return Disk{kDisk, kDisk, 0}; }
  [[nodiscard]] std::optional<std::int64_t> room() const override {
    return 30'000'000'000 - (clock_.now() - began_) / std::chrono::seconds(1) * 1'000'000'000 / 86'400;
  }
  [[nodiscard]] std::optional<WallTime> certificate_until() const override { return std::nullopt; }
  Task<Result<json::object>> reload() override { co_return json::object(); }
  Task<Result<json::object>> back_up() override { co_return json::object(); }

 private:
  const Clock& clock_;
  Instant began_;
};

class GrowthTest : public NodeTest {
 protected:
  // No node is needed, and one that lives for a month has much to do.
  GrowthTest() {
    loop.drop(kOwner);
    node.reset();
  }
  std::unique_ptr<Growth> watch() {
    auto growth = std::make_unique<Growth>(
        Growth::Sources{&machine, [] { return std::uint64_t{0}; }, kNoLimit},
        health::Memory{
            saved, [this](std::string samples) -> Task<Result<void>> { return save(std::move(samples)); }},
        runtime);
    growth->start();
    return growth;
  }
  Task<Result<void>> save(std::string samples) {
    saved = std::move(samples);
    co_return Result<void>();
  }
  void end(std::unique_ptr<Growth> growth) {
    run([](Growth* ending) -> Task<bool> {
      co_await ending->stop();
      co_return true;
    }(growth.get()));
  }

  GrowingMachine machine{clock};
  std::optional<std::string> saved;
};

TEST_F(GrowthTest, SamplesAreKeptOverRestarts) {
  for (int i = 0; i < 3; ++i) {
    auto growth = watch();
    settle(std::chrono::days(3));
    EXPECT_EQ(growth->status().has_value(), i == 2);
    EXPECT_EQ(growth->check().ok, i < 2);
    if (i == 2) EXPECT_EQ(growth->look_ahead()->disk_full_in_days, 21);
    end(std::move(growth));
  }
}

// Of the disk there nothing is known; but how fast the database grows, and when the history is full.
TEST_F(GrowthTest, InPostgresqlTheDatabaseAndTheHistoryGrow) {
  const Instant began = clock.now();
  const auto grown = [&](std::uint64_t a_day) {
    return [this, began, a_day] {
      return 1'000 + a_day * static_cast<std::uint64_t>((clock.now() - began) / std::chrono::hours(1)) / 24;
    };
  };
  auto growth = std::make_unique<Growth>(
      Growth::Sources{nullptr, grown(100'000'000), 7'900'000'000, grown(500'000'000)},
      health::Memory{{},
                     [this](std::string samples) -> Task<Result<void>> { return save(std::move(samples)); }},
      runtime);
  growth->start();
  EXPECT_THAT(growth->check().detail, HasSubstr("can be said after a week"));
  settle(std::chrono::days(9));
  EXPECT_TRUE(growth->check().ok) << "no post is refused for it";
  EXPECT_THAT(growth->check().detail, HasSubstr("the database grows by 15.0 GB a month"));
  EXPECT_THAT(growth->check().detail, HasSubstr("reaches storage.max_octets in about 2 months"));
  ASSERT_TRUE(growth->status());
  EXPECT_FALSE(growth->status()->contains("disk_full_in_days"));
  EXPECT_NEAR(static_cast<double>(growth->status()->at("history_full_in_days").as_int64()), 70, 1);
  end(std::move(growth));
  Growth again({nullptr, grown(0), 7'900'000'000, grown(0)}, {saved, {}}, runtime);
  EXPECT_TRUE(again.status()) << "known after a restart";
  Growth back(Growth::Sources{&machine, grown(0), kNoLimit}, {saved, {}}, runtime);
  EXPECT_FALSE(back.status()) << "of a disk it says nothing";
}

// They went along to PostgreSQL, and the last of them was said for ever.
TEST_F(GrowthTest, OfDataThatHasLeftTheDiskNothingIsForetold) {
  auto growth = watch();
  settle(std::chrono::days(9));
  EXPECT_FALSE(growth->check().ok);
  end(std::move(growth));
  const Growth elsewhere({nullptr, [] { return std::uint64_t{0}; }, kNoLimit}, {saved, {}}, runtime);
  EXPECT_TRUE(elsewhere.check().ok);
  EXPECT_THAT(elsewhere.check().detail, HasSubstr("the data is in PostgreSQL"));
  EXPECT_EQ(elsewhere.status(), std::nullopt);
}

TEST_F(GrowthTest, RestartsDoNotMultiplySamples) {
  for (int i = 0; i < 10; ++i) {
    auto growth = watch();
    settle(std::chrono::minutes(90));
    end(std::move(growth));
  }
  // 15 hours, 4 a day.
  EXPECT_LE(json::parse_object(*saved)->at("samples").as_array().size(), 3U);
}

TEST_F(GrowthTest, OnlyAMonthIsKept) {
  auto growth = watch();
  settle(std::chrono::days(40));
  EXPECT_EQ(json::parse_object(*saved)->at("samples").as_array().size(), Growth::kSamplesMax);
  end(std::move(growth));
}

TEST_F(GrowthTest, WhatCannotBeReadBeginsAnew) {
  saved = R"({"samples":[[1,2],"x",[1,2,3,"4"],[1,-2,3,4],[1,2,3.5,4],[1,2,3,-4],[1,1e30,3,4]]})";
  auto growth = watch();
  settle(std::chrono::hours(2));
  EXPECT_EQ(json::parse_object(*saved)->at("samples").as_array().size(), 1U);
  end(std::move(growth));
}

}  // namespace
}  // namespace tagring::node
