#include "db/block_store.hpp"

namespace tagring::db {

using namespace sql;

using federation::Block;
using federation::BlockKind;
using federation::Refusal;
using federation::Separation;

Task<Result<void>> SqliteBlockStore::save_blocks(std::vector<Block> blocks) {
  return database_.write([blocks = std::move(blocks)](Connection& db) -> Result<void> {
    for (const Block& b : blocks) {
      TRY_VOID(
          db.run("INSERT OR REPLACE INTO blocks(kind, what, reason, source, since) VALUES(?, ?, ?, ?, ?)",
                 static_cast<int>(b.kind), b.what, b.reason, b.source, b.since));
    }
    return {};
  });
}

Task<Result<void>> SqliteBlockStore::drop_blocks(std::vector<Block> blocks) {
  return database_.write([blocks = std::move(blocks)](Connection& db) -> Result<void> {
    for (const Block& b : blocks) {
      TRY_VOID(db.run("DELETE FROM blocks WHERE kind = ? AND what = ? AND source = ?",
                      static_cast<int>(b.kind), b.what, b.source));
    }
    return {};
  });
}

Task<Result<std::vector<Block>>> SqliteBlockStore::blocks() {
  return database_.read([](Connection& db) -> Result<std::vector<Block>> {
    std::vector<Block> found;
    Statement row = db.query("SELECT kind, what, reason, source, since FROM blocks ORDER BY kind, what");
    for (;;) {
      TRY(const bool more, row.step());
      if (!more) return found;
      found.push_back(
          {static_cast<BlockKind>(row.integer(0)), row.text(1), row.text(2), row.text(3), row.time(4)});
    }
  });
}

Task<Result<void>> SqliteBlockStore::save_separation(Separation separation) {
  return database_.write([r = std::move(separation)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("INSERT OR REPLACE INTO separations(host, other, receive) VALUES(?, ?, ?)", r.host,
                    r.other, r.receive));
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
    std::vector<Separation> found;
    Statement row = db.query("SELECT host, other, receive FROM separations ORDER BY host, other, receive");
    for (;;) {
      TRY(const bool more, row.step());
      if (!more) return found;
      found.push_back({row.text(0), row.text(1), row.integer(2) != 0});
    }
  });
}

Task<Result<void>> SqliteBlockStore::save_refusal(Refusal refusal) {
  return database_.write([r = std::move(refusal)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("INSERT OR REPLACE INTO refusals(author, tag) VALUES(?, ?)", r.author, r.tag));
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
    std::vector<Refusal> found;
    Statement row = db.query("SELECT author, tag FROM refusals ORDER BY author, tag");
    for (;;) {
      TRY(const bool more, row.step());
      if (!more) return found;
      found.push_back({row.text(0), row.text(1)});
    }
  });
}

}  // namespace tagring::db
