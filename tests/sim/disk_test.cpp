// The stores on a disk that fails: what was acknowledged survives, what was not happened whole or not at all.
#include "sim/disk.hpp"

#include <optional>

#include "tests/db/writes.hpp"

namespace tagring::sim {
namespace {

using db::contents;
using db::difference;
using db::ManualClock;
using db::random_write;
using db::run;

// Stores on a disk that fails, beside the same stores on one that does not.
class Pair {
 public:
  explicit Pair(std::uint64_t seed)
      : rng(seed),
        disk(rng.fork("disk"), clock),
        safe_disk(rng.fork("safe disk"), clock),
        reference(open(safe_disk)) {}

  std::unique_ptr<db::Stores> open(Disk& on) {
    auto opened = db::open_stores({.path = "db", .vfs = on.vfs(), .mode = sql::Mode::kInline}, clock);
    if (!opened) return nullptr;
    return std::move(*opened);
  }
  // The machine starts again, perhaps several times.
  void restart() {
    stores.reset();
    while (stores == nullptr) {
      disk.crash_after(rng.chance(0.3) ? 1 + rng.below(20) : 0);
      stores = open(disk);
      if (disk.crashed()) stores.reset();
    }
    disk.crash_after(0);
  }

  ManualClock clock;
  Rng rng;
  Disk disk;
  Disk safe_disk;
  std::unique_ptr<db::Stores> reference;
  std::unique_ptr<db::Stores> stores;
};

// Moves the WAL into the database file, or closes that in good order: writes that change nothing.
void tidy_up(Pair& pair) {
  if (pair.rng.chance(0.1)) {
    static_cast<void>(run(pair.stores->database->read(
        [](sql::Connection& connection) { return connection.execute("PRAGMA wal_checkpoint(RESTART)"); })));
  } else if (pair.rng.chance(0.05)) {
    pair.stores.reset();
    if (!pair.disk.crashed()) pair.stores = pair.open(pair.disk);
  }
}

TEST(Disk, AcknowledgedWritesSurviveACrashAtAnyMomentAndOthersHappenWholeOrNotAtAll) {
  int kept = 0;
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Pair pair(seed);
    pair.restart();
    for (int crash = 0; crash < 5; ++crash) {
      pair.disk.crash_after(1 + pair.rng.below(200));
      std::optional<std::uint64_t> uncertain;
      while (!pair.disk.crashed()) {
        tidy_up(pair);
        if (pair.disk.crashed()) break;
        const std::uint64_t write_seed = pair.rng.next();
        const auto done = random_write(*pair.stores, write_seed);
        if (done) {
          ASSERT_TRUE(random_write(*pair.reference, write_seed));
        } else {
          ASSERT_TRUE(pair.disk.crashed()) << seed << ": " << done.error().message;
          uncertain = write_seed;
        }
      }
      pair.restart();
      const std::string found = contents(*pair.stores);
      if (uncertain && found != contents(*pair.reference)) {
        ASSERT_TRUE(random_write(*pair.reference, *uncertain));
        ++kept;
      } else if (uncertain) {
        ++lost;
      }
      ASSERT_EQ(difference(found, contents(*pair.reference)), "") << "seed " << seed << ", crash " << crash;
    }
  }
  // Both happen, or the disk is not as cruel as it says.
  EXPECT_GT(kept, 20);
  EXPECT_GT(lost, 20);
}

TEST(Disk, AfterFailedWritesAndSyncsTheStoresGoOnWithoutLoss) {
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Pair pair(seed);
    pair.restart();
    for (int write = 0; write < 40; ++write) {
      const std::uint64_t write_seed = pair.rng.next();
      pair.disk.set_failures(0.02, 0.05);
      const auto done = random_write(*pair.stores, write_seed);
      pair.disk.set_failures(0, 0);
      if (done) {
        ASSERT_TRUE(random_write(*pair.reference, write_seed));
      } else {
        ++failures;
        ASSERT_EQ(done.error().code, ErrorCode::kUnavailable) << done.error().message;
        ASSERT_EQ(difference(contents(*pair.stores), contents(*pair.reference)), "")
            << "seed " << seed << ", write " << write;
      }
    }
    // A failed write may yet happen at a restart, unless another one took its place.
    for (db::Stores* stores : {pair.stores.get(), pair.reference.get()}) {
      ASSERT_TRUE(run(stores->meta.set("end", "here")));
    }
    pair.disk.crash();
    pair.restart();
    ASSERT_EQ(difference(contents(*pair.stores), contents(*pair.reference)), "") << "seed " << seed;
  }
  EXPECT_GT(failures, 100);
}

// What SQLite holds to be wrong with a database; "ok" if nothing is.
std::string integrity(db::Stores& stores) {
  const auto verdict = run(stores.database->read([](sql::Connection& connection) -> Result<std::string> {
    sql::Statement row = connection.query("PRAGMA integrity_check");
    TRY_VOID(row.step());
    return std::string(row.text(0));
  }));
  return verdict ? *verdict : verdict.error().message;
}

TEST(Disk, WhicheverOperationOfAnyWriteFailsNothingHasHappenedAndTheNextTrySucceeds) {
  const std::vector<db::writes::Write> writes = db::every_write();
  for (const db::writes::Write& write : writes) {
    if (write.name == "check_partials") continue;  // finds nothing to mend
    SCOPED_TRACE(write.name);
    Pair pair(std::hash<std::string_view>()(write.name));
    pair.restart();
    std::uint64_t failures = 0;
    int unhurt = 0;  // runs in a row with fewer operations
    std::uint64_t operation = 1;
    for (int tries = 0; unhurt < 12 && tries < 300; ++tries) {
      for (int before = 0; before < 40; ++before) {
        const db::writes::Write& other = writes[pair.rng.below(writes.size())];
        Rng rng(pair.rng.next());
        Rng same = rng;
        ASSERT_TRUE(other.perform(*pair.stores, rng));
        ASSERT_TRUE(other.perform(*pair.reference, same));
      }
      const std::uint64_t seed = pair.rng.next();
      const auto perform = [&](db::Stores& stores) {
        Rng rng(seed);
        return write.perform(stores, rng);
      };
      pair.disk.fail_after(operation);
      auto done = perform(*pair.stores);
      const bool failed = pair.disk.failed();
      pair.disk.fail_after(0);
      if (failed || failures > 0) ++operation;  // until then it may have had nothing to write
      unhurt = failed || failures == 0 ? 0 : unhurt + 1;
      if (!done) {
        ++failures;
        ASSERT_TRUE(failed) << done.error().message;
        ASSERT_EQ(done.error().code, ErrorCode::kUnavailable) << done.error().message;
        ASSERT_EQ(difference(contents(*pair.stores), contents(*pair.reference)), "")
            << "operation " << operation;
        done = perform(*pair.stores);
        ASSERT_TRUE(done) << done.error().message;
      }
      ASSERT_TRUE(perform(*pair.reference));
      ASSERT_EQ(difference(contents(*pair.stores), contents(*pair.reference)), "")
          << "operation " << operation;
    }
    EXPECT_EQ(integrity(*pair.stores), "ok");
    EXPECT_GT(failures, 0U);
  }
}

TEST(Disk, AFullDiskRefusesWritesAndChangesNothingUntilThereIsRoomAgain) {
  Pair pair(5);
  pair.restart();
  pair.disk.set_capacity(pair.disk.size() + 300'000);
  std::uint64_t write_seed = 0;
  Result<void> done;
  for (int write = 0; write < 10'000 && done; ++write) {
    write_seed = pair.rng.next();
    done = random_write(*pair.stores, write_seed);
    if (done) ASSERT_TRUE(random_write(*pair.reference, write_seed));
  }
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(difference(contents(*pair.stores), contents(*pair.reference)), "");
  pair.disk.set_capacity(1U << 30U);
  EXPECT_TRUE(random_write(*pair.stores, write_seed));
  EXPECT_TRUE(random_write(*pair.reference, write_seed));
  EXPECT_EQ(difference(contents(*pair.stores), contents(*pair.reference)), "");
}

TEST(Disk, IsReportedOnceWhenItIsFullAndOnceWhenItIsNot) {
  const db::ManualClock clock;
  Disk disk(Rng(6), clock);
  std::vector<std::string> reports;
  sql::DatabaseOptions options;
  options.path = "node.db";
  options.vfs = disk.vfs();
  options.mode = sql::Mode::kInline;
  options.on_trouble = [&](const Error* error) {
    reports.push_back(error != nullptr ? error->message : "well");
  };
  auto stores = db::open_stores(std::move(options), clock);
  ASSERT_TRUE(stores);
  ASSERT_TRUE(random_write(**stores, 1));
  EXPECT_TRUE(reports.empty());
  disk.set_capacity(disk.size());
  std::size_t refused = 0;  // there is room for some, and some change nothing
  for (std::uint64_t seed = 2; refused < 5; ++seed) refused += random_write(**stores, seed) ? 0 : 1;
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_TRUE(reports.front().contains("disk is full")) << reports.front();
  disk.set_capacity(1U << 30U);
  for (std::uint64_t seed = 100; seed < 110; ++seed) EXPECT_TRUE(random_write(**stores, seed));
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports.back(), "well");
}

TEST(Disk, TheSameSeedGivesTheSameRun) {
  const auto run_once = [](std::uint64_t seed) {
    Pair pair(seed);
    pair.restart();
    pair.disk.crash_after(100);
    while (random_write(*pair.stores, pair.rng.next())) {
    }
    pair.restart();
    return std::pair(pair.disk.operations(), contents(*pair.stores));
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(run_once(seed), run_once(seed));
}

}  // namespace
}  // namespace tagring::sim
