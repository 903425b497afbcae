// A copy of a database that is in use, and the way back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "sql/database.hpp"

namespace tagring::sql {

// Writes the database as it is when this completes to `file`, which must not exist: under a name beside it at
// first, so that what is there is whole. Jobs go on between its parts; what they write gets into the copy.
// Size in bytes. kInvalid: there is such a file, or it is no absolute path. kUnavailable: it cannot be
// written, or this is cancelled; then nothing is left.
[[nodiscard]] Task<Result<std::uint64_t>> back_up(Database& database, std::filesystem::path file);

// Whether `file` is a whole database of SQLite, that nobody has open, with nothing beside it; looks at all of
// it. The greatest number in its table of migrations. kCorrupt: what is wrong with it.
[[nodiscard]] Result<int> verify(const std::filesystem::path& file);

// kInvalid: there is nothing in `file` yet, nor beside it. To open it as a database would make it one.
[[nodiscard]] Result<void> check_begun(const std::filesystem::path& file);

// Puts a file, or the names in a folder, on the disk.
[[nodiscard]] Result<void> sync(const std::filesystem::path& path);

}  // namespace tagring::sql
