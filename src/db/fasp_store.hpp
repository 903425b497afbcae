// fasp::FaspStore on SQLite.
#pragma once

#include <chrono>

#include "base/time.hpp"
#include "fasp/fasp_store.hpp"
#include "sql/database.hpp"

namespace tagring::db {

class SqliteFaspStore final : public fasp::FaspStore {
 public:
  // No post is to be looked at later: what is due after that got its date from a clock that was ahead, and is
  // due now.
  static constexpr Duration kDueWithin = std::chrono::days(7);

  // The database must outlive it.
  explicit SqliteFaspStore(sql::Database& database) : database_(database) {}

  Task<Result<void>> save_server(fasp::FaspServer server) override;
  Task<Result<void>> drop_server(std::string host) override;
  Task<Result<std::vector<fasp::FaspServer>>> servers() override;
  Task<Result<std::vector<fasp::FaspNews>>> add_news(std::vector<fasp::FaspNews> news,
                                                     std::optional<fasp::FaspBackfill> backfill) override;
  Task<Result<std::vector<fasp::FaspNews>>> news(std::uint64_t after, std::size_t limit) override;
  Task<Result<void>> drop_news(std::uint64_t seq) override;
  Task<Result<void>> save_backfill(fasp::FaspBackfill backfill) override;
  Task<Result<std::vector<fasp::FaspBackfill>>> backfills() override;
  Task<Result<void>> save_post(fasp::FaspPost post) override;
  Task<Result<void>> drop_post(std::string uri) override;
  Task<Result<std::vector<fasp::FaspPost>>> due_posts(WallTime now, std::size_t limit) override;
  Task<Result<std::optional<fasp::FaspPost>>> find_post(std::string uri) override;

 private:
  sql::Database& database_;
};

}  // namespace tagring::db
