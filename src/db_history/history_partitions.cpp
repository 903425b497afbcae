// The part of SqliteHistoryStore that is about what owners divide and compare: what is in which partition,
// the sets of owners, and digests of hours (storage/reconcile.hpp).
#include <algorithm>
#include <memory>

#include "db_history/history_rows.hpp"
#include "db_history/history_store.hpp"
#include "db_history/hour_reader.hpp"
#include "redundancy/storage_hints.hpp"
#include "sql/keys.hpp"
#include "sql/meta.hpp"
#include "storage/history.hpp"

namespace tagring::db_history {

using namespace sql;

using namespace history_rows;
using storage::HistoryEntry;

Result<std::vector<PartitionRow>> history_rows::partitions_of(Connection& db, const Tag& tag) {
  std::vector<PartitionRow> partitions;
  // "0" follows "/".
  Statement row = db.query(
      "SELECT id, tag, kept_from, begun FROM history_tags WHERE tag = ?1 OR (tag > ?1 || '/' AND tag < ?1 || "
      "'0')",
      tag.canonical());
  for (;;) {
    TRY(const bool found, row.step());
    if (!found) return partitions;
    partitions.push_back(
        {row.integer(0), redundancy::Partition::from_name(row.view(1)), row.time(2), row.time(3)});
  }
}

namespace {

// Drops the oldest entries. The last of the dictionaries' words stay: others may use them.
Result<std::size_t> forget_entries(Connection& db, const redundancy::Partition& partition, std::size_t limit,
                                   WallTime at) {
  TRY(const auto known, find_partition(db, partition));
  if (!known) return 0;
  std::vector<HistoryEntry> oldest;
  {
    Statement row =
        db.query(TR_HISTORY_ROWS "WHERE h.tag = ? ORDER BY h.published, h.tie LIMIT ?", known->id, limit);
    for (;;) {
      TRY(const bool found, row.step());
      if (!found) break;
      oldest.push_back(entry_at(row, partition));
    }
  }
  HourChanges changes;
  for (const HistoryEntry& entry : oldest) {
    const PostHash hash = hash_post(partition, entry.uri);
    TRY_VOID(db.run("DELETE FROM history WHERE tag = ? AND published = ? AND tie IN ('', ?)", known->id,
                    entry.published, entry.uri));
    TRY_VOID(
        db.run("DELETE FROM history_uris WHERE digest = ? AND published = ?", hash.index, entry.published));
    HourChange& change = changes[{known->id, storage::hour_of(entry.published)}];
    --change.posts;
    change.take(entry.removed ? hash.removed : hash.live);
  }
  TRY_VOID(write_changes(db, changes));
  TRY_VOID(db.run(
      "UPDATE history_tags SET posts = posts - ?1, begun = CASE WHEN begun < ?2 THEN ?2 ELSE begun END WHERE"
      " id = ?3",
      oldest.size(), at, known->id));
  // What was let go before goes with the last: the partition is as if there had been none.
  if (oldest.size() < limit) {
    TRY_VOID(db.run("DELETE FROM history_hours WHERE tag = ?", known->id));
    TRY_VOID(db.run("DELETE FROM history_corrected WHERE tag = ?", known->id));
    TRY_VOID(db.run("UPDATE history_tags SET kept_from = 0 WHERE id = ?", known->id));
  }
  TRY_VOID(db.run("UPDATE counters SET value = value - ? WHERE name = ?", oldest.size(), kEntryTotal));
  return oldest.size();
}

}  // namespace

Task<Result<std::size_t>> SqliteHistoryStore::forget(redundancy::Partition partition, std::size_t limit,
                                                     WallTime at) {
  return database_.write([partition = std::move(partition), limit, at](Connection& db) {
    return forget_entries(db, partition, limit, at);
  });
}

Task<Result<void>> SqliteHistoryStore::save_set(redundancy::StorageSet set) {
  return database_.write([set = std::move(set)](Connection& db) -> Result<void> {
    TRY_VOID(db.run(
        "INSERT INTO history_sets(tag, version, replicas, reach, at) VALUES(?, ?, ?, ?, ?) ON CONFLICT(tag)"
        " DO UPDATE SET version = excluded.version, replicas = excluded.replicas, reach = excluded.reach,"
        " at = excluded.at WHERE (excluded.version, excluded.reach, excluded.replicas) >"
        " (history_sets.version, history_sets.reach, history_sets.replicas)",
        set.tag.canonical(), set.version, set.replicas, set.read_factor, set.at));
    return {};
  });
}

Task<Result<void>> SqliteHistoryStore::drop_set(redundancy::StorageSet set) {
  return database_.write([set = std::move(set)](Connection& db) -> Result<void> {
    TRY_VOID(
        db.run("DELETE FROM history_sets WHERE tag = ? AND version = ?", set.tag.canonical(), set.version));
    return {};
  });
}

Task<Result<std::vector<redundancy::StorageSet>>> SqliteHistoryStore::sets() {
  return database_.read([](Connection& db) -> Result<std::vector<redundancy::StorageSet>> {
    return all_rows<redundancy::StorageSet>(
        db.query("SELECT tag, version, replicas, reach, at FROM history_sets ORDER BY tag"),
        [](const Statement& row) {
          return redundancy::StorageSet{Tag::from_canonical(row.text(0)), row.number(1),
                                        static_cast<unsigned>(row.integer(2)),
                                        static_cast<unsigned>(row.integer(3)), row.time(4)};
        });
  });
}

namespace {

using storage::HistoryCursor;
using storage::HourDigest;
using storage::HourRange;

void add(HourDigest* sum, const HourRow& hour) {
  sum->posts += hour.posts;
  sum->digest = (sum->digest + hour.digest) & kDigestMask;
}

struct Digests {
  HourReader hours;
  std::vector<HourDigest> sums;
};

// A range that is cut, once its hours were counted.
struct Cut {
  HourReader hours;
  std::vector<HourDigest> parts;
  std::size_t most;
  std::size_t size;  // hours of a part
  std::size_t count = 0;

  // There may be more of them than there were when they were counted.
  void add_hour(const HourRow& hour) {
    if (count > 0 && count % size == 0 && parts.size() < most) {
      const HourRange rest{hour.place(), parts.back().range.last};
      parts.back().range.last = {hour.key, hour.hour - 1};
      parts.push_back({rest, 0, 0});
    }
    add(&parts.back(), hour);
    ++count;
  }
};

Result<std::vector<HistoryEntry>> entries_of(Connection& db, const HourRange& range, std::int64_t since,
                                             const std::optional<HistoryCursor>& after, std::size_t limit) {
  std::vector<HourRow> hours;
  TRY_VOID(for_each_hour(db, range, since, [&](const HourRow& hour) {
    hours.push_back(hour);
    return hours.size() < limit;
  }));
  std::vector<HistoryEntry> entries;
  for (const HourRow& hour : hours) {
    const WallTime begin{std::chrono::hours(hour.hour)};
    const WallTime end = begin + std::chrono::hours(1);
    const WallTime first = std::max<WallTime>(begin, hour.of.kept_from);  // of older ones some may be left
    Statement row = db.walk(TR_HISTORY_ROWS
                            "WHERE h.tag = ? AND h.published >= ? AND h.published < ? AND h.published <= ?"
                            " ORDER BY h.published DESC, h.tie DESC",
                            hour.of.id, first, end, after ? after->published : end);
    for (;;) {
      TRY(const bool found, row.step());
      if (!found) break;
      HistoryEntry entry = entry_at(row, hour.of.partition);
      if (entry.taken_down || (after && !after->before(entry))) continue;
      entries.push_back(std::move(entry));
      if (entries.size() == limit) return entries;
    }
  }
  return entries;
}

}  // namespace

Task<Result<std::vector<HourDigest>>> SqliteHistoryStore::digests(std::vector<HourRange> ranges,
                                                                  std::int64_t since) {
  const auto reading = std::make_shared<Digests>(Digests{HourReader(ranges, since), {}});
  for (const HourRange& range : ranges) reading->sums.push_back({range, 0, 0});
  for (bool is_more = true; is_more;) {
    CO_TRY(is_more, co_await database_.read([reading](Connection& db) {
      return reading->hours.read_on(
          db, [&](std::size_t range, const HourRow& hour) { add(&reading->sums[range], hour); });
    }));
  }
  co_return std::move(reading->sums);
}

Task<Result<std::vector<HourDigest>>> SqliteHistoryStore::split(HourRange range, std::int64_t since,
                                                                std::size_t parts) {
  const auto cut = std::make_shared<Cut>(Cut{HourReader({range}, since), {{range, 0, 0}}, parts, 1});
  const auto hours = std::make_shared<std::size_t>(0);
  for (bool is_more = true; is_more;) {
    CO_TRY(is_more, co_await database_.read([cut, hours](Connection& db) {
      return cut->hours.read_on(db, [&](std::size_t, const HourRow&) { ++*hours; });
    }));
  }
  cut->hours = HourReader({range}, since);
  cut->size = std::max<std::size_t>(1, (*hours + parts - 1) / parts);
  for (bool is_more = true; is_more;) {
    CO_TRY(is_more, co_await database_.read([cut](Connection& db) {
      return cut->hours.read_on(db, [&](std::size_t, const HourRow& hour) { cut->add_hour(hour); });
    }));
  }
  co_return std::move(cut->parts);
}

Task<Result<std::vector<HistoryEntry>>> SqliteHistoryStore::entries(HourRange range, std::int64_t since,
                                                                    std::optional<HistoryCursor> after,
                                                                    std::size_t limit) {
  return database_.read([=](Connection& db) { return entries_of(db, range, since, after, limit); });
}

Task<Result<std::vector<storage::HourPlace>>> SqliteHistoryStore::floors(HourRange range, std::size_t limit) {
  return database_.read([=](Connection& db) -> Result<std::vector<storage::HourPlace>> {
    std::vector<storage::HourPlace> floors;
    Statement row = db.query(
        "SELECT key, kept_from FROM history_tags WHERE key BETWEEN ? AND ? AND kept_from > 0 ORDER BY key"
        " LIMIT ?",
        Blob{key_bytes(range.first.key)}, Blob{key_bytes(range.last.key)}, limit);
    for (;;) {
      TRY(const bool found, row.step());
      if (!found) return floors;
      TRY(const RingId key, key_of(row.view(0)));
      floors.push_back({key, storage::hour_of(row.time(1))});
    }
  });
}

Task<Result<std::vector<WallTime>>> SqliteHistoryStore::kept_from(
    std::vector<redundancy::Partition> partitions) {
  return database_.read(
      [partitions = std::move(partitions)](Connection& db) -> Result<std::vector<WallTime>> {
        std::vector<WallTime> times;
        std::optional<PartitionRow> row;
        for (std::size_t i = 0; i < partitions.size(); ++i) {
          if (i == 0 || partitions[i] != partitions[i - 1]) {
            TRY(row, find_partition(db, partitions[i]));
          }
          times.push_back(row ? row->kept_from : WallTime());
        }
        return times;
      });
}

}  // namespace tagring::db_history
