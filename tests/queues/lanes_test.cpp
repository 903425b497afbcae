// Lanes in virtual time: what is sent when, and in which order.
#include <gtest/gtest.h>
#include <optional>

#include "queues/delivery_queues.hpp"
#include "ring_sim/loop.hpp"

namespace tagring::queues {
namespace {

using Batch = std::vector<int>;
using Lanes = DeliveryQueues<int>;

struct Sent {
  std::string destination;
  Batch batch;
  Instant begun;
};

class LanesTest : public testing::Test {
 protected:
  ~LanesTest() override { loop.drop(kOwner); }

  DeliveryQueues<int>& open(QueueOptions options = {}) {
    lanes.emplace(
        clock, loop.executor(kOwner), Rng(1), options,
        Lanes::Sender{[this](std::string to, Batch batch) { return send(std::move(to), std::move(batch)); }});
    return *lanes;
  }

  DeliveryQueues<int>& open_with_hosts() {
    const auto send_to = [this](std::string to, Batch batch) {
      return send(std::move(to), std::move(batch));
    };
    lanes.emplace(clock, loop.executor(kOwner), Rng(1), QueueOptions{},
                  Lanes::Sender{send_to, {}, [this](const std::string& to) { return hosts.of(to); }});
    return *lanes;
  }

  Task<Batch> send(std::string destination, Batch batch) {
    sent.push_back({destination, batch, loop.now()});
    most_under_way = std::max(most_under_way, ++under_way);
    const Instant end = loop.now() + takes;
    co_await clock.sleep_until(end);
    --under_way;
    if (!failing.contains(destination)) co_return Batch();
    lanes->blame(destination, destination + " is down");
    if (answering) lanes->answered(destination);
    if (wanted_later) {
      std::erase_if(batch, [this](int item) { return !wanted_later->contains(item); });
      co_return batch;
    }
    co_return Batch(batch.begin() + std::min<std::ptrdiff_t>(taken_of_failed, std::ssize(batch)),
                    batch.end());
  }

  Task<void> stop_into(bool* stopped) {
    co_await lanes->stop();
    *stopped = true;
  }

  [[nodiscard]] std::vector<Batch> batches_to(const std::string& destination) const {
    std::vector<Batch> batches;
    for (const Sent& one : sent) {
      if (one.destination == destination) batches.push_back(one.batch);
    }
    return batches;
  }

  static constexpr ring_sim::OwnerId kOwner = 1;
  ring_sim::Loop loop{1};
  ring_sim::LoopClock clock{loop, kOwner};
  Workers workers;
  Log log = Log::off();
  HostPauses hosts{Runtime{clock, loop.executor(kOwner), workers, log, Rng(1)}};
  std::optional<DeliveryQueues<int>> lanes;
  std::vector<Sent> sent;
  Duration takes{100};
  std::set<std::string> failing;
  bool answering = false;                     // they are not down, but want everything later
  std::optional<std::set<int>> wanted_later;  // or only that
  std::ptrdiff_t taken_of_failed = 0;  // items at the front of a failing batch that are taken all the same
  int under_way = 0;
  int most_under_way = 0;
};

TEST_F(LanesTest, AnIdleLaneWaitsARandomTimeBelowTheSpread) {
  DeliveryQueues<int>& queue = open();
  for (int i = 0; i < 50; ++i) queue.push("d" + std::to_string(i), i, std::chrono::seconds(10));
  queue.push("d0", 100, std::chrono::seconds(10));
  loop.run_for(std::chrono::seconds(11));
  ASSERT_EQ(sent.size(), 50U);
  EXPECT_EQ(batches_to("d0"), (std::vector<Batch>{{0, 100}}));
  std::vector<std::size_t> in_quarter(4);
  for (const Sent& one : sent) {
    const auto quarter = static_cast<std::size_t>((one.begun - Instant{}).count() / 2500);
    ASSERT_LT(quarter, 4U);
    ++in_quarter[quarter];
  }
  for (const std::size_t count : in_quarter) EXPECT_GT(count, 4U);
}

TEST_F(LanesTest, AnItemForAnIdleDestinationLeavesAtOnce) {
  open().push("a", 1);
  EXPECT_EQ(lanes->size(), 1U);
  EXPECT_FALSE(lanes->idle());
  loop.run_for(Duration(0));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].begun, Instant());
  EXPECT_EQ(lanes->size(), 0U);
  EXPECT_FALSE(lanes->idle());  // it is under way
  loop.run_for(takes);
  EXPECT_TRUE(lanes->idle());
  EXPECT_TRUE(lanes->status().empty());
}

TEST_F(LanesTest, ItemsGatherWhileARequestIsUnderWay) {
  open().push("a", 1);
  loop.run_for(Duration(10));
  for (int i = 2; i <= 5; ++i) lanes->push("a", i);
  loop.run_for(Duration(1000));
  EXPECT_EQ(batches_to("a"), (std::vector<Batch>{{1}, {2, 3, 4, 5}}));
}

TEST_F(LanesTest, OneRequestAtATimeTowardsADestination) {
  open();
  for (int i = 0; i < 20; ++i) {
    lanes->push("a", i);
    loop.run_for(Duration(30));
  }
  loop.run_for(Duration(1000));
  EXPECT_EQ(most_under_way, 1);
  Batch all;
  for (const Batch& batch : batches_to("a")) all.insert(all.end(), batch.begin(), batch.end());
  Batch expected(20);
  for (int i = 0; i < 20; ++i) expected[static_cast<std::size_t>(i)] = i;
  EXPECT_EQ(all, expected);
  EXPECT_TRUE(lanes->idle());
}

TEST_F(LanesTest, NoBatchIsLargerThanTheLimit) {
  open({.batch_max = 3, .backoff = {}});
  for (int i = 1; i <= 7; ++i) lanes->push("a", i);
  loop.run_for(Duration(1000));
  EXPECT_EQ(batches_to("a"), (std::vector<Batch>{{1, 2, 3}, {4, 5, 6}, {7}}));
}

TEST_F(LanesTest, WhatFailedComesFirstAndInOrderTheNextTime) {
  failing = {"a"};
  taken_of_failed = 1;
  open();
  for (int i = 1; i <= 3; ++i) lanes->push("a", i);
  loop.run_for(Duration(150));
  lanes->push("a", 4);
  EXPECT_EQ(lanes->size(), 3U);
  EXPECT_EQ(lanes->status().at("a").failures, 1U);
  failing.clear();
  loop.run_for(Duration(10'000));
  EXPECT_EQ(batches_to("a"), (std::vector<Batch>{{1, 2, 3}, {2, 3, 4}}));
  EXPECT_TRUE(lanes->idle());
  EXPECT_TRUE(lanes->status().empty());
}

TEST_F(LanesTest, WaitsLongerAfterEachFailureAndStartsAnewAfterASuccess) {
  failing = {"a"};
  takes = Duration(0);
  open().push("a", 1);
  loop.run_for(Duration(60'000));
  ASSERT_GE(sent.size(), 5U);
  for (std::size_t i = 1; i < 5; ++i) {
    const Duration base = Duration(1000) * (1U << (i - 1));
    EXPECT_GE(sent[i].begun - sent[i - 1].begun, base / 2) << i;
    EXPECT_LE(sent[i].begun - sent[i - 1].begun, base * 3 / 2) << i;
  }
  failing.clear();
  loop.run_for(std::chrono::minutes(10));
  ASSERT_TRUE(lanes->idle());
  failing = {"a"};
  const std::size_t before = sent.size();
  lanes->push("a", 2);
  loop.run_for(Duration(1500));
  EXPECT_GE(sent.size(), before + 2);
}

TEST_F(LanesTest, ADestinationThatTakesPartsOfABatchIsNotWaitedForLongerEachTime) {
  failing = {"d"};
  taken_of_failed = 1;
  DeliveryQueues<int>& queue = open();
  for (int i = 0; i < 20; ++i) queue.push("d", i);
  loop.run_for(std::chrono::seconds(40));  // 20 waits of 1.5 s at most
  EXPECT_TRUE(queue.idle());
}

TEST_F(LanesTest, NewItemsDoNotShortenABackoff) {
  failing = {"a"};
  takes = Duration(0);
  open().push("a", 1);
  for (int i = 0; i < 49; ++i) {
    loop.run_for(Duration(10));
    lanes->push("a", i);
  }
  EXPECT_EQ(sent.size(), 1U);
}

// Or what one item waits for would hold up all that come after it.
TEST_F(LanesTest, NewItemsDoNotWaitForWhatADestinationWantsLater) {
  takes = Duration(0);
  failing = {"a"};
  answering = true;
  open().push("a", 1);
  loop.run_for(std::chrono::minutes(2));
  const std::size_t before = sent.size();
  EXPECT_LT(before, 20U) << "it is not asked all the time";
  lanes->push("a", 2);
  loop.run_for(std::chrono::milliseconds(1500));
  ASSERT_GT(sent.size(), before);
  EXPECT_EQ(sent.back().batch, (Batch{1, 2}));
  const std::size_t after = sent.size();
  for (int i = 0; i < 50; ++i) {
    lanes->push("a", 3 + i);
    loop.run_for(Duration(10));
  }
  EXPECT_LE(sent.size(), after + 2) << "nor for each item";
}

// However small the batches are.
TEST_F(LanesTest, NothingWaitsForWhatADestinationWantsLaterWhereOrderDoesNotMatter) {
  takes = Duration(0);
  failing = {"a"};
  answering = true;
  wanted_later = std::set{1, 2};
  open({.batch_max = 1, .backoff = {}, .puts_aside = true});
  for (int i = 1; i <= 9; ++i) lanes->push("a", i);
  loop.run_for(Duration(0));
  EXPECT_EQ(sent.size(), 9U);
  EXPECT_EQ(lanes->size(), 2U);
  EXPECT_EQ(lanes->status().at("a").waiting, 2U);
  loop.run_for(std::chrono::minutes(10));
  const std::size_t before = sent.size();
  EXPECT_LT(before, 50U) << "they are not sent all the time";
  lanes->push("a", 10);
  loop.run_for(Duration(0));
  EXPECT_EQ(sent.size(), before + 1) << "what is new is sent at once, and only that";
  for (int i = 0; i < 600; ++i) {
    loop.run_for(Duration(100));
    lanes->push("a", 11 + i);
  }
  const auto again = std::ranges::count_if(sent.begin() + static_cast<std::ptrdiff_t>(before), sent.end(),
                                           [](const Sent& one) { return one.batch == Batch{1}; });
  EXPECT_GT(again, 0) << "what is wanted later does not wait until nothing else is sent";
  wanted_later->clear();
  loop.run_for(std::chrono::minutes(1));
  EXPECT_TRUE(lanes->idle());
  EXPECT_TRUE(lanes->status().empty());
}

TEST_F(LanesTest, WhoIsHeardFromIsTriedButNotAgainAndAgainWhileItOnlySpeaks) {
  failing = {"a"};
  takes = Duration(0);
  open_with_hosts().push("a", 1);
  loop.run_for(std::chrono::minutes(20));  // the waits are minutes by now
  const std::size_t before = sent.size();
  hosts.heard("a");
  loop.run_for(std::chrono::seconds(1));
  EXPECT_EQ(sent.size(), before + 1);
  for (int i = 0; i < 100; ++i) {
    hosts.heard("a");
    loop.run_for(std::chrono::milliseconds(100));
  }
  EXPECT_LE(sent.size(), before + 4) << "ten seconds";
  failing.clear();
  hosts.heard("a");
  loop.run_for(HostPauses::kHeardEvery);
  EXPECT_TRUE(lanes->idle());
}

// As a node that is reached, and cannot reach who calls it to learn the key.
TEST_F(LanesTest, WhoSpeaksWhileItFailsIsNotLeftAloneForLongerThanItFailed) {
  failing = {"a"};
  takes = Duration(0);
  open_with_hosts().push("a", 1);
  for (int i = 0; i < 60; ++i) {
    hosts.heard("a");
    loop.run_for(std::chrono::seconds(1));
  }
  failing.clear();
  loop.run_for(std::chrono::minutes(3));
  EXPECT_TRUE(lanes->idle());
}

TEST_F(LanesTest, WhoAsksForAPauseGetsItButNoLongOne) {
  failing = {"a", "b"};
  takes = Duration(0);
  for (const char* to : {"a", "b"}) {
    HttpResponse busy{.status = 503, .headers = {}, .body = {}};
    busy.headers.add("Retry-After", to == std::string("a") ? "3000" : "1");
    hosts.note(to, "POST", busy);
  }
  open_with_hosts().push("a", 1);
  lanes->push("b", 2);
  loop.run_for(std::chrono::seconds(59));
  EXPECT_EQ(batches_to("a").size(), 1U);
  EXPECT_GT(batches_to("b").size(), 2U);
  loop.run_for(std::chrono::seconds(2));
  EXPECT_EQ(batches_to("a").size(), 2U);
}

TEST_F(LanesTest, TellsWhyADestinationFailsAndSinceWhenUntilItTakesSomething) {
  failing = {"a"};
  takes = Duration(0);
  open().push("a", 1);
  loop.run_for(std::chrono::seconds(30));
  const QueueStatus first = lanes->status().at("a");
  EXPECT_GT(first.failures, 1U);
  EXPECT_EQ(first.reason, "a is down");
  EXPECT_LT(first.failing_since, clock.wall_now() - std::chrono::seconds(25));
  loop.run_for(std::chrono::minutes(1));
  EXPECT_GT(lanes->status().at("a").failures, first.failures);
  EXPECT_EQ(lanes->status().at("a").failing_since, first.failing_since);
  failing.clear();
  loop.run_for(std::chrono::minutes(10));
  EXPECT_TRUE(lanes->status().empty());
}

TEST_F(LanesTest, AFailingDestinationHoldsUpNoOther) {
  failing = {"bad"};
  open({.concurrent_max = 1, .backoff = {}});
  lanes->push("bad", 1);
  lanes->push("good", 2);
  loop.run_for(Duration(250));
  EXPECT_EQ(batches_to("good"), std::vector<Batch>{{2}});
}

TEST_F(LanesTest, NeverMoreRequestsUnderWayThanAllowed) {
  open({.concurrent_max = 2, .backoff = {}});
  for (int i = 0; i < 12; ++i) lanes->push("host" + std::to_string(i % 6), i);
  loop.run_for(Duration(5000));
  EXPECT_EQ(most_under_way, 2);
  EXPECT_EQ(sent.size(), 6U);
  EXPECT_TRUE(lanes->idle());
}

TEST_F(LanesTest, DestinationsThatAlwaysHaveMoreGoToTheBackOfTheLine) {
  takes = std::chrono::seconds(19);
  open({.concurrent_max = 2, .backoff = {}});
  for (int second = 0; second < 60; ++second) {
    for (const char* destination : {"slow", "slower"}) lanes->push(destination, second);
    if (second == 1) lanes->push("other", 1);
    loop.run_for(std::chrono::seconds(1));
  }
  EXPECT_EQ(batches_to("other"), std::vector<Batch>{{1}});
  EXPECT_GE(batches_to("slow").size(), 2U);
  EXPECT_EQ(most_under_way, 2);
}

TEST_F(LanesTest, ServersOfOneDomainLeavePlacesToOthersHoweverManyTheyAre) {
  open({.concurrent_max = 16, .backoff = {}});
  for (int i = 0; i < 50; ++i) lanes->push("s" + std::to_string(i) + ".slow.example", i);
  loop.run_for(Duration(10));
  EXPECT_EQ(under_way, 2);
  lanes->push("quick.example", 1);
  loop.run_for(Duration(10));
  EXPECT_EQ(sent.back().destination, "quick.example");
  loop.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(lanes->idle());
}

TEST_F(LanesTest, DestinationsThatComeBackFromABackoffWaitTheirTurnToo) {
  failing = {"a", "b", "c", "d"};
  takes = Duration(3000);
  open({.concurrent_max = 1, .backoff = {.first = Duration(10), .longest = Duration(10)}});
  for (const std::string& destination : failing) lanes->push(destination, 1);
  loop.run_for(Duration(60'000));
  EXPECT_EQ(most_under_way, 1);
  failing.clear();
  loop.run_for(Duration(60'000));
  EXPECT_TRUE(lanes->idle());
}

TEST_F(LanesTest, GathersBeforeARequestThatFollowsAnother) {
  open({.gather = Duration(400), .backoff = {}});
  lanes->push("a", 1);
  loop.run_for(Duration(10));
  EXPECT_EQ(sent.size(), 1U);  // the first does not wait
  lanes->push("a", 2);
  loop.run_for(takes - Duration(5));
  lanes->push("a", 3);
  loop.run_for(Duration(1000));
  EXPECT_EQ(batches_to("a"), (std::vector<Batch>{{1}, {2, 3}}));
  EXPECT_LE(sent[1].begun - sent[0].begun, takes + Duration(400));
}

TEST_F(LanesTest, StopEndsRequestsAndWaitsAndSendsNothingMore) {
  failing = {"b"};
  open().push("b", 1);
  loop.run_for(Duration(150));  // b waits out its backoff
  lanes->push("a", 1);
  loop.run_for(Duration(10));  // a is under way
  bool stopped = false;
  boost::asio::co_spawn(loop.executor(kOwner), stop_into(&stopped), [](std::exception_ptr) {});
  loop.run_for(Duration(0));
  EXPECT_TRUE(stopped);
  const std::size_t before = sent.size();
  lanes->push("c", 1);
  loop.run_for(std::chrono::minutes(5));
  EXPECT_EQ(sent.size(), before);
}

}  // namespace
}  // namespace tagring::queues
