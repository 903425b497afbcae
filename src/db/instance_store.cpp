#include "db/instance_store.hpp"

#include "db/partials.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using instances::Link;
using instances::OwnFollow;
using instances::Permission;

// Every row of `sql`, each read by `read`.
template <class T, class Read>
Task<Result<std::vector<T>>> read_all(Database& database, const char* sql, Read read) {
  return database.read(
      [sql, read](Connection& db) -> Result<std::vector<T>> { return all_rows<T>(db.query(sql), read); });
}

// In place of the object of a Follow: it was undone before it came; its id was that of an Undo. Those are
// kinds of their own: some servers (Misskey, of people; Mastodon's repairs by FEP-8fcf) undo all Follows of a
// pair by one id, which is none of a Follow.
constexpr const char* kNothing = "";
constexpr const char* kUndone = "undone";

Result<void> insert_follow(Connection& db, const std::string& actor, const std::string& object,
                           const std::string& id, WallTime now) {
  TRY_VOID(db.run("DELETE FROM recent_follows WHERE at < ?", now - SqliteInstanceStore::kFollowsKept));
  TRY_VOID(db.run("DELETE FROM recent_follows WHERE actor = ? AND object = ? AND follow_id = ?", actor,
                  object, id));
  TRY_VOID(db.run("INSERT INTO recent_follows(actor, object, follow_id, at) VALUES(?, ?, ?, ?)", actor,
                  object, id, now));
  // Who follows and undoes all day keeps the last ones.
  TRY_VOID(
      db.run("DELETE FROM recent_follows WHERE actor = ?1 AND object = ?2 AND seq <= (SELECT seq FROM "
             "recent_follows"
             " WHERE actor = ?1 AND object = ?2 ORDER BY seq DESC LIMIT 1 OFFSET 8)",
             actor, object));
  return {};
}

}  // namespace

Task<Result<void>> SqliteInstanceStore::permit(Permission permission) {
  return database_.write([p = std::move(permission)](Connection& db) -> Result<void> {
    TRY_VOID(db.run(
        "INSERT INTO permissions(host, publishes, receives) VALUES(?, ?, ?) ON CONFLICT(host) DO UPDATE"
        " SET publishes = excluded.publishes, receives = excluded.receives",
        p.host, p.publishes, p.receives));
    return {};
  });
}

Task<Result<std::vector<Permission>>> SqliteInstanceStore::permissions() {
  return read_all<Permission>(
      database_, "SELECT host, publishes, receives FROM permissions ORDER BY host",
      [](const Statement& row) { return Permission{row.text(0), row.integer(1) != 0, row.integer(2) != 0}; });
}

Task<Result<void>> SqliteInstanceStore::save_link(Link link) {
  return database_.write([l = std::move(link)](Connection& db) -> Result<void> {
    TRY_VOID(db.send("DELETE FROM links WHERE actor = ? AND relay = ?", l.actor, l.relay));
    TRY_VOID(
        db.run("INSERT INTO links(actor, relay, host, inbox, delivery_inbox, follow, style, accepted,"
               " since) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
               l.actor, l.relay, l.host, l.inbox, l.delivery_inbox, l.follow, static_cast<int>(l.style),
               l.accepted, l.since));
    return {};
  });
}

Task<Result<void>> SqliteInstanceStore::drop_link(std::string actor, std::string relay,
                                                  std::optional<delivery::Store::FormerServer> left) {
  return database_.write([actor = std::move(actor), relay = std::move(relay),
                          left = std::move(left)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM links WHERE actor = ? AND relay = ?", actor, relay));
    if (!left) return {};
    return note_former(db, left->key, left->inbox);
  });
}

Task<Result<std::vector<Link>>> SqliteInstanceStore::links() {
  return read_all<Link>(
      database_,
      "SELECT actor, relay, host, inbox, delivery_inbox, follow, style, accepted, since FROM links"
      " ORDER BY host, actor, relay",
      [](const Statement& row) {
        return Link{row.text(0),
                    row.text(1),
                    row.text(2),
                    row.text(3),
                    row.text(4),
                    row.text(5),
                    static_cast<instances::Style>(row.integer(6)),
                    row.integer(7) != 0,
                    row.time(8)};
      });
}

Task<Result<void>> SqliteInstanceStore::save_own_follow(OwnFollow follow) {
  return database_.write([f = std::move(follow)](Connection& db) -> Result<void> {
    TRY_VOID(db.send("DELETE FROM own_follows WHERE actor = ? AND object = ?", f.actor, f.object));
    TRY_VOID(
        db.run("INSERT INTO own_follows(actor, object, inbox, follow_id, accepted, since)"
               " VALUES(?, ?, ?, ?, ?, ?)",
               f.actor, f.object, f.inbox, f.follow_id, f.accepted, f.since));
    return {};
  });
}

Task<Result<void>> SqliteInstanceStore::drop_own_follow(std::string actor, std::string object) {
  return database_.write(
      [actor = std::move(actor), object = std::move(object)](Connection& db) -> Result<void> {
        TRY_VOID(db.run("DELETE FROM own_follows WHERE actor = ? AND object = ?", actor, object));
        return {};
      });
}

Task<Result<std::vector<OwnFollow>>> SqliteInstanceStore::own_follows() {
  return read_all<OwnFollow>(
      database_,
      "SELECT actor, object, inbox, follow_id, accepted, since FROM own_follows ORDER BY actor, object",
      [](const Statement& row) {
        return OwnFollow{row.text(0), row.text(1),         row.text(2),
                         row.text(3), row.integer(4) != 0, row.time(5)};
      });
}

Task<Result<void>> SqliteInstanceStore::save_tag_source(std::string host, std::string source,
                                                        std::vector<std::string> tags) {
  return database_.write([host = std::move(host), source = std::move(source),
                          tags = std::move(tags)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM tag_reasons WHERE host = ? AND source = ?", host, source));
    for (const std::string& tag : tags) {
      TRY_VOID(db.send("INSERT INTO tag_reasons(host, source, tag) VALUES(?, ?, ?) ON CONFLICT DO NOTHING",
                       host, source, tag));
    }
    return {};
  });
}

Task<Result<std::vector<instances::TagReason>>> SqliteInstanceStore::tag_reasons() {
  return read_all<instances::TagReason>(
      database_, "SELECT host, tag, source FROM tag_reasons ORDER BY host, source, tag",
      [](const Statement& row) { return instances::TagReason{row.text(0), row.text(1), row.text(2)}; });
}

Task<Result<void>> SqliteInstanceStore::note_follow(std::string actor, std::string object,
                                                    std::string follow_id, WallTime now) {
  return database_.write([actor = std::move(actor), object = std::move(object), id = std::move(follow_id),
                          now](Connection& db) { return insert_follow(db, actor, object, id, now); });
}

Task<Result<bool>> SqliteInstanceStore::is_former_follow(std::string actor, std::string object,
                                                         std::string follow_id) {
  return database_.read([actor = std::move(actor), object = std::move(object),
                         id = std::move(follow_id)](Connection& db) -> Result<bool> {
    Statement row = db.query(
        "SELECT 1 FROM recent_follows a JOIN recent_follows b USING(actor, object) WHERE actor = ? AND "
        "object "
        "= ? AND a.follow_id = ? AND b.seq > a.seq LIMIT 1",
        actor, object, id);
    return row.step();
  });
}

Task<Result<void>> SqliteInstanceStore::note_undo(std::string actor, std::string follow_id, bool has_ended,
                                                  WallTime now) {
  return database_.write(
      [actor = std::move(actor), id = std::move(follow_id), has_ended, now](Connection& db) -> Result<void> {
        if (has_ended) return insert_follow(db, actor, kUndone, id, now);
        Statement row =
            db.query("SELECT 1 FROM recent_follows WHERE actor = ? AND follow_id = ? LIMIT 1", actor, id);
        TRY(const bool is_known, row.step());
        return is_known ? Result<void>() : insert_follow(db, actor, kNothing, id, now);
      });
}

Task<Result<bool>> SqliteInstanceStore::is_undone(std::string actor, std::string follow_id) {
  return database_.read(
      [actor = std::move(actor), id = std::move(follow_id)](Connection& db) -> Result<bool> {
        Statement row =
            db.query("SELECT 1 FROM recent_follows WHERE actor = ? AND object = ? AND follow_id = ? LIMIT 1",
                     actor, kNothing, id);
        return row.step();
      });
}

// Its id is known from then on: where all Follows of a pair have one, the next Undo has not overtaken any.
Task<Result<bool>> SqliteInstanceStore::take_undone(std::string actor, std::string follow_id, WallTime now) {
  return database_.write(
      [actor = std::move(actor), id = std::move(follow_id), now](Connection& db) -> Result<bool> {
        TRY(const std::int64_t taken,
            db.run("DELETE FROM recent_follows WHERE actor = ? AND object = ? AND follow_id = ?", actor,
                   kNothing, id));
        if (taken == 0) return false;
        TRY_VOID(insert_follow(db, actor, kUndone, id, now));
        return true;
      });
}

}  // namespace tagring::db
