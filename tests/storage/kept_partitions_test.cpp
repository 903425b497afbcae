#include "storage/kept_partitions.hpp"

#include "db_history/history_store.hpp"
#include "delivery/role_fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::storage {
namespace {

// A disk that is full for a while.
class FullHistory final : public db_history::SqliteHistoryStore {
 public:
  using SqliteHistoryStore::SqliteHistoryStore;
  Task<Result<void>> save_set(redundancy::StorageSet set) override {
    if (full) co_return fail(ErrorCode::kUnavailable, "the disk is full");
    co_return co_await SqliteHistoryStore::save_set(std::move(set));
  }
  bool full = false;
};

class KeptPartitionsTest : public RoleTest {
 protected:
  ~KeptPartitionsTest() override { finish(disputes.stop()); }

  redundancy::StorageSet set(std::uint64_t version, unsigned replicas) {
    return {"cats"_tag, version, replicas, replicas, clock.wall_now()};
  }
  // Of how many owners a node is that starts now.
  unsigned after_a_restart() {
    redundancy::StorageHints others(4, clock);
    KeptPartitions again(disputes, others, *rings, runtime);
    EXPECT_TRUE(run(again.load()));
    return again.of("cats"_tag).replicas;
  }

  FullHistory history{*stores->database};
  redundancy::StorageHints hints{4, clock};
  budget::Manager budget{budget::default_budgets(), clock};
  belief::OriginChecker origins{budget, client, runtime};
  Disputes disputes{history, origins, runtime};
  KeptPartitions kept{disputes, hints, *rings, runtime};
};

TEST_F(KeptPartitionsTest, KeepsTheSetThatSupersedesAcrossARestart) {
  EXPECT_TRUE(run(kept.adopt(set(2, 16))));
  EXPECT_TRUE(run(kept.adopt(set(1, 8))));
  EXPECT_EQ(kept.of("cats"_tag).replicas, 16U);
  EXPECT_EQ(after_a_restart(), 16U);
}

TEST_F(KeptPartitionsTest, WhatOwnersDoNotHaveIsForgottenForGood) {
  EXPECT_TRUE(run(kept.adopt(set(1'000, 256))));
  const redundancy::StorageSet made_up = kept.of("cats"_tag);
  EXPECT_TRUE(run(kept.forget(made_up)));
  EXPECT_FALSE(run(kept.forget(made_up)));
  EXPECT_EQ(kept.of("cats"_tag).replicas, 4U);
  EXPECT_EQ(hints.known("cats"_tag).replicas, 4U);
  EXPECT_TRUE(run(kept.adopt(set(2, 16)))) << "an earlier one";
  EXPECT_EQ(after_a_restart(), 16U);
}

TEST_F(KeptPartitionsTest, AVersionThatCannotHaveBeenReachedIsRefused) {
  EXPECT_FALSE(run(kept.adopt(set(std::uint64_t{1} << 53U, 256))));
  EXPECT_TRUE(run(kept.adopt(set(3, 16))));
  EXPECT_FALSE(run(kept.adopt(set(9, 32)))) << "six changes in no time";
  EXPECT_TRUE(run(kept.adopt(set(4, 32))));
  loop.run_for(std::chrono::minutes(5));
  EXPECT_TRUE(run(kept.adopt(set(9, 64)))) << "this node may have been away";
}

TEST_F(KeptPartitionsTest, ATimeAheadHoldsNothingUp) {
  redundancy::StorageSet ahead = set(1, 16);
  ahead.at += std::chrono::hours(24 * 365);
  EXPECT_TRUE(run(kept.adopt(ahead)));
  loop.run_for(std::chrono::minutes(5));
  EXPECT_TRUE(run(kept.adopt(set(5, 32))));
}

TEST_F(KeptPartitionsTest, OfANetworkThatKeptFewerAtRestIsRaisedAndWhatNoneCanHaveIsLeftOut) {
  ASSERT_TRUE(run(history.save_set({"cats"_tag, 3, 2, 2, {}})));
  ASSERT_TRUE(run(history.save_set({"dogs"_tag, 3, 2, 8, {}})));
  ASSERT_TRUE(run(history.save_set({"owls"_tag, 3, 6, 8, {}})));
  ASSERT_TRUE(run(kept.load()));
  EXPECT_EQ(kept.of("cats"_tag), (redundancy::StorageSet{"cats"_tag, 3, 4, 4, {}}));
  EXPECT_EQ(kept.of("dogs"_tag), (redundancy::StorageSet{"dogs"_tag, 3, 4, 8, {}}));
  EXPECT_EQ(kept.of("owls"_tag).version, 0U);
  EXPECT_EQ(hints.known("cats"_tag).read_factor, 4U);
}

TEST_F(KeptPartitionsTest, WhatCouldNotBeWrittenIsNotAcknowledgedWhenItComesAgain) {
  history.full = true;
  EXPECT_FALSE(run(kept.adopt(set(1, 8))));
  EXPECT_FALSE(run(kept.adopt(set(1, 8)))) << "it is known, but not on disk";
  EXPECT_EQ(after_a_restart(), 4U);
  history.full = false;
  EXPECT_TRUE(run(kept.adopt(set(1, 8))));
  EXPECT_EQ(after_a_restart(), 8U);
}

TEST_F(KeptPartitionsTest, MadeUpHashtagsLeaveRoomForOthers) {
  ASSERT_TRUE(
      run(history.put({{{"cats"_tag, 32}, "https://a.example/1", "https://a.example/u", clock.wall_now()},
                       {{"owls"_tag, 0}, "https://a.example/2", "https://a.example/u", clock.wall_now()}})));
  KeptPartitions few(disputes, hints, *rings, runtime, 1'000, 2);
  const auto adopt = [&](const Tag& tag) {
    return run(few.adopt({tag, 1, 8, 8, clock.wall_now()})).has_value();
  };
  EXPECT_TRUE(adopt("cats"_tag));
  EXPECT_TRUE(adopt("nobody"_tag));
  EXPECT_TRUE(adopt("owls"_tag));
  EXPECT_EQ(few.tags(), (std::vector<Tag>{"cats"_tag, "owls"_tag}));
  EXPECT_EQ(hints.known("nobody"_tag).replicas, 4U);
  EXPECT_FALSE(adopt("dogs"_tag)) << "of both others there are posts";
}

TEST_F(KeptPartitionsTest, APartitionOfManyPagesIsCopiedWhole) {
  std::vector<HistoryEntry> entries;
  for (int n = 0; n < 2'500; ++n)
    entries.push_back({{"cats"_tag, 32},
                       "https://a.example/" + std::to_string(n),
                       "https://a.example/u",
                       clock.wall_now() + std::chrono::minutes(n),
                       n % 7 == 0});
  ASSERT_TRUE(run(history.put(std::move(entries))));
  ASSERT_TRUE(run(kept.copy({"cats"_tag, 32}, {"cats"_tag, 0}, 4)));
  EXPECT_EQ(run(history.page("cats"_tag, std::nullopt, 5'000))->entries.size(), 2'500U) << "tombstones, too";
}

// Else it would be this node's own word there, and be looked at in the part that goes only.
TEST_F(KeptPartitionsTest, WhatWasOnlyHeardIsOnlyHeardInThePartitionIntoWhichItIsCopied) {
  const redundancy::Partition from{"cats"_tag, 32};
  const redundancy::Partition to{"cats"_tag, 0};
  const auto post = [&](const std::string& uri, bool removed) {
    return HistoryEntry{from, uri, "https://a.example/u", clock.wall_now(), removed};
  };
  ASSERT_TRUE(run(history.put({post("https://a.example/1", false), post("https://a.example/2", true)})));
  ASSERT_TRUE(run(disputes.adopt({post("https://a.example/3", false), post("https://a.example/4", true)},
                                 "https://tags.b.example", 3)));
  ASSERT_TRUE(run(kept.copy(from, to, 4)));
  std::map<std::string, bool> heard;
  const HistoryPage copied = run(history.page(to, std::nullopt, 10)).value();
  for (const HistoryEntry& entry : copied.entries) heard[entry.uri] = entry.is_hearsay();
  EXPECT_EQ(heard, (std::map<std::string, bool>{{"https://a.example/1", false},
                                                {"https://a.example/2", false},
                                                {"https://a.example/3", true},
                                                {"https://a.example/4", true}}));
}

// Else a receipt from before would seem to be for posts of the part that is kept from then on.
TEST_F(KeptPartitionsTest, APartitionThatIsDroppedEndsAfterAllThatWasSignedOfItAlthoughTheClockIsSetBack) {
  ASSERT_TRUE(
      run(history.put({{{"cats"_tag, 32}, "https://a.example/1", "https://a.example/u", WallTime()}})));
  clock.set_skew(std::chrono::hours(2));
  const WallTime signed_at = kept.signed_time().now();
  clock.set_skew(Duration::zero());
  ASSERT_TRUE(run(kept.sweep("cats"_tag)));
  EXPECT_GT(run(history.bucket({"cats"_tag, 32}, 0, std::nullopt, 1))->begun, signed_at);
}

}  // namespace
}  // namespace tagring::storage
