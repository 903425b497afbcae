#include "sql/database.hpp"

#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <sqlite3.h>
#include <sys/stat.h>
#include <thread>

#include "base/rng.hpp"
#include "db/schema.hpp"
#include "sql/dialect.hpp"
#include "tests/db/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using Opened = std::unique_ptr<Database>;

Opened must_open(const Place& place, Mode mode) {
  auto opened = open_database(place.options(mode));
  if (!opened) throw std::runtime_error(opened.error().message);
  return std::move(*opened);
}

class DatabaseTest : public testing::TestWithParam<std::tuple<Mode, Dialect>> {
 protected:
  [[nodiscard]] Mode mode() const { return std::get<Mode>(GetParam()); }
  Opened open() { return must_open(place, mode()); }

  Place place{std::get<Dialect>(GetParam())};
};

// What is about the file.
class DatabaseFile : public testing::TestWithParam<Mode> {
 protected:
  Opened open() { return must_open(place, GetParam()); }
  [[nodiscard]] std::string file() const { return place.options().path; }

  Place place;
};

Result<void> set(Connection& db, const std::string& name, const std::string& value) {
  TRY_VOID(db.run("INSERT INTO meta(name, value) VALUES(?, ?)", name, Blob{value}));
  return {};
}

Result<std::int64_t> count(Connection& db) {
  Statement row = db.query("SELECT count(*) FROM meta");
  TRY_VOID(row.step());
  return row.integer(0);
}

std::string mode_name(Mode mode) { return mode == Mode::kInline ? "Inline" : "Thread"; }
INSTANTIATE_TEST_SUITE_P(, DatabaseTest,
                         testing::Combine(testing::Values(Mode::kInline, Mode::kThread), every_database()),
                         [](const auto& of) {
                           const Dialect dialect = std::get<Dialect>(of.param);
                           return mode_name(std::get<Mode>(of.param)) + name_of({dialect, 0});
                         });
INSTANTIATE_TEST_SUITE_P(, DatabaseFile, testing::Values(Mode::kInline, Mode::kThread),
                         [](const auto& mode) { return mode_name(mode.param); });

TEST_P(DatabaseTest, AJobThatFailsChangesNothing) {
  const Opened database = open();
  const auto failed = run(database->write([](Connection& db) -> Result<void> {
    TRY_VOID(set(db, "a", "1"));
    return fail(ErrorCode::kConflict, "changed my mind");
  }));
  EXPECT_EQ(failed.error().code, ErrorCode::kConflict);
  EXPECT_EQ(must(database->read(count)), 0);
  must(database->write([](Connection& db) { return set(db, "a", "1"); }));
  EXPECT_EQ(must(database->read(count)), 1);
}

TEST_P(DatabaseTest, AViolatedConstraintIsAConflict) {
  const Opened database = open();
  must(database->write([](Connection& db) { return set(db, "a", "1"); }));
  const auto again = run(database->write([](Connection& db) { return set(db, "a", "2"); }));
  EXPECT_EQ(again.error().code, ErrorCode::kConflict);
}

TEST_P(DatabaseTest, AnotherConnectionCannotOpenIt) {
  const Opened database = open();
  const auto second = open_database(place.options());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(second.error().message.find("in use by another process"), std::string::npos);
}

TEST_P(DatabaseFile, NobodyElseMayReadIt) {
  namespace fs = std::filesystem;
  const auto others = [&](const char* part) {
    constexpr auto kOthers = fs::perms::group_all | fs::perms::others_all;
    return fs::status(file() + part).permissions() & kOthers;
  };
  const mode_t former = ::umask(0);
  {
    const Opened database = open();
    must(database->write([](Connection& db) { return set(db, "a", "1"); }));
    for (const char* part : {"", "-wal"}) EXPECT_EQ(others(part), fs::perms::none) << part;
  }
  fs::permissions(file(), fs::perms::all);
  const Opened again = open();
  must(again->write([](Connection& db) { return set(db, "b", "1"); }));
  for (const char* part : {"", "-wal"}) EXPECT_EQ(others(part), fs::perms::none) << part << ", mended";
  ::umask(former);
}

TEST_P(DatabaseTest, ANewerSchemaIsRefusedWithAMessageThatHelps) {
  {
    const Opened database = open();
    must(database->write([](Connection& db) -> Result<void> {
      TRY_VOID(db.run("INSERT INTO migrations(version) VALUES(?)", kSchemaVersion + 1));
      return {};
    }));
  }
  const auto opened = open_database(place.options(mode()));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
  EXPECT_NE(opened.error().message.find("version " + std::to_string(kSchemaVersion + 1)), std::string::npos);
}

// What a node of version 2 had, with its posts, take-downs and what it let go.
void write_version_2(const std::string& path) {
  auto db = Connection::open(path);
  ASSERT_TRUE(db);
  ASSERT_TRUE(migrate(*db, 2));
  const auto write = [&](const char* sql, const auto&... args) { ASSERT_TRUE(db->run(sql, args...)); };
  const std::string key(32, 'k');
  write("INSERT INTO history_tags(id, tag, key, kept_from, posts) VALUES(7, 'cats', ?, 5, 1)", Blob{key});
  write("INSERT INTO history_strings(id, text) VALUES(1, 'https://a.example/')");
  write("INSERT INTO history_authors(id, prefix, name) VALUES(1, 1, 'u')");
  write(
      "INSERT INTO history(tag, published, tie, author, form, tail, removed)"
      " VALUES(7, 10, 'https://a.example/1', 1, 0, NULL, 0)");
}

TEST(Migration, AHistoryOfVersion2IsKeptAndCanBeDivided) {
  const TemporaryDirectory directory;
  write_version_2(directory.file("db"));
  const ManualClock clock;
  auto stores = open_stores({.path = directory.file("db"), .vfs = {}, .mode = Mode::kInline}, clock);
  ASSERT_TRUE(stores) << stores.error().message;
  storage::HistoryStore& history = (*stores)->history;
  const auto bucket = must(history.bucket("cats"_tag, 0, {}, 10));
  EXPECT_EQ(bucket.kept_from, at(5));
  EXPECT_EQ(bucket.begun, WallTime());
  ASSERT_EQ(bucket.entries.size(), 1U);
  EXPECT_EQ(bucket.entries.front().uri, "https://a.example/1");
  EXPECT_TRUE(must(history.sets()).empty());
  must(history.save_set({"cats"_tag, 1, 8, 8, at(20)}));
  EXPECT_EQ(must(history.sets()).size(), 1U);
}

TEST(Migration, WhoFollowedInVersion15IsToldAsBefore) {
  const TemporaryDirectory directory;
  {
    auto db = Connection::open(directory.file("db"));
    ASSERT_TRUE(db);
    ASSERT_TRUE(migrate(*db, 15));
    ASSERT_TRUE(db->run("INSERT INTO inboxes(inbox, acknowledged) VALUES('https://f.example/inbox', 7)"));
    ASSERT_TRUE(
        db->run("INSERT INTO feed(seq, accepted, tag, op, uri, author, published, indexable)"
                " VALUES(8, 10, 'cats', 1, 'https://a.example/1', 'https://a.example/u', 5, 0)"));
  }
  const ManualClock clock;
  auto stores = open_stores({.path = directory.file("db"), .vfs = {}, .mode = Mode::kInline}, clock);
  ASSERT_TRUE(stores) << stores.error().message;
  const delivery::Store::Cursor cursor = must((*stores)->relay.cursors()).at("https://f.example/inbox");
  EXPECT_EQ(cursor, delivery::Store::Cursor{7});
  const auto feed = must((*stores)->relay.feed(0, 9));
  ASSERT_EQ(feed.size(), 1U);
  EXPECT_EQ(feed[0].added, 0U);
  EXPECT_TRUE(must((*stores)->relay.notes(0, 9)).empty());
}

TEST(Migration, WhatWasDeletedBeforeItCameInVersion16StaysDeleted) {
  const TemporaryDirectory directory;
  {
    auto db = Connection::open(directory.file("db"));
    ASSERT_TRUE(db);
    ASSERT_TRUE(migrate(*db, 16));
    ASSERT_TRUE(db->run("INSERT INTO buried(uri, at) VALUES('https://a.example/1', 7)"));
  }
  const ManualClock clock;
  auto stores = open_stores({.path = directory.file("db"), .vfs = {}, .mode = Mode::kInline}, clock);
  ASSERT_TRUE(stores) << stores.error().message;
  delivery::PublishedPost post{
      "https://a.example/1", "https://a.example/u", WallTime(Duration(5)), {"cats"_tag}};
  post.is_edit = true;
  EXPECT_TRUE(must((*stores)->relay.publish(post, 1)).empty());
}

std::vector<std::string> tables_of(Connection& db) {
  std::vector<std::string> found;
  Statement row = db.query("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name");
  while (row.step().value()) found.push_back(row.text(0));
  return found;
}

TEST(Migration, SaysHowFarItIs) {
  const TemporaryDirectory directory;
  write_version_2(directory.file("db"));
  auto db = Connection::open(directory.file("db"));
  ASSERT_TRUE(db);
  std::vector<std::string> told;
  ASSERT_TRUE(migrate(*db, 4, [&told](const MigrationStep& step) {
    if (step.state == MigrationStep::State::kGoesOn) return;
    const bool begins = step.state == MigrationStep::State::kBegins;
    told.push_back(fmt::format("{} {}/{}", begins ? "begins" : "done", step.number, step.of));
  }));
  EXPECT_EQ(told, (std::vector<std::string>{"begins 1/2", "done 1/2", "begins 2/2", "done 2/2"}));
}

TEST(Migration, ARehearsalDoesAllOfItAndChangesNothing) {
  const TemporaryDirectory directory;
  write_version_2(directory.file("db"));
  auto db = Connection::open(directory.file("db"));
  ASSERT_TRUE(db);
  const std::vector<std::string> before = tables_of(*db);
  int done = 0;
  ASSERT_TRUE(rehearse(*db, [&done](const MigrationStep& step) {
    if (step.state == MigrationStep::State::kDone) ++done;
  }));
  EXPECT_EQ(done, kSchemaVersion - 2);
  EXPECT_EQ(tables_of(*db), before);
  EXPECT_EQ(version_of(*db).value(), 2);
  EXPECT_FALSE(db->in_transaction());
  // What would not work is found out, and leaves nothing behind either.
  ASSERT_TRUE(db->execute("CREATE TABLE audits(id INTEGER)"));
  EXPECT_FALSE(rehearse(*db, {}));
  EXPECT_FALSE(db->in_transaction());
  EXPECT_EQ(version_of(*db).value(), 2);
}

TEST(Migration, LongStatementsTellThatTheyGoOn) {
  const TemporaryDirectory directory;
  auto db = Connection::open(directory.file("db"));
  ASSERT_TRUE(db);
  int told = 0;
  constexpr const char* kLong =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)"
      " SELECT count(*) FROM n";
  ASSERT_TRUE(db->watched([&told] { ++told; }, [&] { return db->execute(kLong); }));
  EXPECT_GT(told, 0);
  told = 0;
  ASSERT_TRUE(db->execute(kLong));
  EXPECT_EQ(told, 0);
}

TEST_P(DatabaseFile, ThatIsNoDatabaseIsRefused) {
  FILE* written = std::fopen(file().c_str(), "w");
  for (int i = 0; i < 1000; ++i) std::fputs("not a database ", written);
  std::fclose(written);
  const auto opened = open_database(place.options(GetParam()));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt);
}

std::string bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(FileOfOthers, IsLeftAsItIs) {
  namespace fs = std::filesystem;
  const TemporaryDirectory directory;
  const std::string text = directory.file("passwd");
  std::ofstream(text) << "root:x:0:0:root:/root:/bin/bash\n";
  const std::string other = directory.file("other.sqlite");
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(other.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, "CREATE TABLE bookmarks(url TEXT)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  for (const std::string& file : {text, other}) {
    constexpr auto kMode = static_cast<fs::perms>(0644);
    fs::permissions(file, kMode);
    const std::string before = bytes_of(file);
    const auto opened = Connection::open(file);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(fs::status(file).permissions(), kMode) << file;
    EXPECT_EQ(bytes_of(file), before) << file;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(text).parent_path()), {}), 2);
}

class Values : public testing::TestWithParam<Dialect> {
 protected:
  Values() : connection(place.connect()) {
    if (!connection) throw std::runtime_error(connection.error().message);
  }
  Result<void> define(const char* table) {
    const bool is_postgres = connection->dialect() == Dialect::kPostgres;
    return connection->execute(is_postgres ? to_postgres_schema(table, /*rows=*/false).c_str() : table);
  }
  Place place{GetParam()};
  Result<Connection> connection;
};
INSTANTIATE_TEST_SUITE_P(, Values, every_database(), name_of);

TEST_P(Values, ATextWithANulIsRefusedByBoth) {
  ASSERT_TRUE(define("CREATE TABLE v(a TEXT) STRICT"));
  const auto added = connection->query("INSERT INTO v VALUES(?)", std::string_view("x\0y", 3)).step();
  ASSERT_FALSE(added) << "PostgreSQL could not take it when the node moves";
  EXPECT_EQ(added.error().code, ErrorCode::kInvalid);
  Statement count = connection->query("SELECT count(*) FROM v");
  ASSERT_TRUE(*count.step());
  EXPECT_EQ(count.integer(0), 0);
}

TEST_P(Values, ComeBackAsTheyWereBound) {
  ASSERT_TRUE(
      define("CREATE TABLE v(a TEXT, b BLOB, c INTEGER, d INTEGER, e TEXT, f INTEGER, g TEXT) STRICT"));
  const std::string bytes("\0\xff'", 3);
  Statement row = connection->query("INSERT INTO v VALUES(?, ?, ?, ?, ?, ?, NULL) RETURNING *", "käse'",
                                    Blob{bytes}, -5, UINT64_MAX, std::string_view(), WallTime(Duration(7)));
  ASSERT_TRUE(*row.step());
  EXPECT_EQ(row.type(0), Type::kText);
  EXPECT_EQ(row.text(0), "käse'");
  EXPECT_EQ(row.type(1), Type::kBlob);
  EXPECT_EQ(row.text(1), bytes);
  EXPECT_EQ(row.type(2), Type::kInteger);
  EXPECT_EQ(row.integer(2), -5);
  EXPECT_EQ(row.integer(3), INT64_MAX);
  EXPECT_EQ(row.type(4), Type::kText);
  EXPECT_EQ(row.text(4), "");
  EXPECT_EQ(row.time(5), WallTime(Duration(7)));
  EXPECT_EQ(row.type(6), Type::kNull);
  EXPECT_EQ(row.integer(6), 0);
  EXPECT_EQ(row.text(6), "");
  EXPECT_FALSE(*row.step());
}

TEST_P(Values, OfAnyTypeKeepIt) {
  ASSERT_TRUE(define("CREATE TABLE v(a ANY) STRICT"));
  const std::string bytes("\0\xff'", 3);
  for (const Any& value : {Any(INT64_MIN), Any(std::int64_t{-1}), Any(INT64_MAX), Any(Blob{bytes}),
                           Any(Blob{""}), Any(std::string_view("113")), Any(std::string_view(""))}) {
    Statement row = connection->query("INSERT INTO v VALUES(?) RETURNING a", value);
    ASSERT_TRUE(*row.step());
    EXPECT_EQ(row.any(0), value);
  }
}

TEST_P(Values, BrokenSqlIsAnErrorOfTheFirstStep) {
  const auto failed = connection->run("SELECT nothing FROM nowhere");
  EXPECT_EQ(failed.error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(connection->run("SELECT 1"));
}

TEST_P(Values, OfManyRowsAreTakenInParts) {
  constexpr const char* kNumbers =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1024) SELECT i FROM n";
  for (const int wanted : {0, 1, 256, 257, 1024, 1025}) {
    ASSERT_TRUE(connection->begin_reading());
    {
      Statement row = connection->walk(kNumbers);
      int seen = 0;
      while (seen < wanted && row.step().value()) EXPECT_EQ(row.integer(0), ++seen);
      EXPECT_EQ(seen, std::min(wanted, 1024));
    }
    connection->end_reading();
    ASSERT_TRUE(connection->settle());
  }
}

// --- group commit --------------------------------------------------------------------------------------

class GroupCommit : public testing::TestWithParam<Dialect> {
 protected:
  GroupCommit() : stores(make()) {}
  std::unique_ptr<Stores> make() {
    auto opened = open_stores(place.options(Mode::kThread), clock);
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }
  Place place{GetParam()};
  ManualClock clock;
  std::unique_ptr<Stores> stores;
};
INSTANTIATE_TEST_SUITE_P(, GroupCommit, every_database(), name_of);

// Many callers, each a loop of writes of its own; every third fails by itself.
Task<void> write_repeatedly(Database* database, int writer, int writes, std::atomic<int>* wrong) {
  const auto thread = std::this_thread::get_id();
  for (int i = 0; i < writes; ++i) {
    const bool fails = i % 3 == 0;
    auto job = [name = std::to_string(writer) + "-" + std::to_string(i),
                fails](Connection& db) -> Result<std::string> {
      TRY_VOID(set(db, name, "x"));
      if (fails) return fail(ErrorCode::kDenied, name);
      return name;
    };
    const auto done = co_await database->write(std::move(job));
    const bool as_expected = fails ? !done && done.error().code == ErrorCode::kDenied
                                   : done && *done == std::to_string(writer) + "-" + std::to_string(i);
    if (!as_expected || std::this_thread::get_id() != thread) ++*wrong;
  }
}

TEST_P(GroupCommit, EachCallerGetsItsOwnAnswerOnItsOwnThread) {
  constexpr int kThreads = 4;
  constexpr int kWriters = 25;
  constexpr int kWrites = 12;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      boost::asio::io_context loop;
      TaskGroup group(loop.get_executor());
      for (int w = 0; w < kWriters; ++w) {
        group.spawn("writer", write_repeatedly(stores->database.get(), t * kWriters + w, kWrites, &wrong));
      }
      loop.run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  stores.reset();
  stores = make();
  EXPECT_EQ(must(stores->database->read(count)), kThreads * kWriters * kWrites * 2 / 3);
}

TEST_P(GroupCommit, AReadSeesTheWritesAskedForBefore) {
  for (int round = 0; round < 20; ++round) {
    boost::asio::io_context loop;
    std::int64_t seen = -1;
    for (int i = 0; i < 10; ++i) {
      boost::asio::co_spawn(loop, stores->meta.set(std::to_string(round * 10 + i), "x"),
                            [](const std::exception_ptr&, const Result<void>&) {});
    }
    boost::asio::co_spawn(loop, stores->database->read(count),
                          [&](const std::exception_ptr&, const auto& rows) { seen = *rows; });
    loop.run();
    EXPECT_EQ(seen, (round + 1) * 10);
  }
}

TEST_P(GroupCommit, ClosingFinishesWhatWasAskedFor) {
  boost::asio::io_context loop;
  int done = 0;
  for (int i = 0; i < 200; ++i) {
    boost::asio::co_spawn(
        loop, stores->meta.set("name" + std::to_string(i), "x"),
        [&](const std::exception_ptr&, const Result<void>& result) { done += result ? 1 : 0; });
  }
  loop.poll();  // all have asked
  stores.reset();
  loop.restart();
  loop.run();
  EXPECT_EQ(done, 200);
  stores = make();
  EXPECT_EQ(must(stores->database->read(count)), 200);
}

TEST_P(GroupCommit, CallersMayBeDroppedWhileTheyWait) {
  {
    boost::asio::io_context loop;
    for (int i = 0; i < 50; ++i) {
      boost::asio::co_spawn(loop, stores->meta.set("name" + std::to_string(i), "x"),
                            [](const std::exception_ptr&, const Result<void>&) {});
    }
    loop.poll();
    stores.reset();  // its answers are posted, and nobody runs them
  }
  stores = make();
  EXPECT_EQ(must(stores->database->read(count)), 50);
}

// --- meta ----------------------------------------------------------------------------------------------

class Meta : public StoresTest {};
INSTANTIATE_TEST_SUITE_P(, Meta, every_database(), name_of);

TEST_P(Meta, ValuesAreKeptAndReplaced) {
  EXPECT_EQ(must(stores->meta.get("key")), std::nullopt);
  must(stores->meta.set("key", "one"));
  must(stores->meta.set("key", std::string("t\0o", 3)));
  reopen();
  EXPECT_EQ(must(stores->meta.get("key")), std::string("t\0o", 3));
}

TEST_P(Meta, IncarnationsGrowEvenIfTheDatabaseIsLostOrTheClockIsSetBack) {
  const std::uint64_t first = must(stores->meta.next_incarnation(clock));
  EXPECT_GT(must(stores->meta.next_incarnation(clock)), first);
  clock.wall += std::chrono::hours(1);
  const std::uint64_t later = must(stores->meta.next_incarnation(clock));
  clock.wall -= std::chrono::minutes(30);
  reopen();
  EXPECT_GT(must(stores->meta.next_incarnation(clock)), later);
  const Place elsewhere{GetParam()};
  clock.wall += std::chrono::hours(1);
  auto fresh = open_stores(elsewhere.options(), clock);
  ASSERT_TRUE(fresh);
  EXPECT_GT(must((*fresh)->meta.next_incarnation(clock)), later + 1);
}

}  // namespace
}  // namespace tagring::db
