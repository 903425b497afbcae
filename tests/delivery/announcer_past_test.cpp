// After a start, what was owed before it is read beside everything else, from a disk that takes its time.
#include <algorithm>
#include <fmt/format.h>

#include "delivery/announcer.hpp"
#include "delivery/role_fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::delivery {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kNodeInbox = "https://node.example/inbox";
const std::string kOtherInbox = "https://other.example/inbox";
const std::string kSharedInbox = "https://social.example/inbox";

class SlowFeed final : public db::SqliteRelayStore {
 public:
  SlowFeed(sql::Database& database, Clock& clock) : SqliteRelayStore(database, clock), clock_(clock) {}

  Task<Result<std::vector<FeedEntry>>> feed(std::uint64_t after, std::size_t limit) override {
    const Instant done = clock_.now() + takes;
    co_await clock_.sleep_until(done);
    largest = std::max(largest, limit);
    if (fails > 0) {
      --fails;
      co_return fail(ErrorCode::kUnavailable, "the disk is tired");
    }
    co_return co_await SqliteRelayStore::feed(after, std::min(limit, page));
  }

  std::size_t page = 2;
  Duration takes = seconds(1);  // a page
  int fails = 0;                // so many, before one is read
  std::size_t largest = 0;      // that was asked for

 private:
  Clock& clock_;
};

class ReadingTheFeed : public RoleTest {
 protected:
  ReadingTheFeed() {
    restart(Duration::zero());
    loop.run_for(milliseconds(1));
  }
  ~ReadingTheFeed() override { finish(now->stop()); }

  void follow(const Tag& tag, const std::string& inbox, Via via, const std::string& who = "somebody") {
    followers.add({tag, inbox + "/of-" + who, inbox, "", via, 0});
  }
  static std::string uri(int number) { return fmt::format("https://author.example/{}", number); }
  // It is on the disk, and pushed. Returns its place, the last one of several hashtags.
  std::uint64_t take(int number, Op op = Op::kAdd, const std::vector<Tag>& tags = {"cats"_tag},
                     Announcer::To to = Announcer::To::kEverybody) {
    std::vector<TagEvent> events;
    for (const Tag& tag : tags) {
      events.push_back({tag, op, uri(number), "https://author.example/u", clock.wall_now(), true});
      if (op == Op::kRemove) events.back().changed = clock.wall_now();
    }
    const std::vector<Store::Accepted> accepted = run(stores->relay.accept(events, 0)).value();
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_TRUE(accepted[i].fresh);
      events[i].announced = accepted[i].announced;
      now->push({accepted[i].feed_seq, events[i], accepted[i].added}, to);
    }
    loop.run_for(Duration(1));
    last_event = events.back();
    return accepted.back().feed_seq;
  }
  // Under #dogs, whom more follow there; not under #cats.
  void announce_under_one_of_two() {
    for (const auto* who : {"alice", "bob"}) follow("dogs"_tag, kSharedInbox, Via::kBoost, who);
    follow("cats"_tag, kSharedInbox, Via::kBoost, "alice");
    take(1, Op::kAdd, {"cats"_tag, "dogs"_tag});
    loop.run_for(seconds(5));
    ASSERT_THAT(web.posted_to(kSharedInbox), SizeIs(1)) << "under #dogs";
  }
  void none_answers() {
    for (const std::string& inbox : {kNodeInbox, kOtherInbox, kSharedInbox}) web.statuses[inbox] = 503;
  }
  // The next announcer has loaded, and begins to read.
  void restart(Duration takes = seconds(1)) {
    if (now) finish(now->stop());
    loop.run_for(seconds(1));
    web.calls.clear();
    web.statuses.clear();
    slow.takes = takes;
    now = std::make_unique<Announcer>(queues::QueueOptions{}, slow, followers, blocks, sender, runtime);
    ASSERT_TRUE(run(now->load()));
    now->start([this](Announcements page) { return visit(std::move(page)); });
  }
  Task<Result<void>> visit(Announcements page) {
    if (visits_fail > 0) {
      --visits_fail;
      co_return fail(ErrorCode::kUnavailable, "whoever looks on is tired");
    }
    if (page.empty()) ++ends;
    for (const auto& item : page) visited.push_back(item->entry.seq);
    co_return Result<void>();
  }
  // "Announce 1", and so on, in the order in which they were sent there, each URI of a request by itself.
  std::vector<std::string> told(const std::string& inbox) const {
    std::vector<std::string> said;
    for (const json::object& sent : web.posted_to(inbox)) {
      const std::string body = json::serialize(sent);
      const std::string type = json::id_of(sent, "type");
      std::map<std::size_t, int> found;  // by where it stands first
      for (int i = 1; i <= 9; ++i) {
        const std::size_t at = body.find('"' + uri(i) + '"');
        if (at != std::string::npos) found.emplace(at, i);
      }
      for (const auto& [at, i] : found) said.push_back(fmt::format("{} {}", type, i));
    }
    return said;
  }
  std::uint64_t reached(const std::string& inbox) {
    const Store::Cursors cursors = run(stores->relay.cursors()).value();
    const auto cursor = cursors.find(inbox);
    return cursor == cursors.end() ? 0 : cursor->second.acknowledged;
  }

  Followers followers;
  federation::Blocks blocks;
  budget::Manager budget{budget::default_budgets(), runtime.clock};
  federation::RemoteKeys keys{budget, client, runtime};
  federation::Authenticator authenticator{{}, {}, keys, runtime};
  PartialCollections partials{{false, {}}, followers, identity, authenticator, observer, runtime};
  AnnouncementSender sender{followers, partials, client, observer, runtime};
  SlowFeed slow{*stores->database, clock};
  std::vector<std::uint64_t> visited;
  int ends = 0;
  int visits_fail = 0;
  std::optional<TagEvent> last_event;
  std::unique_ptr<Announcer> now;
};

TEST_F(ReadingTheFeed, WhatComesMeanwhileIsTakenAtOnceAndAnnouncedBehindIt) {
  follow("cats"_tag, kNodeInbox, Via::kNode);
  none_answers();
  for (int i = 1; i <= 6; ++i) take(i);
  restart();
  EXPECT_TRUE(now->is_reading());
  EXPECT_EQ(now->last_seq(), 6U) << "known before anything is read";
  take(7);
  EXPECT_EQ(now->last_seq(), 7U);
  EXPECT_FALSE(now->idle());
  EXPECT_EQ(now->waiting(), 1U);
  EXPECT_FALSE(now->has_reached(kNodeInbox, 1));
  EXPECT_EQ(run(now->handed_from()).error().code, ErrorCode::kBusy);
  loop.run_for(milliseconds(1'500));
  EXPECT_EQ(json::serialize(now->reading()), R"({"read":2,"of":6})");
  EXPECT_THAT(told(kNodeInbox), ElementsAre("Announce 1", "Announce 2"));
  loop.run_for(seconds(10));
  EXPECT_THAT(told(kNodeInbox), ElementsAre("Announce 1", "Announce 2", "Announce 3", "Announce 4",
                                            "Announce 5", "Announce 6", "Announce 7"));
  EXPECT_FALSE(now->is_reading());
  EXPECT_TRUE(now->idle());
  EXPECT_TRUE(now->has_reached(kNodeInbox, 7));
  EXPECT_THAT(visited, ElementsAre(1, 2, 3, 4, 5, 6)) << "what comes meanwhile is seen as it comes";
  EXPECT_LE(slow.largest, 2'000U);
}

// Else it would be taken back before it is announced, and stay.
TEST_F(ReadingTheFeed, NoRemovalPassesWhatItRemoves) {
  follow("cats"_tag, kSharedInbox, Via::kBoost);
  none_answers();
  take(1);
  for (int i = 2; i <= 4; ++i) take(i);
  restart();
  take(1, Op::kRemove);
  loop.run_for(seconds(30));
  std::vector<std::string> of_it;
  for (const std::string& said : told(kSharedInbox)) {
    if (said.ends_with(" 1")) of_it.push_back(said);
  }
  EXPECT_THAT(of_it, ElementsAre("Undo 1")) << "which may have arrived before the start";
  EXPECT_THAT(told(kSharedInbox), SizeIs(4));
}

TEST_F(ReadingTheFeed, ARestartBeforeItIsReadLosesNothingAndTellsNothingTwice) {
  follow("cats"_tag, kNodeInbox, Via::kNode);
  follow("cats"_tag, kSharedInbox, Via::kBoost);
  for (int i = 1; i <= 4; ++i) take(i);
  loop.run_for(seconds(5));
  none_answers();
  for (int i = 5; i <= 8; ++i) take(i);
  restart();
  loop.run_for(milliseconds(3'500));  // 1 to 6 are read
  take(9);
  EXPECT_THAT(told(kNodeInbox), ElementsAre("Announce 5", "Announce 6"));
  EXPECT_THAT(told(kSharedInbox), IsEmpty()) << "under which hashtags is known when all is read";
  restart();
  EXPECT_EQ(reached(kNodeInbox), 6U);
  EXPECT_EQ(reached(kSharedInbox), 4U);
  loop.run_for(seconds(30));
  EXPECT_THAT(told(kNodeInbox), ElementsAre("Announce 7", "Announce 8", "Announce 9"));
  EXPECT_THAT(told(kSharedInbox), testing::UnorderedElementsAre("Announce 5", "Announce 6", "Announce 7",
                                                                "Announce 8", "Announce 9"));
  EXPECT_TRUE(now->idle());
}

// What is done with while the rest is read says nothing of the rest.
TEST_F(ReadingTheFeed, NoInboxGetsPastWhatIsNotReadYet) {
  announce_under_one_of_two();
  const std::uint64_t removed = take(1, Op::kRemove, {"cats"_tag});
  loop.run_for(seconds(5));
  none_answers();
  take(2, Op::kAdd, {"dogs"_tag});
  slow.page = 1;
  restart();
  loop.run_for(milliseconds(3'500));  // the removal is read, which concerns nobody
  restart();
  EXPECT_EQ(reached(kSharedInbox), removed);
  loop.run_for(seconds(30));
  EXPECT_THAT(told(kSharedInbox), ElementsAre("Announce 2"));
}

// Of what was held, too, the first says nothing of the rest.
TEST_F(ReadingTheFeed, NorPastWhatCameMeanwhile) {
  announce_under_one_of_two();
  restart();
  none_answers();
  take(1, Op::kRemove, {"cats"_tag});  // which concerns nobody
  const std::uint64_t owed = take(2, Op::kAdd, {"dogs"_tag});
  loop.run_for(seconds(30));
  EXPECT_FALSE(now->is_reading());
  restart();
  EXPECT_EQ(reached(kSharedInbox), owed - 1);
  loop.run_for(seconds(30));
  EXPECT_THAT(told(kSharedInbox), ElementsAre("Announce 2"));
}

TEST_F(ReadingTheFeed, WhatIsDeliveredMeanwhileIsNotToldAgainAfterTheNextRestart) {
  for (const auto* who : {"alice", "bob"}) follow("dogs"_tag, kSharedInbox, Via::kBoost, who);
  follow("cats"_tag, kSharedInbox, Via::kBoost, "alice");
  none_answers();
  take(1, Op::kAdd, {"cats"_tag, "dogs"_tag});
  loop.run_for(seconds(5));  // it is noted under which of them it is owed
  for (int i = 2; i <= 4; ++i) take(i, Op::kAdd, {"birds"_tag});
  slow.page = 1;
  restart();
  loop.run_for(milliseconds(3'500));
  EXPECT_TRUE(now->is_reading());
  EXPECT_THAT(told(kSharedInbox), ElementsAre("Announce 1"));
  loop.run_for(seconds(30));
  restart();
  loop.run_for(seconds(30));
  EXPECT_THAT(told(kSharedInbox), IsEmpty());
}

TEST_F(ReadingTheFeed, APageThatFailsIsReadAgainAndThatIsShown) {
  follow("cats"_tag, kNodeInbox, Via::kNode);
  none_answers();
  for (int i = 1; i <= 4; ++i) take(i);
  lines.clear();
  slow.fails = 2;
  visits_fail = 2;
  restart();
  loop.run_for(milliseconds(1'500));
  EXPECT_EQ(json::serialize(now->reading()), R"({"read":0,"of":4,"because":"the disk is tired"})");
  loop.run_for(seconds(30));
  EXPECT_FALSE(now->is_reading());
  EXPECT_THAT(told(kNodeInbox), ElementsAre("Announce 1", "Announce 2", "Announce 3", "Announce 4"));
  EXPECT_THAT(visited, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(ends, 2) << "one of them of the empty feed at first";
  EXPECT_EQ(std::ranges::count_if(lines, [](const auto& line) { return line.contains("feed_not_read"); }), 2)
      << "once for each reason, not for each try";
}

TEST_F(ReadingTheFeed, WhoFollowsMeanwhileGetsWhatItMissedOnce) {
  for (int i = 1; i <= 6; ++i) take(i);
  restart();
  loop.run_for(milliseconds(2'500));  // 1 to 4 are read
  take(7);
  follow("cats"_tag, kOtherInbox, Via::kNode);
  finish(now->push_missed("cats"_tag, {kOtherInbox}, 0));
  loop.run_for(seconds(30));
  std::vector<std::string> all = told(kOtherInbox);
  std::ranges::sort(all);
  EXPECT_THAT(all, ElementsAre("Announce 1", "Announce 2", "Announce 3", "Announce 4", "Announce 5",
                               "Announce 6", "Announce 7"));
}

TEST_F(ReadingTheFeed, WhatAnotherRelayWasToTellNodesIsToldThemOnceWhenItIsGivenToThisOne) {
  follow("cats"_tag, kNodeInbox, Via::kNode);
  take(1);
  restart();
  take(2, Op::kAdd, {"cats"_tag}, Announcer::To::kPeople);
  const TagEvent given = *last_event;
  take(3, Op::kAdd, {"cats"_tag}, Announcer::To::kPeople);
  EXPECT_TRUE(run(now->tell_nodes(given)));
  EXPECT_TRUE(run(now->tell_nodes(given)));
  loop.run_for(seconds(30));
  EXPECT_THAT(told(kNodeInbox), ElementsAre("Announce 2"));
}

TEST_F(ReadingTheFeed, WhatIsNotReadYetIsNotForgottenHoweverOldItIs) {
  follow("cats"_tag, kNodeInbox, Via::kNode);
  for (int i = 1; i <= 4; ++i) take(i);
  restart();
  loop.run_for(seconds(30));
  none_answers();
  take(5);
  finish(now->stop());
  loop.run_for(std::chrono::hours(24 * 4));
  restart();
  slow.fails = 1'000'000;
  take(6);
  loop.run_for(std::chrono::hours(30));  // its date is believed by then
  EXPECT_THAT(run(stores->relay.feed(0, 100)).value(), SizeIs(6));
  slow.fails = 0;
  loop.run_for(seconds(30));
  EXPECT_THAT(told(kNodeInbox), ElementsAre("Announce 5", "Announce 6"));
}

}  // namespace
}  // namespace tagring::delivery
