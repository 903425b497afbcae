// The part of SqliteRelayStore that is about authors: what they have published here, to what they consent,
// when their profiles are looked at again, until when posts are known, and which are put off.
#include "db/relay_store.hpp"
#include "delivery/store.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::db {

using namespace sql;

namespace {

// The time of it. Where an older program has written since it may be too early, never too late.
constexpr const char* kNewestPost = "posts:newest";

const char* counter_of(delivery::Store::KnownOf whom) {
  return whom == delivery::Store::KnownOf::kSources ? "outboxes:known_until" : "outboxes:people_known_until";
}

// Whose authors are of that registered domain, which SQL does not know.
Result<std::uint64_t> count_put_off_of(Connection& db, const std::string& domain) {
  std::uint64_t found = 0;
  Statement row = db.query("SELECT author, count(*) FROM put_off GROUP BY author");
  for (;;) {
    TRY(const bool more, row.step());
    if (!more) return found;
    if (row.view(0).contains(domain) && ring::domain_of(host_of(row.text(0))) == domain)
      found += row.number(1);
  }
}

// Of a post without hashtags nothing is known but that it is to be looked at: what waits for more stays so.
Result<bool> insert_put_off(Connection& db, const delivery::PublishedPost& post, WallTime due) {
  TRY(const std::int64_t changed,
      post.tags.empty()
          ? db.run("UPDATE put_off SET due = ? WHERE uri = ?", due, post.uri)
          : db.run("UPDATE put_off SET author = ?2, published = ?3, tags = ?4, due = ?5 WHERE uri = ?1",
                   post.uri, post.author, post.published, join_tags(post.tags), due));
  if (changed > 0) return true;
  TRY(const std::uint64_t all, number_in(db.query("SELECT count(*) FROM put_off")));
  if (all >= delivery::Store::kPutOffMax) return false;
  TRY(const std::uint64_t of_author,
      number_in(db.query("SELECT count(*) FROM put_off WHERE author = ?", post.author)));
  if (of_author >= delivery::Store::kPutOffOfAuthorMax) return false;
  const std::uint64_t free = delivery::Store::kPutOffMax - all;
  if (all >= free) {
    TRY(const std::uint64_t of_domain, count_put_off_of(db, ring::domain_of(host_of(post.author))));
    if (of_domain >= free) return false;
  }
  TRY_VOID(db.run("INSERT INTO put_off(uri, author, published, tags, due) VALUES(?, ?, ?, ?, ?)", post.uri,
                  post.author, post.published, join_tags(post.tags), due));
  return true;
}

}  // namespace

// Posts are kept for ever, and have no index by time. They are looked at once, where there were some before
// this was noted.
Result<void> note_written(Connection& db, WallTime published) {
  return db.send(
      "INSERT INTO counters(name, value) VALUES(?1, CASE WHEN EXISTS (SELECT 1 FROM counters WHERE name = ?1)"
      " THEN CAST(?2 AS BIGINT) ELSE (SELECT max(published) FROM posts) END) ON CONFLICT(name) DO UPDATE SET"
      " value = excluded.value WHERE excluded.value > counters.value",
      kNewestPost, published);
}

Task<Result<WallTime>> SqliteRelayStore::newest_post() {
  return database_.read([](Connection& db) -> Result<WallTime> {
    Statement noted = db.query("SELECT value FROM counters WHERE name = ?", kNewestPost);
    TRY(const bool is_noted, noted.step());
    if (is_noted) return noted.time(0);
    // An older program has written all that there is.
    Statement newest = db.query("SELECT max(published) FROM posts");
    TRY_VOID(newest.step());
    return newest.type(0) == Type::kNull ? WallTime::min() : newest.time(0);
  });
}

Task<Result<void>> SqliteRelayStore::save_known_until(KnownOf whom, std::optional<WallTime> known_until) {
  return database_.write([whom, known_until](Connection& db) -> Result<void> {
    TRY_VOID(known_until
                 ? db.run("INSERT INTO counters(name, value) VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET"
                          " value = excluded.value",
                          counter_of(whom), *known_until)
                 : db.run("DELETE FROM counters WHERE name = ?", counter_of(whom)));
    return {};
  });
}

Task<Result<std::optional<WallTime>>> SqliteRelayStore::known_until(KnownOf whom) {
  return database_.read([whom](Connection& db) -> Result<std::optional<WallTime>> {
    Statement known = db.query("SELECT value FROM counters WHERE name = ?", counter_of(whom));
    TRY(const bool row, known.step());
    if (!row) return std::nullopt;
    return known.time(0);
  });
}

Task<Result<std::vector<delivery::PublishedPost>>> SqliteRelayStore::posts_of(std::string author,
                                                                              std::string after_uri,
                                                                              std::size_t limit,
                                                                              PostsOf which) {
  return database_.read([author = std::move(author), after = std::move(after_uri), limit,
                         which](Connection& db) -> Result<std::vector<delivery::PublishedPost>> {
    return all_rows<delivery::PublishedPost>(
        which == PostsOf::kRelayed
            ? db.query("SELECT uri, published, tags, former FROM posts WHERE author = ? AND uri > ?"
                       " AND tags <> '' ORDER BY uri LIMIT ?",
                       author, after, limit)
            // Each has an index of its own.
            : db.query("SELECT * FROM (SELECT uri, published, tags, former FROM posts WHERE author = ?"
                       " AND uri > ? AND tags <> '' ORDER BY uri LIMIT ?) AS relayed UNION ALL"
                       " SELECT * FROM (SELECT uri, published, tags, former FROM posts WHERE author = ?"
                       " AND uri > ? AND deleted = 0 AND tags = '' ORDER BY uri LIMIT ?) AS others"
                       " ORDER BY uri LIMIT ?",
                       author, after, limit, author, after, limit, limit),
        [&author](const Statement& row) {
          delivery::PublishedPost post{row.text(0), author, row.time(1), split_tags(row.view(2))};
          post.former = split_tags(row.view(3));
          return post;
        });
  });
}

Task<Result<std::vector<delivery::PublishedPost>>> SqliteRelayStore::posts_after(std::string author,
                                                                                 std::string uri,
                                                                                 std::size_t limit) {
  return database_.read([author = std::move(author), uri = std::move(uri),
                         limit](Connection& db) -> Result<std::vector<delivery::PublishedPost>> {
    return all_rows<delivery::PublishedPost>(
        db.query("SELECT uri, author, published, tags FROM posts WHERE tags <> ''"
                 " AND (author, uri) > (?, ?) ORDER BY author, uri LIMIT ?",
                 author, uri, limit),
        [](const Statement& row) {
          return delivery::PublishedPost{row.text(0), row.text(1), row.time(2), split_tags(row.view(3))};
        });
  });
}

Task<Result<std::vector<delivery::Store::Written>>> SqliteRelayStore::written_after(std::string uri,
                                                                                    std::size_t limit) {
  return database_.read([uri = std::move(uri), limit](Connection& db) -> Result<std::vector<Written>> {
    // Each counts, or where most have no hashtags any more it would look at far more than that.
    return all_rows<Written>(
        db.query("SELECT uri, author, published, tags FROM posts WHERE uri > ? ORDER BY uri LIMIT ?", uri,
                 limit),
        [](const Statement& row) {
          return Written{row.text(0), row.text(1), row.time(2), !row.view(3).empty()};
        });
  });
}

Task<Result<std::optional<delivery::Consent>>> SqliteRelayStore::consent(std::string author) {
  return database_.read(
      [author = std::move(author)](Connection& db) -> Result<std::optional<delivery::Consent>> {
        Statement row = db.query("SELECT relay, archive, stated FROM consents WHERE author = ?", author);
        TRY(const bool found, row.step());
        if (!found) return std::nullopt;
        return delivery::Consent{row.integer(0) != 0, row.integer(1) != 0, row.time(2)};
      });
}

Task<Result<void>> SqliteRelayStore::save_consent(std::string author, delivery::Consent consent) {
  return database_.write([author = std::move(author), consent](Connection& db) -> Result<void> {
    TRY_VOID(
        db.run("INSERT INTO consents(author, relay, archive, stated) VALUES(?, ?, ?, ?) ON CONFLICT(author)"
               " DO UPDATE SET relay = excluded.relay, archive = excluded.archive, stated = excluded.stated",
               author, consent.relay, consent.archive, consent.stated));
    return {};
  });
}

Task<Result<void>> SqliteRelayStore::save_look(delivery::ProfileLook look) {
  return database_.write([l = std::move(look)](Connection& db) -> Result<void> {
    TRY_VOID(
        db.run("INSERT INTO profile_looks(author, due, missing) VALUES(?, ?, ?) ON CONFLICT(author) DO UPDATE"
               " SET due = excluded.due, missing = excluded.missing",
               l.author, l.due, l.missing));
    return {};
  });
}

Task<Result<void>> SqliteRelayStore::drop_look(std::string author) {
  return database_.write([author = std::move(author)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM profile_looks WHERE author = ?", author));
    return {};
  });
}

Task<Result<std::vector<delivery::ProfileLook>>> SqliteRelayStore::looks_due(WallTime now,
                                                                             std::size_t limit) {
  // By a date that is behind, all would be.
  const WallTime ahead = date_.is_believed() ? now + kLookWithin : WallTime::max();
  return database_.read([now, ahead, limit](Connection& db) -> Result<std::vector<delivery::ProfileLook>> {
    return all_rows<delivery::ProfileLook>(
        db.query("SELECT * FROM (SELECT author, due, missing FROM profile_looks WHERE due <= ?"
                 " ORDER BY due LIMIT ?) AS late UNION ALL"
                 " SELECT * FROM (SELECT author, due, missing FROM profile_looks WHERE due > ?"
                 " ORDER BY due LIMIT ?) AS ahead ORDER BY due LIMIT ?",
                 now, limit, ahead, limit, limit),
        [](const Statement& row) {
          return delivery::ProfileLook{row.text(0), row.time(1), static_cast<unsigned>(row.integer(2))};
        });
  });
}

// --- posts put off -----------------------------------------------------------------------------------------

Task<Result<bool>> SqliteRelayStore::put_off(delivery::PublishedPost post, WallTime due) {
  return database_.write(
      [post = std::move(post), due](Connection& db) { return insert_put_off(db, post, due); });
}

Task<Result<void>> SqliteRelayStore::drop_put_off(std::string uri, WallTime due) {
  return database_.write([uri = std::move(uri), due](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM put_off WHERE uri = ? AND (due <= ? OR due - ? > ?)", uri, due,
                    kPutOffFor.count(), due));
    return {};
  });
}

Task<Result<void>> SqliteRelayStore::drop_tags_put_off(std::string uri) {
  return database_.write([uri = std::move(uri)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM put_off WHERE uri = ? AND tags <> ''", uri));
    return {};
  });
}

Task<Result<void>> SqliteRelayStore::drop_put_off_of(std::string author) {
  return database_.write([author = std::move(author)](Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM put_off WHERE author = ?", author));
    return {};
  });
}

Task<Result<std::vector<delivery::PublishedPost>>> SqliteRelayStore::put_off_until(WallTime now,
                                                                                   std::size_t limit) {
  return database_.read([now, limit](Connection& db) -> Result<std::vector<delivery::PublishedPost>> {
    return all_rows<delivery::PublishedPost>(
        // What is due too far ahead was put off by a clock that was wrong.
        db.query("SELECT uri, author, published, tags FROM put_off WHERE due <= ?1 OR due > ?2"
                 " ORDER BY CASE WHEN due > ?2 THEN 0 ELSE due END, seq LIMIT ?3",
                 now, now + kPutOffFor, limit),
        [](const Statement& row) {
          return delivery::PublishedPost{row.text(0), row.text(1), row.time(2), split_tags(row.view(3))};
        });
  });
}

Task<Result<std::uint64_t>> SqliteRelayStore::count_put_off() {
  return database_.read([](Connection& db) { return number_in(db.query("SELECT count(*) FROM put_off")); });
}

}  // namespace tagring::db
