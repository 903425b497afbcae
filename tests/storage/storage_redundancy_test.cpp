#include "storage/storage_redundancy.hpp"

#include "db_history/history_store.hpp"
#include "delivery/role_fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::storage {
namespace {

class AloneObserver final : public Observer {
 public:
  Task<Result<void>> fetch_partition(std::string, ring::Contact, redundancy::Partition, redundancy::Partition,
                                     std::uint64_t, std::size_t) override {
    co_return fail(ErrorCode::kUnavailable, "there is nobody else");
  }
  Task<bool> owe_partition(redundancy::Partition partition) override {
    owed.push_back(partition.name());
    co_return disk_works;
  }
  [[nodiscard]] bool is_shown(const HistoryEntry&) const override { return true; }

  bool disk_works = true;
  std::vector<std::string> owed;
};

class StorageRedundancyTest : public RoleTest {
 protected:
  StorageRedundancyTest() { sets.start(); }
  ~StorageRedundancyTest() override {
    finish(sets.stop());
    finish(kept.stop());
    finish(disputes.stop());
  }

  // In a partition that nobody reads while there are four owners.
  void put(const std::string& uri) {
    ASSERT_TRUE(run(history.put({{beyond, uri, "https://a.example/u", clock.wall_now()}})));
  }
  std::size_t held() { return run(history.page(beyond, std::nullopt, 10))->entries.size(); }

  const redundancy::Partition beyond{"cats"_tag, 32};
  db_history::SqliteHistoryStore history{*stores->database};
  redundancy::StorageHints hints{4, clock};
  budget::Manager budget{budget::default_budgets(), clock};
  belief::OriginChecker origins{budget, client, runtime};
  Disputes disputes{history, origins, runtime};
  KeptPartitions kept{disputes, hints, *rings, runtime};
  StorageCalls calls{hints, *rings, client, budget, clock};
  federation::RemoteKeys keys{budget, client, runtime};
  federation::Authenticator authenticator{{}, {}, keys, runtime};
  AloneObserver storage_observer;
  StorageRedundancy sets{{.policy = {.cooldown = std::chrono::minutes(1)}},
                         kept,
                         calls,
                         authenticator,
                         storage_observer,
                         runtime};
};

// Else hashtags that a member makes up, one after the other, would be remembered without end.
TEST_F(StorageRedundancyTest, OfASetThatIsForgottenNothingElseIsRemembered) {
  const redundancy::StorageSet set{"cats"_tag, 1, 4, 4, clock.wall_now()};
  ASSERT_TRUE(run(kept.adopt(set)));
  put("https://a.example/1");
  EXPECT_EQ(held(), 1U);
  loop.run_for(std::chrono::minutes(2));
  EXPECT_EQ(held(), 0U) << "swept";
  ASSERT_TRUE(run(kept.forget(kept.of("cats"_tag))));
  loop.run_for(std::chrono::minutes(1));
  put("https://a.example/2");
  ASSERT_TRUE(run(kept.adopt(set)));
  EXPECT_EQ(held(), 1U);
  loop.run_for(std::chrono::minutes(2));
  EXPECT_EQ(held(), 0U) << "and swept again";
}

// Else it would have an earlier set after a restart, and all others that one.
TEST_F(StorageRedundancyTest, ACoordinatorWritesASetDownThatItsDiskDidNotTake) {
  const auto execute = [&](const char* sql) {
    return run(stores->database->write([sql](sql::Connection& db) { return db.execute(sql); }));
  };
  ASSERT_TRUE(
      execute("CREATE TRIGGER refuse BEFORE INSERT ON history_sets BEGIN SELECT RAISE(ABORT, 'no'); END"));
  const redundancy::StorageSet set{"cats"_tag, 1, 4, 4, clock.wall_now()};
  ASSERT_FALSE(run(kept.adopt(set)));
  loop.run_for(std::chrono::minutes(1));
  ASSERT_TRUE(execute("DROP TRIGGER refuse"));
  loop.run_for(std::chrono::minutes(1));
  EXPECT_EQ(*run(history.sets()), (std::vector<redundancy::StorageSet>{set}));
}

// Else an owner of one hashtag could have the coordinator of another one keep and spread any set of that.
TEST_F(StorageRedundancyTest, AnAnswerAboutAnotherHashtagIsNone) {
  const std::string owner = "https://tags.b.example";
  const auto answer_of = [&](const Tag& tag) {
    web.bodies[owner + std::string(StorageCalls::kPath)] =
        json::serialize(redundancy::to_json(redundancy::StorageSet{tag, 4, 16, 16, clock.wall_now()}));
    return run(calls.tell(owner, "cats"_tag, {{"action", "set"}}));
  };
  const Result<redundancy::StorageSet> answer = answer_of("cats"_tag);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->version, 4U);
  EXPECT_FALSE(answer_of("dogs"_tag));
}

// A part of the ring that was cut off has put them there by a set of its own, and nobody looks there any
// more.
TEST_F(StorageRedundancyTest, PostsThatALaterSetLeavesOutAreOwedToThoseWhoKeepThem) {
  ASSERT_TRUE(run(kept.adopt({"cats"_tag, 1, 8, 8, clock.wall_now()})));
  put("https://a.example/1");
  loop.run_for(std::chrono::seconds(30));
  EXPECT_TRUE(storage_observer.owed.empty()) << "it is read";
  storage_observer.disk_works = false;
  ASSERT_TRUE(run(kept.adopt({"cats"_tag, 2, 4, 4, clock.wall_now()})));
  loop.run_for(std::chrono::minutes(2));
  EXPECT_GT(storage_observer.owed.size(), 1U) << "again and again";
  EXPECT_EQ(held(), 1U) << "until it is owed";
  storage_observer.disk_works = true;
  storage_observer.owed.clear();
  loop.run_for(std::chrono::minutes(2));
  EXPECT_EQ(storage_observer.owed, (std::vector<std::string>{"cats/32"})) << "once";
  EXPECT_EQ(held(), 0U);
}

TEST_F(StorageRedundancyTest, WhatAnotherOwnerHasFetchedIsOwedToNobody) {
  ASSERT_TRUE(run(kept.adopt({"cats"_tag, 1, 4, 8, clock.wall_now()})));
  put("https://a.example/1");
  kept.note_handed(beyond);
  ASSERT_TRUE(run(kept.adopt({"cats"_tag, 2, 4, 4, clock.wall_now()})));
  loop.run_for(std::chrono::minutes(2));
  EXPECT_TRUE(storage_observer.owed.empty());
  EXPECT_EQ(held(), 0U);
}

}  // namespace
}  // namespace tagring::storage
