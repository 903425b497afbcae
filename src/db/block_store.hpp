// relay::BlockStore on SQLite.
#pragma once

#include "federation/blocks.hpp"
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

  Task<Result<void>> save_refusal(federation::Refusal refusal) override;
  Task<Result<void>> drop_refusal(federation::Refusal refusal) override;
  Task<Result<std::vector<federation::Refusal>>> refusals() override;

 private:
  sql::Database& database_;
};

}  // namespace tagring::db
