// The tables, and how a database of an older version becomes one of this version.
#pragma once

#include "base/result.hpp"
#include "db/sqlite.hpp"

namespace tagring::db {

inline constexpr int kSchemaVersion = 4;

// Applies the missing migrations up to that version, each in one transaction. kInvalid if the database is of
// a newer version than this program.
Result<void> migrate(Connection& connection, int to = kSchemaVersion);

}  // namespace tagring::db
