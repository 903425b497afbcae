// The part of SqliteHistoryStore that is about histories divided among owners: what is on which shelf
// (redundancy/partition.hpp), and the sets of owners.
#include "db/history_rows.hpp"
#include "db/history_store.hpp"
#include "db/keys.hpp"
#include "db/meta.hpp"

namespace tagring::db {

using namespace history_rows;
using storage::HistoryEntry;

Result<std::vector<TagRow>> history_rows::shelves_of(Connection& db, const std::string& tag) {
  std::vector<TagRow> shelves;
  // "0" follows "/".
  Statement row = db.query(
      "SELECT id, tag, kept_from, begun FROM history_tags WHERE tag = ?1 OR (tag > ?1 || '/' AND tag < ?1 || "
      "'0')",
      tag);
  for (;;) {
    TRY(const bool found, row.step());
    if (!found) return shelves;
    shelves.push_back({row.integer(0), row.text(1), key_of(row.text(1)), row.time(2), row.time(3)});
  }
}

namespace {

// Drops the oldest entries. The last of the dictionaries' words stay: others may use them.
Result<std::size_t> forget_entries(Connection& db, const std::string& tag, std::size_t limit, WallTime at) {
  TRY(const auto known, find_tag(db, tag));
  if (!known) return 0;
  std::vector<HistoryEntry> oldest;
  {
    Statement row =
        db.query(TR_HISTORY_ROWS "WHERE h.tag = ? ORDER BY h.published, h.tie LIMIT ?", known->id, limit);
    for (;;) {
      TRY(const bool found, row.step());
      if (!found) break;
      oldest.push_back(entry_at(row, tag));
    }
  }
  HourChanges changes;
  for (const HistoryEntry& entry : oldest) {
    const PostHash hash = hash_post(tag, entry.uri);
    TRY_VOID(db.run("DELETE FROM history WHERE tag = ? AND published = ? AND tie IN ('', ?)", known->id,
                    entry.published, entry.uri));
    TRY_VOID(
        db.run("DELETE FROM history_uris WHERE digest = ? AND published = ?", hash.index, entry.published));
    HourChange& change = changes[{known->id, storage::hour_of(entry.published)}];
    --change.posts;
    change.take(entry.removed ? hash.removed : hash.live);
  }
  TRY_VOID(write_changes(db, changes));
  TRY_VOID(db.run("DELETE FROM history_hours WHERE tag = ? AND posts = 0", known->id));
  TRY_VOID(db.run("UPDATE history_tags SET posts = posts - ?, begun = max(begun, ?) WHERE id = ?",
                  oldest.size(), at, known->id));
  // What was let go before goes with the last: the shelf is as if there had been none.
  if (oldest.size() < limit) {
    TRY_VOID(db.run("DELETE FROM history_hours WHERE tag = ?", known->id));
    TRY_VOID(db.run("UPDATE history_tags SET kept_from = 0 WHERE id = ?", known->id));
  }
  TRY_VOID(db.run("UPDATE counters SET value = value - ? WHERE name = ?", oldest.size(), kEntryTotal));
  return oldest.size();
}

}  // namespace

Task<Result<std::size_t>> SqliteHistoryStore::forget(std::string tag, std::size_t limit, WallTime at) {
  return database_.write(
      [tag = std::move(tag), limit, at](Connection& db) { return forget_entries(db, tag, limit, at); });
}

Task<Result<void>> SqliteHistoryStore::save_set(redundancy::StorageSet set) {
  return database_.write([set = std::move(set)](Connection& db) -> Result<void> {
    TRY_VOID(db.run(
        "INSERT INTO history_sets(tag, version, replicas, reach, at) VALUES(?, ?, ?, ?, ?) ON CONFLICT DO"
        " UPDATE SET version = excluded.version, replicas = excluded.replicas, reach = excluded.reach,"
        " at = excluded.at WHERE (excluded.version, excluded.reach, excluded.replicas) >"
        " (version, reach, replicas)",
        set.tag, set.version, set.replicas, set.read_factor, set.at));
    return {};
  });
}

Task<Result<std::vector<redundancy::StorageSet>>> SqliteHistoryStore::sets() {
  return database_.read([](Connection& db) -> Result<std::vector<redundancy::StorageSet>> {
    std::vector<redundancy::StorageSet> sets;
    Statement row = db.query("SELECT tag, version, replicas, reach, at FROM history_sets ORDER BY tag");
    for (;;) {
      TRY(const bool found, row.step());
      if (!found) return sets;
      sets.push_back({row.text(0), row.number(1), static_cast<unsigned>(row.integer(2)),
                      static_cast<unsigned>(row.integer(3)), row.time(4)});
    }
  });
}

}  // namespace tagring::db
