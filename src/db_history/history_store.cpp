// Two tables hold a post:
//
//   history(tag, published, tie, …)       in reading order. Posts of one tag in the same millisecond are
//   ordered by their
//                                         URIs; they have the whole URI in `tie`. The others, most, have it
//                                         empty, and the URI in parts (history_codec.hpp).
//   history_uris(digest, published)       finds a post by (tag, uri): 48 bits of a hash lead to the times
//   where it
//                                         may be, and the row there says whether it is. Few bits, for size;
//                                         enough that nobody makes thousands of posts that share them.
//
// and one counts them: history_hours(tag, hour, posts, digest), what storage::HourDigest says of an hour,
// kept up to date by every job that writes a post.
#include "db_history/history_store.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "crypto/hash.hpp"
#include "db_history/day_counts.hpp"
#include "db_history/history_codec.hpp"
#include "db_history/history_rows.hpp"
#include "redundancy/partition.hpp"
#include "sql/keys.hpp"
#include "sql/meta.hpp"
#include "sql/tables.hpp"

namespace tagring::db_history {

using namespace sql;

namespace {

using namespace history_rows;
using storage::HistoryCursor;
using storage::HistoryEntry;
using storage::HistoryPage;

}  // namespace

Result<std::optional<PartitionRow>> history_rows::find_partition(Connection& db,
                                                                 const redundancy::Partition& partition) {
  Statement row = db.query("SELECT id, kept_from, begun FROM history_tags WHERE tag = ?", partition.name());
  TRY(const bool found, row.step());
  if (!found) return std::nullopt;
  return PartitionRow{row.integer(0), partition, row.time(1), row.time(2)};
}

// --- rows ----------------------------------------------------------------------------------------------

Post history_rows::post_at(const Statement& row) {
  Post post{row.text(2),         row.text(3) + row.text(4),    row.time(0),
            row.integer(1) == 1, row.integer(1) == kTakenDown, row.time(7)};
  if (!post.uri.empty()) return post;
  const Any stored = row.any(6);
  Tail tail;
  if (const auto* number = std::get_if<std::int64_t>(&stored)) tail = *number;
  if (const auto* uuid = std::get_if<Blob>(&stored)) tail = Uuid{std::string(uuid->bytes)};
  if (const auto* text = std::get_if<std::string_view>(&stored)) tail = std::string(*text);
  post.uri = join_uri(post.author, row.view(5), tail);
  return post;
}

HistoryEntry history_rows::entry_at(const Statement& row, const redundancy::Partition& partition) {
  Post post = post_at(row);
  return {partition,       std::move(post.uri), std::move(post.author), post.published, post.removed,
          post.taken_down, post.changed};
}

PostHash history_rows::hash_post(const redundancy::Partition& partition, const std::string& uri) {
  const auto hash = crypto::sha3_256(partition.name() + ' ' + uri);
  const auto number = [&](std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) value = value << 8U | hash[at + i];
    return value;
  };
  return {static_cast<std::int64_t>(number(0) & ~std::uint64_t{0xffff}) >> 16, number(8) & kDigestMask,
          number(16) & kDigestMask};
}

namespace {

Result<std::optional<Place>> find_at(Connection& db, std::int64_t tag, WallTime published,
                                     const std::string& uri) {
  Statement row = db.query(TR_HISTORY_ROWS "WHERE h.tag = ? AND h.published = ? AND h.tie IN ('', ?)", tag,
                           published, uri);
  for (;;) {
    TRY(const bool found, row.step());
    if (!found) return std::nullopt;
    const Post post = post_at(row);
    if (post.uri == uri)
      return Place{published, row.text(2), post.removed, post.taken_down, post.author, post.changed};
  }
}

}  // namespace

Result<std::optional<Place>> history_rows::find_post(Connection& db, std::int64_t tag, const std::string& uri,
                                                     std::int64_t digest) {
  Statement row = db.query("SELECT published FROM history_uris WHERE digest = ?", digest);
  for (;;) {
    TRY(const bool candidate, row.step());
    if (!candidate) return std::nullopt;
    TRY(auto place, find_at(db, tag, row.time(0), uri));
    if (place) return place;
  }
}

namespace {

// --- reading -------------------------------------------------------------------------------------------

Result<HistoryPage> read_page(Connection& db, const PartitionRow& of,
                              const std::optional<HistoryCursor>& cursor, std::size_t limit) {
  HistoryPage page;
  page.kept_from = of.kept_from;
  const WallTime newest = cursor ? cursor->published : WallTime::max();
  const std::string tie = cursor ? cursor->uri : "\U0010ffff";  // greater than every URI
  // A post alone at the cursor's time has an empty tie and so comes along, wherever it belongs.
  Statement row =
      db.walk(TR_HISTORY_ROWS
              "WHERE h.tag = ? AND (h.published, h.tie) <= (?, ?) ORDER BY h.published DESC, h.tie DESC",
              of.id, newest, tie);
  for (;;) {
    TRY(const bool found, row.step());
    if (!found) return page;
    HistoryEntry entry = entry_at(row, of.partition);
    if (entry.taken_down || (cursor && !cursor->before(entry))) continue;
    if (page.entries.size() == limit) {
      page.more = true;
      if (limit > 0) page.next = HistoryCursor::of(page.entries.back());
      return page;
    }
    page.entries.push_back(std::move(entry));
  }
}

Result<HistoryPage> read_page_after(Connection& db, const PartitionRow& of, const HistoryCursor& cursor,
                                    std::size_t limit) {
  HistoryPage page;
  page.kept_from = of.kept_from;
  const HistoryEntry place{of.partition, cursor.uri, {}, cursor.published};
  Statement row = db.walk(TR_HISTORY_ROWS "WHERE h.tag = ? AND h.published >= ? ORDER BY h.published, h.tie",
                          of.id, cursor.published);
  for (;;) {
    TRY(const bool found, row.step());
    if (!found) break;
    HistoryEntry entry = entry_at(row, of.partition);
    if (entry.taken_down || !storage::newer(entry, place)) continue;
    if (page.entries.size() == limit) {
      page.more = true;
      if (limit > 0) page.next = HistoryCursor::of(page.entries.back());
      break;
    }
    page.entries.push_back(std::move(entry));
  }
  std::ranges::reverse(page.entries);
  return page;
}

// Those that have posts: rows stay where all are gone.
Result<std::vector<PartitionRow>> next_partitions(Connection& db, const KeyRange& range, std::size_t limit) {
  return all_rows<PartitionRow>(
      db.query(
          "SELECT id, tag FROM history_tags WHERE key > ? AND key <= ? AND posts > 0 ORDER BY key LIMIT ?",
          Blob{range.after}, Blob{range.through}, limit),
      [](const Statement& row) {
        return PartitionRow{row.integer(0), redundancy::Partition::from_name(row.view(1)), {}, {}};
      });
}

Result<std::vector<HistoryEntry>> read_segment(Connection& db, const Segment& segment,
                                               const std::optional<redundancy::Partition>& last,
                                               const std::optional<HistoryCursor>& after, std::size_t limit) {
  std::vector<HistoryEntry> entries;
  const auto append = [&](const PartitionRow& of,
                          const std::optional<HistoryCursor>& cursor) -> Result<void> {
    TRY(HistoryPage page, read_page(db, of, cursor, limit - entries.size()));
    for (HistoryEntry& entry : page.entries) entries.push_back(std::move(entry));
    return {};
  };
  std::optional<RingId> place;
  if (last) {
    place = last->key();
    if (!segment.contains(*place)) return fail(ErrorCode::kInvalid, "after_tag is not in the segment");
    TRY(const auto started, find_partition(db, *last));
    if (started && after) {
      TRY_VOID(append(*started, after));
    }
  }
  // A page that is not full is the last, and of some partitions all may be taken down here.
  for (KeyRange& range : key_ranges(segment, place)) {
    while (entries.size() < limit) {
      TRY(const std::vector<PartitionRow> partitions, next_partitions(db, range, limit - entries.size()));
      if (partitions.empty()) break;
      for (const PartitionRow& of : partitions) {
        if (entries.size() == limit) return entries;
        TRY_VOID(append(of, std::nullopt));
      }
      range.after = key_bytes(partitions.back().partition.key());
    }
  }
  return entries;
}

}  // namespace

SqliteHistoryStore::SqliteHistoryStore(Database& database)
    : database_(database),
      bytes_of_entry_(database.dialect() == Dialect::kPostgres ? kUsualOnPostgres : kBytesOfEntry) {}

Task<Result<void>> SqliteHistoryStore::put(std::vector<HistoryEntry> entries) {
  return database_.write([entries = std::move(entries)](Connection& db) { return put_entries(db, entries); });
}

Task<Result<HistoryPage>> SqliteHistoryStore::page(redundancy::Partition partition,
                                                   std::optional<HistoryCursor> cursor, std::size_t limit) {
  return database_.read([partition = std::move(partition), cursor = std::move(cursor),
                         limit](Connection& db) -> Result<HistoryPage> {
    TRY(const auto known, find_partition(db, partition));
    if (!known) return HistoryPage();
    return read_page(db, *known, cursor, limit);
  });
}

Task<Result<HistoryPage>> SqliteHistoryStore::page_after(redundancy::Partition partition,
                                                         HistoryCursor cursor, std::size_t limit) {
  return database_.read([partition = std::move(partition), cursor = std::move(cursor),
                         limit](Connection& db) -> Result<HistoryPage> {
    TRY(const auto known, find_partition(db, partition));
    if (!known) return HistoryPage();
    return read_page_after(db, *known, cursor, limit);
  });
}

Task<Result<std::vector<storage::HistoryDay>>> SqliteHistoryStore::days(redundancy::Partition partition,
                                                                        std::chrono::sys_days from,
                                                                        std::chrono::sys_days to) {
  const auto counts = std::make_shared<DayCounts>(std::move(partition), from, to);
  for (bool is_more = true; is_more;) {
    CO_TRY(is_more, co_await database_.read([counts](Connection& db) { return counts->count_on(db); }));
  }
  co_return counts->take();
}

Task<Result<std::vector<HistoryEntry>>> SqliteHistoryStore::segment(
    Segment segment, std::optional<redundancy::Partition> after_partition, std::optional<HistoryCursor> after,
    std::size_t limit) {
  return database_.read(
      [=](Connection& db) { return read_segment(db, segment, after_partition, after, limit); });
}

Task<Result<std::vector<storage::HistoryStore::Weight>>> SqliteHistoryStore::weights(
    std::optional<RingId> after, std::size_t limit) {
  return database_.read([=](Connection& db) -> Result<std::vector<Weight>> {
    return all_rows<Weight>(db.query("SELECT tag, posts FROM history_tags WHERE key > ? ORDER BY key LIMIT ?",
                                     Blob{after ? key_bytes(*after) : std::string()}, limit),
                            [](const Statement& row) {
                              return Weight{redundancy::Partition::from_name(row.view(0)).key(),
                                            row.number(1)};
                            });
  });
}

namespace {

// What one of so many entries takes.
Result<std::uint64_t> measure_entry(Connection& db, std::uint64_t entries) {
  using Store = SqliteHistoryStore;
  TRY(const std::optional<std::uint64_t> bytes, size_of_tables(db, "history"));
  if (!bytes) return Store::kBytesOfEntry;
  if (entries < Store::kFew) return Store::kUsualOnPostgres;
  return std::clamp(*bytes / entries, Store::kLeastOnPostgres, Store::kMostOnPostgres);
}

}  // namespace

Task<Result<storage::HistoryStore::Totals>> SqliteHistoryStore::totals() {
  const auto count = [](Connection& db) -> Result<Totals> {
    TRY(const std::uint64_t tags, last_number(db, kTagTotal));
    TRY(const std::uint64_t ever, last_number(db, kEntryTotal));
    TRY(const DatabaseSize size, size_of(db));
    TRY(const std::uint64_t let_go, last_number(db, kLetGoTotal));
    TRY(const std::uint64_t bytes_of_entry, measure_entry(db, ever - let_go));
    return Totals{tags, ever - let_go, size.bytes, let_go, size.unused, bytes_of_entry};
  };
  CO_TRY(const Totals totals, co_await database_.read(count));
  bytes_of_entry_ = totals.bytes_of_entry;
  co_return totals;
}

}  // namespace tagring::db_history
