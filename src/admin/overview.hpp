// What is on this node's disk, and what it runs with, for the administrator's page (see control.hpp).
//
//   GET /storage         {"hashtags", "entries", "octets", "history": {"octets", "octets_max", "keep_days",
//                        "let_go"}, "receipts": {"batches", "octets"}}; "octets" are those of the database
//   GET /receipts        {"receipts": [{"at", "owner", "ring", "op", "tag", "uri", "batch"}]}, the latest
//                        first; "batch" is of how many posts
//   GET /settings        {"settings": [admin/settings.hpp]}
#pragma once

#include "admin/routes.hpp"
#include "audit/receipt_store.hpp"
#include "config/config.hpp"
#include "storage/history.hpp"

namespace tagring::admin {

class Overview final : public Subject {
 public:
  Overview(const config::Config& config, storage::HistoryStore& history, audit::ReceiptStore& receipts)
      : config_(config), history_(history), receipts_(receipts) {}

  void add_routes(Routes& routes) override;

 private:
  Task<Reply> storage();
  Task<Reply> receipts();

  const config::Config& config_;
  storage::HistoryStore& history_;
  audit::ReceiptStore& receipts_;
};

}  // namespace tagring::admin
