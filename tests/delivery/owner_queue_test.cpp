// What is owed to owners, until each has taken it. This node owns everything here, so that it is the owner.
#include "delivery/owner_queue.hpp"

#include <fmt/format.h>
#include <set>

#include "delivery/role_fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::delivery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A disk on which nothing can be acknowledged for a while.
class FullStore final : public db::SqliteRelayStore {
 public:
  using SqliteRelayStore::SqliteRelayStore;
  Task<Result<void>> acknowledge(std::map<std::uint64_t, std::uint32_t> done) override {
    if (full) co_return fail(ErrorCode::kUnavailable, "the disk is full");
    co_return co_await SqliteRelayStore::acknowledge(std::move(done));
  }
  bool full = false;
};

// Takes everything, or refuses everything for that reason, or a batch whole that has one of these in it.
class Owner final : public SilentObserver {
 public:
  Task<Result<std::vector<Refusal>>> take_as_owner(Ring /*ring*/, std::vector<TagEvent> events) override {
    std::vector<Refusal> refusals;
    ++asked;
    for (const TagEvent& event : events) {
      if (unreadable.contains(event.tag)) co_return fail(ErrorCode::kInvalid, "for a test");
    }
    for (TagEvent& event : events) {
      if (refuses)
        refusals.push_back({event.uri, event.tag, {*refuses, "for a test"}});
      else
        taken.push_back((event.op == Op::kAdd ? "+" : "-") + event.tag.canonical());
    }
    co_return refusals;
  }
  std::optional<ErrorCode> refuses;
  std::set<Tag> unreadable;
  std::vector<std::string> taken;
  int asked = 0;
};

class OwnerQueueTest : public RoleTest {
 protected:
  OwnerQueueTest() : store(*stores->database, clock) {}
  ~OwnerQueueTest() override { finish(queue.stop()); }

  void publish(std::vector<Tag> tags) {
    ASSERT_TRUE(run(queue.publish({"https://a.example/1", "https://a.example/u", clock.wall_now(), tags})));
  }
  // As if the network kept so many relays.
  void must_publish_to(unsigned relays_kept) {
    PublishedPost post{"https://a.example/1", "https://a.example/u", clock.wall_now(), {"cats"_tag}};
    ASSERT_TRUE(run(store.publish(std::move(post), relays_kept)));
  }
  std::size_t owed_on_disk() { return run(store.outbox(0, 100))->size(); }

  FullStore store;
  Owner owner;
  redundancy::RelayHints relays{2, clock, [](const Tag&) {}};
  redundancy::StorageHints storage{4, clock};
  OwnerQueue queue{{}, store, OwnerPlaces{*rings, relays, storage}, client, owner, runtime};
};

TEST_F(OwnerQueueTest, WhatAnOwnerTookIsOwedNoMore) {
  publish({"cats"_tag, "dogs"_tag});
  loop.run_for(std::chrono::seconds(1));
  EXPECT_THAT(owner.taken, testing::UnorderedElementsAre("+cats", "+dogs"))
      << "once, though it has both copies";
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(owed_on_disk(), 0U);
}

TEST_F(OwnerQueueTest, AnEditBringsWhatChanged) {
  publish({"cats"_tag});
  loop.run_for(std::chrono::seconds(1));
  publish({"dogs"_tag});
  loop.run_for(std::chrono::seconds(1));
  EXPECT_THAT(owner.taken, ElementsAre("+cats", "+dogs", "-cats"));
}

TEST_F(OwnerQueueTest, WhatCannotBeTakenNowComesAgain) {
  for (const ErrorCode reason : {ErrorCode::kBusy, ErrorCode::kUnavailable, ErrorCode::kNotOwner}) {
    SCOPED_TRACE(to_string(reason));
    owner.taken.clear();
    owner.refuses = reason;
    ASSERT_TRUE(run(queue.reassign(Ring::kRelay, {{"cats"_tag, Op::kAdd, "https://a.example/1",
                                                   "https://a.example/u", clock.wall_now()}})));
    loop.run_for(std::chrono::minutes(1));
    EXPECT_EQ(queue.size(), 1U);
    EXPECT_EQ(owed_on_disk(), 1U);
    owner.refuses.reset();
    loop.run_for(std::chrono::minutes(10));
    EXPECT_THAT(owner.taken, SizeIs(testing::Ge(1U)));
    EXPECT_EQ(queue.size(), 0U);
    EXPECT_EQ(owed_on_disk(), 0U);
  }
}

TEST_F(OwnerQueueTest, WhatIsRefusedForGoodIsNotBroughtAgain) {
  owner.refuses = ErrorCode::kDenied;
  publish({"cats"_tag});
  loop.run_for(std::chrono::seconds(1));
  EXPECT_EQ(owed_on_disk(), 0U);
  const int asked = owner.asked;
  loop.run_for(std::chrono::hours(1));
  EXPECT_EQ(owner.asked, asked);
}

TEST_F(OwnerQueueTest, WhatAnOwnerCannotReadHoldsNothingElseBack) {
  std::vector<Tag> tags;
  for (int i = 0; i < 40; ++i) tags.push_back(*Tag::parse(fmt::format("tag{}", i)));
  owner.unreadable = {tags[3], tags[4], tags[39]};
  publish(tags);
  loop.run_for(std::chrono::hours(3));  // the one that is sent alone may be what cannot be read
  EXPECT_THAT(owner.taken, SizeIs(37));
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(owed_on_disk(), 0U);
}

TEST_F(OwnerQueueTest, WhoCanReadNothingIsNotAskedForEachAndGetsAllLater) {
  std::vector<Tag> tags;
  for (int i = 0; i < 40; ++i) tags.push_back(*Tag::parse(fmt::format("tag{}", i)));
  owner.unreadable.insert(tags.begin(), tags.end());
  publish(tags);
  loop.run_for(std::chrono::seconds(1));
  EXPECT_LE(owner.asked, 8);
  EXPECT_EQ(queue.size(), 40U);
  owner.unreadable.clear();
  loop.run_for(std::chrono::hours(3));
  EXPECT_THAT(owner.taken, SizeIs(40));
  EXPECT_EQ(queue.size(), 0U);
}

TEST_F(OwnerQueueTest, WhatCannotBeAcknowledgedOnDiskIsBroughtAgain) {
  store.full = true;
  publish({"cats"_tag});
  loop.run_for(std::chrono::seconds(1));
  EXPECT_THAT(owner.taken, testing::Contains("+cats"));
  EXPECT_EQ(queue.size(), 1U) << "or it would be owed until the next start";
  store.full = false;
  loop.run_for(std::chrono::minutes(10));
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(owed_on_disk(), 0U);
}

TEST_F(OwnerQueueTest, WhatWasOwedAtTheEndIsOwedAfterARestart) {
  owner.refuses = ErrorCode::kBusy;
  publish({"cats"_tag});
  loop.run_for(std::chrono::seconds(1));
  finish(queue.stop());
  loop.run_for(std::chrono::minutes(1));
  owner.refuses.reset();
  OwnerQueue again{{}, store, OwnerPlaces{*rings, relays, storage}, client, owner, runtime};
  ASSERT_TRUE(run(again.load()));
  loop.run_for(std::chrono::seconds(1));
  EXPECT_THAT(owner.taken, ElementsAre("+cats"));
  EXPECT_EQ(owed_on_disk(), 0U);
  finish(again.stop());
}

// The network has kept more relays before.
TEST_F(OwnerQueueTest, WhatOnlyAReplicaIsOwedThatIsNoMoreIsForgottenAtAStart) {
  must_publish_to(4);
  const std::vector<OutboxEntry> written = *run(store.outbox(0, 100));
  ASSERT_THAT(written, SizeIs(1));
  const unsigned copies = OwnerPlaces{*rings, relays, storage}.copies(written[0].ring);
  ASSERT_LT(copies, 4U);
  ASSERT_TRUE(run(store.acknowledge({{written[0].seq, (1U << copies) - 1}})));
  ASSERT_EQ(owed_on_disk(), 1U);
  OwnerQueue again{{}, store, OwnerPlaces{*rings, relays, storage}, client, owner, runtime};
  ASSERT_TRUE(run(again.load()));
  EXPECT_EQ(again.size(), 0U);
  EXPECT_EQ(owed_on_disk(), 0U);
  finish(again.stop());
}

}  // namespace
}  // namespace tagring::delivery
