// The parts of SqliteRelayStore that are about followers and subscriptions.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <fmt/format.h>

#include "db/partials.hpp"
#include "db/relay_store.hpp"
#include "delivery/store.hpp"
#include "sql/keys.hpp"
#include "sql/meta.hpp"

namespace tagring::db {

using namespace sql;

std::string join_tags(const std::vector<Tag>& tags) {
  std::string text;
  for (const Tag& tag : tags) text += (text.empty() ? "" : "\n") + tag.canonical();
  return text;
}

std::vector<Tag> split_tags(std::string_view text) {
  std::vector<Tag> tags;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    tags.push_back(Tag::from_canonical(std::string(text.substr(0, end))));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return tags;
}

Result<std::uint64_t> number_in(Statement rows) {
  TRY(const bool found, rows.step());
  return found ? rows.number(0) : 0;
}

namespace {

using delivery::Follower;
using delivery::Subscription;
using delivery::Via;
using Pairs = std::vector<std::pair<Tag, std::string>>;

bool is_relay(const Follower& follower) {
  return follower.via == Via::kRelay || follower.via == Via::kTagRelay || follower.via == Via::kBareRelay;
}

// Appends the rows of a statement that selects tag, actor, inbox, follow_id, via, since.
Result<void> append_followers(Statement row, std::vector<Follower>& followers) {
  for (;;) {
    TRY(const bool found, row.step());
    if (!found) return {};
    followers.push_back({Tag::from_canonical(row.text(0)), row.text(1), row.text(2), row.text(3),
                         static_cast<Via>(row.integer(4)), row.number(5)});
  }
}

// Fills in `since`.
Result<void> save_follower(Connection& db, Follower& follower, std::uint64_t feed_end) {
  const std::uint64_t since = follower.since != 0 ? follower.since : feed_end;
  Statement saved = db.query(
      "INSERT INTO followers(tag, actor, inbox, follow_id, via, since) VALUES(?, ?, ?, ?, ?, ?)"
      " ON CONFLICT(tag, actor) DO UPDATE SET inbox = excluded.inbox, follow_id = excluded.follow_id, via = "
      "excluded.via"
      " RETURNING since",
      follower.tag.canonical(), follower.actor, follower.inbox, follower.follow_id,
      static_cast<int>(follower.via), since);
  TRY(const bool row, saved.step());
  if (row) follower.since = saved.number(0);
  TRY_VOID(saved.step());
  TRY_VOID(db.send("INSERT INTO followed_tags(key, tag) VALUES(?, ?) ON CONFLICT DO NOTHING",
                   Blob{key_bytes(follower.tag.key())}, follower.tag.canonical()));
  return {};
}

// A cursor goes with the last follower at its inbox.
Result<void> drop_unused_inbox(Connection& db, const std::string& inbox) {
  TRY_VOID(
      db.run("DELETE FROM inboxes WHERE inbox = ?1 AND NOT EXISTS (SELECT 1 FROM followers WHERE inbox = ?1)",
             inbox));
  return {};
}

Result<std::optional<Follower>> find_follower(Connection& db, const Tag& tag, const std::string& actor) {
  std::vector<Follower> found;
  Statement row =
      db.query("SELECT tag, actor, inbox, follow_id, via, since FROM followers WHERE tag = ? AND actor = ?",
               tag.canonical(), actor);
  TRY_VOID(append_followers(std::move(row), found));
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

Result<void> add_follower(Connection& db, Follower& follower, std::uint64_t feed_end) {
  TRY(const std::optional<Follower> old, find_follower(db, follower.tag, follower.actor));
  TRY_VOID(save_follower(db, follower, feed_end));
  if (old && old->inbox != follower.inbox) {
    TRY_VOID(drop_unused_inbox(db, old->inbox));
  }
  if (old && old->via == follower.via) return {};
  if (old) {
    TRY_VOID(count_follower(db, *old, /*enters=*/false));
  }
  return count_follower(db, follower, /*enters=*/true);
}

// Who that was, if anybody.
Result<std::optional<Follower>> drop_follower(Connection& db, const Tag& tag, const std::string& actor) {
  TRY(std::optional<Follower> old, find_follower(db, tag, actor));
  if (!old) return old;
  TRY_VOID(db.run("DELETE FROM followers WHERE tag = ? AND actor = ?", tag.canonical(), actor));
  TRY_VOID(count_follower(db, *old, /*enters=*/false));
  TRY_VOID(
      db.run("DELETE FROM followed_tags WHERE key = ? AND NOT EXISTS (SELECT 1 FROM followers WHERE tag = ?)",
             Blob{key_bytes(tag.key())}, tag.canonical()));
  TRY_VOID(drop_unused_inbox(db, old->inbox));
  return old;
}

// Names of counters: "left DAY INBOX TAG SINCE". '!' is the character after the blank.
std::string left_on(WallTime now) {
  return fmt::format("left {} ", std::chrono::floor<std::chrono::days>(now).time_since_epoch().count());
}

std::string left_there(const std::string& today, const std::string& inbox, const Tag& tag) {
  return fmt::format("{}{} {} ", today, inbox, tag.canonical());
}

// All names that begin so are before it.
std::string after_all(std::string begin) {
  begin.back() = '!';
  return begin;
}

// What each of them got until now, if that was as from a relay.
Result<void> note_left(Connection& db, const std::vector<Follower>& gone, const std::string& today) {
  if (std::ranges::none_of(gone, is_relay)) return {};
  TRY_VOID(
      db.run("DELETE FROM counters WHERE name >= 'left ' AND name < 'left!' AND NOT (name >= ? AND name < ?)",
             today, after_all(today)));
  TRY(std::uint64_t known,
      number_in(db.query("SELECT count(*) FROM counters WHERE name >= 'left ' AND name < 'left!'")));
  TRY(const std::uint64_t feed_end, last_number(db, kFeedSequence));
  for (const Follower& follower : gone) {
    if (!is_relay(follower) || follower.since == feed_end || known++ >= delivery::Store::kLeftMax) continue;
    TRY_VOID(
        db.run("INSERT INTO counters(name, value) VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET"
               " value = excluded.value",
               left_there(today, follower.inbox, follower.tag) + std::to_string(follower.since), feed_end));
  }
  return {};
}

Result<std::vector<Follower>> segment_nodes(Connection& db, const Segment& segment,
                                            const std::optional<Tag>& after_tag,
                                            const std::string& after_actor, std::size_t limit) {
  std::vector<Follower> found;
  std::optional<RingId> place;
  if (after_tag) {
    place = after_tag->key();
    if (!segment.contains(*place)) return fail(ErrorCode::kInvalid, "after_tag is not in the segment");
    Statement rest = db.query(
        "SELECT tag, actor, inbox, follow_id, via, since FROM followers WHERE tag = ? AND actor > ?"
        " AND via = 1 ORDER BY actor LIMIT ?",
        after_tag->canonical(), after_actor, limit);
    TRY_VOID(append_followers(std::move(rest), found));
  }
  for (const KeyRange& range : key_ranges(segment, place)) {
    Statement rows = db.query(
        "SELECT f.tag, actor, inbox, follow_id, via, since FROM followed_tags t CROSS JOIN followers f"
        " WHERE f.tag = t.tag AND key > ? AND key <= ? AND via = 1 ORDER BY key, actor LIMIT ?",
        Blob{range.after}, Blob{range.through}, limit - found.size());
    TRY_VOID(append_followers(std::move(rows), found));
  }
  return found;
}

}  // namespace

Task<Result<std::vector<Follower>>> SqliteRelayStore::follow(std::vector<Follower> followers) {
  return database_.write(
      [followers = std::move(followers)](Connection& db) mutable -> Result<std::vector<Follower>> {
        TRY(const std::uint64_t feed_end, last_number(db, kFeedSequence));
        for (Follower& follower : followers) {
          TRY_VOID(add_follower(db, follower, feed_end));
        }
        return std::move(followers);
      });
}

Task<Result<std::vector<Follower>>> SqliteRelayStore::unfollow(Pairs tags_and_actors) {
  return database_.write([pairs = std::move(tags_and_actors), today = left_on(clock_.wall_now())](
                             Connection& db) -> Result<std::vector<Follower>> {
    std::vector<Follower> gone;
    for (const auto& [tag, actor] : pairs) {
      TRY(std::optional<Follower> follower, drop_follower(db, tag, actor));
      if (follower) gone.push_back(*std::move(follower));
    }
    TRY_VOID(note_left(db, gone, today));
    return gone;
  });
}

Task<Result<std::vector<delivery::Store::Stretches>>> SqliteRelayStore::left_today(std::string inbox,
                                                                                   std::vector<Tag> tags) {
  return database_.read([inbox = std::move(inbox), tags = std::move(tags),
                         today =
                             left_on(clock_.wall_now())](Connection& db) -> Result<std::vector<Stretches>> {
    std::vector<Stretches> found;
    for (const Tag& tag : tags) {
      const std::string begin = left_there(today, inbox, tag);
      const std::string end = after_all(begin);
      Stretches& stretches = found.emplace_back();
      Statement row = db.query("SELECT name, value FROM counters WHERE name >= ? AND name < ?", begin, end);
      for (;;) {
        TRY(const bool more, row.step());
        if (!more) break;
        const std::string since = row.text(0).substr(begin.size());
        std::uint64_t after = 0;
        std::from_chars(since.data(), since.data() + since.size(), after);
        stretches.emplace_back(after, row.number(1));
      }
    }
    return found;
  });
}

Task<Result<Tag>> SqliteRelayStore::tag_followed(std::string actor, std::string follow_id,
                                                 std::vector<Tag> tags) {
  return database_.read([actor = std::move(actor), id = std::move(follow_id),
                         tags = std::move(tags)](Connection& db) -> Result<Tag> {
    for (const Tag& tag : tags) {
      TRY(const std::optional<Follower> follower, find_follower(db, tag, actor));
      if (follower && follower->follow_id == id) return tag;
    }
    return fail(ErrorCode::kNotFound, "no hashtag is followed by that Follow");
  });
}

Task<Result<std::vector<Follower>>> SqliteRelayStore::followers(std::optional<Tag> after_tag,
                                                                std::string after_actor, std::size_t limit) {
  return database_.read([=](Connection& db) -> Result<std::vector<Follower>> {
    std::vector<Follower> found;
    Statement rows = db.query(
        "SELECT tag, actor, inbox, follow_id, via, since FROM followers WHERE (tag, actor) > (?, ?)"
        " ORDER BY tag, actor LIMIT ?",
        after_tag ? after_tag->canonical() : std::string(), after_actor, limit);
    TRY_VOID(append_followers(std::move(rows), found));
    return found;
  });
}

Task<Result<std::vector<Follower>>> SqliteRelayStore::nodes_of_segment(Segment segment,
                                                                       std::optional<Tag> after_tag,
                                                                       std::string after_actor,
                                                                       std::size_t limit) {
  return database_.read(
      [=](Connection& db) { return segment_nodes(db, segment, after_tag, after_actor, limit); });
}

Task<Result<delivery::Partial>> SqliteRelayStore::partial(delivery::PartialKey key) {
  return database_.read([key = std::move(key)](Connection& db) { return load_partial(db, key); });
}

Task<Result<delivery::Store::PartialsCheck>> SqliteRelayStore::check_partials() {
  return database_.write([](Connection& db) { return check_all_partials(db); });
}

Task<Result<std::vector<delivery::Store::FormerServer>>> SqliteRelayStore::former_servers() {
  return database_.read([](Connection& db) {
    return all_rows<FormerServer>(
        db.query("SELECT collection, authority, inbox FROM former_servers ORDER BY seq"),
        [](const Statement& row) { return FormerServer{{row.text(0), row.text(1)}, row.text(2)}; });
  });
}

Task<Result<void>> SqliteRelayStore::drop_former_server(delivery::PartialKey key) {
  return database_.write([key = std::move(key)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM former_servers WHERE collection = ? AND authority = ?", key.collection,
                    key.authority));
    return {};
  });
}

Task<Result<std::optional<WallTime>>> SqliteRelayStore::actor_since(std::optional<Tag> tag) {
  const std::string name = tag ? tag->canonical() : std::string();
  const auto find = [](Connection& db, const std::string& of) -> Result<std::optional<WallTime>> {
    Statement row = db.query("SELECT since FROM actors WHERE tag = ?", of);
    TRY(const bool known, row.step());
    return known ? std::optional(row.time(0)) : std::nullopt;
  };
  CO_TRY(const std::optional<WallTime> known,
         co_await database_.read([find, name](Connection& db) { return find(db, name); }));
  if (known) co_return known;
  co_return co_await database_.write(
      [find, name, now = clock_.wall_now()](Connection& db) -> Result<std::optional<WallTime>> {
        // Whoever asks for an actor makes it be: those go that came to be longest ago and that nobody
        // follows.
        TRY_VOID(
            db.run("DELETE FROM actors WHERE (SELECT count(*) FROM actors) >= ?1 AND tag IN"
                   " (SELECT tag FROM actors WHERE tag != '' AND tag NOT IN (SELECT tag FROM followers)"
                   " ORDER BY since LIMIT ?2)",
                   kActorsMax, kActorsMax / 8));
        TRY_VOID(
            db.run("INSERT INTO actors(tag, since) SELECT ?1, ?2"
                   " WHERE ?1 = '' OR (SELECT count(*) FROM actors) < ?3 ON CONFLICT DO NOTHING",
                   name, now, kActorsMax));
        return find(db, name);
      });
}

Task<Result<void>> SqliteRelayStore::advance(Cursors cursors, Notes notes) {
  return database_.write(
      [cursors = std::move(cursors), notes = std::move(notes)](Connection& db) -> Result<void> {
        for (const auto& [inbox, cursor] : cursors) {
          TRY_VOID(
              db.send("INSERT INTO inboxes(inbox, acknowledged, gone_since, refusing_since, refusals,"
                      " silent_days, silent_at) VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(inbox) DO UPDATE SET "
                      "acknowledged = CASE"
                      " WHEN excluded.acknowledged > inboxes.acknowledged THEN excluded.acknowledged"
                      " ELSE inboxes.acknowledged END, gone_since = excluded.gone_since,"
                      " refusing_since = excluded.refusing_since, refusals = excluded.refusals,"
                      " silent_days = excluded.silent_days, silent_at = excluded.silent_at",
                      inbox, cursor.acknowledged, cursor.gone_since.value_or(WallTime()),
                      cursor.refusing_since, cursor.refusals, cursor.silent_days, cursor.silent_at));
        }
        for (const auto& [seq, note] : notes) {
          TRY_VOID(db.send("UPDATE feed SET told = told || ? WHERE seq = ?", note, seq));
        }
        return {};
      });
}

Task<Result<delivery::Store::Cursors>> SqliteRelayStore::cursors() {
  return database_.read([](Connection& db) -> Result<Cursors> {
    Cursors cursors;
    Statement row = db.query(
        "SELECT inbox, acknowledged, gone_since, refusing_since, refusals, silent_days,"
        " silent_at FROM inboxes");
    for (;;) {
      TRY(const bool found, row.step());
      if (!found) return cursors;
      const bool is_gone = row.integer(2) != 0;
      cursors.emplace(row.text(0), Cursor{row.number(1), is_gone ? std::optional(row.time(2)) : std::nullopt,
                                          row.time(3), static_cast<unsigned>(row.integer(4)),
                                          static_cast<unsigned>(row.integer(5)), row.time(6)});
    }
  });
}

Task<Result<delivery::Store::Notes>> SqliteRelayStore::notes(std::uint64_t after, std::uint64_t through) {
  return database_.read([after, through](Connection& db) -> Result<Notes> {
    Notes notes;
    Statement row =
        db.query("SELECT seq, told FROM feed WHERE seq > ? AND seq <= ? AND told <> ''", after, through);
    for (;;) {
      TRY(const bool found, row.step());
      if (!found) return notes;
      notes.emplace(row.number(0), row.text(1));
    }
  });
}

Task<Result<void>> SqliteRelayStore::want(std::vector<Tag> tags, std::string reason) {
  return database_.write(
      [tags = std::move(tags), reason = std::move(reason)](Connection& db) -> Result<void> {
        for (const Tag& tag : tags) {
          TRY_VOID(db.send("INSERT INTO wants(tag, reason) VALUES(?, ?) ON CONFLICT DO NOTHING",
                           tag.canonical(), reason));
        }
        return {};
      });
}

Task<Result<void>> SqliteRelayStore::unwant(std::vector<Tag> tags, std::string reason) {
  return database_.write(
      [tags = std::move(tags), reason = std::move(reason)](Connection& db) -> Result<void> {
        for (const Tag& tag : tags) {
          TRY_VOID(db.send("DELETE FROM wants WHERE tag = ? AND reason = ?", tag.canonical(), reason));
        }
        return {};
      });
}

Task<Result<std::vector<Tag>>> SqliteRelayStore::wanted(std::optional<Tag> after, std::size_t limit) {
  return database_.read([after = std::move(after), limit](Connection& db) -> Result<std::vector<Tag>> {
    return all_rows<Tag>(db.query("SELECT DISTINCT tag FROM wants WHERE tag > ? ORDER BY tag LIMIT ?",
                                  after ? after->canonical() : std::string(), limit),
                         [](const Statement& row) { return Tag::from_canonical(row.text(0)); });
  });
}

Task<Result<void>> SqliteRelayStore::save_subscriptions(std::vector<Subscription> subscriptions) {
  return database_.write([subscriptions = std::move(subscriptions)](Connection& db) -> Result<void> {
    for (const Subscription& s : subscriptions) {
      TRY_VOID(db.send(
          "INSERT INTO subscriptions(tag, owner, follow_id, accepted) VALUES(?, ?, ?, ?) ON CONFLICT(tag,"
          " owner) DO UPDATE SET follow_id = excluded.follow_id, accepted = excluded.accepted",
          s.tag.canonical(), s.owner, s.follow_id, s.accepted));
    }
    return {};
  });
}

Task<Result<void>> SqliteRelayStore::drop_subscriptions(Pairs tags_and_owners) {
  return database_.write([pairs = std::move(tags_and_owners)](Connection& db) -> Result<void> {
    for (const auto& [tag, owner] : pairs) {
      TRY_VOID(db.send("DELETE FROM subscriptions WHERE tag = ? AND owner = ?", tag.canonical(), owner));
    }
    return {};
  });
}

Task<Result<std::vector<Subscription>>> SqliteRelayStore::subscriptions() {
  return database_.read([](Connection& db) -> Result<std::vector<Subscription>> {
    return all_rows<Subscription>(
        db.query("SELECT tag, owner, follow_id, accepted FROM subscriptions ORDER BY tag, owner"),
        [](const Statement& row) {
          return Subscription{Tag::from_canonical(row.text(0)), row.text(1), row.text(2),
                              row.integer(3) != 0};
        });
  });
}

}  // namespace tagring::db
