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
  KeptPartitionsTest() : history(*stores->database), hints(4, clock), kept(history, hints, *rings, runtime) {}

  redundancy::StorageSet set(std::uint64_t version, unsigned replicas) {
    return {"cats"_tag, version, replicas, replicas, clock.wall_now()};
  }
  // Of how many owners a node is that starts now.
  unsigned after_a_restart() {
    redundancy::StorageHints others(4, clock);
    KeptPartitions again(history, others, *rings, runtime);
    EXPECT_TRUE(run(again.load()));
    return again.of("cats"_tag).replicas;
  }

  FullHistory history;
  redundancy::StorageHints hints;
  KeptPartitions kept;
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

TEST_F(KeptPartitionsTest, WhatCouldNotBeWrittenIsNotAcknowledgedWhenItComesAgain) {
  history.full = true;
  EXPECT_FALSE(run(kept.adopt(set(1, 8))));
  EXPECT_FALSE(run(kept.adopt(set(1, 8)))) << "it is known, but not on disk";
  EXPECT_EQ(after_a_restart(), 4U);
  history.full = false;
  EXPECT_TRUE(run(kept.adopt(set(1, 8))));
  EXPECT_EQ(after_a_restart(), 8U);
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
  ASSERT_TRUE(run(kept.copy({"cats"_tag, 32}, {"cats"_tag, 0})));
  EXPECT_EQ(run(history.page("cats"_tag, std::nullopt, 5'000))->entries.size(), 2'500U) << "tombstones, too";
}

}  // namespace
}  // namespace tagring::storage
