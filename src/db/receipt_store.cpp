#include "db/receipt_store.hpp"

#include <set>

#include "storage/entries_json.hpp"
#include "storage/statements.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using audit::KeptReceipt;
using storage::TakenItem;

// Receipts forgotten by one job, so that none takes long.
constexpr int kForgottenMax = 16;

Result<std::uint64_t> key_id(Connection& db, const std::string& pem) {
  {
    Statement row = db.query("SELECT id FROM receipt_keys WHERE pem = ?", pem);
    TRY(const bool found, row.step());
    if (found) return row.number(0);
  }
  Statement row = db.query("INSERT INTO receipt_keys(pem) VALUES(?) RETURNING id", pem);
  TRY_VOID(row.step());
  const std::uint64_t id = row.number(0);
  TRY_VOID(row.step());
  return id;
}

Result<std::uint64_t> last_id(Connection& db) {
  Statement row = db.query("SELECT coalesce(max(id), 0) FROM receipts");
  TRY_VOID(row.step());
  return row.number(0);
}

Result<void> forget(Connection& db, std::uint64_t last, const audit::ReceiptStore::Limits& limits) {
  const std::uint64_t beyond = last > limits.bytes ? last - limits.bytes : 0;
  std::uint64_t through = 0;
  {
    Statement row = db.query(
        "SELECT coalesce(max(id), 0) FROM (SELECT id, kept FROM receipts ORDER BY id LIMIT ?) AS oldest"
        " WHERE id <= ? OR kept < ?",
        kForgottenMax, beyond, limits.kept_after);
    TRY_VOID(row.step());
    through = row.number(0);
  }
  if (through == 0) return {};
  TRY_VOID(db.run("DELETE FROM receipts WHERE id <= ?", through));
  TRY_VOID(db.run("DELETE FROM receipt_tags WHERE id <= ?", through));
  return {};
}

Result<void> write_receipt(Connection& db, const KeptReceipt& kept, WallTime now,
                           const audit::ReceiptStore::Limits& limits) {
  json::array items;
  std::set<std::string_view> tags;
  for (const TakenItem& item : kept.items) {
    items.push_back(storage::to_json(item));
    tags.insert(item.partition.tag.canonical());
  }
  const std::string receipt_text = json::serialize(storage::to_json(kept.receipt));
  const std::string items_text = json::serialize(items);
  TRY(const std::uint64_t key, key_id(db, kept.key));
  TRY(const std::uint64_t last, last_id(db));
  const std::uint64_t id = last + receipt_text.size() + items_text.size();
  TRY_VOID(db.run("INSERT INTO receipts(id, kept, key, receipt, items) VALUES(?, ?, ?, ?, ?)", id, now, key,
                  receipt_text, items_text));
  for (const std::string_view tag : tags) {
    TRY_VOID(db.run("INSERT INTO receipt_tags(tag, id) VALUES(?, ?)", tag, id));
  }
  return forget(db, id, limits);
}

Result<KeptReceipt> receipt_at(const Statement& row) {
  KeptReceipt kept;
  kept.id = row.number(0);
  kept.key = row.text(1);
  TRY(const json::object receipt, json::parse_object(row.view(2)));
  TRY(kept.receipt, storage::receipt_from_json(receipt));
  TRY(const json::value items, json::parse(row.view(3)));
  if (!items.is_array()) return fail(ErrorCode::kCorrupt, "database: the items of a receipt are no list");
  for (const json::value& element : items.get_array()) {
    if (!element.is_object()) return fail(ErrorCode::kCorrupt, "database: an item of a receipt is no object");
    TRY(TakenItem item, storage::item_from_json(element.get_object()));
    kept.items.push_back(std::move(item));
  }
  return kept;
}

}  // namespace

Task<Result<void>> SqliteReceiptStore::keep(KeptReceipt receipt, WallTime now, Limits limits) {
  return database_.write([receipt = std::move(receipt), now, limits](Connection& db) {
    return write_receipt(db, receipt, now, limits);
  });
}

Task<Result<std::vector<KeptReceipt>>> SqliteReceiptStore::receipts(Tag tag, std::uint64_t after,
                                                                    std::size_t limit) {
  return database_.read(
      [tag = std::move(tag), after, limit](Connection& db) -> Result<std::vector<KeptReceipt>> {
        std::vector<KeptReceipt> found;
        Statement row = db.query(
            "SELECT r.id, k.pem, r.receipt, r.items FROM receipt_tags t JOIN receipts r ON r.id = t.id JOIN"
            " receipt_keys k ON k.id = r.key WHERE t.tag = ? AND t.id > ? ORDER BY t.id LIMIT ?",
            tag.canonical(), after, limit);
        for (;;) {
          TRY(const bool more, row.step());
          if (!more) return found;
          TRY(found.emplace_back(), receipt_at(row));
        }
      });
}

Task<Result<audit::ReceiptStore::Totals>> SqliteReceiptStore::totals() {
  return database_.read([](Connection& db) -> Result<Totals> {
    Statement row = db.query(
        "SELECT count(*), coalesce(max(id) - min(id), 0) + coalesce((SELECT length(receipt) + length(items) "
        "FROM"
        " receipts ORDER BY id LIMIT 1), 0) FROM receipts");
    TRY_VOID(row.step());
    return Totals{row.number(0), row.number(1)};
  });
}

Task<Result<std::vector<KeptReceipt>>> SqliteReceiptStore::latest(std::size_t items) {
  return database_.read([items](Connection& db) -> Result<std::vector<KeptReceipt>> {
    std::vector<KeptReceipt> found;
    Statement row = db.walk(
        "SELECT r.id, k.pem, r.receipt, r.items FROM receipts r JOIN receipt_keys k ON k.id = r.key"
        " ORDER BY r.id DESC");
    for (std::size_t count = 0; count < items; count += found.back().items.size()) {
      TRY(const bool more, row.step());
      if (!more) break;
      TRY(found.emplace_back(), receipt_at(row));
    }
    return found;
  });
}

Task<Result<std::optional<KeptReceipt>>> SqliteReceiptStore::at(std::uint64_t place) {
  return database_.read([place](Connection& db) -> Result<std::optional<KeptReceipt>> {
    Statement row = db.query(
        "SELECT r.id, k.pem, r.receipt, r.items FROM receipts r JOIN receipt_keys k ON k.id = r.key WHERE "
        "r.id >="
        " (SELECT min(id) FROM receipts) + ((SELECT max(id) FROM receipts) - (SELECT min(id) FROM receipts)) "
        "* ?"
        " / ? ORDER BY r.id LIMIT 1",
        place, kPlaces);
    TRY(const bool found, row.step());
    if (!found) return std::nullopt;
    TRY(KeptReceipt kept, receipt_at(row));
    return kept;
  });
}

Task<Result<void>> SqliteReceiptStore::keep_offence(Offence offence, WallTime kept_after) {
  return database_.write([offence = std::move(offence), kept_after](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM offences WHERE at < ?", kept_after));
    TRY_VOID(
        db.run("INSERT INTO offences(origin, at, evidence) VALUES(?, ?, ?) ON CONFLICT(origin) DO UPDATE SET"
               " at = excluded.at, evidence = excluded.evidence WHERE excluded.at > offences.at",
               offence.origin, offence.at, offence.evidence));
    return {};
  });
}

Task<Result<std::vector<audit::ReceiptStore::Offence>>> SqliteReceiptStore::offences() {
  return database_.read([](Connection& db) -> Result<std::vector<Offence>> {
    return all_rows<Offence>(
        db.query("SELECT origin, at, evidence FROM offences ORDER BY origin"),
        [](const Statement& row) { return Offence{row.text(0), row.time(1), row.text(2)}; });
  });
}

Task<Result<void>> SqliteReceiptStore::keep_audit(std::string report, std::size_t count) {
  return database_.write([report = std::move(report), count](Connection& db) -> Result<void> {
    TRY_VOID(db.run("INSERT INTO audits(report) VALUES(?)", report));
    TRY_VOID(db.run(
        "DELETE FROM audits WHERE id <= (SELECT id FROM audits ORDER BY id DESC LIMIT 1 OFFSET ?)", count));
    return {};
  });
}

Task<Result<std::vector<std::string>>> SqliteReceiptStore::audits() {
  return database_.read([](Connection& db) -> Result<std::vector<std::string>> {
    return all_rows<std::string>(db.query("SELECT report FROM audits ORDER BY id DESC"),
                                 [](const Statement& row) { return row.text(0); });
  });
}

}  // namespace tagring::db
