// SQLite as a Backend: WAL, synchronous=FULL (a commit is on the disk when it returns), and the file locked
// against other processes.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "sql/backend.hpp"

namespace tagring::sql {

// Makes the file if there is none. `vfs` empty: the system's. kUnavailable if another process has it open.
Result<std::unique_ptr<Backend>> open_sqlite(const std::string& path, const std::string& vfs);

}  // namespace tagring::sql
