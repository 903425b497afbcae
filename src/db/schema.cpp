#include "db/schema.hpp"

#include <fmt/format.h>

#include "migrations/migrations.hpp"
#include "sql/dialect.hpp"
#include "sql/tables.hpp"

namespace tagring::db {

using namespace sql;

namespace {

Result<void> define(Connection& connection, const char* sql, int version) {
  if (connection.dialect() == Dialect::kSqlite) return connection.execute(sql);
  return connection.execute(to_postgres_schema(sql, /*rows=*/version > kFirstOnPostgres).c_str());
}

Result<void> apply(Connection& connection, int version) {
  TRY_VOID(define(connection, "CREATE TABLE IF NOT EXISTS migrations(version INTEGER PRIMARY KEY) STRICT",
                  version));
  TRY_VOID(define(connection, migrations::all()[static_cast<std::size_t>(version) - 1].sql, version));
  TRY_VOID(connection.run("INSERT INTO migrations(version) VALUES(?)", version));
  return {};
}

// Does `work` in a transaction; at its end there is none, whatever happened.
Result<void> in_transaction(Connection& connection, Result<void> (Connection::*end)(),
                            const std::function<Result<void>()>& work) {
  const auto transaction = [&]() -> Result<void> {
    TRY_VOID(connection.begin());
    TRY_VOID(work());
    return (connection.*end)();
  };
  auto done = transaction();
  if (!done && connection.in_transaction()) static_cast<void>(connection.rollback());
  return done;
}

// `step` for each version after `from` up to `to`, watched.
Result<void> for_each_step(Connection& connection, int from, int to, const MigrationWatch& watch,
                           const std::function<Result<void>(int version)>& step) {
  using enum MigrationStep::State;
  for (int version = from + 1; version <= to; ++version) {
    const auto& [sql, does, counts] = migrations::all()[static_cast<std::size_t>(version) - 1];
    std::optional<std::int64_t> total;
    const std::int64_t before = connection.changes();
    const auto tell = [&](MigrationStep::State state) {
      if (watch) watch({state, version - from, to - from, does, connection.changes() - before, total});
    };
    tell(kBegins);
    if (counts != nullptr) {  // which takes a while itself, where they are many
      Statement count = connection.query(counts);
      TRY_VOID(count.step());
      total = count.integer(0) + 1;  // that it is done is a row, too
    }
    TRY_VOID(connection.watched([&tell] { tell(kGoesOn); }, [&] { return step(version); }));
    tell(kDone);
  }
  return {};
}

// Those of the years around this one, by the server's clock. Another node may have its own in another schema
// of the search_path. A year of which there are rows in the partition for all others stays there; one for
// which a table is not free, as while pg_dump reads it, is made at a later start.
constexpr const char* kMakeYears = R"sql(
DO $$
DECLARE
  part TEXT;
BEGIN
  PERFORM set_config('lock_timeout', '1s', true);
  FOR year IN extract(year FROM now())::integer - 5 .. extract(year FROM now())::integer + 2 LOOP
    FOREACH part IN ARRAY ARRAY['history', 'history_uris'] LOOP
      CONTINUE WHEN to_regclass(format('%I.%I', current_schema(), part || '_' || year)) IS NOT NULL;
      BEGIN
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s)', part || '_' || year, part,
          1000 * extract(epoch FROM make_timestamptz(year, 1, 1, 0, 0, 0, 'UTC'))::bigint,
          1000 * extract(epoch FROM make_timestamptz(year + 1, 1, 1, 0, 0, 0, 'UTC'))::bigint);
      EXCEPTION WHEN check_violation OR lock_not_available THEN NULL;
      END;
    END LOOP;
  END LOOP;
END $$)sql";

}  // namespace

Result<void> make_years(Connection& connection) {
  if (connection.dialect() == Dialect::kSqlite) return {};
  return connection.execute(kMakeYears);
}

Result<void> mark_unfinished(Connection& connection) {
  return define(connection, "CREATE TABLE unfinished_copy(source TEXT PRIMARY KEY) STRICT", kSchemaVersion);
}

Result<void> check_finished(Connection& connection) {
  TRY(const bool is_unfinished, has_table(connection, kUnfinishedCopy));
  if (!is_unfinished) return {};
  return fail(ErrorCode::kInvalid, "a copy into it was not finished: run \"tagring migrate-database\" again");
}

Result<int> version_of(Connection& connection) {
  TRY(const bool is_there, has_table(connection, "migrations"));
  if (!is_there) return 0;
  Statement newest = connection.query("SELECT coalesce(max(version), 0) FROM migrations");
  TRY(const bool row, newest.step());
  const std::int64_t version = row ? newest.integer(0) : 0;
  if (row && (version < 0 || newest.type(0) != sql::Type::kInteger)) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("its version, '{}', is none: the database is damaged", newest.text(0)));
  }
  if (version > kSchemaVersion) {
    return fail(ErrorCode::kInvalid, fmt::format("the database has version {}, this program knows up to {}: "
                                                 "install the newer program again, or restore a backup",
                                                 version, kSchemaVersion));
  }
  return static_cast<int>(version);
}

Result<void> migrate(Connection& connection, int to, const MigrationWatch& watch) {
  TRY(const int from, version_of(connection));
  return for_each_step(connection, from, to, watch, [&](int version) {
    return in_transaction(connection, &Connection::commit, [&] { return apply(connection, version); });
  });
}

Result<void> rehearse(Connection& connection, const MigrationWatch& watch) {
  TRY(const int from, version_of(connection));
  return in_transaction(connection, &Connection::rollback, [&] {
    return for_each_step(connection, from, kSchemaVersion, watch,
                         [&](int version) { return apply(connection, version); });
  });
}

}  // namespace tagring::db
