// The tables, and how a database of an older version becomes one of this version.
#pragma once

#include "base/result.hpp"
#include "sql/database.hpp"

namespace tagring::db {

inline constexpr int kSchemaVersion = 11;

// Applies the missing migrations up to that version, each in one transaction. kInvalid if the database is of
// a newer version than this program.
Result<void> migrate(sql::Connection& connection, int to = kSchemaVersion);

// The database with the tables of this version. Errors as Database::open and migrate.
inline Result<std::unique_ptr<sql::Database>> open_database(sql::DatabaseOptions options) {
  return sql::Database::open(std::move(options),
                             [](sql::Connection& connection) { return migrate(connection); });
}

}  // namespace tagring::db
