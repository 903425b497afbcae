// relay::BlockStore on SQLite.
#pragma once

#include "db/database.hpp"
#include "relay/blocks.hpp"

namespace tagring::db {

class SqliteBlockStore final : public relay::BlockStore {
 public:
  // The database must outlive it.
  explicit SqliteBlockStore(Database& database) : database_(database) {}

  Task<Result<void>> save_blocks(std::vector<relay::Block> blocks) override;
  Task<Result<void>> drop_blocks(std::vector<std::pair<relay::BlockKind, std::string>> blocks) override;
  Task<Result<std::vector<relay::Block>>> blocks() override;
  Task<Result<void>> save_separation(relay::Separation separation) override;
  Task<Result<void>> drop_separation(relay::Separation separation) override;
  Task<Result<std::vector<relay::Separation>>> separations() override;

 private:
  Database& database_;
};

}  // namespace tagring::db
