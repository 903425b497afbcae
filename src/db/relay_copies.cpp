// Of SqliteRelayStore, what authors' servers signed about the end of posts and accounts.
#include <chrono>

#include "db/relay_store.hpp"
#include "delivery/store.hpp"
#include "sql/meta.hpp"

namespace tagring::db {

using namespace sql;
using delivery::FeedEntry;

namespace {

constexpr const char* kDeletionSequence = "signed_deletions";

Result<void> keep(Connection& db, const std::string& hash, const std::string& body, WallTime now) {
  TRY(const std::uint64_t seq, reserve_numbers(db, kDeletionSequence, 1));
  TRY_VOID(
      db.send("INSERT INTO signed_deletions(seq, hash, body, kept) VALUES(?, ?, ?, ?)"
              " ON CONFLICT DO NOTHING",
              seq, hash, body, now));
  const std::uint64_t last_to_go =
      seq > delivery::Store::kDeletionsMax ? seq - delivery::Store::kDeletionsMax : 0;
  return db.send("DELETE FROM signed_deletions WHERE seq <= ?", last_to_go);
}

}  // namespace

Task<Result<std::vector<FeedEntry>>> SqliteRelayStore::copies_owed(std::uint64_t after, std::size_t limit) {
  const WallTime since = clock_.wall_now() - kCopiesFor;
  return database_.write([after, limit, since](Connection& db) -> Result<std::vector<FeedEntry>> {
    TRY_VOID(db.send("DELETE FROM copies_owed WHERE accepted < ?", since));
    return all_rows<FeedEntry>(db.query("SELECT seq, tag, uri, author, signed_copy, changed, added"
                                        " FROM copies_owed WHERE seq > ? ORDER BY seq LIMIT ?",
                                        after, limit),
                               [](const Statement& row) {
                                 return FeedEntry{row.number(0),
                                                  {.tag = Tag::from_canonical(row.text(1)),
                                                   .op = delivery::Op::kRemove,
                                                   .uri = row.text(2),
                                                   .author = row.text(3),
                                                   .published = {},
                                                   .signed_copy = row.text(4),
                                                   .changed = row.time(5)},
                                                  row.number(6)};
                               });
  });
}

Task<Result<void>> SqliteRelayStore::settle_copies(std::vector<std::uint64_t> seqs) {
  return database_.write([seqs = std::move(seqs)](Connection& db) -> Result<void> {
    for (const std::uint64_t seq : seqs) {
      TRY_VOID(db.send("DELETE FROM copies_owed WHERE seq = ?", seq));
    }
    return {};
  });
}

Task<Result<void>> SqliteRelayStore::keep_deletion(std::string hash, std::string body) {
  return database_.write([hash = std::move(hash), body = std::move(body),
                          now = clock_.wall_now()](Connection& db) { return keep(db, hash, body, now); });
}

Task<Result<std::string>> SqliteRelayStore::find_deletion(std::string hash) {
  return database_.read([hash = std::move(hash),
                         since = clock_.wall_now() - kCopiesFor](Connection& db) -> Result<std::string> {
    Statement row = db.query("SELECT body FROM signed_deletions WHERE hash = ? AND kept >= ?", hash, since);
    TRY(const bool found, row.step());
    if (!found) return fail(ErrorCode::kNotFound, "no such copy");
    return row.text(0);
  });
}

}  // namespace tagring::db
