// Of SqliteRelayStore, what authors' servers signed about the end of posts and accounts.
#include <chrono>

#include "db/relay_store.hpp"
#include "delivery/store.hpp"
#include "sql/meta.hpp"

namespace tagring::db {

using namespace sql;
using OwedCopy = delivery::Store::OwedCopy;

namespace {

constexpr const char* kDeletionSequence = "signed_deletions";
constexpr std::int64_t kPrunedAtOnce = 2'000;  // by one write job
// The oldest have the least places.
constexpr const char* kPruneOwed =
    "DELETE FROM copies_owed WHERE seq IN (SELECT seq FROM copies_owed ORDER BY seq LIMIT ?) AND accepted < "
    "?";
constexpr const char* kPruneDeletions =
    "DELETE FROM signed_deletions WHERE seq IN (SELECT seq FROM signed_deletions ORDER BY seq LIMIT ?)"
    " AND kept < ?";

Result<void> keep(Connection& db, const std::string& hash, const std::string& body, WallTime now) {
  TRY(const std::uint64_t seq, reserve_numbers(db, kDeletionSequence, 1));
  TRY_VOID(
      db.send("INSERT INTO signed_deletions(seq, hash, body, kept) VALUES(?, ?, ?, ?)"
              " ON CONFLICT(hash) DO UPDATE SET seq = excluded.seq, kept = excluded.kept",
              seq, hash, body, now));
  const std::uint64_t last_to_go =
      seq > delivery::Store::kDeletionsMax ? seq - delivery::Store::kDeletionsMax : 0;
  return db.send("DELETE FROM signed_deletions WHERE seq <= ?", last_to_go);
}

}  // namespace

Task<Result<std::vector<OwedCopy>>> SqliteRelayStore::copies_owed(std::uint64_t after, std::size_t limit) {
  return database_.read([after, limit, since = clock_.wall_now() - kCopiesFor](
                            Connection& db) -> Result<std::vector<OwedCopy>> {
    return all_rows<OwedCopy>(
        db.query("SELECT seq, tag, uri, author, signed_copy, changed, added, accepted"
                 " FROM copies_owed WHERE seq > ? AND accepted >= ? ORDER BY seq LIMIT ?",
                 after, since, limit),
        [](const Statement& row) {
          delivery::TagEvent event{.tag = Tag::from_canonical(row.text(1)),
                                   .op = delivery::Op::kRemove,
                                   .uri = row.text(2),
                                   .author = row.text(3),
                                   .published = {},
                                   .signed_copy = row.text(4),
                                   .changed = row.time(5)};
          return OwedCopy{{row.number(0), std::move(event), row.number(6)}, row.time(7)};
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

Task<Result<void>> SqliteRelayStore::prune_copies() {
  if (!date_.is_believed()) co_return Result<void>();
  for (const char* sql : {kPruneOwed, kPruneDeletions}) {
    std::int64_t deleted = kPrunedAtOnce;
    while (deleted == kPrunedAtOnce) {
      auto job = [sql, before = clock_.wall_now() - kCopiesFor](Connection& db) {
        return db.run(sql, kPrunedAtOnce, before);
      };
      CO_TRY(deleted, co_await database_.write(std::move(job)));
    }
  }
  co_return Result<void>();
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
