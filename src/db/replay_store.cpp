#include "db/replay_store.hpp"

#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ranges>

#include "crypto/hash.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using replay::Replay;
using replay::ReplayPage;
using replay::ReplayState;

// Of a URI. Two posts of one instance with the same digest are not to be expected: one of them would be left
// out of a replay.
std::int64_t digest_of(const std::string& uri) {
  const crypto::Hash256 hash = crypto::sha256(uri);
  std::int64_t digest = 0;
  std::memcpy(&digest, hash.data(), sizeof digest);
  return digest;
}

Result<void> write_row(Connection& db, const Replay& r) {
  TRY_VOID(db.send("DELETE FROM replays WHERE host = ? AND tag = ?", r.host, r.tag));
  TRY_VOID(
      db.run("INSERT INTO replays(host, tag, newest_first, not_before, posts_max, per_minute, started,"
             " state, reason, found, sent, skipped, pages, pages_done, at, newest, oldest, failing_since,"
             " authors_per_day, authors_today, day)"
             " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
             r.host, r.tag, r.newest_first, r.not_before, r.posts_max, r.per_minute, r.started,
             static_cast<int>(r.state), r.reason, r.found, r.sent, r.skipped, r.pages, r.pages_done, r.at,
             r.newest, r.oldest, r.failing_since, r.authors_per_day,
             fmt::format("{}", fmt::join(r.authors_today, "\n")), r.day));
  return {};
}

Replay read_row(const Statement& row) {
  Replay r;
  r.host = row.text(0);
  r.tag = row.text(1);
  r.newest_first = row.integer(2) != 0;
  r.not_before = row.time(3);
  r.posts_max = row.number(4);
  r.per_minute = static_cast<std::uint32_t>(row.integer(5));
  r.started = row.time(6);
  r.state = static_cast<ReplayState>(row.integer(7));
  r.reason = row.text(8);
  r.found = row.number(9);
  r.sent = row.number(10);
  r.skipped = row.number(11);
  r.pages = row.number(12);
  r.pages_done = row.number(13);
  r.at = row.text(14);
  r.newest = row.time(15);
  r.oldest = row.time(16);
  r.failing_since = row.time(17);
  r.authors_per_day = static_cast<std::uint32_t>(row.integer(18));
  for (const auto author : std::views::split(row.view(19), '\n'))
    if (!author.empty()) r.authors_today.emplace_back(author.begin(), author.end());
  r.day = row.integer(20);
  return r;
}

Result<void> forget(Connection& db, const Replay& ended) {
  TRY_VOID(db.run("DELETE FROM replay_pages WHERE host = ? AND tag = ?", ended.host, ended.tag));
  TRY_VOID(
      db.run("DELETE FROM replay_sent WHERE host = ?1"
             " AND NOT EXISTS(SELECT 1 FROM replays WHERE host = ?1 AND state <= ?2)",
             ended.host, static_cast<int>(ReplayState::kSending)));
  return {};
}

}  // namespace

Task<Result<std::vector<Replay>>> SqliteReplayStore::replays() {
  return database_.read([](Connection& db) -> Result<std::vector<Replay>> {
    return all_rows<Replay>(
        db.query("SELECT host, tag, newest_first, not_before, posts_max, per_minute, started, state, reason, "
                 "found,"
                 " sent, skipped, pages, pages_done, at, newest, oldest, failing_since, authors_per_day, "
                 "authors_today, day FROM replays"
                 " ORDER BY host, tag"),
        read_row);
  });
}

Task<Result<void>> SqliteReplayStore::plan(Replay replay, std::vector<ReplayPage> pages) {
  return database_.write([r = std::move(replay), pages = std::move(pages)](Connection& db) -> Result<void> {
    TRY_VOID(write_row(db, r));
    TRY_VOID(db.run("DELETE FROM replay_pages WHERE host = ? AND tag = ?", r.host, r.tag));
    std::uint64_t number = 0;
    for (const ReplayPage& page : pages) {
      TRY_VOID(db.send("INSERT INTO replay_pages(host, tag, page, after, last) VALUES(?, ?, ?, ?, ?)", r.host,
                       r.tag, number++, page.after, page.last));
    }
    return {};
  });
}

Task<Result<void>> SqliteReplayStore::save(Replay replay, std::vector<std::string> sent_uris) {
  return database_.write(
      [r = std::move(replay), uris = std::move(sent_uris)](Connection& db) -> Result<void> {
        TRY_VOID(write_row(db, r));
        for (const std::string& uri : uris) {
          TRY_VOID(db.send("INSERT INTO replay_sent(host, digest) VALUES(?, ?) ON CONFLICT DO NOTHING",
                           r.host, digest_of(uri)));
        }
        if (r.is_active()) return {};
        return forget(db, r);
      });
}

Task<Result<ReplayPage>> SqliteReplayStore::page(std::string host, std::string tag, std::uint64_t number) {
  return database_.read([host = std::move(host), tag = std::move(tag),
                         number](Connection& db) -> Result<ReplayPage> {
    Statement row = db.query("SELECT after, last FROM replay_pages WHERE host = ? AND tag = ? AND page = ?",
                             host, tag, number);
    TRY(const bool found, row.step());
    if (!found) return fail(ErrorCode::kNotFound, fmt::format("no page {} of #{}", number, tag));
    return ReplayPage{row.text(0), row.text(1)};
  });
}

Task<Result<std::set<std::string>>> SqliteReplayStore::sent(std::string host, std::vector<std::string> uris) {
  return database_.read(
      [host = std::move(host), uris = std::move(uris)](Connection& db) -> Result<std::set<std::string>> {
        std::set<std::string> known;
        for (const std::string& uri : uris) {
          Statement row =
              db.query("SELECT 1 FROM replay_sent WHERE host = ? AND digest = ?", host, digest_of(uri));
          TRY(const bool found, row.step());
          if (found) known.insert(uri);
        }
        return known;
      });
}

}  // namespace tagring::db
