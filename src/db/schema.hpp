// How a database of an older version becomes one of this version, by the steps of migrations/migrations.hpp.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "migrations/migrations.hpp"
#include "sql/database.hpp"

namespace tagring::db {

inline constexpr int kSchemaVersion = migrations::kCount;
// No database on PostgreSQL is older: up to this one, tables have no rows there.
inline constexpr int kFirstOnPostgres = 13;

// How far a database is on its way to another version.
struct MigrationStep {
  enum class State : std::uint8_t { kBegins, kGoesOn, kDone };
  State state;
  int number;  // of `of`, from 1
  int of;
  std::string_view does;                   // "counts the posts of each hashtag"
  std::int64_t rows;                       // that it has written so far
  std::optional<std::int64_t> total = {};  // that it will write; none: that is not known beforehand
};
// Told when a step begins, now and then while it runs, and when it is done.
using MigrationWatch = std::function<void(const MigrationStep&)>;

// A database that another is being copied into (db/copy.hpp) has this table, and is nobody's until it is
// gone.
inline constexpr const char* kUnfinishedCopy = "unfinished_copy";
Result<void> mark_unfinished(sql::Connection& connection);
// kInvalid if it has.
Result<void> check_finished(sql::Connection& connection);

// The version of a database; 0 if it is empty. kInvalid if it is newer than this program.
Result<int> version_of(sql::Connection& connection);

// Applies the missing migrations up to that version, each in one transaction: whoever is killed on the way
// goes on with the step that was not done. Errors as version_of.
Result<void> migrate(sql::Connection& connection, int to = kSchemaVersion, const MigrationWatch& watch = {});
// PostgreSQL: makes the partitions of the history's years, ahead of time.
Result<void> make_years(sql::Connection& connection);
// Does the same in one transaction, and undoes it: nothing has changed, and it is known that it works, and
// how long it takes.
Result<void> rehearse(sql::Connection& connection, const MigrationWatch& watch);

// The database with the tables of this version. Errors as Database::open and migrate.
inline Result<std::unique_ptr<sql::Database>> open_database(sql::DatabaseOptions options,
                                                            const MigrationWatch& watch = {}) {
  return sql::Database::open(std::move(options), [&watch](sql::Connection& connection) -> Result<void> {
    TRY_VOID(check_finished(connection));
    TRY(const int version, version_of(connection));
    // Before anything is written where another process may think that it is the node.
    if (version > 0) {
      TRY_VOID(connection.take_term());
    }
    TRY_VOID(migrate(connection, kSchemaVersion, watch));
    TRY_VOID(make_years(connection));
    return version > 0 ? Result<void>() : connection.take_term();
  });
}

}  // namespace tagring::db
