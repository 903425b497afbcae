// What is PostgreSQL's only; and that the stores make of it what they make of SQLite.
#include "sql/postgres.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <sstream>

#include "base/rng.hpp"
#include "db/schema.hpp"
#include "sql/tables.hpp"
#include "tests/db/fixture.hpp"
#include "tests/db/writes.hpp"
#include "tests/source_dir.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using ::testing::HasSubstr;

class PostgresTest : public testing::Test {
 protected:
  void SetUp() override { dsn_ = PostgresServer::get().fresh(); }
  // Which others use to look at the same tables.
  std::string sql(const std::string& statement) {
    const std::string schema = dsn_.substr(dsn_.rfind('=') + 1);
    return PostgresServer::get().run("SET search_path = " + schema + "; " + statement);
  }
  [[nodiscard]] std::unique_ptr<Stores> open(Mode mode = Mode::kInline) {
    auto opened = open_stores({.path = "", .vfs = {}, .postgres = dsn_, .mode = mode}, clock_);
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }

  std::string dsn_;
  ManualClock clock_;
};

// --- the same as SQLite ------------------------------------------------------------------------------------

TEST_F(PostgresTest, HasTheTablesThatSqliteHas) {
  const Place file;
  auto sqlite = file.connect();
  auto postgres = Connection::connect(dsn_);
  ASSERT_TRUE(sqlite && postgres);
  ASSERT_TRUE(migrate(*sqlite));
  ASSERT_TRUE(migrate(*postgres));
  const auto expected = tables_of(*sqlite).value();
  const auto found = tables_of(*postgres).value();
  EXPECT_GT(found.size(), 30U);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].name, expected[i].name);
    ASSERT_EQ(found[i].columns.size(), expected[i].columns.size()) << found[i].name;
    for (std::size_t c = 0; c < found[i].columns.size(); ++c)
      EXPECT_EQ(found[i].columns[c], expected[i].columns[c])
          << found[i].name << "." << found[i].columns[c].name;
  }
}

// Numbers of rows that go up only may leave some out.
std::string but_for_numbers(Stores& stores) {
  std::istringstream lines(contents(stores));
  std::vector<std::string> kept;
  for (std::string line; std::getline(lines, line);) {
    for (const char* table : {"feed_seen:", "former_servers:", "fasp_news:", "recent_follows:", "reports:",
                              "put_off:", "audits:", "changes:"}) {
      const std::string_view name = table;
      if (line.starts_with(name)) line.erase(name.size(), line.find(' ', name.size() + 1) - name.size());
    }
    kept.push_back(line + "\n");
  }
  std::ranges::sort(kept);
  std::string all;
  for (const std::string& line : kept) all += line;
  return all;
}

TEST_F(PostgresTest, KeepsWhatSqliteKeepsWhateverIsWritten) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Place file;
    const Place server(Dialect::kPostgres);
    const auto sqlite = open_stores(file.options(), clock_).value();
    const auto postgres = open_stores(server.options(), clock_).value();
    for (std::uint64_t i = 0; i < 600; ++i) {
      const Result<void> expected = random_write(*sqlite, seed * 1000 + i);
      const Result<void> found = random_write(*postgres, seed * 1000 + i);
      ASSERT_EQ(found.has_value(), expected.has_value())
          << seed * 1000 + i << ": " << (found ? expected.error().message : found.error().message);
    }
    ASSERT_EQ(difference(but_for_numbers(*postgres), but_for_numbers(*sqlite)), "") << "seed " << seed;
  }
}

// The server of the tests sorts as a dictionary does.
TEST_F(PostgresTest, SortsByBytes) {
  const auto stores = open();
  ASSERT_EQ(sql("SELECT string_agg(t, ' ' ORDER BY t) FROM (VALUES ('b'), ('B'), ('a'), ('ä')) v(t)"),
            "a ä b B");
  std::vector<Tag> tags;
  for (const char* text : {"b", "a", "ä", "z", "a_b", "ab", "a0"}) tags.push_back(Tag::from_canonical(text));
  must(stores->relay.want(tags, "test"));
  std::vector<std::string> sorted;
  std::optional<Tag> last;
  for (;;) {
    const auto page = must(stores->relay.wanted(last, 1));
    if (page.empty()) break;
    sorted.push_back(page.front().canonical());
    last = page.front();
  }
  EXPECT_EQ(sorted.size(), tags.size());
  EXPECT_TRUE(std::ranges::is_sorted(sorted));
}

// --- years -------------------------------------------------------------------------------------------------

// The statements of docs/postgresql.md.
std::string statements_of_the_document() {
  std::ifstream file(source_dir() / "docs" / "postgresql.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = text.find("```sql\n") + 7;
  return text.substr(begin, text.find("```", begin) - begin);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

WallTime in_year(int year, int second) {
  return WallTime(std::chrono::sys_days(std::chrono::year(year) / 7 / 1)) + std::chrono::seconds(second);
}

TEST_F(PostgresTest, AYearOfHistoryIsAPartitionAndGoesAsTheDocumentSays) {
  auto stores = open();
  const int now = std::stoi(sql("SELECT extract(year FROM now())::integer"));
  std::vector<storage::HistoryEntry> entries;
  for (const int year : {now - 5, now - 4, now}) {
    for (int i = 0; i < 3; ++i)
      entries.push_back({"cats"_tag, fmt::format("https://a.example/{}/{}", year, i), "https://a.example/u",
                         in_year(year, i)});
  }
  must(stores->history.put(entries));
  EXPECT_EQ(sql("SELECT count(*) FROM history_" + std::to_string(now)), "3");
  EXPECT_EQ(sql("SELECT count(*) FROM history_uris_" + std::to_string(now + 2)), "0");
  const storage::HourRange everything{{RingId(), 0}, {RingId() - RingId::power_of_two(0), 1'000'000}};
  const auto before = must(stores->history.digests({everything}, 0)).front();
  stores.reset();
  sql(replaced(replaced(statements_of_the_document(), "2022", std::to_string(now - 4)), "2021",
               std::to_string(now - 5)));
  stores = open();
  const auto page = must(stores->history.page("cats"_tag, std::nullopt, 100));
  ASSERT_EQ(page.entries.size(), 6U);
  EXPECT_EQ(page.entries.back().published, in_year(now - 4, 0));
  const auto totals = must(stores->history.totals());
  EXPECT_EQ(totals.entries, 6U);
  EXPECT_EQ(totals.let_go, 3U);
  EXPECT_EQ(must(stores->history.spans(std::nullopt, 10)).front().posts, 6U);
  const auto after = must(stores->history.digests({everything}, 0)).front();
  EXPECT_EQ(after.digest, before.digest) << "owners who compare find no difference";
  EXPECT_EQ(after.posts, before.posts);
  must(stores->history.put(entries));  // who still has them may send them
  EXPECT_EQ(must(stores->history.totals()).entries, 6U);
}

TEST_F(PostgresTest, AYearOfWhichThereArePostsElsewhereStaysThere) {
  auto stores = open();
  const int now = std::stoi(sql("SELECT extract(year FROM now())::integer"));
  sql(fmt::format("DROP TABLE history_{0}, history_uris_{0}", now));
  must(stores->history.put({{"cats"_tag, "https://a.example/1", "https://a.example/u", in_year(now, 0)}}));
  stores = nullptr;
  stores = open();
  EXPECT_EQ(must(stores->history.page("cats"_tag, std::nullopt, 100)).entries.size(), 1U);
  EXPECT_EQ(sql("SELECT count(*) FROM history_other"), "1");
}

TEST_F(PostgresTest, AYearThatCannotBeMadeWhileABackupReadsIsMadeLater) {
  open().reset();
  const int year = std::stoi(sql("SELECT extract(year FROM now())::integer")) + 2;
  const std::string is_there = fmt::format("SELECT to_regclass('history_{}') IS NOT NULL", year);
  sql(fmt::format("DROP TABLE history_{}", year));
  const PostgresLink backup(PQconnectdb(dsn_.c_str()));
  const auto does = [&](const char* statements) {
    return PQresultStatus(PostgresAnswer(PQexec(backup.get(), statements)).get());
  };
  ASSERT_EQ(does("BEGIN; LOCK TABLE history IN ACCESS SHARE MODE"), PGRES_COMMAND_OK);
  open().reset();
  EXPECT_EQ(sql(is_there), "f");
  ASSERT_EQ(does("ROLLBACK"), PGRES_COMMAND_OK);
  open().reset();
  EXPECT_EQ(sql(is_there), "t");
}

// --- sizes -------------------------------------------------------------------------------------------------

TEST_F(PostgresTest, WhatAPostTakesIsMeasured) {
  using Store = db_history::SqliteHistoryStore;
  auto stores = open();
  const auto put = [&](int from, int to) {
    std::vector<storage::HistoryEntry> entries;
    for (int i = from; i < to; ++i)
      entries.push_back({"cats"_tag, fmt::format("https://a.example/users/u{}/statuses/{}", i % 50, i),
                         fmt::format("https://a.example/users/u{}", i % 50),
                         at(clock_.wall_now().time_since_epoch().count() + i * 1'000)});
    must(stores->history.put(std::move(entries)));
  };
  EXPECT_EQ(stores->history.bytes_of_entry(), Store::kUsualOnPostgres);
  put(0, 1'000);
  EXPECT_EQ(must(stores->history.totals()).bytes_of_entry, Store::kUsualOnPostgres)
      << "of few it is not known";
  constexpr int kPosts = 12'000;
  for (int i = 1'000; i < kPosts; i += 1'000) put(i, i + 1'000);
  const auto totals = must(stores->history.totals());
  EXPECT_EQ(stores->history.bytes_of_entry(), totals.bytes_of_entry);
  // Of those under one hashtag, hour after hour, less than usual.
  EXPECT_LT(totals.bytes_of_entry, Store::kUsualOnPostgres * 9 / 10);
  const double taken = std::stod(sql(
      "SELECT sum(pg_total_relation_size(relid)) FROM (SELECT relid FROM pg_partition_tree('history') UNION"
      " SELECT relid FROM pg_partition_tree('history_uris') UNION SELECT unnest(ARRAY['history_hours',"
      " 'history_authors', 'history_strings', 'history_tags']::regclass[])) t"));
  EXPECT_NEAR(static_cast<double>(totals.bytes_of_history()), taken, 0.1 * taken);
  // What posts leave behind is believed up to a bound.
  sql("INSERT INTO history_strings(text) SELECT md5(i::text) FROM generate_series(1, 100000) i");
  EXPECT_EQ(must(stores->history.totals()).bytes_of_entry, Store::kMostOnPostgres);
  stores.reset();
  stores = open();
  EXPECT_EQ(stores->history.bytes_of_entry(), Store::kUsualOnPostgres);
}

// --- what differs ------------------------------------------------------------------------------------------

TEST_F(PostgresTest, TextThatIsNoneIsRefusedAndNothingElse) {
  const auto stores = open();
  for (const std::string& bad : {std::string("a\0b", 3), std::string("a\xff"), std::string("\xed\xa0\x80")}) {
    const auto refused = run(stores->relay.bury(bad, {}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << refused.error().message;
    must(stores->meta.set("key", bad));  // a blob
    EXPECT_EQ(must(stores->meta.get("key")), bad);
  }
}

TEST_F(PostgresTest, WhoHoldsItIsSaid) {
  const auto stores = open();
  const auto second = Connection::connect(dsn_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("in use by another process"));
  EXPECT_THAT(second.error().message, HasSubstr(fmt::format("tagring, process {}", ::getpid())));
}

TEST_F(PostgresTest, ANodeHasASchemaAndOthersHaveTheirs) {
  const auto one = open();
  const Place other(Dialect::kPostgres);
  const auto two = open_stores(other.options(), clock_).value();
  must(one->meta.set("key", "one"));
  must(two->meta.set("key", "two"));
  EXPECT_EQ(must(one->meta.get("key")), "one");
}

TEST_F(PostgresTest, ALostSessionIsMadeAgain) {
  for (const Mode mode : {Mode::kInline, Mode::kThread}) {
    const auto stores = open(mode);
    must(stores->meta.set("key", "kept"));
    // Between two jobs nobody notices.
    PostgresServer::get().stop();
    PostgresServer::get().start();
    EXPECT_EQ(must(stores->meta.get("key")), "kept");
    // Within one, the job fails, with all that it wrote.
    const auto failed = run(stores->database->write([](Connection& db) -> Result<void> {
      TRY_VOID(db.run("UPDATE meta SET value = ?", Blob{"lost"}));
      PostgresServer::get().run("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'");
      TRY_VOID(db.run("UPDATE meta SET value = ?", Blob{"lost"}));
      return {};
    }));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable) << failed.error().message;
    EXPECT_EQ(must(stores->meta.get("key")), "kept");
    const auto locked = Connection::connect(dsn_);
    ASSERT_FALSE(locked) << "the lock came back with the session";
  }
}

// A replica that is waited for by default, as by a role that has "on" or more, is waited for by what a node
// acknowledges.
TEST_F(PostgresTest, CommitsAreDurableWhateverTheRoleHas) {
  const auto used_where_role_has = [&](const std::string& setting) {
    const std::string schema = dsn_.substr(dsn_.rfind('=') + 1);
    const std::string own = fmt::format("{} options='-csearch_path={} -csynchronous_commit={}'",
                                        PostgresServer::get().dsn(), schema, setting);
    const auto stores =
        open_stores({.path = "", .vfs = {}, .postgres = own, .mode = Mode::kInline}, clock_).value();
    return must(stores->database->read([](Connection& db) -> Result<std::string> {
      Statement asked = db.query("SELECT current_setting('synchronous_commit')");
      TRY_VOID(asked.step());
      return asked.text(0);
    }));
  };
  EXPECT_EQ(used_where_role_has("off"), "on");
  EXPECT_EQ(used_where_role_has("local"), "on");
  EXPECT_EQ(used_where_role_has("remote_apply"), "remote_apply");
}

TEST_F(PostgresTest, AServerThatIsDownMakesThingsUnavailableAndComesBack) {
  bool can_write = true;
  DatabaseOptions options{.path = "", .vfs = {}, .postgres = dsn_, .mode = Mode::kThread};
  options.on_trouble = [&can_write](const Error* trouble) { can_write = trouble == nullptr; };
  const auto stores = open_stores(std::move(options), clock_).value();
  must(stores->meta.set("key", "kept"));
  PostgresServer::get().stop();
  for (int i = 0; i < 2; ++i) {
    const auto written = run(stores->meta.set("key", "lost"));
    const auto read = run(stores->meta.get("key"));
    ASSERT_FALSE(written);
    ASSERT_FALSE(read);
    EXPECT_EQ(written.error().code, ErrorCode::kUnavailable) << written.error().message;
    EXPECT_EQ(read.error().code, ErrorCode::kUnavailable) << read.error().message;
    EXPECT_FALSE(can_write);
  }
  PostgresServer::get().start();
  EXPECT_EQ(must(stores->meta.get("key")), "kept");
  must(stores->meta.set("key", "new"));
  EXPECT_TRUE(can_write);
}

// What somebody else locks meanwhile is no reason to wait for ever, and is not written.
TEST_F(PostgresTest, ARowThatAnotherHoldsMakesThingsUnavailable) {
  const auto stores = open();
  must(stores->meta.set("key", "kept"));
  must(stores->database->write([](Connection& db) { return db.run("SET lock_timeout = '50ms'"); }));
  const std::string schema = dsn_.substr(dsn_.rfind('=') + 1);
  const PostgresLink other(PQconnectdb(PostgresServer::get().dsn().c_str()));
  const std::string hold = fmt::format("BEGIN; UPDATE {}.meta SET value = value", schema);
  const PostgresAnswer held(PQexec(other.get(), hold.c_str()));
  const auto failed = run(stores->meta.set("key", "lost"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable) << failed.error().message;
  const PostgresAnswer freed(PQexec(other.get(), "ROLLBACK"));
  EXPECT_EQ(must(stores->meta.get("key")), "kept");
  must(stores->meta.set("key", "new"));
}

// A job that reads sees one state, whatever others do meanwhile.
TEST_F(PostgresTest, AReadSeesOneStateAndWritesNothing) {
  const auto stores = open();
  must(stores->meta.set("key", "before"));
  const auto value = [](Connection& db) -> Result<std::string> {
    Statement row = db.query("SELECT value FROM meta WHERE name = 'key'");
    TRY_VOID(row.step());
    return row.text(0);
  };
  must(stores->database->read([&](Connection& db) -> Result<void> {
    TRY(const std::string first, value(db));
    EXPECT_EQ(first, "before");
    sql("UPDATE meta SET value = 'after'");
    TRY(const std::string second, value(db));
    EXPECT_EQ(second, "before");
    return {};
  }));
  EXPECT_EQ(must(stores->database->read(value)), "after");
  const auto written = run(stores->database->read([](Connection& db) { return db.run("DELETE FROM meta"); }));
  ASSERT_FALSE(written);
  EXPECT_EQ(must(stores->database->read(value)), "after");
}

TEST_F(PostgresTest, WhatIsSentFailsWithItsJobAndNoOther) {
  const auto stores = open();
  const auto failed = run(stores->database->write([](Connection& db) -> Result<void> {
    TRY_VOID(db.send("INSERT INTO meta(name, value) VALUES('a', ?)", Blob{"1"}));
    TRY_VOID(db.send("INSERT INTO meta(name, value) VALUES('a', ?)", Blob{"2"}));
    return {};
  }));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kConflict) << failed.error().message;
  EXPECT_EQ(must(stores->meta.get("a")), std::nullopt);
  must(stores->meta.set("b", "2"));
  EXPECT_EQ(must(stores->meta.get("b")), "2");
}

TEST_F(PostgresTest, ASchemaThatIsNotThereAndAnEncodingThatWillNotDoAreRefused) {
  const auto nowhere = Connection::connect(PostgresServer::get().dsn() + " options=-csearch_path=nowhere");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(nowhere.error().message, HasSubstr("CREATE SCHEMA"));
  PostgresServer::get().run(
      "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE_PROVIDER libc");
  const auto ascii = Connection::connect(PostgresServer::get().dsn("ascii"));
  ASSERT_FALSE(ascii);
  EXPECT_EQ(ascii.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(ascii.error().message, HasSubstr("ENCODING 'UTF8'"));
  const auto down = Connection::connect("host=/nonexistent dbname=tagring password=secret");
  ASSERT_FALSE(down);
  EXPECT_EQ(down.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(down.error().message.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace tagring::db
