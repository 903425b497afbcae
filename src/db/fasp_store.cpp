#include "db/fasp_store.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using fasp::FaspBackfill;
using fasp::FaspNews;
using fasp::FaspPost;
using fasp::FaspServer;

FaspServer read_server(const Statement& row) {
  FaspServer s;
  s.host = row.text(0);
  s.id = row.text(1);
  s.base_url = row.text(2);
  s.fasp_id = row.text(3);
  s.own_key = row.text(4);
  s.server_key = row.text(5);
  s.completion_url = row.text(6);
  s.since = row.time(7);
  s.shares = row.integer(8) != 0;
  s.hashtags = row.integer(9) != 0;
  s.content_subscription = row.text(10);
  s.account_subscription = row.text(11);
  return s;
}

FaspNews read_news(const Statement& row) {
  return {row.number(0), row.text(1), row.text(2), row.integer(3) != 0, row.integer(4) != 0, row.time(5)};
}

Result<void> write_backfill(Connection& db, const FaspBackfill& b) {
  TRY_VOID(db.send("DELETE FROM fasp_backfills WHERE server = ?", b.server));
  TRY_VOID(
      db.run("INSERT INTO fasp_backfills(server, id, wanted, received, more, since, asked)"
             " VALUES(?, ?, ?, ?, ?, ?, ?)",
             b.server, b.id, b.wanted, b.received, b.more, b.since, b.asked));
  return {};
}

}  // namespace

// --- servers
// -------------------------------------------------------------------------------------------------

Task<Result<void>> SqliteFaspStore::save_server(FaspServer server) {
  return database_.write([s = std::move(server)](Connection& db) -> Result<void> {
    TRY_VOID(db.send("DELETE FROM fasp_servers WHERE host = ? OR id = ?", s.host, s.id));
    TRY_VOID(
        db.run("INSERT INTO fasp_servers(host, id, base_url, fasp_id, own_key, server_key,"
               " completion_url, since, shares, hashtags, content_subscription, account_subscription)"
               " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
               s.host, s.id, s.base_url, s.fasp_id, s.own_key, Blob{s.server_key}, s.completion_url, s.since,
               s.shares, s.hashtags, s.content_subscription, s.account_subscription));
    return {};
  });
}

Task<Result<void>> SqliteFaspStore::drop_server(std::string host) {
  return database_.write([host = std::move(host)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM fasp_servers WHERE host = ?", host));
    TRY_VOID(db.run("DELETE FROM fasp_news WHERE server = ?", host));
    TRY_VOID(db.run("DELETE FROM fasp_backfills WHERE server = ?", host));
    return {};
  });
}

Task<Result<std::vector<FaspServer>>> SqliteFaspStore::servers() {
  return database_.read([](Connection& db) {
    return all_rows<FaspServer>(
        db.query("SELECT host, id, base_url, fasp_id, own_key, server_key, completion_url, since, shares,"
                 " hashtags, content_subscription, account_subscription FROM fasp_servers ORDER BY host"),
        read_server);
  });
}

// --- news
// ----------------------------------------------------------------------------------------------------

Task<Result<std::vector<FaspNews>>> SqliteFaspStore::add_news(std::vector<FaspNews> news,
                                                              std::optional<FaspBackfill> backfill) {
  return database_.write([news = std::move(news), backfill = std::move(backfill)](
                             Connection& db) mutable -> Result<std::vector<FaspNews>> {
    for (FaspNews& n : news) {
      // A new seq, so that whoever is looking at the old one does not strike off the new one.
      TRY_VOID(db.send("DELETE FROM fasp_news WHERE server = ? AND uri = ?", n.server, n.uri));
      Statement row = db.query(
          "INSERT INTO fasp_news(server, uri, account, gone, since) VALUES(?, ?, ?, ?, ?)"
          " RETURNING seq",
          n.server, n.uri, n.account, n.gone, n.since);
      TRY(const bool written, row.step());
      if (!written) return fail(ErrorCode::kCorrupt, "an object that a server told of was not written");
      n.seq = row.number(0);
      TRY_VOID(row.step());
    }
    if (backfill) {
      TRY_VOID(write_backfill(db, *backfill));
    }
    return std::move(news);
  });
}

Task<Result<std::vector<FaspNews>>> SqliteFaspStore::news(std::uint64_t after, std::size_t limit) {
  return database_.read([after, limit](Connection& db) {
    return all_rows<FaspNews>(db.query("SELECT seq, server, uri, account, gone, since FROM fasp_news"
                                       " WHERE seq > ? ORDER BY seq LIMIT ?",
                                       after, limit),
                              read_news);
  });
}

Task<Result<void>> SqliteFaspStore::drop_news(std::uint64_t seq) {
  return database_.write([seq](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM fasp_news WHERE seq = ?", seq));
    return {};
  });
}

// --- backfills
// -----------------------------------------------------------------------------------------------

Task<Result<void>> SqliteFaspStore::save_backfill(FaspBackfill backfill) {
  return database_.write(
      [b = std::move(backfill)](Connection& db) -> Result<void> { return write_backfill(db, b); });
}

Task<Result<std::vector<FaspBackfill>>> SqliteFaspStore::backfills() {
  return database_.read([](Connection& db) {
    return all_rows<FaspBackfill>(
        db.query("SELECT server, id, wanted, received, more, since, asked FROM fasp_backfills"
                 " ORDER BY server"),
        [](const Statement& row) {
          return FaspBackfill{row.text(0),         row.text(1), row.number(2), row.number(3),
                              row.integer(4) != 0, row.time(5), row.number(6)};
        });
  });
}

// --- posts
// ---------------------------------------------------------------------------------------------------

Task<Result<void>> SqliteFaspStore::save_post(FaspPost post) {
  return database_.write([p = std::move(post)](Connection& db) -> Result<void> {
    TRY_VOID(
        db.run("INSERT INTO fasp_posts(uri, checked, due) VALUES(?, ?, ?) ON CONFLICT(uri) DO UPDATE SET"
               " checked = excluded.checked, due = excluded.due",
               p.uri, p.checked, p.due));
    return {};
  });
}

Task<Result<void>> SqliteFaspStore::drop_post(std::string uri) {
  return database_.write([uri = std::move(uri)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM fasp_posts WHERE uri = ?", uri));
    return {};
  });
}

Task<Result<std::vector<FaspPost>>> SqliteFaspStore::due_posts(WallTime now, std::size_t limit) {
  return database_.read([now, limit](Connection& db) {
    return all_rows<FaspPost>(
        db.query("SELECT * FROM (SELECT uri, checked, due FROM fasp_posts WHERE due <= ?"
                 " ORDER BY due, uri LIMIT ?) AS late UNION ALL"
                 " SELECT * FROM (SELECT uri, checked, due FROM fasp_posts WHERE due > ?"
                 " ORDER BY due, uri LIMIT ?) AS ahead ORDER BY due, uri LIMIT ?",
                 now, limit, now + kDueWithin, limit, limit),
        [](const Statement& row) { return FaspPost{row.text(0), row.time(1), row.time(2)}; });
  });
}

Task<Result<std::optional<FaspPost>>> SqliteFaspStore::find_post(std::string uri) {
  return database_.read([uri = std::move(uri)](Connection& db) -> Result<std::optional<FaspPost>> {
    Statement row = db.query("SELECT uri, checked, due FROM fasp_posts WHERE uri = ?", uri);
    TRY(const bool found, row.step());
    if (!found) return std::nullopt;
    return FaspPost{row.text(0), row.time(1), row.time(2)};
  });
}

}  // namespace tagring::db
