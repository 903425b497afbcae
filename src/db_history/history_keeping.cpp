// The part of SqliteHistoryStore that is about what the node answers for: what it has of a post or an hour,
// what it took down, and what it let go to make room.
#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include "db_history/history_rows.hpp"
#include "db_history/history_store.hpp"
#include "redundancy/partition.hpp"
#include "sql/keys.hpp"
#include "sql/meta.hpp"
#include "storage/entries_json.hpp"
#include "storage/history.hpp"
#include "storage/statements.hpp"

namespace tagring::db_history {

using namespace sql;

namespace {

using namespace history_rows;
using storage::HistoryCursor;
using storage::HistoryEntry;
using storage::TakeDown;
using Bucket = storage::HistoryStore::Bucket;
using Span = storage::HistoryStore::Span;

Result<Bucket> read_bucket(Connection& db, const PartitionRow& of, std::int64_t hour,
                           const std::optional<HistoryCursor>& after, std::size_t limit) {
  Bucket bucket{of.kept_from, of.begun, {}};
  const WallTime begin{std::chrono::hours(hour)};
  const WallTime end = begin + std::chrono::hours(1);
  Statement row = db.walk(TR_HISTORY_ROWS
                          "WHERE h.tag = ? AND h.published >= ? AND h.published < ? AND h.published <= ?"
                          " ORDER BY h.published DESC, h.tie DESC",
                          of.id, begin, end, after ? after->published : end);
  while (bucket.entries.size() < limit) {
    TRY(const bool found, row.step());
    if (!found) break;
    HistoryEntry entry = entry_at(row, of.partition);
    if (!after || after->before(entry)) bucket.entries.push_back(std::move(entry));
  }
  if (after) return bucket;
  Statement corrected =
      db.query("SELECT post FROM history_corrected WHERE tag = ? AND hour = ?", of.id, hour);
  for (;;) {
    TRY(const bool found, corrected.step());
    if (!found) return bucket;
    const std::string bytes = corrected.text(0);
    crypto::Hash256 id{};
    std::ranges::copy_n(bytes.begin(), static_cast<std::ptrdiff_t>(std::min(bytes.size(), id.size())),
                        id.begin());
    bucket.corrected.push_back(id);
  }
}

// In all partitions of the hashtag: nobody else knows in which the post is.
Result<void> mark_taken_down(Connection& db, const TakeDown& notice) {
  bool is_here = false;
  TRY(const std::vector<PartitionRow> partitions, partitions_of(db, notice.tag));
  for (const PartitionRow& partition : partitions) {
    TRY(const auto place,
        find_post(db, partition.id, notice.uri, hash_post(partition.partition, notice.uri).index));
    if (!place || place->removed) continue;
    is_here = true;
    TRY_VOID(db.run("UPDATE history SET removed = ? WHERE tag = ? AND published = ? AND tie = ?", kTakenDown,
                    partition.id, place->published, place->tie));
  }
  if (!is_here)
    return fail(ErrorCode::kNotFound,
                "the history of #" + notice.tag.canonical() + " here does not have that post");
  TRY_VOID(
      db.run("INSERT INTO take_downs(tag, post, notice) VALUES(?, ?, ?) ON CONFLICT(tag, post) DO UPDATE"
             " SET notice = excluded.notice",
             notice.tag.canonical(), Blob{bytes_of(storage::post_id(notice.uri))},
             json::serialize(storage::to_json(notice))));
  return {};
}

Result<void> erase_notice(Connection& db, const Tag& tag, const std::string& uri) {
  TRY_VOID(db.run("DELETE FROM take_downs WHERE tag = ? AND post = ?", tag.canonical(),
                  Blob{bytes_of(storage::post_id(uri))}));
  return {};
}

// A notice goes with the last copy of a post that its author removed.
Result<void> drop_notice(Connection& db, const Tag& tag, const std::string& uri) {
  TRY(const std::vector<PartitionRow> partitions, partitions_of(db, tag));
  for (const PartitionRow& partition : partitions) {
    TRY(const auto place, find_post(db, partition.id, uri, hash_post(partition.partition, uri).index));
    if (place) return {};
  }
  return erase_notice(db, tag, uri);
}

// Digests counted it as live all the time.
Result<void> show_again(Connection& db, const Tag& tag, const std::string& uri) {
  TRY(const std::set<std::string> hidden, history_rows::taken_down(db, tag));
  if (!hidden.contains(bytes_of(storage::post_id(uri))))
    return fail(ErrorCode::kNotFound, uri + " was not taken down from #" + tag.canonical() + " here");
  TRY(const std::vector<PartitionRow> partitions, partitions_of(db, tag));
  for (const PartitionRow& partition : partitions) {
    TRY(const auto place, find_post(db, partition.id, uri, hash_post(partition.partition, uri).index));
    if (!place || !place->taken_down) continue;
    TRY_VOID(db.run("UPDATE history SET removed = 0 WHERE tag = ? AND published = ? AND tie = ?",
                    partition.id, place->published, place->tie));
  }
  return erase_notice(db, tag, uri);
}

// --- letting go ----------------------------------------------------------------------------------------

Result<Span> span_of(Connection& db, const PartitionRow& of) {
  Statement row = db.query(
      "SELECT posts, (SELECT min(published) FROM history WHERE tag = ?1) FROM history_tags WHERE id = ?1",
      of.id);
  TRY(const bool found, row.step());
  return Span{of.partition, found ? row.number(0) : 0, found ? row.time(1) : WallTime(), of.partition.key()};
}

// Hours that are over and gone become one, so that what is left of them does not grow.
Result<void> fold_hours(Connection& db, std::int64_t tag, std::int64_t end) {
  std::int64_t hours = 0;
  std::int64_t posts = 0;
  std::uint64_t digest = 0;
  {
    Statement row = db.query("SELECT posts, digest FROM history_hours WHERE tag = ? AND hour < ?", tag, end);
    for (;;) {
      TRY(const bool found, row.step());
      if (!found) break;
      ++hours;
      posts += row.integer(0);
      digest = (digest + row.number(1)) & kDigestMask;
    }
  }
  if (hours < 2) return {};
  TRY_VOID(db.run("DELETE FROM history_hours WHERE tag = ? AND hour < ?", tag, end));
  TRY_VOID(db.run("INSERT INTO history_hours(tag, hour, posts, digest) VALUES(?, ?, ?, ?)", tag, end - 1,
                  posts, static_cast<std::int64_t>(digest)));
  return {};
}

Result<void> delete_older(Connection& db, const PartitionRow& of, WallTime than, std::size_t most) {
  struct Old {
    WallTime published;
    std::string tie;
    std::string uri;
    bool is_removed = false;  // by its author
  };
  std::vector<Old> old;
  {
    Statement row =
        db.query(TR_HISTORY_ROWS "WHERE h.tag = ? AND h.published < ? ORDER BY h.published, h.tie LIMIT ?",
                 of.id, than, most);
    for (;;) {
      TRY(const bool found, row.step());
      if (!found) break;
      HistoryEntry entry = entry_at(row, of.partition);
      old.push_back({row.time(0), row.text(2), std::move(entry.uri), entry.removed && !entry.taken_down});
    }
  }
  for (const Old& post : old) {
    TRY_VOID(db.run("DELETE FROM history WHERE tag = ? AND published = ? AND tie = ?", of.id, post.published,
                    post.tie));
    TRY_VOID(db.run("DELETE FROM history_uris WHERE digest = ? AND published = ?",
                    hash_post(of.partition, post.uri).index, post.published));
    // What only the administrator took down the others still have, and may show.
    if (post.is_removed) {
      TRY_VOID(drop_notice(db, of.partition.tag, post.uri));
    }
  }
  TRY_VOID(db.run("UPDATE history_tags SET posts = posts - ? WHERE id = ?", old.size(), of.id));
  TRY_VOID(reserve_numbers(db, kLetGoTotal, old.size()));
  return {};
}

Result<Span> let_go_of(Connection& db, const redundancy::Partition& partition, std::size_t count,
                       WallTime before) {
  TRY(auto of, find_partition(db, partition));
  if (!of) return Span{partition, 0, {}, partition.key()};
  WallTime last = WallTime::min();  // of so many, the newest
  {
    Statement row = db.query(
        "SELECT max(published) FROM (SELECT published FROM history WHERE tag = ? ORDER BY"
        " published, tie LIMIT ?) AS oldest",
        of->id, count);
    TRY(const bool found, row.step());
    if (found && row.type(0) != Type::kNull) last = row.time(0);
  }
  const WallTime floor = std::max(of->kept_from, std::min(last + Duration(1), before));
  // Posts of one millisecond may be more than `count`: these are gone from here on, and deleted by and by.
  TRY_VOID(delete_older(db, *of, floor, count));
  TRY_VOID(db.run("UPDATE history_tags SET kept_from = ? WHERE id = ?", floor, of->id));
  TRY_VOID(fold_hours(db, of->id, storage::hour_of(floor)));
  TRY_VOID(
      db.run("DELETE FROM history_corrected WHERE tag = ? AND hour < ?", of->id, storage::hour_of(floor)));
  return span_of(db, *of);
}

// --- correcting ----------------------------------------------------------------------------------------

// A partition in which nothing is left, and nothing is to be said of what was. Or somebody could have this
// node keep, and pass over for ever, as many as it has heard of.
Result<void> drop_empty(Connection& db, std::int64_t partition) {
  TRY(const std::int64_t dropped,
      db.run("DELETE FROM history_tags WHERE id = ?1 AND posts = 0 AND kept_from = 0 AND begun = 0"
             " AND NOT EXISTS (SELECT 1 FROM history_corrected WHERE tag = ?1)"
             " AND NOT EXISTS (SELECT 1 FROM history_hours WHERE tag = ?1)",
             partition));
  if (dropped == 0) return {};
  TRY_VOID(db.run("UPDATE counters SET value = value - 1 WHERE name = ?", kTagTotal));
  return {};
}

}  // namespace

Result<void> history_rows::correct_post(Connection& db, const redundancy::Partition& partition,
                                        const std::string& uri, const std::optional<HistoryEntry>& truth,
                                        bool promised) {
  TRY(const auto of, find_partition(db, partition));
  const PostHash hash = hash_post(partition, uri);
  std::optional<Place> known;
  if (of) {
    TRY(known, find_post(db, of->id, uri, hash.index));
  }
  if (known && known->taken_down) return {};
  const bool stays =
      known && truth && storage::hour_of(truth->published) == storage::hour_of(known->published);
  if (known && promised && !stays) {
    TRY_VOID(db.run("INSERT INTO history_corrected(tag, hour, post) VALUES(?, ?, ?) ON CONFLICT DO NOTHING",
                    of->id, storage::hour_of(known->published), Blob{bytes_of(storage::post_id(uri))}));
  }
  if (known) {
    TRY_VOID(db.run("DELETE FROM history WHERE tag = ? AND published = ? AND tie = ?", of->id,
                    known->published, known->tie));
    TRY_VOID(
        db.run("DELETE FROM history_uris WHERE digest = ? AND published = ?", hash.index, known->published));
    HourChanges changes;
    HourChange& change = changes[{of->id, storage::hour_of(known->published)}];
    --change.posts;
    change.take(known->removed ? hash.removed : hash.live);
    TRY_VOID(write_changes(db, changes));
    TRY_VOID(db.run("UPDATE history_tags SET posts = posts - 1 WHERE id = ?", of->id));
    TRY_VOID(db.run("UPDATE counters SET value = value - 1 WHERE name = ?", kEntryTotal));
  }
  if (truth) return put_entries(db, {*truth});
  return known ? drop_empty(db, of->id) : Result<void>();
}

std::string history_rows::bytes_of(const crypto::Hash256& hash) { return {hash.begin(), hash.end()}; }

Result<std::set<std::string>> history_rows::taken_down(Connection& db, const Tag& tag) {
  std::set<std::string> posts;
  Statement row = db.query("SELECT post FROM take_downs WHERE tag = ?", tag.canonical());
  for (;;) {
    TRY(const bool found, row.step());
    if (!found) return posts;
    posts.insert(row.text(0));
  }
}

Task<Result<std::vector<std::optional<HistoryEntry>>>> SqliteHistoryStore::find(
    std::vector<std::pair<redundancy::Partition, std::string>> posts) {
  return database_.read(
      [posts = std::move(posts)](Connection& db) -> Result<std::vector<std::optional<HistoryEntry>>> {
        std::vector<std::optional<HistoryEntry>> found;
        std::optional<PartitionRow> row;
        for (const auto& [partition, uri] : posts) {
          if (!row || row->partition != partition) {
            TRY(row, find_partition(db, partition));
          }
          std::optional<Place> place;
          if (row) {
            TRY(place, find_post(db, row->id, uri, hash_post(partition, uri).index));
          }
          found.emplace_back();
          if (place)
            found.back() = HistoryEntry{
                partition,         uri,           place->author, place->published, place->removed,
                place->taken_down, place->changed};
        }
        return found;
      });
}

Task<Result<void>> SqliteHistoryStore::correct(redundancy::Partition partition, std::string uri,
                                               std::optional<HistoryEntry> truth, bool promised) {
  return database_.write(
      [partition = std::move(partition), uri = std::move(uri), truth = std::move(truth),
       promised](Connection& db) { return correct_post(db, partition, uri, truth, promised); });
}

namespace {

// The index of them has nothing but their places.
Result<std::vector<HistoryEntry>> read_heard(Connection& db, std::size_t limit, std::size_t after) {
  struct At {
    std::int64_t tag;
    WallTime published;
    std::string tie;
  };
  TRY(const std::vector<At> places,
      all_rows<At>(
          db.query(
              "SELECT tag, published, tie FROM history WHERE removed = 0 AND changed <= -9223372036854775807"
              " ORDER BY tag, published, tie LIMIT ? OFFSET ?",
              static_cast<std::int64_t>(limit), static_cast<std::int64_t>(after)),
          [](const Statement& row) { return At{row.integer(0), row.time(1), row.text(2)}; }));
  std::map<std::int64_t, redundancy::Partition> partitions;
  std::vector<HistoryEntry> entries;
  for (const At& at : places) {
    if (!partitions.contains(at.tag)) {
      Statement name = db.query("SELECT tag FROM history_tags WHERE id = ?", at.tag);
      TRY_VOID(name.step());
      partitions.emplace(at.tag, redundancy::Partition::from_name(name.text(0)));
    }
    Statement row = db.query(TR_HISTORY_ROWS "WHERE h.tag = ? AND h.published = ? AND h.tie = ?", at.tag,
                             at.published, at.tie);
    TRY_VOID(row.step());
    entries.push_back(entry_at(row, partitions.at(at.tag)));
  }
  return entries;
}

}  // namespace

Task<Result<std::vector<HistoryEntry>>> SqliteHistoryStore::heard(std::size_t limit) {
  constexpr std::size_t kAtOnce = 1'000;
  std::vector<HistoryEntry> all;
  for (std::size_t end = 0; all.size() == end && end < limit;) {
    const std::size_t count = std::min(kAtOnce, limit - end);
    CO_TRY(std::vector<HistoryEntry> some,
           co_await database_.read([count, end](Connection& db) { return read_heard(db, count, end); }));
    std::ranges::move(some, std::back_inserter(all));
    end += count;
  }
  co_return all;
}

Task<Result<Bucket>> SqliteHistoryStore::bucket(redundancy::Partition partition, std::int64_t hour,
                                                std::optional<HistoryCursor> after, std::size_t limit) {
  return database_.read([=](Connection& db) -> Result<Bucket> {
    TRY(const auto row, find_partition(db, partition));
    if (!row) return Bucket();
    return read_bucket(db, *row, hour, after, limit);
  });
}

Task<Result<void>> SqliteHistoryStore::take_down(TakeDown notice) {
  return database_.write(
      [notice = std::move(notice)](Connection& db) { return mark_taken_down(db, notice); });
}

Task<Result<void>> SqliteHistoryStore::undo_take_down(Tag tag, std::string uri) {
  return database_.write(
      [tag = std::move(tag), uri = std::move(uri)](Connection& db) { return show_again(db, tag, uri); });
}

Task<Result<std::optional<TakeDown>>> SqliteHistoryStore::take_down_of(Tag tag, crypto::Hash256 id) {
  return database_.read([tag = std::move(tag), id](Connection& db) -> Result<std::optional<TakeDown>> {
    Statement row = db.query("SELECT notice FROM take_downs WHERE tag = ? AND post = ?", tag.canonical(),
                             Blob{bytes_of(id)});
    TRY(const bool found, row.step());
    if (!found) return std::nullopt;
    TRY(const json::object object, json::parse_object(row.view(0)));
    return storage::take_down_from_json(object);
  });
}

Task<Result<std::vector<TakeDown>>> SqliteHistoryStore::take_downs() {
  return database_.read([](Connection& db) -> Result<std::vector<TakeDown>> {
    std::vector<TakeDown> notices;
    Statement row = db.query("SELECT notice FROM take_downs");
    for (;;) {
      TRY(const bool found, row.step());
      if (!found) break;
      TRY(const json::object object, json::parse_object(row.view(0)));
      // What an older Unicode may have left, under what is no hashtag any more, is shown to nobody anyway.
      Result<TakeDown> notice = storage::take_down_from_json(object);
      if (notice) notices.push_back(*std::move(notice));
    }
    std::ranges::sort(notices, std::greater<>(), &TakeDown::at);
    return notices;
  });
}

Task<Result<std::vector<Span>>> SqliteHistoryStore::spans(std::optional<RingId> after, std::size_t limit) {
  return database_.read([=](Connection& db) -> Result<std::vector<Span>> {
    return all_rows<Span>(
        db.query(
            "SELECT tag, posts, (SELECT min(published) FROM history h WHERE h.tag = t.id) FROM history_tags t"
            " WHERE key > ? AND posts > 0 ORDER BY key LIMIT ?",
            Blob{after ? key_bytes(*after) : std::string()}, limit),
        [](const Statement& row) {
          redundancy::Partition partition = redundancy::Partition::from_name(row.view(0));
          const RingId key = partition.key();
          return Span{std::move(partition), row.number(1), row.time(2), key};
        });
  });
}

Task<Result<Span>> SqliteHistoryStore::let_go(redundancy::Partition partition, std::size_t count,
                                              WallTime before) {
  return database_.write([partition = std::move(partition), count, before](Connection& db) {
    return let_go_of(db, partition, count, before);
  });
}

}  // namespace tagring::db_history
