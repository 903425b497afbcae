#include "queues/turns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "ring_sim/loop.hpp"

namespace tagring::queues {
namespace {

using ::testing::ElementsAre;

class TurnsTest : public testing::Test {
 protected:
  ~TurnsTest() override { loop.drop(kOwner); }

  Task<void> work(std::string name, std::string about = "post") {
    const Turns::Turn turn = co_await turns.take(std::move(about));
    begun.push_back(std::move(name));
    const Instant end = clock.now() + std::chrono::seconds(1);
    co_await clock.sleep_until(end);
  }
  // Asks again before anybody who waits could notice that the first one is over.
  Task<void> work_twice() {
    co_await work("first");
    co_await work("again");
  }

  // Begins before the next one is: what is ready at the same time runs in any order.
  void begin(Task<void> task) {
    tasks.spawn("test", std::move(task));
    loop.run_for(Duration(1));
  }

  static constexpr ring_sim::OwnerId kOwner = 1;
  ring_sim::Loop loop{1};
  ring_sim::LoopClock clock{loop, kOwner};
  Turns turns{clock, loop.executor(kOwner)};
  std::vector<std::string> begun;
  TaskGroup tasks{loop.executor(kOwner)};
};

TEST_F(TurnsTest, WhoHasWaitedLongestIsNext) {
  begin(work_twice());
  begin(work("second"));
  begin(work("third"));
  loop.run_for(std::chrono::seconds(10));
  EXPECT_THAT(begun, ElementsAre("first", "second", "third", "again"));
}

TEST_F(TurnsTest, WhatIsAboutSomethingElseWaitsForNobody) {
  begin(work("first"));
  begin(work("second"));
  begin(work("other", "another post"));
  loop.run_for(std::chrono::milliseconds(500));
  EXPECT_THAT(begun, ElementsAre("first", "other"));
  loop.run_for(std::chrono::seconds(10));
  EXPECT_THAT(begun, ElementsAre("first", "other", "second"));
}

TEST_F(TurnsTest, WhoDoesNotWaitAnyMoreHoldsUpNobody) {
  TaskGroup impatient(loop.executor(kOwner));
  tasks.spawn("test", work("first"));
  loop.run_for(std::chrono::milliseconds(100));
  impatient.spawn("test", work("second"));
  loop.run_for(std::chrono::milliseconds(100));
  tasks.spawn("test", work("third"));
  loop.run_for(std::chrono::milliseconds(100));
  impatient.cancel();
  loop.run_for(std::chrono::seconds(10));
  EXPECT_THAT(begun, ElementsAre("first", "third"));
}

}  // namespace
}  // namespace tagring::queues
