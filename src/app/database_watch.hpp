// What the program does about its database beyond using it: says how far an upgrade is, and when it cannot be
// written, stands by while
// another process has it, and lets such a one see that this one is alive (docs/postgresql.md, "Two
// machines").
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "base/log.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "config/config.hpp"
#include "db/stores.hpp"
#include "sql/database.hpp"

namespace tagring::app {

class DatabaseWatch {
 public:
  // All of these must outlive it. `json`: what it prints for whoever started it.
  DatabaseWatch(const config::Config& config, bool json, Clock& clock, Log& log)
      : config_(config), json_(json), clock_(clock), log_(log) {}

  // That of the configuration, with the tables of this version, told to this object, which must outlive it.
  // Waits for as long as another process has it (standby), and says how far an upgrade is. `file`: of SQLite.
  // Errors as db::open_stores.
  [[nodiscard]] Result<std::unique_ptr<db::Stores>> open(std::filesystem::path file);

  // On PostgreSQL, until it is cancelled: a short transaction each second, through the caller's loop and the
  // thread of the jobs, so that the session is silent if one of them hangs, and a lost one is made again at
  // once. Ends the process, with cli::kExitSuperseded, if another is the node; with database.standby also if
  // there has been no answer for ten seconds, since another may be.
  [[nodiscard]] Task<void> beat(sql::Database& database);

  // What was written last was, and the last second's transaction was not long ago.
  [[nodiscard]] bool can_write() const;
  [[nodiscard]] bool has_stood_by() const { return !whom_.empty(); }

 private:
  [[nodiscard]] sql::DatabaseOptions options(std::filesystem::path file);
  void note_trouble(const Error* trouble);
  void stand_by(const std::string& whom);
  [[noreturn]] void end(const Error& because) const;

  const config::Config& config_;
  const bool json_;
  Clock& clock_;
  Log& log_;
  std::atomic<bool> in_trouble_ = false;
  std::optional<Instant> answered_;
  std::string whom_;  // it waited for last
};

}  // namespace tagring::app
