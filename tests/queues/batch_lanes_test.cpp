// What goes to inboxes many at a time, in virtual time: what waits for what.
#include "queues/batch_lanes.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "ring_sim/loop.hpp"

namespace tagring::queues {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const std::string kBatches = "https://a.example/inbox";

class BatchLanesTest : public testing::Test {
 protected:
  using Lanes = BatchLanes<std::string>;
  ~BatchLanesTest() override { loop.drop(kOwner); }

  static QueueOptions options() {
    QueueOptions options;
    options.batch_max = 4;
    return options;
  }
  Task<Lanes::Outcome> send(std::string /*inbox*/, std::string thread, std::vector<std::string> items,
                            std::size_t most) {
    std::erase_if(items, [this](const std::string& item) { return old.contains(item); });
    if (items.empty()) co_return Lanes::Outcome{};
    const std::size_t count = std::min(most, items.size());
    const std::vector<std::string> part(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
    requests.emplace_back(thread, part);
    const Instant end = loop.now() + Duration(5);
    co_await clock.sleep_until(end);
    const auto is_bad = [this](const std::string& item) { return failing.contains(item); };
    const bool fails = down || failing.contains(thread) || std::ranges::any_of(part, is_bad);
    Lanes::Outcome outcome{.left = std::move(items), .tried = count, .taken = !fails};
    if (fails) {
      outcome.failed = part;
      outcome.divides = !down;
      outcome.why = "it fails";
    } else {
      taken.insert(part.begin(), part.end());
    }
    co_return outcome;
  }
  void push(const std::string& thread, int count) {
    for (int i = 0; i < count; ++i) lanes.push(kBatches, thread, fmt::format("{} {}", thread, i));
  }
  void run(Duration duration) { loop.run_for(duration); }

  static constexpr ring_sim::OwnerId kOwner = 1;
  ring_sim::Loop loop{3};
  ring_sim::LoopClock clock{loop, kOwner};
  Workers workers;
  Log log = Log::off();
  const Runtime runtime{clock, loop.executor(kOwner), workers, log, Rng(1)};
  std::vector<std::pair<std::string, std::vector<std::string>>> requests;
  std::set<std::string> taken;
  std::set<std::string> failing;  // threads or items
  std::set<std::string> old;      // items that are not sent any more
  bool down = false;
  HostPauses hosts{runtime};
  Lanes lanes{
      options(), hosts, runtime, Rng(1),
      [this](std::string inbox, std::string thread, std::vector<std::string> items, std::size_t most) {
        return send(std::move(inbox), std::move(thread), std::move(items), most);
      }};
};

TEST_F(BatchLanesTest, WhatWaitsInAThreadGoesTogetherUpToTheLimit) {
  push("cats", 6);
  push("dogs", 1);
  EXPECT_EQ(lanes.size(), 7U);
  EXPECT_EQ(lanes.status().at(kBatches).waiting, 7U);
  run(seconds(3));
  EXPECT_THAT(requests,
              UnorderedElementsAre(testing::Pair("cats", ElementsAre("cats 0", "cats 1", "cats 2", "cats 3")),
                                   testing::Pair("cats", ElementsAre("cats 4", "cats 5")),
                                   testing::Pair("dogs", ElementsAre("dogs 0"))));
  EXPECT_TRUE(lanes.idle());
  EXPECT_THAT(lanes.status(), testing::IsEmpty());
}

TEST_F(BatchLanesTest, AThreadThatFailsHoldsUpNoOther) {
  failing = {"cats"};
  push("cats", 50);
  run(minutes(30));
  push("dogs", 9);
  run(seconds(5));
  EXPECT_THAT(taken, SizeIs(9));
  EXPECT_EQ(lanes.size(), 50U);
  failing.clear();
  run(hours(1));
  EXPECT_THAT(taken, SizeIs(59));
  EXPECT_TRUE(lanes.idle());
}

TEST_F(BatchLanesTest, WhatIsNeverTakenHoldsUpNothingElseOfItsThread) {
  for (int i = 0; i < 10; ++i) failing.insert(fmt::format("cats {}", 3 * i));
  push("cats", 40);
  run(minutes(2));
  EXPECT_THAT(taken, SizeIs(30));
  EXPECT_EQ(lanes.size(), 10U);
  requests.clear();
  run(hours(3));
  EXPECT_LT(requests.size(), 50U) << "each ten minutes, more or less";
  for (int i = 0; i < 5; ++i) {
    const std::string item = fmt::format("new {}", i);
    lanes.push(kBatches, "cats", item);
    run(seconds(4));
    EXPECT_THAT(taken, Contains(item));
    run(minutes(20 * i));
  }
}

TEST_F(BatchLanesTest, WhatComesWhileSomethingFailsForTheManiethTimeDoesNotWaitForIt) {
  failing = {"cats 0"};
  push("cats", 1);
  run(hours(2));
  const std::size_t before = requests.size();
  while (requests.size() == before) run(Duration(2));
  lanes.push(kBatches, "cats", "new");
  run(seconds(1));
  EXPECT_THAT(taken, Contains("new"));
}

TEST_F(BatchLanesTest, NothingNewGoesPastAnInboxThatIsDown) {
  for (const char* thread : {"cats", "dogs", "birds"}) {
    failing.insert(thread);
    push(thread, 1);
  }
  run(hours(3));
  requests.clear();
  for (int i = 0; i < 180; ++i) {
    lanes.push(kBatches, "cats", fmt::format("new {}", i));
    run(seconds(10));
  }
  EXPECT_LT(requests.size(), 10U);
}

TEST_F(BatchLanesTest, WhereNothingIsAnsweredRequestsDoNotGetSmaller) {
  down = true;
  push("cats", 8);
  run(minutes(10));
  requests.clear();
  down = false;
  run(minutes(20));
  EXPECT_THAT(requests, SizeIs(2));
  EXPECT_THAT(taken, SizeIs(8));
}

TEST_F(BatchLanesTest, AnInboxThatIsDownIsTriedLessAndLessOftenByOneThreadAtATime) {
  down = true;
  for (int i = 0; i < 200; ++i) push(fmt::format("thread {}", i), 1);
  run(minutes(10));
  EXPECT_LT(requests.size(), 20U);
  requests.clear();
  run(hours(5));
  EXPECT_GT(requests.size(), 15U);
  EXPECT_LT(requests.size(), 65U) << "each ten minutes, more or less";
  down = false;
  run(minutes(16));
  EXPECT_THAT(taken, SizeIs(200)) << "with the first that it takes all others go";
}

TEST_F(BatchLanesTest, WhatIsGivenUpUnsentDoesNotSayThatTheInboxIsUp) {
  down = true;
  for (int i = 0; i < 200; ++i) push(fmt::format("thread {}", i), 1);
  run(hours(3));
  requests.clear();
  for (int i = 0; i < 200; i += 2) old.insert(fmt::format("thread {} 0", i));
  run(hours(3));
  EXPECT_LT(requests.size(), 25U) << "each ten minutes, as before";
  EXPECT_LT(lanes.size(), 195U);
}

TEST_F(BatchLanesTest, APauseThatTheHostAsksForHoldsForAllThreads) {
  HttpResponse busy;
  busy.status = 429;
  busy.headers.add("Retry-After", "1800");
  hosts.note("a.example", "POST", busy);
  push("cats", 1);
  push("dogs", 1);
  run(minutes(29));
  hosts.heard("a.example");
  EXPECT_THAT(requests, SizeIs(0));
  run(minutes(2));
  EXPECT_THAT(taken, SizeIs(2));
}

}  // namespace
}  // namespace tagring::queues
