// How posts get into the history. Where many come at once, one question about many of them finds those that
// nothing stands in the way of, and these are written without a look of their own: on PostgreSQL by COPY,
// since each statement whose answer is waited for is a round trip, and a post by itself has five.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "belief/tag_event.hpp"
#include "db_history/history_codec.hpp"
#include "db_history/history_rows.hpp"
#include "redundancy/partition.hpp"
#include "sql/keys.hpp"
#include "sql/meta.hpp"
#include "sql/postgres_values.hpp"
#include "storage/history.hpp"

namespace tagring::db_history {

using namespace sql;

namespace {

using namespace history_rows;
using storage::HistoryEntry;

constexpr std::size_t kManyPosts = 8;     // from so many on, the question and COPY cost less than they save
constexpr std::size_t kAskedAtOnce = 64;  // posts in one question

// The first column of the only row; 0 if there is none.
Result<std::int64_t> number_of(Statement row) {
  TRY(const bool found, row.step());
  if (!found) return 0;
  const std::int64_t number = row.integer(0);
  TRY_VOID(row.step());
  return number;
}

Result<PartitionRow> make_partition(Connection& db, const redundancy::Partition& partition) {
  TRY(const auto known, find_partition(db, partition));
  if (known) return *known;
  TRY_VOID(reserve_numbers(db, kTagTotal, 1));
  const RingId key = partition.key();
  TRY(const std::int64_t id,
      number_of(db.query("INSERT INTO history_tags(tag, key) VALUES(?, ?) RETURNING id", partition.name(),
                         Blob{key_bytes(key)})));
  return PartitionRow{id, partition, {}, {}};
}

// The dictionaries. Each word is asked for once.
class Words {
 public:
  explicit Words(Connection& db) : db_(db) {}

  // The numbers of words; those that are new get one.
  Result<std::int64_t> string(const std::string& text) {
    const auto [place, is_unknown] = strings_.try_emplace(text);
    if (is_unknown) {
      TRY(place->second, number_of(db_.query("SELECT id FROM history_strings WHERE text = ?", text)));
    }
    if (place->second == 0) {
      TRY(place->second,
          number_of(db_.query("INSERT INTO history_strings(text) VALUES(?) RETURNING id", text)));
    }
    return place->second;
  }
  Result<std::int64_t> author(const std::string& author) {
    const std::size_t split = author_prefix_size(author);
    const std::string name = author.substr(split);
    const auto [place, is_unknown] = authors_.try_emplace(author);
    if (place->second != 0) return place->second;
    TRY(const std::int64_t prefix, string(author.substr(0, split)));
    if (is_unknown) {
      TRY(place->second,
          number_of(db_.query("SELECT id FROM history_authors WHERE prefix = ? AND name = ?", prefix, name)));
    }
    if (place->second == 0) {
      TRY(place->second,
          number_of(db_.query("INSERT INTO history_authors(prefix, name) VALUES(?, ?) RETURNING id", prefix,
                              name)));
    }
    return place->second;
  }

  // What is known from elsewhere; 0: it is in no dictionary yet.
  void note_string(const std::string& text, std::int64_t id) { strings_[text] = id; }
  void note_author(const std::string& author, std::int64_t id) { authors_[author] = id; }
  void forget() {
    strings_.clear();
    authors_.clear();
  }

 private:
  Connection& db_;
  std::unordered_map<std::string, std::int64_t> strings_;
  std::unordered_map<std::string, std::int64_t> authors_;
};

// Makes room at a time that is taken: the post that was alone there gets its URI as tie. True if there are
// posts.
Result<bool> share_time(Connection& db, std::int64_t tag, WallTime published) {
  std::string lone_uri;
  {
    Statement row = db.query(TR_HISTORY_ROWS "WHERE h.tag = ? AND h.published = ? ORDER BY h.tie LIMIT 1",
                             tag, published);
    TRY(const bool taken, row.step());
    if (!taken) return false;
    if (!row.view(2).empty()) return true;
    lone_uri = post_at(row).uri;
  }
  TRY_VOID(
      db.run("UPDATE history SET tie = ?, form = 0, tail = NULL WHERE tag = ? AND published = ? AND tie = ''",
             lone_uri, tag, published));
  return true;
}

Value value_of(const Tail& tail) {
  if (const auto* number = std::get_if<std::int64_t>(&tail)) return Value(std::in_place_type<Any>, *number);
  if (const auto* uuid = std::get_if<Uuid>(&tail)) return Value(std::in_place_type<Any>, Blob{uuid->bytes});
  return Value(std::in_place_type<Any>, std::string_view(std::get<std::string>(tail)));
}

// --- a batch -----------------------------------------------------------------------------------------------

// What one job puts.
class Batch {
 public:
  explicit Batch(Connection& db) : db_(db), words_(db) {}

  Result<void> put(const std::vector<HistoryEntry>& entries);

 private:
  struct Item {
    const HistoryEntry* entry;
    std::int64_t tag;
    PostHash hash;
    SplitUri split;
    std::int64_t removed;  // of that column, if the post is new
  };

  Result<void> prepare(const std::vector<HistoryEntry>& entries);
  Result<void> ask_about(std::span<const Item> items);
  Result<void> copy_in();
  Result<void> put_by_itself(const Item& item);
  Result<void> insert(const Item& item, bool is_alone, bool by_copy);
  Result<void> write_figures();

  Connection& db_;
  Words words_;
  std::vector<Item> items_;
  // What is taken, in the tables or by an item before.
  std::unordered_set<std::int64_t> digests_;
  std::set<std::pair<std::int64_t, WallTime>> times_;  // of a tag
  CopyRows uri_rows_;
  CopyRows post_rows_;
  HourChanges changes_;
};

Result<void> Batch::prepare(const std::vector<HistoryEntry>& entries) {
  std::optional<PartitionRow> row;
  std::set<std::string> hidden;
  for (const HistoryEntry& entry : entries) {
    if (entry.uri.empty()) return fail(ErrorCode::kInvalid, "a post without uri");
    if (!row || entry.partition != row->partition) {
      TRY(row, make_partition(db_, entry.partition));
      TRY(hidden, taken_down(db_, entry.partition.tag));
    }
    if (entry.published < row->kept_from) continue;  // was let go, or would be at once
    const bool is_hidden = !hidden.empty() && hidden.contains(bytes_of(storage::post_id(entry.uri)));
    items_.push_back({&entry, row->id, hash_post(entry.partition, entry.uri),
                      split_uri(entry.uri, entry.author),
                      entry.removed ? 1
                      : is_hidden   ? kTakenDown
                                    : 0});
  }
  return {};
}

// Each subquery finds one row by its key, however the tables grow after the server made its plan.
// Digests are counted: with a LIMIT a server without statistics may expect to meet one soon without the key.
std::string make_question() {
  std::string rows;
  for (std::size_t i = 0; i < kAskedAtOnce; ++i) {
    rows += fmt::format(
        "{}({}, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT),"
        " CAST(? AS TEXT))",
        rows.empty() ? "" : ", ", i);
  }
  return "SELECT column1, (SELECT count(*) FROM history_uris WHERE digest = column2),"
         " (SELECT 1 FROM history WHERE tag = column3 AND published = column4 LIMIT 1),"
         " (SELECT id FROM history_strings WHERE text = column5),"
         " (SELECT id FROM history_authors WHERE prefix = (SELECT id FROM history_strings WHERE text = "
         "column5)"
         " AND name = column6), (SELECT id FROM history_strings WHERE text = column7) FROM (VALUES " +
         rows + ") AS asked WHERE column2 IS NOT NULL";
}

Result<void> Batch::ask_about(std::span<const Item> items) {
  static const std::string question = make_question();
  std::vector<Value> asked;
  for (const Item& item : items) {
    const std::string_view author = item.entry->author;
    const std::size_t split = author_prefix_size(author);
    asked.insert(asked.end(),
                 {item.hash.index, item.tag, to_ms(item.entry->published), author.substr(0, split),
                  author.substr(split), std::string_view(item.split.form)});
  }
  asked.resize(kAskedAtOnce * 6);  // about nothing
  Statement row = db_.query(question.c_str(), Values(asked));
  for (;;) {
    TRY(const bool found, row.step());
    if (!found) return {};
    const Item& item = items[row.number(0)];
    const std::string& author = item.entry->author;
    if (row.integer(1) != 0) digests_.insert(item.hash.index);
    if (row.integer(2) != 0) times_.emplace(item.tag, item.entry->published);
    words_.note_string(author.substr(0, author_prefix_size(author)), row.integer(3));
    words_.note_author(author, row.integer(4));
    words_.note_string(item.split.form, row.integer(5));
  }
}

// `is_alone`: at its time.
Result<void> Batch::insert(const Item& item, bool is_alone, bool by_copy) {
  const HistoryEntry& entry = *item.entry;
  const std::int64_t published = to_ms(entry.published);
  TRY(const std::int64_t author, words_.author(entry.author));
  std::string_view tie = entry.uri;
  std::int64_t form = 0;
  Value tail;
  if (is_alone) {
    tie = {};
    TRY(form, words_.string(item.split.form));
    tail = value_of(item.split.tail);
  }
  HourChange& change = changes_[{item.tag, storage::hour_of(entry.published)}];
  ++change.posts;
  change.add(entry.removed ? item.hash.removed : item.hash.live);
  const std::array<Value, 2> uri = {item.hash.index, published};
  const std::array<Value, 8> post = {item.tag, published, tie,          author,
                                     form,     tail,      item.removed, to_ms(entry.changed)};
  if (by_copy) {
    uri_rows_.add(uri);
    post_rows_.add(post);
    return {};
  }
  TRY_VOID(db_.send("INSERT INTO history_uris(digest, published) VALUES(?, ?) ON CONFLICT DO NOTHING",
                    Values(uri)));
  return db_.send(
      "INSERT INTO history(tag, published, tie, author, form, tail, removed, changed)"
      " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
      Values(post));
}

Result<void> Batch::copy_in() {
  if (post_rows_.count() == 0) return {};
  TRY_VOID(db_.copy_in("COPY history_uris(digest, published) FROM STDIN (FORMAT binary)", uri_rows_.take()));
  return db_.copy_in(
      "COPY history(tag, published, tie, author, form, tail, removed, changed) FROM STDIN (FORMAT binary)",
      post_rows_.take());
}

Result<void> Batch::put_by_itself(const Item& item) {
  const HistoryEntry& entry = *item.entry;
  TRY(const auto known, find_post(db_, item.tag, entry.uri, item.hash.index));
  if (!known) {
    TRY(const bool is_shared, share_time(db_, item.tag, entry.published));
    return insert(item, !is_shared, /*by_copy=*/false);
  }
  if (entry.version() <= belief::version_of(known->removed, known->changed)) return {};
  const bool was_heard = known->changed == storage::kBeforeAll;
  const bool is_otherwise = known->author != entry.author || known->published != entry.published;
  if (!entry.removed && (known->removed || (was_heard && is_otherwise))) {
    // As its author's server has it: the tombstone, or what was heard, may be of somebody else's word.
    TRY_VOID(write_figures());
    words_.forget();  // it may make some that are noted as new here
    return correct_post(db_, entry.partition, entry.uri, entry, /*promised=*/true);
  }
  const int removed = entry.removed ? 1 : known->taken_down ? kTakenDown : 0;
  TRY_VOID(db_.run("UPDATE history SET removed = ?, changed = ? WHERE tag = ? AND published = ? AND tie = ?",
                   removed, entry.changed, item.tag, known->published, known->tie));
  if (entry.removed && !known->removed) {
    HourChange& change = changes_[{item.tag, storage::hour_of(known->published)}];
    change.take(item.hash.live);
    change.add(item.hash.removed);
  }
  return {};
}

// What the posts so far add to them.
Result<void> Batch::write_figures() {
  std::map<std::int64_t, std::int64_t> posts;
  std::int64_t total = 0;
  for (const auto& [place, change] : changes_) {
    posts[place.first] += change.posts;
    total += change.posts;
  }
  for (const auto& [tag, count] : posts) {
    TRY_VOID(db_.send("UPDATE history_tags SET posts = posts + ? WHERE id = ?", count, tag));
  }
  if (total > 0) {
    TRY_VOID(reserve_numbers(db_, kEntryTotal, static_cast<std::uint64_t>(total)));
  }
  return write_changes(db_, std::exchange(changes_, {}));
}

// A free item is of a post that is in no table, at a time at which there is none, and no item before it is of
// the same post or time. So it comes to the same if these are written before all the others.
Result<void> Batch::put(const std::vector<HistoryEntry>& entries) {
  TRY_VOID(prepare(entries));
  const std::span<const Item> items(items_);
  const bool are_many = items.size() >= kManyPosts;
  for (std::size_t i = 0; are_many && i < items.size(); i += kAskedAtOnce) {
    TRY_VOID(ask_about(items.subspan(i, std::min(kAskedAtOnce, items.size() - i))));
  }
  std::vector<const Item*> others;
  for (const Item& item : items) {
    const bool is_new = digests_.insert(item.hash.index).second;
    const bool is_alone = times_.emplace(item.tag, item.entry->published).second;
    if (are_many && is_new && is_alone) {
      TRY_VOID(insert(item, is_alone, /*by_copy=*/db_.dialect() == Dialect::kPostgres));
    } else {
      others.push_back(&item);
    }
  }
  TRY_VOID(copy_in());
  for (const Item* item : others) {
    TRY_VOID(put_by_itself(*item));
  }
  return write_figures();
}

}  // namespace

Result<void> history_rows::put_entries(Connection& db, const std::vector<HistoryEntry>& entries) {
  return Batch(db).put(entries);
}

Result<void> history_rows::write_changes(Connection& db, const HourChanges& changes) {
  for (const auto& [place, change] : changes) {
    TRY_VOID(
        db.send("INSERT INTO history_hours(tag, hour, posts, digest) VALUES(?1, ?2, ?3, ?4) ON CONFLICT"
                "(tag, hour) DO UPDATE SET posts = history_hours.posts + ?3,"
                " digest = (history_hours.digest + ?4) & ?5",
                place.first, place.second, change.posts, static_cast<std::int64_t>(change.digest),
                static_cast<std::int64_t>(kDigestMask)));
    if (change.posts >= 0) continue;
    TRY_VOID(db.send("DELETE FROM history_hours WHERE tag = ? AND hour = ? AND posts = 0", place.first,
                     place.second));
  }
  return {};
}

}  // namespace tagring::db_history
