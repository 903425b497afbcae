// relay::ReplayStore on SQLite.
#pragma once

#include "db/database.hpp"
#include "relay/replays.hpp"

namespace tagring::db {

class SqliteReplayStore final : public relay::ReplayStore {
 public:
  // The database must outlive it.
  explicit SqliteReplayStore(Database& database) : database_(database) {}

  Task<Result<std::vector<relay::Replay>>> replays() override;
  Task<Result<void>> plan(relay::Replay replay, std::vector<relay::ReplayPage> pages) override;
  Task<Result<void>> save(relay::Replay replay, std::vector<std::string> sent_uris) override;
  Task<Result<relay::ReplayPage>> page(std::string host, std::string tag, std::uint64_t number) override;
  Task<Result<std::set<std::string>>> sent(std::string host, std::vector<std::string> uris) override;

 private:
  Database& database_;
};

}  // namespace tagring::db
