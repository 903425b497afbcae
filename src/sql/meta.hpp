// Small things that a node must remember: its key, its counters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "sql/database.hpp"

namespace tagring::sql {

class SqliteMeta {
 public:
  // `database` must outlive it.
  explicit SqliteMeta(Database& database) : database_(database) {}

  [[nodiscard]] Task<Result<std::optional<std::string>>> get(std::string name);
  [[nodiscard]] Task<Result<void>> set(std::string name, std::string value);
  // Larger at each call than ever before, on a clock that is right even if the database is lost, or older
  // than the last call, having been restored from a backup: milliseconds since 1970, or one more than the
  // last.
  [[nodiscard]] Task<Result<std::uint64_t>> next_incarnation(const Clock& clock);

 private:
  Database& database_;
};

// Inside a job: reserves `count` numbers and returns the first. Rolled back with the job.
Result<std::uint64_t> reserve_numbers(Connection& connection, const std::string& counter,
                                      std::uint64_t count);
// Inside a job: the last number given out, 0 if none.
Result<std::uint64_t> last_number(Connection& connection, const std::string& counter);

// For a process that has no part in the database: the value of that name, of the node whose tables are in the
// first schema of the search path; none also where there are no tables. `dsn` is a connection string of
// libpq. Blocks, for at most some seconds. kUnavailable if the server does not answer, kInvalid if the table
// may not be read.
Result<std::optional<std::string>> remembered(const std::string& dsn, const std::string& name);

}  // namespace tagring::sql
