#include "app/database_watch.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>

#include "base/json.hpp"
#include "cli/exit.hpp"
#include "db/schema.hpp"
#include "machine/long_start.hpp"
#include "machine/systemd.hpp"
#include "sql/meta.hpp"

namespace tagring::app {
namespace {

constexpr Duration kBeatEvery = std::chrono::seconds(1);
// After this a standby may have ended the session (sql/postgres_session.cpp).
constexpr Duration kSilence = std::chrono::seconds(5);
constexpr Duration kLease = std::chrono::seconds(10);
constexpr Duration kUpgradeEvery = std::chrono::seconds(10);

}  // namespace

sql::DatabaseOptions DatabaseWatch::options(std::filesystem::path file) {
  sql::DatabaseOptions options;
  options.path = std::move(file);
  options.postgres = config_.postgres;
  options.on_trouble = [this](const Error* trouble) { note_trouble(trouble); };
  if (config_.standby) options.standing_by = [this](const std::string& whom) { stand_by(whom); };
  return options;
}

// An upgrade on the way may take longer than systemd waits for a start.
Result<std::unique_ptr<db::Stores>> DatabaseWatch::open(std::filesystem::path file) {
  machine::LongStart long_start(machine::LongStart::of_process(!config_.postgres.empty()));
  Instant told;
  const auto tell = [&](const db::MigrationStep& step) {
    if (step.of == db::kSchemaVersion) return;  // it is new
    const std::string of_rows = step.total ? fmt::format(" of {}", *step.total) : "";
    long_start.note(fmt::format("upgrading the database, step {} of {}, {}{} rows written", step.number,
                                step.of, step.rows, of_rows));
    const Instant now = clock_.now();
    if (step.state == db::MigrationStep::State::kGoesOn && now - told < kUpgradeEvery) return;
    told = now;
    log_.info(step.state == db::MigrationStep::State::kDone ? "upgraded" : "upgrading",
              {{"step", step.number},
               {"of", step.of},
               {"does", step.does},
               {"rows_written", step.rows},
               {"rows_to_write", step.total ? std::to_string(*step.total) : "unknown"}});
  };
  return db::open_stores(options(std::move(file)), clock_, tell);
}

// On the thread of the jobs.
void DatabaseWatch::note_trouble(const Error* trouble) {
  if (trouble != nullptr && trouble->code == ErrorCode::kSuperseded) end(*trouble);
  in_trouble_ = trouble != nullptr;
  if (trouble != nullptr) {
    log_.error("cannot_write", {{"because", trouble->message}, {"until_then", "nothing is acknowledged"}});
  } else {
    log_.warn("can_write_again");
  }
}

Task<void> DatabaseWatch::beat(sql::Database& database) {
  const auto ask = [](sql::Connection& connection) { return connection.run("SELECT 1"); };
  answered_ = clock_.now();
  while (!config_.postgres.empty()) {
    // It changes nothing, so a database that refuses what is written answers, too; by itself, where others
    // wrote in the same transaction.
    Result<std::int64_t> answered = co_await database.write(ask);
    if (!answered) answered = co_await database.read(ask);
    const Instant now = clock_.now();
    if (answered) answered_ = now;
    if (config_.standby && now - *answered_ > kLease) {
      end({ErrorCode::kSuperseded,
           fmt::format("a standby may be the node, since the database has not answered for ten "
                       "seconds: {}",
                       answered.error().message)});
    }
    // Trouble is over when something was written, and nobody else may have anything to write.
    if (answered && in_trouble_)
      co_await sql::SqliteMeta(database).set("last_look", to_rfc3339(clock_.wall_now()));
    co_await clock_.sleep_until(now + kBeatEvery);
  }
}

bool DatabaseWatch::can_write() const {
  if (in_trouble_) return false;
  return config_.postgres.empty() || !answered_ || clock_.now() - *answered_ < kSilence;
}

void DatabaseWatch::stand_by(const std::string& whom) {
  // It has nothing to tidy up, and may be process 1, which nobody ends who does not say how.
  for (const int ending : {SIGINT, SIGTERM})
    static_cast<void>(std::signal(ending, [](int) { std::_Exit(cli::kExitOk); }));
  machine::notify_systemd(fmt::format("READY=1\nWATCHDOG=1\nSTATUS=standing by: {}", whom));
  if (!has_stood_by() && json_) {
    fmt::print("{}\n", json::serialize(json::object{{"ready", false}, {"standing_by", whom}}));
    std::fflush(stdout);
  }
  if (whom != whom_) log_.info("standing_by", {{"because", whom}});
  whom_ = whom;
}

// At once: nothing that this process still does, or tells others, is the node's any more. What it had not
// committed was never acknowledged.
void DatabaseWatch::end(const Error& because) const {
  log_.error("superseded", {{"because", because.message}});
  std::_Exit(cli::report(because));
}

}  // namespace tagring::app
