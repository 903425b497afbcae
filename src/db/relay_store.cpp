// Publisher, outbox, feed and letters. Authors are in relay_authors.cpp, followers and subscriptions in
// relay_followers.cpp, signed copies in relay_copies.cpp.
#include "db/relay_store.hpp"

#include <algorithm>
#include <iterator>

#include "base/assert.hpp"
#include "db/feed_seen.hpp"
#include "sql/keys.hpp"
#include "sql/meta.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using delivery::FeedEntry;
using delivery::Op;
using delivery::OutboxEntry;
using delivery::PublishedPost;
using delivery::TagEvent;
using Accepted = delivery::Store::Accepted;

constexpr const char* kOutboxSequence = "outbox";
constexpr const char* kLetterSequence = "letters";
constexpr std::size_t kFormerMax = 64;  // tags that a post had
constexpr int kScanRowsMax = 10'000;    // what one read job may look at
constexpr int kPruneRowsMax = 2'000;    // what one write job may delete

std::uint32_t all_replicas(unsigned count) {
  TR_ASSERT(count >= 1 && count <= 32);
  return static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1);
}

TagEvent event_at(const Statement& row) {
  return {Tag::from_canonical(row.text(0)),
          static_cast<Op>(row.integer(1)),
          row.text(2),
          row.text(3),
          row.time(4),
          row.integer(5) != 0,
          row.text(6),
          row.time(7),
          row.time(8)};
}

Result<void> insert_outbox(Connection& db, const OutboxEntry& entry) {
  const TagEvent& event = entry.event;
  TRY_VOID(
      db.send("INSERT INTO outbox(seq, ring, replicas_left, tag, op, uri, author, published, indexable, "
              "signed_copy, changed) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
              entry.seq, static_cast<int>(entry.ring), entry.replicas_left, event.tag.canonical(),
              static_cast<int>(event.op), event.uri, event.author, event.published, event.indexable,
              event.signed_copy, event.changed));
  return {};
}

Result<std::vector<OutboxEntry>> number_and_insert(Connection& db, std::vector<OutboxEntry> owed) {
  if (owed.empty()) return owed;
  TRY(std::uint64_t seq, reserve_numbers(db, kOutboxSequence, owed.size()));
  for (OutboxEntry& entry : owed) {
    entry.seq = seq++;
    TRY_VOID(insert_outbox(db, entry));
  }
  return owed;
}

// --- publisher -----------------------------------------------------------------------------------------

struct KnownPost {
  PublishedPost post;
  bool known = false;
};

Result<KnownPost> load_post(Connection& db, const std::string& uri) {
  Statement row =
      db.query("SELECT author, published, tags, deleted, former, changed FROM posts WHERE uri = ?", uri);
  TRY(const bool found, row.step());
  if (!found) return KnownPost{};
  PublishedPost post{uri, row.text(0), row.time(1), split_tags(row.view(2))};
  post.deleted = row.integer(3) != 0;
  post.former = split_tags(row.view(4));
  post.changed = row.time(5);
  return KnownPost{std::move(post), true};
}

// No edit before that is missing from what it says.
WallTime said_at(const PublishedPost& post) {
  if (post.changed != WallTime()) return post.changed;
  return post.is_edit ? post.as_of : WallTime();
}

// Its deletion came before it, or an edit that it is older than.
Result<bool> is_buried(Connection& db, const PublishedPost& post) {
  Statement row = db.query("SELECT edited FROM buried WHERE uri = ?", post.uri);
  TRY(const bool found, row.step());
  if (!found || row.time(0) == WallTime()) return found;
  return said_at(post) < std::chrono::floor<std::chrono::seconds>(row.time(0));
}

Result<std::vector<OutboxEntry>> publish_post(Connection& db, const PublishedPost& post, unsigned replicas,
                                              WallTime now) {
  TRY(KnownPost old, load_post(db, post.uri));
  const bool ends_with_copy = post.deleted && !post.signed_copy.empty();
  if (old.known ? old.post.deleted && !ends_with_copy : post.tags.empty()) return std::vector<OutboxEntry>();
  if (!old.known) {
    TRY(const bool buried, is_buried(db, post));
    if (buried) return std::vector<OutboxEntry>();
  }

  // Servers send what they have to say in any order.
  const bool is_dated = post.changed != WallTime();
  const bool is_past = said_at(post) < std::chrono::floor<std::chrono::seconds>(old.post.changed);
  if (is_past && !post.deleted) return std::vector<OutboxEntry>();

  // Two edits in one second are two, and some servers do not say when they were.
  const WallTime said = is_dated || !post.is_edit ? post.changed : now;
  const WallTime edited = std::max(said, old.post.changed + Duration(1));
  std::vector<OutboxEntry> owed;
  const auto owe = [&](const Tag& tag, Op op, const PublishedPost& as, const std::string& copy) {
    const bool was_there = std::ranges::binary_search(old.post.former, tag);
    WallTime changed = op == Op::kAdd && !was_there ? post.changed : edited;
    if (post.deleted) changed = {};
    owed.push_back({0,
                    Ring::kRelay,
                    {tag, op, post.uri, as.author, as.published, post.indexable, copy, changed},
                    all_replicas(replicas)});
  };
  std::vector<Tag> gone;
  std::ranges::set_difference(old.post.tags, post.tags, std::back_inserter(gone));
  std::vector<Tag> added;
  std::ranges::set_difference(post.tags, old.post.tags, std::back_inserter(added));
  // A removal bears the date of what it removes: that is where histories keep it.
  for (const Tag& tag : gone) owe(tag, Op::kRemove, old.post, post.signed_copy);
  for (const Tag& tag : added) owe(tag, Op::kAdd, post, "");
  if (!post.signed_copy.empty()) {
    std::vector<Tag> kept;
    std::ranges::set_intersection(old.post.tags, post.tags, std::back_inserter(kept));
    std::ranges::set_intersection(old.post.former, added, std::back_inserter(kept));
    for (const Tag& tag : kept) owe(tag, Op::kAdd, old.post, post.signed_copy);
  }

  std::vector<Tag> before;
  std::ranges::set_union(old.post.former, gone, std::back_inserter(before));
  std::vector<Tag> former;
  std::ranges::set_difference(before, post.tags, std::back_inserter(former));
  if (former.size() > kFormerMax) former.erase(former.begin() + kFormerMax, former.end());
  if (!post.signed_copy.empty() || post.deleted) {
    std::vector<Tag> had;
    std::ranges::set_difference(former, gone, std::back_inserter(had));
    for (const Tag& tag : had) owe(tag, Op::kRemove, old.post, post.signed_copy);
  }

  const PublishedPost& stored = post.tags.empty() ? old.post : post;
  std::vector<Tag> back;
  std::ranges::set_intersection(old.post.former, added, std::back_inserter(back));
  const bool is_moved = !gone.empty() || !back.empty();
  const WallTime changed = is_moved ? edited : std::max(old.post.changed, post.changed);
  if (ends_with_copy) former.clear();  // nobody is told more than once
  TRY_VOID(
      db.send("INSERT INTO posts(uri, author, published, tags, deleted, former, changed) VALUES(?, ?, ?, ?, "
              "?, ?, ?) ON "
              "CONFLICT(uri)"
              " DO UPDATE SET author = excluded.author, published = excluded.published, tags = excluded.tags,"
              " deleted = excluded.deleted, former = excluded.former, changed = excluded.changed",
              post.uri, stored.author, stored.published, join_tags(post.tags), post.deleted,
              join_tags(former), changed));
  TRY_VOID(note_written(db, stored.published));
  if (post.deleted) {
    TRY_VOID(db.send("DELETE FROM put_off WHERE uri = ?", post.uri));
  }
  return number_and_insert(db, std::move(owed));
}

Result<void> acknowledge_entry(Connection& db, std::uint64_t seq, std::uint32_t done) {
  // Deleted first, as most are at once: to write a row that goes costs more than to look for one that is
  // gone.
  TRY_VOID(
      db.send("DELETE FROM outbox WHERE seq = ?1 AND replicas_left & ~CAST(?2 AS BIGINT) = 0", seq, done));
  TRY_VOID(db.send("UPDATE outbox SET replicas_left = replicas_left & ~CAST(?2 AS BIGINT) WHERE seq = ?1",
                   seq, done));
  return {};
}

// --- feed ----------------------------------------------------------------------------------------------

Result<std::vector<Accepted>> accept_events(Connection& db, const std::vector<TagEvent>& events,
                                            unsigned storage_replicas, WallTime now) {
  std::vector<Accepted> answers;
  answers.reserve(events.size());
  std::uint64_t news = 0;
  TRY(const std::uint64_t last, last_number(db, kFeedSequence));
  for (const TagEvent& event : events) {
    TRY(const feed_seen::Marked marked, feed_seen::mark(db, event, now, last + news + 1));
    answers.push_back({marked.fresh, 0, 0, marked.announced, marked.added});
    news += marked.fresh ? 1 : 0;
  }
  if (news == 0) return answers;
  TRY(std::uint64_t feed_seq, reserve_numbers(db, kFeedSequence, news));
  std::uint64_t outbox_seq = 0;
  if (storage_replicas > 0) {
    TRY(outbox_seq, reserve_numbers(db, kOutboxSequence, news));
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!answers[i].fresh) continue;
    const TagEvent& event = events[i];
    answers[i].feed_seq = feed_seq++;
    TRY_VOID(
        db.send("INSERT INTO feed(seq, accepted, tag, op, uri, author, published, indexable, signed_copy,"
                " changed, announced, added) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                answers[i].feed_seq, now, event.tag.canonical(), static_cast<int>(event.op), event.uri,
                event.author, event.published, event.indexable, event.signed_copy, event.changed,
                answers[i].announced, answers[i].added));
    if (event.op == Op::kRemove && !event.signed_copy.empty()) {
      TRY_VOID(
          db.send("INSERT INTO copies_owed(seq, accepted, tag, uri, author, signed_copy, changed, added)"
                  " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                  answers[i].feed_seq, now, event.tag.canonical(), event.uri, event.author, event.signed_copy,
                  event.changed, answers[i].added));
    }
    // The archive has a post once, whatever it says now.
    const bool of_archive = (event.indexable && !event.is_edit()) || event.op == Op::kRemove;
    if (storage_replicas == 0 || !of_archive) continue;
    answers[i].outbox_seq = outbox_seq++;
    TRY_VOID(
        insert_outbox(db, {answers[i].outbox_seq, Ring::kStorage, event, all_replicas(storage_replicas)}));
  }
  return answers;
}

// Part of a walk along the feed.
struct FeedScan {
  std::vector<FeedEntry> entries;
  std::uint64_t at = 0;  // the last seq looked at
  bool done = false;
};

Result<FeedScan> scan_feed(Connection& db, const Segment* segment, std::uint64_t after, std::size_t limit) {
  FeedScan scan{.entries = {}, .at = after, .done = false};
  Statement row = db.walk(
      "SELECT tag, op, uri, author, published, indexable, signed_copy, changed, announced, seq, added"
      " FROM feed WHERE seq > ? ORDER BY seq",
      after);
  for (int looked_at = 0; looked_at < kScanRowsMax && scan.entries.size() < limit; ++looked_at) {
    TRY(const bool found, row.step());
    if (!found) {
      scan.done = true;
      return scan;
    }
    scan.at = row.number(9);
    if (segment != nullptr && !segment->contains(Tag::from_canonical(row.text(0)).key())) continue;
    scan.entries.push_back({scan.at, event_at(row), row.number(10)});
  }
  scan.done = scan.entries.size() >= limit;
  return scan;
}

Task<Result<std::vector<FeedEntry>>> read_feed(Database& database, std::optional<Segment> segment,
                                               std::uint64_t after, std::size_t limit) {
  std::vector<FeedEntry> entries;
  FeedScan scan{.entries = {}, .at = after, .done = limit == 0};
  while (!scan.done) {
    const std::size_t left = limit - entries.size();
    auto job = [segment, at = scan.at, left](Connection& db) {
      return scan_feed(db, segment ? &*segment : nullptr, at, left);
    };
    CO_TRY(scan, co_await database.read(std::move(job)));
    std::ranges::move(scan.entries, std::back_inserter(entries));
  }
  co_return entries;
}

// Each deletes some rows and returns how many, so that writers in between need not wait. Each looks at no
// more than so many: they come each minute, and mostly there is nothing to delete.
Result<std::int64_t> prune_entries(Connection& db, std::uint64_t through, WallTime before) {
  return db.run(
      "DELETE FROM feed WHERE seq IN (SELECT seq FROM (SELECT seq FROM feed WHERE accepted < ?"
      " ORDER BY accepted, seq LIMIT ?) AS oldest WHERE seq <= ?)",
      before, kPruneRowsMax, through);
}

Result<std::int64_t> prune_seen(Connection& db, WallTime before) {
  WallTime oldest = before;
  {
    Statement first = db.query("SELECT accepted FROM feed ORDER BY seq LIMIT 1");
    TRY(const bool row, first.step());
    if (row) oldest = std::min(oldest, first.time(0));
  }
  return db.run(
      "DELETE FROM feed_seen WHERE hour < ? AND id IN (SELECT id FROM feed_seen ORDER BY id LIMIT ?)",
      feed_seen::hour_of(oldest - SqliteRelayStore::kSeenFor), kPruneRowsMax);
}

}  // namespace

Task<Result<std::vector<OutboxEntry>>> SqliteRelayStore::publish(PublishedPost post, unsigned replicas) {
  std::ranges::sort(post.tags);
  post.tags.erase(std::ranges::unique(post.tags).begin(), post.tags.end());
  return database_.write([post = std::move(post), replicas, now = clock_.wall_now()](Connection& db) {
    return publish_post(db, post, replicas, now);
  });
}

Task<Result<void>> SqliteRelayStore::bury(std::string uri, WallTime edited) {
  return database_.write([uri = std::move(uri), edited, now = clock_.wall_now(),
                          prunes = date_.is_believed()](Connection& db) -> Result<void> {
    if (prunes) {
      TRY_VOID(db.send("DELETE FROM buried WHERE at < ?", now - kBuriedFor));
    }
    // Of edits the last counts; a deletion is for good.
    TRY_VOID(db.run(
        "INSERT INTO buried(uri, at, edited) VALUES(?, ?, ?) ON CONFLICT(uri) DO UPDATE SET at = excluded.at,"
        " edited = CASE WHEN buried.edited = 0 OR excluded.edited = 0 THEN 0"
        " WHEN excluded.edited > buried.edited THEN excluded.edited ELSE buried.edited END",
        uri, now, edited));
    return {};
  });
}

Task<Result<std::optional<PublishedPost>>> SqliteRelayStore::find_post(std::string uri) {
  return database_.read([uri = std::move(uri)](Connection& db) -> Result<std::optional<PublishedPost>> {
    TRY(KnownPost found, load_post(db, uri));
    if (!found.known || found.post.deleted) return std::nullopt;
    return std::move(found.post);
  });
}

Task<Result<std::optional<PublishedPost>>> SqliteRelayStore::find_unsigned_deletion(std::string uri) {
  return database_.read([uri = std::move(uri)](Connection& db) -> Result<std::optional<PublishedPost>> {
    TRY(KnownPost found, load_post(db, uri));
    if (!found.known || !found.post.deleted || found.post.former.empty()) return std::nullopt;
    return std::move(found.post);
  });
}

Task<Result<std::vector<OutboxEntry>>> SqliteRelayStore::outbox(std::uint64_t after, std::size_t limit) {
  return database_.read([after, limit](Connection& db) -> Result<std::vector<OutboxEntry>> {
    return all_rows<OutboxEntry>(db.query("SELECT tag, op, uri, author, published, indexable, signed_copy, "
                                          "changed, changed, seq, ring, replicas_left FROM outbox"
                                          " WHERE seq > ? ORDER BY seq LIMIT ?",
                                          after, limit),
                                 [](const Statement& row) {
                                   return OutboxEntry{row.number(9), static_cast<Ring>(row.integer(10)),
                                                      event_at(row),
                                                      static_cast<std::uint32_t>(row.integer(11))};
                                 });
  });
}

Task<Result<std::vector<OutboxEntry>>> SqliteRelayStore::owe(Ring ring, std::vector<TagEvent> events,
                                                             std::uint32_t replicas) {
  std::vector<OutboxEntry> owed;
  for (TagEvent& event : events) owed.push_back({0, ring, std::move(event), replicas});
  return database_.write([owed = std::move(owed)](Connection& db) { return number_and_insert(db, owed); });
}

Task<Result<void>> SqliteRelayStore::acknowledge(std::map<std::uint64_t, std::uint32_t> replicas_done) {
  return database_.write([replicas_done = std::move(replicas_done)](Connection& db) -> Result<void> {
    for (const auto& [seq, done] : replicas_done) {
      TRY_VOID(acknowledge_entry(db, seq, done));
    }
    return {};
  });
}

Task<Result<std::vector<Accepted>>> SqliteRelayStore::accept(std::vector<TagEvent> events,
                                                             unsigned storage_replicas) {
  return database_.write([events = std::move(events), storage_replicas, now = clock_.wall_now()](
                             Connection& db) { return accept_events(db, events, storage_replicas, now); });
}

Task<Result<std::vector<WallTime>>> SqliteRelayStore::announced(Tag tag, std::vector<std::string> uris) {
  return database_.read(
      [tag = std::move(tag), uris = std::move(uris)](Connection& db) -> Result<std::vector<WallTime>> {
        std::vector<WallTime> times;
        for (const std::string& uri : uris) {
          TRY(const WallTime time, feed_seen::announced(db, tag, uri));
          times.push_back(time);
        }
        return times;
      });
}

Task<Result<std::vector<TagEvent>>> SqliteRelayStore::news_of(std::vector<TagEvent> events) {
  return database_.read([events = std::move(events)](Connection& db) -> Result<std::vector<TagEvent>> {
    std::vector<TagEvent> news;
    for (const TagEvent& event : events) {
      TRY(const bool is_new, feed_seen::is_news(db, event));
      if (is_new) news.push_back(event);
    }
    return news;
  });
}

Task<Result<std::vector<FeedEntry>>> SqliteRelayStore::feed(std::uint64_t after, std::size_t limit) {
  return read_feed(database_, std::nullopt, after, limit);
}

Task<Result<std::uint64_t>> SqliteRelayStore::feed_end() {
  return database_.read([](Connection& db) -> Result<std::uint64_t> {
    return number_in(db.query("SELECT coalesce(max(seq), 0) FROM feed"));
  });
}

Task<Result<std::uint64_t>> SqliteRelayStore::feed_start(WallTime since) {
  return database_.read([since](Connection& db) -> Result<std::uint64_t> {
    // By a clock that was set back meanwhile the two may stand in either order.
    Statement row = db.query(
        "SELECT (SELECT seq FROM feed WHERE accepted < ?1 ORDER BY accepted DESC, seq DESC LIMIT 1),"
        " (SELECT seq FROM feed WHERE accepted >= ?1 ORDER BY accepted, seq LIMIT 1)",
        since);
    TRY_VOID(row.step());
    const std::uint64_t last_before = row.number(0);
    const std::uint64_t first = row.number(1);
    if (first > 0) return std::min(last_before, first - 1);
    return last_number(db, kFeedSequence);
  });
}

Task<Result<std::vector<FeedEntry>>> SqliteRelayStore::feed_of_segment(Segment segment, std::uint64_t after,
                                                                       std::size_t limit) {
  return read_feed(database_, segment, after, limit);
}

Task<Result<federation::Letter>> SqliteRelayStore::write_letter(federation::Letter letter) {
  letter.written = clock_.wall_now();
  return database_.write([letter = std::move(letter)](Connection& db) mutable -> Result<federation::Letter> {
    TRY(letter.seq, reserve_numbers(db, kLetterSequence, 1));
    TRY_VOID(db.run("INSERT INTO letters(seq, actor, inbox, body, written) VALUES(?, ?, ?, ?, ?)", letter.seq,
                    letter.actor, letter.inbox, letter.body, letter.written));
    return std::move(letter);
  });
}

Task<Result<std::vector<federation::Letter>>> SqliteRelayStore::letters(std::uint64_t after,
                                                                        std::size_t limit) {
  return database_.read([after, limit](Connection& db) -> Result<std::vector<federation::Letter>> {
    return all_rows<federation::Letter>(
        db.query("SELECT seq, actor, inbox, body, written FROM letters WHERE seq > ? ORDER BY seq LIMIT ?",
                 after, limit),
        [](const Statement& row) {
          return federation::Letter{row.number(0), row.text(1), row.text(2), row.text(3), row.time(4)};
        });
  });
}

Task<Result<void>> SqliteRelayStore::drop_letter(std::uint64_t seq) {
  return database_.write([seq](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM letters WHERE seq = ?", seq));
    return {};
  });
}

Task<Result<void>> SqliteRelayStore::prune_feed(std::uint64_t through, WallTime before) {
  std::int64_t deleted = kPruneRowsMax;
  while (deleted == kPruneRowsMax) {
    auto job = [through, before](Connection& db) { return prune_entries(db, through, before); };
    CO_TRY(deleted, co_await database_.write(std::move(job)));
  }
  const WallTime seen_before = std::min(before, clock_.wall_now());
  deleted = kPruneRowsMax;
  while (deleted == kPruneRowsMax) {
    auto job = [seen_before](Connection& db) { return prune_seen(db, seen_before); };
    CO_TRY(deleted, co_await database_.write(std::move(job)));
  }
  co_return Result<void>();
}

}  // namespace tagring::db
