// instances::InstanceStore on SQLite.
#pragma once

#include "delivery/store.hpp"
#include "instances/instance_store.hpp"
#include "sql/database.hpp"

namespace tagring::db {

class SqliteInstanceStore final : public instances::InstanceStore {
 public:
  // The database must outlive it.
  explicit SqliteInstanceStore(sql::Database& database) : database_(database) {}

  Task<Result<void>> permit(instances::Permission permission) override;
  Task<Result<std::vector<instances::Permission>>> permissions() override;
  Task<Result<void>> save_link(instances::Link link) override;
  Task<Result<void>> drop_link(std::string actor, std::string relay,
                               std::optional<delivery::Store::FormerServer> left) override;
  Task<Result<std::vector<instances::Link>>> links() override;
  Task<Result<void>> save_own_follow(instances::OwnFollow follow) override;
  Task<Result<void>> drop_own_follow(std::string actor, std::string object) override;
  Task<Result<std::vector<instances::OwnFollow>>> own_follows() override;
  Task<Result<void>> save_tag_source(std::string host, std::string source,
                                     std::vector<std::string> tags) override;
  Task<Result<std::vector<instances::TagReason>>> tag_reasons() override;

  Task<Result<void>> note_follow(std::string actor, std::string object, std::string follow_id,
                                 WallTime now) override;
  Task<Result<bool>> is_former_follow(std::string actor, std::string object, std::string follow_id) override;
  Task<Result<void>> note_undo(std::string actor, std::string follow_id, bool has_ended,
                               WallTime now) override;
  Task<Result<bool>> is_undone(std::string actor, std::string follow_id) override;
  Task<Result<bool>> take_undone(std::string actor, std::string follow_id, WallTime now) override;

 private:
  sql::Database& database_;
};

}  // namespace tagring::db
