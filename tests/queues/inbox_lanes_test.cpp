// What goes to inboxes one by one, in virtual time: what waits for what.
#include "queues/inbox_lanes.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ring_sim/loop.hpp"

namespace tagring::queues {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;

const std::string kInbox = "https://a.example/inbox";

class CountingClock final : public Clock {
 public:
  explicit CountingClock(Clock& clock) : clock_(clock) {}
  [[nodiscard]] Instant now() const override { return clock_.now(); }
  [[nodiscard]] WallTime wall_now() const override { return clock_.wall_now(); }
  [[nodiscard]] Task<void> sleep_until(Instant deadline) override {
    ++sleeps;
    return clock_.sleep_until(deadline);
  }
  std::size_t sleeps = 0;

 private:
  Clock& clock_;
};

class InboxLanesTest : public testing::Test {
 protected:
  ~InboxLanesTest() override { loop.drop(kOwner); }

  Task<InboxLanes<std::string>::Outcome> send(std::string inbox, std::string item) {
    sent.push_back(item);
    times.push_back(loop.now());
    most_under_way = std::max(most_under_way, ++under_way);
    const bool is_slow = hanging.contains(item) || slow.contains(inbox);
    const Instant end = loop.now() + (is_slow ? Duration(seconds(20)) : Duration(5));
    co_await clock.sleep_until(end);
    --under_way;
    const bool fails = down || failing.contains(item) || hanging.contains(item);
    InboxLanes<std::string>::Outcome outcome;
    outcome.done = !fails;
    outcome.why = fails ? inbox + " fails" : "";
    if (early.contains(item)) outcome = {false, {}, seconds(1)};
    co_return outcome;
  }
  void run(Duration duration) { loop.run_for(duration); }

  static constexpr ring_sim::OwnerId kOwner = 1;
  ring_sim::Loop loop{3};
  ring_sim::LoopClock loop_clock{loop, kOwner};
  CountingClock clock{loop_clock};
  Workers workers;
  Log log = Log::off();
  const Runtime runtime{clock, loop.executor(kOwner), workers, log, Rng(1)};
  std::vector<std::string> sent;
  std::vector<Instant> times;
  std::set<std::string> failing;
  std::set<std::string> hanging;
  std::set<std::string> early;
  std::set<std::string> slow;  // inboxes, which take it after all
  bool down = false;
  std::size_t under_way = 0;
  std::size_t most_under_way = 0;
  HostPauses hosts{runtime};
  InboxLanes<std::string> lanes{
      QueueOptions{}, hosts, runtime, Rng(1),
      [this](std::string inbox, std::string item) { return send(std::move(inbox), std::move(item)); }};
};

TEST_F(InboxLanesTest, WhatHasNoAnswerHoldsUpNothingElse) {
  hanging = {"a"};
  for (const char* item : {"a", "b", "c"}) lanes.push(kInbox, item, item);
  run(seconds(2));
  EXPECT_THAT(sent, ElementsAre("a", "b", "c"));
}

TEST_F(InboxLanesTest, WhatFailsIsTriedAgainByItself) {
  failing = {"a"};
  lanes.push(kInbox, "a", "a");
  run(seconds(1));
  lanes.push(kInbox, "b", "b");
  run(Duration(20));
  EXPECT_EQ(sent.back(), "b");
  EXPECT_EQ(lanes.status().at(kInbox).reason, kInbox + " fails");
  failing.clear();
  run(minutes(1));
  EXPECT_EQ(sent.back(), "a");
  EXPECT_TRUE(lanes.idle());
}

TEST_F(InboxLanesTest, WhatFailsAgainAndAgainHoldsUpNothingThatDoesNot) {
  for (int i = 0; i < 8; ++i) {
    failing.insert(fmt::format("bad {}", i));
    lanes.push(kInbox, fmt::format("bad {}", i), fmt::format("bad {}", i));
  }
  run(seconds(5));
  lanes.push(kInbox, "good", "good");
  // After those that nobody has tried, and no more.
  run(minutes(2));
  EXPECT_THAT(sent, testing::Contains("good"));
  // From then on they are known to be what fails: one letter a minute waits for none of them.
  run(std::chrono::hours(3));
  for (int i = 0; i < 60; ++i) {
    run(minutes(1));
    const std::string item = fmt::format("good {}", i);
    lanes.push(kInbox, item, item);
    const std::size_t before = sent.size();
    run(seconds(1));
    if (i < 20) continue;  // until they have failed between letters that were taken
    EXPECT_EQ(std::count(sent.begin() + static_cast<std::ptrdiff_t>(before), sent.end(), item), 1) << i;
  }
  EXPECT_THAT(lanes.status().at(kInbox).waiting, 8U) << "they are tried all the same";
}

TEST_F(InboxLanesTest, TwoThatFailAreNoInboxThatIsDown) {
  failing = {"a", "b"};
  lanes.push(kInbox, "a", "a");
  lanes.push(kInbox, "b", "b");
  run(std::chrono::hours(2));
  lanes.push(kInbox, "c", "c");
  run(seconds(1));
  EXPECT_THAT(sent, testing::Contains("c"));
}

TEST_F(InboxLanesTest, WhatIsTooEarlySaysNothingOfTheInbox) {
  early = {"a", "b", "c", "d"};
  for (const char* item : {"a", "b", "c", "d"}) lanes.push(kInbox, item, item);
  run(minutes(10));
  EXPECT_EQ(lanes.status().at(kInbox).failures, 0U);
  lanes.push(kInbox, "e", "e");
  sent.clear();
  run(Duration(100));
  EXPECT_THAT(sent, testing::Contains("e"));
  while (under_way > 0) run(Duration(1));
  EXPECT_EQ(lanes.take_back(kInbox, "a", [](const std::string&) { return true; }),
            InboxLanes<std::string>::TakenBack::kUnsent);
  early.clear();
  run(seconds(3));
  EXPECT_TRUE(lanes.idle());
}

TEST_F(InboxLanesTest, WhatComesAfterAThreadIsEmptyIsStillAMomentApart) {
  lanes.push(kInbox, "post", "announce");
  run(Duration(100));
  ASSERT_THAT(sent, ElementsAre("announce"));
  lanes.push(kInbox, "post", "undo");
  run(seconds(5));
  ASSERT_THAT(sent, ElementsAre("announce", "undo"));
  EXPECT_GE(times[1] - times[0], InboxLanes<std::string>::kApart);
  EXPECT_THAT(lanes.status(), testing::IsEmpty()) << "nothing is remembered for ever";
}

TEST_F(InboxLanesTest, OneThreadKeepsItsOrderAMomentApart) {
  failing = {"announce"};
  lanes.push(kInbox, "post", "announce");
  lanes.push(kInbox, "post", "undo");
  run(seconds(4));
  EXPECT_THAT(sent, testing::Each(testing::Eq("announce")));
  failing.clear();
  run(minutes(1));
  ASSERT_EQ(sent.back(), "undo");
  EXPECT_GE(times.back() - times[times.size() - 2], InboxLanes<std::string>::kApart);
}

TEST_F(InboxLanesTest, AnInboxThatIsDownIsTriedByOneAndThenGetsEverythingAtOnce) {
  down = true;
  for (int i = 0; i < 50; ++i) lanes.push(kInbox, std::to_string(i), std::to_string(i));
  run(minutes(30));
  EXPECT_LT(sent.size(), 30U) << "not every item tries it";
  sent.clear();
  down = false;
  run(minutes(16));
  EXPECT_THAT(sent, SizeIs(50));
  EXPECT_LT(times.back() - times[times.size() - 49], Duration(seconds(2)));
}

TEST_F(InboxLanesTest, WhoIsHeardFromIsTriedAtOnce) {
  down = true;
  for (int i = 0; i < 5; ++i) lanes.push(kInbox, std::to_string(i), std::to_string(i));
  run(std::chrono::hours(2));
  down = false;
  sent.clear();
  run(seconds(15));
  ASSERT_THAT(sent, SizeIs(0));
  hosts.heard("a.example");
  run(seconds(1));
  EXPECT_THAT(sent, SizeIs(5));
}

TEST_F(InboxLanesTest, WhoSpeaksWhileItFailsIsNotLeftAloneForLongerThanItFailed) {
  down = true;
  for (int i = 0; i < 5; ++i) lanes.push(kInbox, std::to_string(i), std::to_string(i));
  for (int i = 0; i < 60; ++i) {
    hosts.heard("a.example");
    run(seconds(1));
  }
  down = false;
  run(minutes(3));
  EXPECT_TRUE(lanes.idle());
}

TEST_F(InboxLanesTest, WhoTakesWhatOneQueueHasIsTriedByAllOthers) {
  InboxLanes<std::string> others{
      QueueOptions{}, hosts, runtime, Rng(2),
      [this](std::string inbox, std::string item) { return send(std::move(inbox), std::move(item)); }};
  down = true;
  for (int i = 0; i < 5; ++i) others.push(kInbox, std::to_string(i), std::to_string(i));
  run(std::chrono::hours(2));
  down = false;
  sent.clear();
  lanes.push(kInbox, "announced", "announced");
  run(seconds(1));
  EXPECT_THAT(sent, SizeIs(6));
  run(seconds(2));
  EXPECT_TRUE(others.idle()) << "or it would go before what it has begun";
}

TEST_F(InboxLanesTest, WhoSpeaksWhileARequestHangsIsTriedAfterIt) {
  down = true;
  for (int i = 0; i < 5; ++i) lanes.push(kInbox, std::to_string(i), std::to_string(i));
  run(std::chrono::hours(2));
  hanging = {"0", "1", "2", "3", "4"};
  sent.clear();
  while (sent.empty()) run(seconds(1));  // one tries it, and will have no answer for twenty seconds
  failing = {sent[0]};
  down = false;
  hanging = {};
  hosts.heard("a.example");
  sent.clear();
  run(seconds(25));
  const std::set<std::string> tried(sent.begin(), sent.end());
  EXPECT_GE(tried.size(), 4U);
}

TEST_F(InboxLanesTest, AHostThatAsksForPatienceGetsNothingUntilThen) {
  HttpResponse response;
  response.status = 429;
  response.headers.add("Retry-After", "120");
  hosts.note("a.example", "POST", response);
  lanes.push(kInbox, "a", "a");
  lanes.push("https://a.example/users/bob/inbox", "b", "b");
  lanes.push("https://b.example/inbox", "c", "c");
  run(seconds(119));
  EXPECT_THAT(sent, ElementsAre("c"));
  run(seconds(2));
  EXPECT_THAT(sent, SizeIs(3));
}

TEST_F(InboxLanesTest, ManyInboxesOfOneHostDoNotWakeEachOther) {
  constexpr std::size_t kInboxes = 300;
  for (std::size_t i = 0; i < kInboxes; ++i)
    lanes.push(fmt::format("https://a.example/{}/inbox", i), "post", "post", seconds(1) + Duration(i));
  run(minutes(1));
  EXPECT_THAT(sent, SizeIs(kInboxes));
  EXPECT_TRUE(lanes.idle());
  EXPECT_LT(clock.sleeps, 10 * kInboxes);
  down = true;
  for (std::size_t i = 0; i < kInboxes; ++i)
    lanes.push(fmt::format("https://a.example/{}/inbox", i), "post", "post");
  run(std::chrono::hours(1));
  clock.sleeps = 0;
  for (int i = 0; i < 100; ++i) {
    hosts.heard("a.example");
    run(Duration(10));
  }
  EXPECT_LT(clock.sleeps, 20 * kInboxes) << "each has heard it once";
}

TEST_F(InboxLanesTest, WhatIsTakenBackInTimeIsNotSent) {
  using TakenBack = InboxLanes<std::string>::TakenBack;
  const auto any = [](const std::string&) { return true; };
  lanes.push(kInbox, "a", "a", seconds(1));
  EXPECT_EQ(lanes.take_back(kInbox, "a", any), TakenBack::kUnsent);
  failing = {"b"};
  lanes.push(kInbox, "b", "b");
  run(Duration(100));
  EXPECT_EQ(lanes.take_back(kInbox, "b", any), TakenBack::kTried);
  run(minutes(1));
  EXPECT_THAT(sent, ElementsAre("b"));
  EXPECT_EQ(lanes.take_back(kInbox, "b", any), TakenBack::kNothing);
}

TEST_F(InboxLanesTest, ToOneInboxGoFewAtATimeAndToAllTogetherNoMoreThanAllowed) {
  for (int i = 0; i < 1000; ++i) {
    const std::string inbox = fmt::format("https://{}.example/inbox", i);
    hanging.insert(inbox);
    lanes.push(inbox, "post", inbox);
  }
  run(seconds(10));
  EXPECT_EQ(most_under_way, QueueOptions{}.singles_max);
  run(minutes(10));
  EXPECT_GE(std::set(sent.begin(), sent.end()).size(), 1000U);
}

TEST_F(InboxLanesTest, InboxesThatAnswerSlowlyGiveTheirPlacesToWhoWaitsForOne) {
  for (int i = 0; i < 200; ++i) {
    const std::string inbox = fmt::format("https://slow{}.example/inbox", i);
    slow.insert(inbox);
    for (int post = 0; post < 20; ++post) lanes.push(inbox, std::to_string(post), "slow");
  }
  run(seconds(1));
  for (int i = 0; i < 40; ++i) lanes.push(fmt::format("https://{}.example/inbox", i), "post", "quick");
  run(seconds(45));
  EXPECT_EQ(std::ranges::count(sent, "quick"), 40) << "nobody has two requests before they have one";
  EXPECT_EQ(most_under_way, QueueOptions{}.singles_max);
}

TEST_F(InboxLanesTest, ServersOfOneDomainLeavePlacesToOthersHoweverManyTheyAre) {
  for (int i = 0; i < 200; ++i) {
    const std::string inbox = fmt::format("https://s{}.slow.example/inbox", i);
    slow.insert(inbox);
    lanes.push(inbox, "post", "slow");
  }
  run(seconds(1));
  EXPECT_EQ(under_way, QueueOptions{}.singles_max / Places::kShares);
  lanes.push(kInbox, "post", "quick");
  run(seconds(1));
  EXPECT_EQ(sent.back(), "quick");
  run(minutes(10));
  EXPECT_TRUE(lanes.idle()) << "those have theirs one after the other";
}

// --- what servers say of their limits ----------------------------------------------------------------------

Duration pause_of(int status, const std::string& name, const std::string& value) {
  HttpResponse response;
  response.status = status;
  if (!name.empty()) response.headers.add(name, value);
  if (name == "X-RateLimit-Reset") response.headers.add("X-RateLimit-Remaining", "0");
  return asked_pause(response, *from_rfc3339("2026-11-21T10:00:00Z"));
}

TEST(HostPauses, TheHeadersOfEverySoftwareAreRead) {
  EXPECT_EQ(pause_of(429, "Retry-After", "7"), seconds(7));
  EXPECT_EQ(pause_of(503, "Retry-After", "30"), seconds(30));  // GoToSocial
  EXPECT_EQ(pause_of(503, "Retry-After", "Sat, 21 Nov 2026 10:01:00 GMT"), seconds(60));
  EXPECT_EQ(pause_of(429, "X-RateLimit-Reset", "2026-11-21T10:05:00Z"), minutes(5));  // GoToSocial, Mastodon
  EXPECT_EQ(pause_of(429, "X-RateLimit-Reset", "1795255320"), minutes(2));
  EXPECT_EQ(pause_of(202, "X-RateLimit-Reset", "2026-11-21T10:05:00Z"), minutes(5)) << "nothing is left";
  EXPECT_EQ(pause_of(429, "Retry-After", "999999999"), std::chrono::hours(1));
  EXPECT_GT(pause_of(429, "Retry-After", "soon"), Duration::zero());
  EXPECT_GT(pause_of(429, "", ""), Duration::zero());
  EXPECT_EQ(pause_of(503, "", ""), Duration::zero());
  EXPECT_EQ(pause_of(200, "Retry-After", "30"), Duration::zero());
}

}  // namespace
}  // namespace tagring::queues
