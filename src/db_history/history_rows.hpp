// Rows of the history, as those who read, write and keep them share them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "redundancy/partition.hpp"
#include "sql/connection.hpp"
#include "storage/history.hpp"

namespace tagring::db_history::history_rows {

inline constexpr const char* kTagTotal = "history_tags";       // partitions that there are now
inline constexpr const char* kEntryTotal = "history_entries";  // ever
inline constexpr const char* kLetGoTotal = "history_let_go";
inline constexpr int kTakenDown = 2;  // in the column `removed`

struct PartitionRow {
  std::int64_t id = 0;
  redundancy::Partition partition;
  WallTime kept_from{};
  WallTime begun{};
};
Result<std::optional<PartitionRow>> find_partition(sql::Connection& db,
                                                   const redundancy::Partition& partition);
// From the bytes in the column `key`.
Result<RingId> key_of(std::string_view bytes);
// Of the hashtag: all that there ever were.
Result<std::vector<PartitionRow>> partitions_of(sql::Connection& db, const Tag& tag);

// Columns: published, removed, tie, author prefix, author name, form, tail, changed.
#define TR_HISTORY_ROWS                                                                            \
  "SELECT h.published, h.removed, h.tie, p.text, a.name, f.text, h.tail, h.changed FROM history h" \
  " LEFT JOIN history_authors a ON a.id = h.author LEFT JOIN history_strings p ON p.id = a.prefix" \
  " LEFT JOIN history_strings f ON f.id = h.form "

struct Post {
  std::string uri;
  std::string author;
  WallTime published;
  bool removed = false;
  bool taken_down = false;
  WallTime changed;
};
Post post_at(const sql::Statement& row);
storage::HistoryEntry entry_at(const sql::Statement& row, const redundancy::Partition& partition);

// The hash of a post, and what is taken of it.
struct PostHash {
  std::int64_t index = 0;     // 48 bits for history_uris; signed, so that SQLite stores it in six bytes
  std::uint64_t live = 0;     // what the post adds to the digest of its hour,
  std::uint64_t removed = 0;  // and what its tombstone does
};
PostHash hash_post(const redundancy::Partition& partition, const std::string& uri);
inline constexpr std::uint64_t kDigestMask =
    (std::uint64_t{1} << 62U) - 1;  // sums of two fit SQLite's integers

// Where a post is.
struct Place {
  WallTime published;
  std::string tie;
  bool removed = false;
  bool taken_down = false;
  std::string author;
  WallTime changed;
};

Result<std::optional<Place>> find_post(sql::Connection& db, std::int64_t tag, const std::string& uri,
                                       std::int64_t digest);

// What a job changes in the digests: by tag and hour.
struct HourChange {
  std::int64_t posts = 0;
  std::uint64_t digest = 0;

  void add(std::uint64_t value) { digest = (digest + value) & kDigestMask; }
  void take(std::uint64_t value) { add(kDigestMask + 1 - value); }
};
using HourChanges = std::map<std::pair<std::int64_t, std::int64_t>, HourChange>;
Result<void> write_changes(sql::Connection& db, const HourChanges& changes);

// What storage::HistoryStore::correct() does.
Result<void> correct_post(sql::Connection& db, const redundancy::Partition& partition, const std::string& uri,
                          const std::optional<storage::HistoryEntry>& truth, bool promised);
Result<void> put_entries(sql::Connection& db, const std::vector<storage::HistoryEntry>& entries);

// The posts taken down here under a hashtag, by storage::post_id() in bytes.
Result<std::set<std::string>> taken_down(sql::Connection& db, const Tag& tag);
std::string bytes_of(const crypto::Hash256& hash);

}  // namespace tagring::db_history::history_rows
