// What administrators keep away, what others complained of, and who changed what: federation::BlockStore,
// reports::ReportStore and administrators::ChangeStore on SQLite.
#pragma once

#include "administrators/changes.hpp"
#include "federation/blocks.hpp"
#include "reports/report_store.hpp"
#include "sql/database.hpp"

namespace tagring::db {

class SqliteBlockStore final : public federation::BlockStore {
 public:
  // The database must outlive it.
  explicit SqliteBlockStore(sql::Database& database) : database_(database) {}

  Task<Result<void>> save_blocks(std::vector<federation::Block> blocks) override;
  Task<Result<void>> drop_blocks(std::vector<federation::Block> blocks) override;
  Task<Result<std::vector<federation::Block>>> blocks() override;
  Task<Result<void>> save_separation(federation::Separation separation) override;
  Task<Result<void>> drop_separation(federation::Separation separation) override;
  Task<Result<std::vector<federation::Separation>>> separations() override;

  Task<Result<void>> save_refusal(federation::Refusal refusal, WallTime look) override;
  Task<Result<void>> drop_refusal(federation::Refusal refusal) override;
  Task<Result<std::vector<federation::Refusal>>> refusals() override;

 private:
  sql::Database& database_;
};

class SqliteReportStore final : public reports::ReportStore {
 public:
  // The database must outlive it.
  explicit SqliteReportStore(sql::Database& database) : database_(database) {}

  Task<Result<bool>> add_report(reports::Report report) override;
  Task<Result<void>> note_forwarded(std::uint64_t id, std::string uri) override;
  Task<Result<bool>> close_report(std::uint64_t id, std::size_t closed_max) override;
  Task<Result<std::vector<reports::Report>>> reports(std::size_t limit) override;
  Task<Result<reports::Report>> report(std::uint64_t id) override;
  Task<Result<std::vector<std::string>>> open_reporters() override;
  Task<Result<std::optional<WallTime>>> oldest_open() override;

 private:
  sql::Database& database_;
};

// Only the last `kept` stay.
Result<void> add_change(sql::Connection& db, const administrators::Change& change, std::size_t kept);

class SqliteChangeStore final : public administrators::ChangeStore {
 public:
  // The database must outlive it.
  explicit SqliteChangeStore(sql::Database& database) : database_(database) {}

  Task<Result<void>> add_change(administrators::Change change, std::size_t kept) override;
  Task<Result<std::vector<administrators::Change>>> changes(std::size_t limit) override;

 private:
  sql::Database& database_;
};

}  // namespace tagring::db
