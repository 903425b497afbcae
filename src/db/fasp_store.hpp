// relay::FaspStore on SQLite.
#pragma once

#include "db/database.hpp"
#include "relay/fasp.hpp"

namespace tagring::db {

class SqliteFaspStore final : public relay::FaspStore {
 public:
  // The database must outlive it.
  explicit SqliteFaspStore(Database& database) : database_(database) {}

  Task<Result<void>> save_server(relay::FaspServer server) override;
  Task<Result<void>> drop_server(std::string host) override;
  Task<Result<std::vector<relay::FaspServer>>> servers() override;
  Task<Result<std::vector<relay::FaspNews>>> add_news(std::vector<relay::FaspNews> news,
                                                      std::optional<relay::FaspBackfill> backfill) override;
  Task<Result<std::vector<relay::FaspNews>>> news(std::uint64_t after, std::size_t limit) override;
  Task<Result<void>> drop_news(std::uint64_t seq) override;
  Task<Result<void>> save_backfill(relay::FaspBackfill backfill) override;
  Task<Result<std::vector<relay::FaspBackfill>>> backfills() override;
  Task<Result<void>> save_post(relay::FaspPost post) override;
  Task<Result<void>> drop_post(std::string uri) override;
  Task<Result<std::vector<relay::FaspPost>>> due_posts(WallTime now, std::size_t limit) override;
  Task<Result<std::optional<relay::FaspPost>>> find_post(std::string uri) override;

 private:
  Database& database_;
};

}  // namespace tagring::db
