// All that a node keeps, in one file.
#pragma once

#include <memory>

#include "db/fasp_store.hpp"
#include "db/instance_store.hpp"
#include "db/moderation_store.hpp"
#include "db/receipt_store.hpp"
#include "db/relay_store.hpp"
#include "db/replay_store.hpp"
#include "db/schema.hpp"
#include "db_history/history_store.hpp"
#include "sql/database.hpp"
#include "sql/meta.hpp"

namespace tagring::db {

struct Stores {
  Stores(std::unique_ptr<sql::Database> opened, const Clock& clock)
      : database(std::move(opened)),
        relay(*database, clock),
        instances(*database),
        blocks(*database),
        replays(*database),
        fasp(*database),
        history(*database),
        receipts(*database),
        reports(*database),
        changes(*database),
        meta(*database) {}

  std::unique_ptr<sql::Database> database;
  SqliteRelayStore relay;
  SqliteInstanceStore instances;
  SqliteBlockStore blocks;
  SqliteReplayStore replays;
  SqliteFaspStore fasp;
  db_history::SqliteHistoryStore history;
  SqliteReceiptStore receipts;
  SqliteReportStore reports;
  SqliteChangeStore changes;
  sql::SqliteMeta meta;
};

// `clock` must outlive the stores. Errors as open_database.
inline Result<std::unique_ptr<Stores>> open_stores(sql::DatabaseOptions options, const Clock& clock,
                                                   const MigrationWatch& watch = {}) {
  TRY(auto database, open_database(std::move(options), watch));
  return std::make_unique<Stores>(std::move(database), clock);
}

}  // namespace tagring::db
