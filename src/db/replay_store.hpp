// replay::ReplayStore on SQLite.
#pragma once

#include "replay/replay_store.hpp"
#include "sql/database.hpp"

namespace tagring::db {

class SqliteReplayStore final : public replay::ReplayStore {
 public:
  // The database must outlive it.
  explicit SqliteReplayStore(sql::Database& database) : database_(database) {}

  Task<Result<std::vector<replay::Replay>>> replays() override;
  Task<Result<void>> plan(replay::Replay replay, std::vector<replay::ReplayPage> pages) override;
  Task<Result<void>> save(replay::Replay replay, std::vector<std::string> sent_uris) override;
  Task<Result<replay::ReplayPage>> page(std::string host, std::string tag, std::uint64_t number) override;
  Task<Result<std::set<std::string>>> sent(std::string host, std::vector<std::string> uris) override;

 private:
  sql::Database& database_;
};

}  // namespace tagring::db
