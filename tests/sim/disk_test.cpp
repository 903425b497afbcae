// The stores on a disk that fails: what was acknowledged survives, what was not happened whole or not at all.
#include "sim/disk.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "tests/db/fixture.hpp"

namespace tagring::sim {
namespace {

using db::at;
using db::ManualClock;
using db::run;
using relay::Op;

// Every row of every table, as text.
std::string dump(db::Stores& stores) {
  static constexpr std::array kQueries = {
      "SELECT 'meta', quote(name), quote(value) FROM meta ORDER BY name",
      "SELECT 'counters', name, value FROM counters ORDER BY name",
      "SELECT 'posts', uri, author || published || tags FROM posts ORDER BY uri",
      "SELECT 'outbox', seq || ring || replicas_left || tag || op, uri || author || published FROM outbox",
      "SELECT 'feed', seq || tag || op, uri || author || published FROM feed",
      "SELECT 'seen', id || quote(digest), op || hour FROM feed_seen ORDER BY id",
      "SELECT 'followers', tag || actor || inbox, follow_id || via || since FROM followers",
      "SELECT 'followed', quote(key), tag FROM followed_tags",
      "SELECT 'inboxes', inbox, acknowledged FROM inboxes ORDER BY inbox",
      "SELECT 'wants', tag, reason FROM wants ORDER BY tag, reason",
      "SELECT 'subscriptions', tag || owner, follow_id || accepted FROM subscriptions",
      "SELECT 'tags', id || tag, quote(key) FROM history_tags ORDER BY id",
      "SELECT 'strings', id, text FROM history_strings ORDER BY id",
      "SELECT 'authors', id || prefix, name FROM history_authors ORDER BY id",
      "SELECT 'history', tag || published || quote(tie), author || form || quote(tail) || removed FROM "
      "history",
      "SELECT 'uris', digest, published FROM history_uris"};
  auto text = run(stores.database->read([](db::Connection& connection) -> Result<std::string> {
    std::string rows;
    for (const char* sql : kQueries) {
      db::Statement row = connection.query(sql);
      for (;;) {
        TRY(const bool found, row.step());
        if (!found) break;
        rows += row.text(0) + " " + row.text(1) + " " + row.text(2) + "\n";
      }
    }
    return rows;
  }));
  return text ? *text : "unreadable: " + text.error().message;
}

std::string pick(Rng& rng, const char* what, std::uint64_t of) {
  return what + std::to_string(rng.below(of));
}

relay::TagEvent random_event(Rng& rng) {
  const std::string author = pick(rng, "https://a.example/users/u", 4);
  return {pick(rng, "tag", 5), rng.chance(0.3) ? Op::kRemove : Op::kAdd, author + pick(rng, "/statuses/", 50),
          author, at(static_cast<std::int64_t>(rng.below(30)))};
}

// One write, drawn from the seed, so that it can be repeated.
Result<void> random_write(db::Stores& stores, std::uint64_t seed) {
  Rng rng(seed);
  const auto without_value = [](const auto& result) -> Result<void> {
    if (!result) return std::unexpected(result.error());
    return {};
  };
  switch (rng.below(9)) {
    case 0: {
      std::vector<relay::TagEvent> events;
      for (std::uint64_t i = rng.below(40); i > 0; --i) events.push_back(random_event(rng));
      return without_value(run(stores.relay.accept(std::move(events), rng.chance(0.5) ? 4 : 0)));
    }
    case 1: {
      const relay::TagEvent event = random_event(rng);
      std::vector<std::string> tags;
      for (std::uint64_t i = rng.below(4); i > 0; --i) tags.push_back(pick(rng, "tag", 5));
      return without_value(run(stores.relay.publish({event.uri, event.author, event.published, tags}, 2)));
    }
    case 2:
      return run(stores.relay.acknowledge({{rng.below(60), 1}, {rng.below(60), 15}}));
    case 3:
      return without_value(
          run(stores.relay.follow({{pick(rng, "tag", 5), pick(rng, "https://f.example/", 6),
                                    pick(rng, "https://f.example/inbox", 3), "id", relay::Via::kNode, 0}})));
    case 4:
      return run(stores.relay.unfollow({{pick(rng, "tag", 5), pick(rng, "https://f.example/", 6)}}));
    case 5:
      return run(stores.relay.advance({{pick(rng, "https://f.example/inbox", 3), rng.below(100)}}));
    case 6:
      return without_value(run(stores.meta.next_counter("incarnation")));
    case 7:
      return run(stores.meta.set(pick(rng, "name", 3), std::string(rng.below(9000), 'x')));
    default: {
      std::vector<storage::HistoryEntry> entries;
      for (std::uint64_t i = rng.below(60); i > 0; --i) {
        const relay::TagEvent event = random_event(rng);
        entries.push_back({event.tag, event.uri, event.author, event.published, event.op == Op::kRemove});
      }
      return run(stores.history.put(std::move(entries)));
    }
  }
}

// Stores on a disk that fails, beside the same stores on one that does not.
class Pair {
 public:
  explicit Pair(std::uint64_t seed)
      : rng(seed),
        disk(rng.fork("disk"), clock),
        safe_disk(rng.fork("safe disk"), clock),
        reference(open(safe_disk)) {}

  std::unique_ptr<db::Stores> open(Disk& on) {
    auto opened = db::open_stores({.path = "db", .vfs = on.vfs(), .mode = db::Mode::kInline}, clock);
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
        [](db::Connection& connection) { return connection.execute("PRAGMA wal_checkpoint(RESTART)"); })));
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
      const std::string found = dump(*pair.stores);
      if (uncertain && found != dump(*pair.reference)) {
        ASSERT_TRUE(random_write(*pair.reference, *uncertain));
        ++kept;
      } else if (uncertain) {
        ++lost;
      }
      ASSERT_TRUE(found == dump(*pair.reference)) << "seed " << seed << ", crash " << crash;
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
        ASSERT_TRUE(dump(*pair.stores) == dump(*pair.reference)) << "seed " << seed << ", write " << write;
      }
    }
    // A failed write may yet happen at a restart, unless another one took its place.
    for (db::Stores* stores : {pair.stores.get(), pair.reference.get()}) {
      ASSERT_TRUE(run(stores->meta.set("end", "here")));
    }
    pair.disk.crash();
    pair.restart();
    ASSERT_TRUE(dump(*pair.stores) == dump(*pair.reference)) << "seed " << seed;
  }
  EXPECT_GT(failures, 100);
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
  EXPECT_TRUE(dump(*pair.stores) == dump(*pair.reference));
  pair.disk.set_capacity(1U << 30U);
  EXPECT_TRUE(random_write(*pair.stores, write_seed));
  EXPECT_TRUE(random_write(*pair.reference, write_seed));
  EXPECT_TRUE(dump(*pair.stores) == dump(*pair.reference));
}

TEST(Disk, IsReportedOnceWhenItIsFullAndOnceWhenItIsNot) {
  const db::ManualClock clock;
  Disk disk(Rng(6), clock);
  std::vector<std::string> reports;
  db::DatabaseOptions options;
  options.path = "node.db";
  options.vfs = disk.vfs();
  options.mode = db::Mode::kInline;
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
    return std::pair(pair.disk.operations(), dump(*pair.stores));
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(run_once(seed), run_once(seed));
}

}  // namespace
}  // namespace tagring::sim
