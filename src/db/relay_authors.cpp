// The part of SqliteRelayStore that is about authors: what they have published here, to what they consent,
// and when their profiles are looked at again.
#include "db/relay_store.hpp"
#include "delivery/store.hpp"

namespace tagring::db {

using namespace sql;

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

}  // namespace tagring::db
