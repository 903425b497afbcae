#include "admin/overview.hpp"

#include "admin/settings.hpp"
#include "http/url.hpp"
#include "storage/statements.hpp"

namespace tagring::admin {

void Overview::add_routes(Routes& routes) {
  routes.get("/storage", [this](const Request&) { return storage(); });
  routes.get("/receipts", [this](const Request&) { return receipts(); });
  routes.get("/settings", [this](const Request&) {
    return replied(json::object{{"settings", describe_settings(config_)}});
  });
}

Task<Reply> Overview::storage() {
  CO_TRY(const storage::HistoryStore::Totals totals, co_await history_.totals());
  CO_TRY(const audit::ReceiptStore::Totals receipts, co_await receipts_.totals());
  co_return json::object{
      {"hashtags", totals.tags},
      {"entries", totals.entries},
      {"octets", totals.bytes},
      {"history", json::object{{"octets", totals.bytes_of_history()},
                               {"octets_max", config_.room_for_history()},
                               {"keep_days", config_.keep_days},
                               {"let_go", totals.let_go}}},
      {"receipts", json::object{{"batches", receipts.batches}, {"octets", receipts.bytes}}}};
}

// A row for each post of a batch: which of the two rings took it, and of how many the batch was.
Task<Reply> Overview::receipts() {
  CO_TRY(const std::vector<audit::KeptReceipt> kept, co_await receipts_.latest(kListMax));
  json::array rows;
  for (const audit::KeptReceipt& one : kept) {
    for (const storage::TakenItem& item : one.items) {
      if (rows.size() == kListMax) break;
      rows.push_back(json::object{{"at", to_rfc3339(one.receipt.at)},
                                  {"owner", origin_of(one.receipt.actor)},
                                  {"ring", storage::ring_name(one.receipt.ring)},
                                  {"op", item.removal ? "remove" : "add"},
                                  {"tag", item.partition.tag.canonical()},
                                  {"uri", item.uri},
                                  {"batch", one.items.size()}});
    }
  }
  co_return json::object{{"receipts", std::move(rows)}};
}

}  // namespace tagring::admin
