#include "db/moderation_store.hpp"

#include <algorithm>

#include "base/json.hpp"

namespace tagring::db {

using namespace sql;

using administrators::Change;
using federation::Block;
using federation::BlockKind;
using federation::Refusal;
using federation::Separation;
using reports::Report;

namespace {

std::string to_text(const std::vector<std::string>& uris) {
  return json::serialize(json::array(uris.begin(), uris.end()));
}

Result<std::vector<std::string>> uris_in(std::string_view text) {
  TRY(const json::value list, json::parse(text));
  std::vector<std::string> uris;
  json::for_each(&list, [&](const json::value& uri) { uris.push_back(json::id_of(uri)); });
  return uris;
}

// Of SELECT *.
Result<Report> read_report(const Statement& row) {
  TRY(std::vector<std::string> about, uris_in(row.view(5)));
  TRY(std::vector<std::string> forwarded, uris_in(row.view(6)));
  return Report{.id = row.number(0),
                .at = row.time(1),
                .activity = row.text(2),
                .reporter = row.text(3),
                .comment = row.text(4),
                .about = std::move(about),
                .forwarded = std::move(forwarded),
                .open = row.integer(7) != 0};
}

}  // namespace

// --- blocks ------------------------------------------------------------------------------------------------

Task<Result<void>> SqliteBlockStore::save_blocks(std::vector<Block> blocks) {
  return database_.write([blocks = std::move(blocks)](Connection& db) -> Result<void> {
    for (const Block& b : blocks) {
      TRY_VOID(db.send(
          "INSERT INTO blocks(kind, what, reason, source, since) VALUES(?, ?, ?, ?, ?)"
          " ON CONFLICT(kind, what, source) DO UPDATE SET reason = excluded.reason, since = excluded.since",
          static_cast<int>(b.kind), b.what, b.reason, b.source, b.since));
    }
    return {};
  });
}

Task<Result<void>> SqliteBlockStore::drop_blocks(std::vector<Block> blocks) {
  return database_.write([blocks = std::move(blocks)](Connection& db) -> Result<void> {
    for (const Block& b : blocks) {
      TRY_VOID(db.send("DELETE FROM blocks WHERE kind = ? AND what = ? AND source = ?",
                       static_cast<int>(b.kind), b.what, b.source));
    }
    return {};
  });
}

Task<Result<std::vector<Block>>> SqliteBlockStore::blocks() {
  return database_.read([](Connection& db) -> Result<std::vector<Block>> {
    return all_rows<Block>(
        db.query("SELECT kind, what, reason, source, since FROM blocks ORDER BY kind, what"),
        [](const Statement& row) {
          return Block{static_cast<BlockKind>(row.integer(0)), row.text(1), row.text(2), row.text(3),
                       row.time(4)};
        });
  });
}

Task<Result<void>> SqliteBlockStore::save_separation(Separation separation) {
  return database_.write([r = std::move(separation)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("INSERT INTO separations(host, other, receive) VALUES(?, ?, ?) ON CONFLICT DO NOTHING",
                    r.host, r.other, r.receive));
    return {};
  });
}

Task<Result<void>> SqliteBlockStore::drop_separation(Separation separation) {
  return database_.write([r = std::move(separation)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM separations WHERE host = ? AND other = ? AND receive = ?", r.host, r.other,
                    r.receive));
    return {};
  });
}

Task<Result<std::vector<Separation>>> SqliteBlockStore::separations() {
  return database_.read([](Connection& db) -> Result<std::vector<Separation>> {
    return all_rows<Separation>(
        db.query("SELECT host, other, receive FROM separations ORDER BY host, other, receive"),
        [](const Statement& row) { return Separation{row.text(0), row.text(1), row.integer(2) != 0}; });
  });
}

Task<Result<void>> SqliteBlockStore::save_refusal(Refusal refusal, WallTime look) {
  return database_.write([r = std::move(refusal), look](Connection& db) -> Result<void> {
    TRY_VOID(
        db.run("INSERT INTO refusals(author, tag) VALUES(?, ?) ON CONFLICT DO NOTHING", r.author, r.tag));
    TRY_VOID(db.run("INSERT INTO profile_looks(author, due, missing) VALUES(?, ?, 0) ON CONFLICT DO NOTHING",
                    r.author, look));
    return {};
  });
}

Task<Result<void>> SqliteBlockStore::drop_refusal(Refusal refusal) {
  return database_.write([r = std::move(refusal)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM refusals WHERE author = ? AND tag = ?", r.author, r.tag));
    return {};
  });
}

Task<Result<std::vector<Refusal>>> SqliteBlockStore::refusals() {
  return database_.read([](Connection& db) -> Result<std::vector<Refusal>> {
    return all_rows<Refusal>(db.query("SELECT author, tag FROM refusals ORDER BY author, tag"),
                             [](const Statement& row) { return Refusal{row.text(0), row.text(1)}; });
  });
}

// --- reports -----------------------------------------------------------------------------------------------

Task<Result<bool>> SqliteReportStore::add_report(Report report) {
  return database_.write([r = std::move(report)](Connection& db) -> Result<bool> {
    TRY(const std::int64_t added,
        db.run("INSERT INTO reports(at, activity, reporter, comment, about, forwarded, open)"
               " VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(activity) DO NOTHING",
               r.at, r.activity, r.reporter, r.comment, to_text(r.about), to_text(r.forwarded), r.open));
    return added > 0;
  });
}

Task<Result<void>> SqliteReportStore::note_forwarded(std::uint64_t id, std::string uri) {
  return database_.write([id, uri = std::move(uri)](Connection& db) -> Result<void> {
    std::vector<std::string> forwarded;
    {
      Statement row = db.query("SELECT * FROM reports WHERE id = ?", id);
      TRY(const bool found, row.step());
      if (!found) return {};
      TRY(Report report, read_report(row));
      forwarded = std::move(report.forwarded);
    }
    if (std::ranges::find(forwarded, uri) != forwarded.end()) return {};
    forwarded.push_back(uri);
    TRY_VOID(db.run("UPDATE reports SET forwarded = ? WHERE id = ?", to_text(forwarded), id));
    return {};
  });
}

Task<Result<bool>> SqliteReportStore::close_report(std::uint64_t id, std::size_t closed_max) {
  return database_.write([id, closed_max](Connection& db) -> Result<bool> {
    TRY(const std::int64_t closed, db.run("UPDATE reports SET open = 0 WHERE id = ? AND open = 1", id));
    TRY_VOID(
        db.run("DELETE FROM reports WHERE open = 0 AND id NOT IN"
               " (SELECT id FROM reports WHERE open = 0 ORDER BY id DESC LIMIT ?)",
               closed_max));
    return closed > 0;
  });
}

Task<Result<std::vector<Report>>> SqliteReportStore::reports(std::size_t limit) {
  return database_.read([limit](Connection& db) -> Result<std::vector<Report>> {
    std::vector<Report> found;
    Statement row = db.query("SELECT * FROM reports ORDER BY open DESC, id DESC LIMIT ?", limit);
    for (;;) {
      TRY(const bool more, row.step());
      if (!more) return found;
      TRY(found.emplace_back(), read_report(row));
    }
  });
}

Task<Result<Report>> SqliteReportStore::report(std::uint64_t id) {
  return database_.read([id](Connection& db) -> Result<Report> {
    Statement row = db.query("SELECT * FROM reports WHERE id = ?", id);
    TRY(const bool there, row.step());
    if (!there)
      return fail(ErrorCode::kNotFound, "there is no report " + std::to_string(id) +
                                            "; `tagring report list` shows those that are there");
    return read_report(row);
  });
}

Task<Result<std::vector<std::string>>> SqliteReportStore::open_reporters() {
  return database_.read([](Connection& db) -> Result<std::vector<std::string>> {
    return all_rows<std::string>(db.query("SELECT reporter FROM reports WHERE open = 1 ORDER BY id"),
                                 [](const Statement& row) { return row.text(0); });
  });
}

Task<Result<std::optional<WallTime>>> SqliteReportStore::oldest_open() {
  return database_.read([](Connection& db) -> Result<std::optional<WallTime>> {
    Statement row = db.query("SELECT at FROM reports WHERE open = 1 ORDER BY id LIMIT 1");
    TRY(const bool there, row.step());
    return there ? std::optional(row.time(0)) : std::nullopt;
  });
}

// --- changes -----------------------------------------------------------------------------------------------

Result<void> add_change(Connection& db, const Change& change, std::size_t kept) {
  TRY_VOID(db.run("INSERT INTO changes(at, who, does, about, outcome) VALUES(?, ?, ?, ?, ?)", change.at,
                  change.who, change.does, change.about, change.outcome));
  TRY_VOID(db.run(
      "DELETE FROM changes WHERE id <= (SELECT id FROM changes ORDER BY id DESC LIMIT 1 OFFSET ?)", kept));
  return {};
}

Task<Result<void>> SqliteChangeStore::add_change(Change change, std::size_t kept) {
  return database_.write(
      [change = std::move(change), kept](Connection& db) { return db::add_change(db, change, kept); });
}

Task<Result<std::vector<Change>>> SqliteChangeStore::changes(std::size_t limit) {
  return database_.read([limit](Connection& db) -> Result<std::vector<Change>> {
    std::vector<Change> found;
    Statement row =
        db.query("SELECT at, who, does, about, outcome FROM changes ORDER BY id DESC LIMIT ?", limit);
    for (;;) {
      TRY(const bool more, row.step());
      if (!more) return found;
      found.push_back({row.time(0), row.text(1), row.text(2), row.text(3), row.text(4)});
    }
  });
}

}  // namespace tagring::db
