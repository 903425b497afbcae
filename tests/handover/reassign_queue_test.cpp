// What a node owned and lost, it owes to whoever owns it now. It stands alone on its rings, so that this is
// itself.
#include "handover/reassign_queue.hpp"

#include "delivery/role_fixture.hpp"
#include "hashtag/tag.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::handover {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const RingId kKey = "cats"_tag.key();
const RingId kOne = RingId::power_of_two(0);
const Segment kCats{kKey - kOne, kKey};

class Owner final : public delivery::SilentObserver {
 public:
  Task<Result<std::vector<delivery::Refusal>>> take_as_owner(
      Ring ring, std::vector<delivery::TagEvent> events) override {
    for (const delivery::TagEvent& event : events)
      taken.push_back((ring == Ring::kRelay ? "relay " : "storage ") + event.tag.canonical());
    co_return std::vector<delivery::Refusal>();
  }
  std::vector<std::string> taken;
};

class ReassignQueueTest : public RoleTest {
 protected:
  ReassignQueueTest() { begin(); }
  ~ReassignQueueTest() override { end(); }

  void begin() {
    queue = std::make_unique<ReassignQueue>(
        stores->relay, disputes, outbox,
        ReassignQueue::Options{{{Ring::kRelay, 1}, {Ring::kStorage, 1}},
                               saved,
                               [this](std::string text) { return save(std::move(text)); },
                               1'000,
                               "tags.a.example",
                               [this] { return feed_from(); }},
        reads, runtime);
    queue->start(*rings);
  }
  void end() {
    finish(queue->stop());
    finish(disputes.stop());
    finish(outbox.stop());
  }
  Task<Result<void>> save(std::string text) {
    if (disk_full) co_return fail(ErrorCode::kUnavailable, "the disk is full");
    saved = std::move(text);
    co_return Result<void>();
  }
  Task<Result<std::uint64_t>> feed_from() { co_return from; }
  void take_post() {
    const delivery::TagEvent event{
        "cats"_tag, delivery::Op::kAdd, "https://a.example/1", "https://a.example/u", clock.wall_now(), true};
    ASSERT_TRUE(run(stores->relay.accept({event}, 0)));
    ASSERT_TRUE(run(stores->history.put({{"cats"_tag, event.uri, event.author, event.published}})));
  }
  void give_up(Ring ring) { queue->gave_up(ring, kKey, kCats, clock.now()); }

  Owner owner;
  redundancy::RelayHints relays{1, clock, [](const Tag&) {}};
  redundancy::StorageHints storage{1, clock};
  budget::Manager budget{budget::default_budgets(), clock};
  belief::OriginChecker origins{budget, client, runtime};
  storage::Disputes disputes{stores->history, origins, runtime};
  delivery::OwnerQueue outbox{{}, stores->relay, {*rings, relays, storage}, client, owner, runtime};
  ReadSegments reads{clock};
  std::string saved;
  bool disk_full = false;
  std::uint64_t from = 0;
  std::unique_ptr<ReassignQueue> queue;
};

TEST_F(ReassignQueueTest, WhatIsGivenUpGoesToItsOwner) {
  take_post();
  give_up(Ring::kRelay);
  give_up(Ring::kStorage);
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(owner.taken, testing::UnorderedElementsAre("relay cats", "storage cats"));
  EXPECT_THAT(saved, Not(HasSubstr(kKey.hex()))) << "it is owed no more";
}

TEST_F(ReassignQueueTest, WhatIsKeptOfTheFeedForOtherEndsIsNotOwed) {
  take_post();
  from = 1;
  give_up(Ring::kRelay);
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(owner.taken, IsEmpty());
  EXPECT_THAT(saved, Not(HasSubstr(kKey.hex())));
}

// The node of the post's server would be believed; others are not, and whom they tell looks at the post.
TEST_F(ReassignQueueTest, ARemovalThatWasOnlyHeardIsOwedButByTheNodeOfThePostsServer) {
  const WallTime now = clock.wall_now();
  ASSERT_TRUE(run(stores->history.put(
      {{"cats"_tag, "https://a.example/1", "https://a.example/u", now, true, false, storage::kBeforeAll},
       {"cats"_tag, "https://a.example/2", "https://a.example/u", now, true, false, now}})));
  give_up(Ring::kStorage);
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(owner.taken, ElementsAre("storage cats"));
  ASSERT_TRUE(run(stores->history.put(
      {{"cats"_tag, "https://b.example/1", "https://b.example/u", now, true, false, storage::kBeforeAll}})));
  give_up(Ring::kStorage);
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(owner.taken, ElementsAre("storage cats", "storage cats", "storage cats"))
      << "the one that was owed before, and this one";
}

// Whoever it is from saw it read here, and owes it to nobody any more.
TEST_F(ReassignQueueTest, APostThatWasOnlyHeardIsOwed) {
  take_post();
  ASSERT_TRUE(
      run(disputes.adopt({{"cats"_tag, "https://a.example/2", "https://a.example/u", clock.wall_now()}},
                         "https://tags.b.example", 3)));
  give_up(Ring::kStorage);
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(owner.taken, ElementsAre("storage cats", "storage cats"));
}

// Whoever has a receipt for it sends it no more.
TEST_F(ReassignQueueTest, WhatThisNodeSignedForIsOwedThoughItWasHeardBefore) {
  const storage::HistoryEntry post{"cats"_tag, "https://a.example/2", "https://a.example/u",
                                   clock.wall_now()};
  storage::HistoryEntry removed = post;
  removed.uri = "https://a.example/3";
  for (const storage::HistoryEntry& heard : {post, removed})
    ASSERT_TRUE(run(disputes.adopt({heard}, "https://tags.b.example", 3)));
  removed.removed = true;
  removed.changed = clock.wall_now();
  disputes.promise({post, removed});
  ASSERT_TRUE(run(stores->history.put({post, removed})));
  give_up(Ring::kStorage);
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(owner.taken, ElementsAre("storage cats", "storage cats"));
}

TEST_F(ReassignQueueTest, TheHistoryThatTheNewOwnerHasReadIsNotOwed) {
  take_post();
  give_up(Ring::kRelay);
  give_up(Ring::kStorage);
  loop.run_for(std::chrono::seconds(1));
  reads.note(kCats);
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(owner.taken, ElementsAre("relay cats"))
      << "of the feed a part may be in doubt there, in memory";
}

// A place that was given up in peace was read while it was being given up.
TEST_F(ReassignQueueTest, NorIsWhatItHasReadBeforeThePlaceWasGone) {
  take_post();
  const Instant begun = clock.now();
  loop.run_for(std::chrono::minutes(1));
  reads.note(kCats);
  loop.run_for(std::chrono::minutes(5));
  reads.note({kKey, kKey + RingId::power_of_two(0)});
  queue->gave_up(Ring::kStorage, kKey, kCats, begun);
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(owner.taken, IsEmpty());
}

TEST_F(ReassignQueueTest, WhatIsOwedOutlivesARestart) {
  take_post();
  give_up(Ring::kRelay);
  loop.run_for(std::chrono::seconds(1));
  finish(queue->stop());
  begin();
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(owner.taken, ElementsAre("relay cats"));
}

TEST_F(ReassignQueueTest, WhatTheDiskDoesNotTakeNowIsWrittenLater) {
  take_post();
  disk_full = true;
  give_up(Ring::kRelay);
  loop.run_for(std::chrono::seconds(5));
  EXPECT_THAT(saved, IsEmpty());
  disk_full = false;
  loop.run_for(std::chrono::seconds(5));
  EXPECT_THAT(saved, HasSubstr(kKey.hex()));
}

TEST_F(ReassignQueueTest, WhatItOwnsIsWrittenDownAsSoonAsThereIsRoom) {
  disk_full = true;
  const auto& vserver = *rings->of(Ring::kRelay).vservers().front();
  queue->segment_changed(Ring::kRelay, vserver);
  loop.run_for(std::chrono::seconds(30));
  EXPECT_THAT(saved, IsEmpty());
  disk_full = false;
  loop.run_for(std::chrono::seconds(30));
  EXPECT_THAT(saved, HasSubstr(vserver.self().id.hex()));
}

}  // namespace
}  // namespace tagring::handover
