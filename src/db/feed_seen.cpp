#include "db/feed_seen.hpp"

#include <chrono>
#include <optional>

#include "crypto/hash.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using belief::Op;
using belief::TagEvent;

// Identifies (tag, uri), or what follows of that. 128 bits: nobody finds two pairs that share one.
std::string digest_of(const Tag& tag, const std::string& uri, std::string_view copy = {}) {
  std::string text = tag.canonical() + '\0' + uri;
  if (!copy.empty()) text += std::string(1, '\0') + std::string(copy);
  const auto digest = crypto::sha3_256(text);
  return {reinterpret_cast<const char*>(digest.data()), 16};
}

// The same for all that strangers have of a deletion: the first counts, or they could name ever others.
std::string digest_of_copy(const TagEvent& event) {
  const bool is_any = event.is_deletion() && event.has_strange_copy();
  const std::string_view copy = event.signed_copy;
  return digest_of(event.tag, event.uri, is_any ? "any" : copy.substr(0, copy.find(' ')));
}

struct Seen {
  Op op = Op::kAdd;
  belief::Version version;
  std::uint64_t added = 0;  // the place in the feed at which the post came under the tag
};

Result<std::optional<Seen>> last_seen(Connection& db, const std::string& digest) {
  Statement row = db.query("SELECT op, changed, added FROM feed_seen WHERE digest = ?", Blob{digest});
  TRY(const bool found, row.step());
  if (!found) return std::nullopt;
  const Op op = static_cast<Op>(row.integer(0));
  return Seen{op, belief::version_of(op == Op::kRemove, row.time(1)), row.number(2)};
}

// True if there was none.
Result<bool> insert_seen(Connection& db, const std::string& digest, Op op, WallTime changed, WallTime now,
                         std::uint64_t added = 0) {
  TRY(const std::int64_t inserted,
      db.run("INSERT INTO feed_seen(digest, op, hour, changed, added)"
             " VALUES(?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
             Blob{digest}, static_cast<int>(op), feed_seen::hour_of(now), changed, added));
  return inserted > 0;
}

Result<WallTime> announced_as(Connection& db, const std::string& digest) {
  Statement row = db.query("SELECT changed FROM announced WHERE digest = ?", Blob{digest});
  TRY(const bool found, row.step());
  return found ? row.time(0) : WallTime();
}

Result<void> note_announced(Connection& db, const std::string& digest, WallTime changed) {
  if (changed == WallTime()) return {};
  return db.send(
      "INSERT INTO announced(digest, changed) VALUES(?, ?) ON CONFLICT(digest) DO UPDATE SET"
      " changed = excluded.changed",
      Blob{digest}, changed);
}

Result<feed_seen::Marked> mark_edit(Connection& db, const TagEvent& event, const std::optional<Seen>& last,
                                    WallTime now) {
  if (last && last->op == Op::kRemove) return feed_seen::Marked{};
  TRY(const bool fresh, insert_seen(db, digest_of_copy(event), event.op, {}, now));
  return feed_seen::Marked{fresh, event.changed};
}

}  // namespace

std::int64_t feed_seen::hour_of(WallTime time) {
  return std::chrono::floor<std::chrono::hours>(time).time_since_epoch().count();
}

Result<feed_seen::Marked> feed_seen::mark(Connection& db, const TagEvent& event, WallTime now,
                                          std::uint64_t seq) {
  const std::string digest = digest_of(event.tag, event.uri);
  TRY(const std::optional<Seen> last, last_seen(db, digest));
  if (event.is_edit()) return mark_edit(db, event, last, now);
  const bool was_there = last && last->op == Op::kAdd;
  const bool is_later = !last || event.version() > last->version;
  if (!is_later && (event.op == Op::kAdd || was_there)) return Marked{};
  // Not an update, so that rows stay in order of time.
  if (is_later && last) {
    TRY_VOID(db.send("DELETE FROM feed_seen WHERE digest = ?", Blob{digest}));
  }
  if (is_later) {
    const bool enters = event.op == Op::kAdd && !was_there;
    TRY_VOID(insert_seen(db, digest, event.op, event.changed, now, enters ? seq : last ? last->added : 0));
  }
  if (event.op == Op::kAdd && !was_there) {
    TRY_VOID(note_announced(db, digest, event.changed));
    return Marked{true, event.changed};
  }
  // What its server has signed of a post since it lost the hashtag is for those who got it before.
  bool has_new_copy = false;
  if (event.op == Op::kRemove && !event.signed_copy.empty()) {
    TRY(has_new_copy, insert_seen(db, digest_of_copy(event), event.op, {}, now));
  }
  const bool was_out = last && !was_there;
  TRY(const WallTime announced, announced_as(db, digest));
  const std::uint64_t added = event.op == Op::kRemove && last ? last->added : 0;
  // Who hears of a later removal may know that the hashtag was put back in between, which this node does not.
  return Marked{is_later || has_new_copy, was_out && !has_new_copy ? belief::kWasOut : announced, added};
}

Result<bool> feed_seen::is_news(Connection& db, const TagEvent& event) {
  TRY(const std::optional<Seen> last, last_seen(db, digest_of(event.tag, event.uri)));
  const bool was_there = last && last->op == Op::kAdd;
  if (!event.is_edit()) {
    if (!last || event.version() > last->version) return true;
    if (event.op == Op::kAdd || was_there || event.signed_copy.empty()) return false;
  } else if (last && !was_there) {
    return false;
  }
  TRY(const std::optional<Seen> edited, last_seen(db, digest_of_copy(event)));
  return !edited;
}

Result<WallTime> feed_seen::announced(Connection& db, const Tag& tag, const std::string& uri) {
  return announced_as(db, digest_of(tag, uri));
}

}  // namespace tagring::db
