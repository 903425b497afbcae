// The tables, and how a database of an older version becomes one of this version.
#pragma once

#include "base/result.hpp"
#include "db/sqlite.hpp"

namespace tagring::db {

inline constexpr int kSchemaVersion = 2;

// Applies the missing migrations, each in one transaction. kInvalid if the database is of a newer version.
Result<void> migrate(Connection& connection);

}  // namespace tagring::db
