#include "node/part_options.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "queues/inbox_lanes.hpp"
#include "ring_sim/loop.hpp"

namespace tagring::node {
namespace {

// How many deliveries a second get through to many servers that answer after 250 ms.
double delivered_a_second(std::uint32_t deliveries_per_second) {
  constexpr ring_sim::OwnerId kOwner = 1;
  constexpr int kInboxes = 8'000;
  config::Config config;
  config.deliveries_per_second = deliveries_per_second;
  ring_sim::Loop loop(3);
  ring_sim::LoopClock clock(loop, kOwner);
  Workers workers;
  Log log = Log::off();
  const Runtime runtime{clock, loop.executor(kOwner), workers, log, Rng(1)};
  queues::HostPauses hosts(runtime);
  int taken = 0;
  queues::InboxLanes<int> lanes(
      queue_options(config, {}), hosts, runtime, Rng(1),
      [&clock, &taken](const std::string&, int) -> Task<queues::InboxLanes<int>::Outcome> {
        const Instant answered = clock.now() + Duration(250);
        co_await clock.sleep_until(answered);
        ++taken;
        co_return queues::InboxLanes<int>::Outcome();
      });
  for (int i = 0; i < kInboxes; ++i) lanes.push(fmt::format("https://{}.example/inbox", i), "post", i);
  loop.run_for(std::chrono::seconds(2));
  loop.drop(kOwner);
  return taken / 2.0;
}

TEST(QueueOptions, ANodeDeliversWhatItSaysItCan) {
  EXPECT_GE(delivered_a_second(500), 400);
  EXPECT_GE(delivered_a_second(2'200), 2'200 * 0.8);
}

TEST(QueueOptions, NoFigureTakesAllConnectionsOfAMachine) {
  config::Config config;
  config.deliveries_per_second = 100'000'000;
  EXPECT_LE(queue_options(config, {}).singles_max, 2'000U);
  config.deliveries_per_second = 10;
  EXPECT_EQ(queue_options(config, {}).singles_max, queues::QueueOptions().singles_max);
}

class Measured final : public overlay::StoredLoad {
 public:
  Task<Result<std::vector<Weight>>> weights(std::optional<RingId>, std::size_t) override {
    co_return std::vector<Weight>();
  }
  [[nodiscard]] std::uint64_t bytes_of_entry() const override { return each; }
  std::uint64_t each = kBytesOfEntry;
};

TEST(StorageOptions, WhatIsBorneOfAHashtagIsPartOfTheDiskAndSaidInPosts) {
  config::Config config;
  config.storage_capacity = 360'000'000;
  config.hashtag_share = 10;
  Measured history;
  const auto bearable = storage_options(config, history).bearable;
  EXPECT_EQ(bearable(), 36'000'000);
  history.each = 360;
  EXPECT_EQ(bearable(), 100'000 * 60) << "as it was measured last";
  config.storage_capacity = 1'000'000'000'000;
  EXPECT_EQ(storage_options(config, history).bearable(), storage::StorageRedundancy::kPartMax);
}

}  // namespace
}  // namespace tagring::node
