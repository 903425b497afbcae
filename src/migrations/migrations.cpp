#include "migrations/migrations.hpp"

#include <array>

namespace tagring::migrations {
namespace {

// Times are milliseconds since 1970. `key` is the 32 bytes of a tag's key, so that a ring segment is a
// range.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID, STRICT;
-- Numbers that only grow: sequences of feed and outbox, totals, incarnations. The last one given out.
CREATE TABLE counters(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID, STRICT;

-- Publisher: tags are sorted and joined by line feeds; none: deleted.
CREATE TABLE posts(
  uri TEXT PRIMARY KEY, author TEXT NOT NULL, published INTEGER NOT NULL, tags TEXT NOT NULL
) WITHOUT ROWID, STRICT;
CREATE INDEX posts_by_author ON posts(author, uri) WHERE tags <> '';
CREATE TABLE consents(
  author TEXT PRIMARY KEY, relay INTEGER NOT NULL, archive INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TABLE outbox(
  seq INTEGER PRIMARY KEY, ring INTEGER NOT NULL, replicas_left INTEGER NOT NULL,
  tag TEXT NOT NULL, op INTEGER NOT NULL, uri TEXT NOT NULL, author TEXT NOT NULL,
  published INTEGER NOT NULL, indexable INTEGER NOT NULL
) STRICT;

-- Relay.
CREATE TABLE feed(
  seq INTEGER PRIMARY KEY, accepted INTEGER NOT NULL,
  tag TEXT NOT NULL, op INTEGER NOT NULL, uri TEXT NOT NULL, author TEXT NOT NULL,
  published INTEGER NOT NULL, indexable INTEGER NOT NULL
) STRICT;
CREATE INDEX feed_by_time ON feed(accepted);
-- What was in the feed: digest of (tag, uri), the last op, and the hour since 1970 in which that came. In
-- order of time, so that forgetting takes from the front, and only one index is at random places.
CREATE TABLE feed_seen(
  id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, op INTEGER NOT NULL, hour INTEGER NOT NULL
) STRICT;

CREATE TABLE followers(
  tag TEXT NOT NULL, actor TEXT NOT NULL, inbox TEXT NOT NULL, follow_id TEXT NOT NULL,
  via INTEGER NOT NULL, since INTEGER NOT NULL, PRIMARY KEY(tag, actor)
) WITHOUT ROWID, STRICT;
CREATE INDEX followers_by_inbox ON followers(inbox);
-- Digests of followers collections, by server (delivery/partial.hpp). `collection`: a tag; empty: the node's actor.
CREATE TABLE partials(
  collection TEXT NOT NULL, authority TEXT NOT NULL, digest BLOB NOT NULL, count INTEGER NOT NULL,
  octets INTEGER NOT NULL, PRIMARY KEY(collection, authority)
) WITHOUT ROWID, STRICT;
-- Tags that have followers.
CREATE TABLE followed_tags(key BLOB PRIMARY KEY, tag TEXT NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE inboxes(inbox TEXT PRIMARY KEY, acknowledged INTEGER NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE letters(
  seq INTEGER PRIMARY KEY, actor TEXT NOT NULL, inbox TEXT NOT NULL, body TEXT NOT NULL,
  written INTEGER NOT NULL
) STRICT;

-- Instances that use this node as a relay, and whom the node follows itself.
CREATE TABLE permissions(
  host TEXT PRIMARY KEY, publishes INTEGER NOT NULL, receives INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TABLE links(
  actor TEXT NOT NULL, relay TEXT NOT NULL, host TEXT NOT NULL, inbox TEXT NOT NULL,
  delivery_inbox TEXT NOT NULL, follow TEXT NOT NULL, style INTEGER NOT NULL, accepted INTEGER NOT NULL,
  PRIMARY KEY(actor, relay)
) WITHOUT ROWID, STRICT;
CREATE TABLE own_follows(
  actor TEXT NOT NULL, object TEXT NOT NULL, inbox TEXT NOT NULL, follow_id TEXT NOT NULL,
  accepted INTEGER NOT NULL, since INTEGER NOT NULL, PRIMARY KEY(actor, object)
) WITHOUT ROWID, STRICT;
-- Why an instance gets a hashtag: who wants it (instances/tag_sources.hpp).
CREATE TABLE tag_reasons(
  host TEXT NOT NULL, source TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(host, source, tag)
) WITHOUT ROWID, STRICT;

-- Moderation.
CREATE TABLE blocks(
  kind INTEGER NOT NULL, what TEXT NOT NULL, reason TEXT NOT NULL, source TEXT NOT NULL, since INTEGER NOT NULL,
  PRIMARY KEY(kind, what)
) WITHOUT ROWID, STRICT;
CREATE TABLE separations(
  host TEXT NOT NULL, other TEXT NOT NULL, receive INTEGER NOT NULL, PRIMARY KEY(host, other, receive)
) WITHOUT ROWID, STRICT;

-- Histories on their way into instances: how far each is, where its pages begin and end (cursors), and what
-- an instance was sent by the replays under way.
CREATE TABLE replays(
  host TEXT NOT NULL, tag TEXT NOT NULL, newest_first INTEGER NOT NULL, not_before INTEGER NOT NULL,
  posts_max INTEGER NOT NULL, per_minute INTEGER NOT NULL, started INTEGER NOT NULL, state INTEGER NOT NULL,
  reason TEXT NOT NULL, found INTEGER NOT NULL, sent INTEGER NOT NULL, skipped INTEGER NOT NULL,
  pages INTEGER NOT NULL, pages_done INTEGER NOT NULL, at TEXT NOT NULL, newest INTEGER NOT NULL,
  oldest INTEGER NOT NULL, failing_since INTEGER NOT NULL, PRIMARY KEY(host, tag)
) WITHOUT ROWID, STRICT;
CREATE TABLE replay_pages(
  host TEXT NOT NULL, tag TEXT NOT NULL, page INTEGER NOT NULL, after TEXT NOT NULL, last TEXT NOT NULL,
  PRIMARY KEY(host, tag, page)
) WITHOUT ROWID, STRICT;
CREATE TABLE replay_sent(
  host TEXT NOT NULL, digest INTEGER NOT NULL, PRIMARY KEY(host, digest)
) WITHOUT ROWID, STRICT;

-- As a FASP (fasp/fasp_store.hpp): servers that this node is registered with, what they told of and is not looked
-- at yet, requests for old posts, and what is to be looked at again.
CREATE TABLE fasp_servers(
  host TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, base_url TEXT NOT NULL, fasp_id TEXT NOT NULL,
  own_key TEXT NOT NULL, server_key BLOB NOT NULL, completion_url TEXT NOT NULL, since INTEGER NOT NULL,
  shares INTEGER NOT NULL, hashtags INTEGER NOT NULL, content_subscription TEXT NOT NULL,
  account_subscription TEXT NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TABLE fasp_news(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, server TEXT NOT NULL, uri TEXT NOT NULL, account INTEGER NOT NULL,
  gone INTEGER NOT NULL, since INTEGER NOT NULL, UNIQUE(server, uri)
) STRICT;
CREATE TABLE fasp_backfills(
  server TEXT PRIMARY KEY, id TEXT NOT NULL, wanted INTEGER NOT NULL, received INTEGER NOT NULL,
  more INTEGER NOT NULL, since INTEGER NOT NULL, asked INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TABLE fasp_posts(
  uri TEXT PRIMARY KEY, checked INTEGER NOT NULL, due INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE INDEX fasp_posts_by_due ON fasp_posts(due);

-- Subscriber.
CREATE TABLE wants(tag TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY(tag, reason)) WITHOUT ROWID, STRICT;
CREATE TABLE subscriptions(
  tag TEXT NOT NULL, owner TEXT NOT NULL, follow_id TEXT NOT NULL, accepted INTEGER NOT NULL,
  PRIMARY KEY(tag, owner)
) WITHOUT ROWID, STRICT;

-- Storage: see history_codec.hpp for form and tail, history_store.cpp for tie and digest.
CREATE TABLE history_tags(id INTEGER PRIMARY KEY, tag TEXT NOT NULL UNIQUE, key BLOB NOT NULL UNIQUE) STRICT;
CREATE TABLE history_strings(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE history_authors(
  id INTEGER PRIMARY KEY, prefix INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE(prefix, name)
) STRICT;
CREATE TABLE history(
  tag INTEGER NOT NULL, published INTEGER NOT NULL, tie TEXT NOT NULL, author INTEGER NOT NULL,
  form INTEGER NOT NULL, tail ANY, removed INTEGER NOT NULL, PRIMARY KEY(tag, published, tie)
) WITHOUT ROWID, STRICT;
CREATE TABLE history_uris(
  digest INTEGER NOT NULL, published INTEGER NOT NULL, PRIMARY KEY(digest, published)
) WITHOUT ROWID, STRICT;
CREATE TABLE history_hours(
  tag INTEGER NOT NULL, hour INTEGER NOT NULL, posts INTEGER NOT NULL, digest INTEGER NOT NULL,
  PRIMARY KEY(tag, hour)
) WITHOUT ROWID, STRICT;
)sql";

constexpr const char* kVersion2 = R"sql(
-- What owners signed that they took (audit/receipt_store.hpp). An id is that of the one before and what
-- this one takes in bytes, so that a number of bytes is a range of ids.
CREATE TABLE receipt_keys(id INTEGER PRIMARY KEY, pem TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE receipts(
  id INTEGER PRIMARY KEY, kept INTEGER NOT NULL, key INTEGER NOT NULL, receipt TEXT NOT NULL, items TEXT NOT NULL
) STRICT;
CREATE TABLE receipt_tags(tag TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY(tag, id)) WITHOUT ROWID, STRICT;
CREATE INDEX receipt_tags_by_id ON receipt_tags(id);

-- Posts with removed = 2 in the history are taken down here. `post` is the SHA-256 of the URI.
CREATE TABLE take_downs(
  tag TEXT NOT NULL, post BLOB NOT NULL, notice TEXT NOT NULL, PRIMARY KEY(tag, post)
) WITHOUT ROWID, STRICT;
-- Older posts of the tag were let go. Their hours stay in the digests, those before kept_from as one.
ALTER TABLE history_tags ADD COLUMN kept_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE history_tags ADD COLUMN posts INTEGER NOT NULL DEFAULT 0;
UPDATE history_tags SET posts = (SELECT count(*) FROM history h WHERE h.tag = history_tags.id);
)sql";

constexpr const char* kVersion3 = R"sql(
-- Among how many owners histories are divided (storage/history.hpp).
CREATE TABLE history_sets(
  tag TEXT PRIMARY KEY, version INTEGER NOT NULL, replicas INTEGER NOT NULL, reach INTEGER NOT NULL,
  at INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
-- A row of history_tags is a shelf (redundancy/partition.hpp). What was on it before that time was dropped, since
-- owners of another shelf have it.
ALTER TABLE history_tags ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr const char* kVersion4 = R"sql(
-- The reports of the last audits, as JSON; greater for later ones.
CREATE TABLE audits(id INTEGER PRIMARY KEY, report TEXT NOT NULL) STRICT;
)sql";

constexpr const char* kVersion5 = R"sql(
-- Who waits for the administrator does not wait for ever.
ALTER TABLE links ADD COLUMN since INTEGER NOT NULL DEFAULT 0;
UPDATE links SET since = 1000 * CAST(strftime('%s', 'now') AS INTEGER);
)sql";

constexpr const char* kVersion6 = R"sql(
-- Ids of the last Follows of each actor here, so that a late Undo of a former one does not end the present one.
CREATE TABLE recent_follows(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, actor TEXT NOT NULL, object TEXT NOT NULL, follow_id TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX recent_follows_by_actor ON recent_follows(actor, object, seq);
CREATE INDEX recent_follows_by_time ON recent_follows(at);
-- Authors who blocked a hashtag actor of this node; tag empty: the node's own (federation/blocks.hpp).
CREATE TABLE refusals(author TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(author, tag)) WITHOUT ROWID, STRICT;
-- When authors are looked at again (publisher/consents.hpp): those who are known, within three days.
CREATE TABLE profile_looks(
  author TEXT PRIMARY KEY, due INTEGER NOT NULL, missing INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE INDEX profile_looks_by_due ON profile_looks(due);
-- Posts whose deletion came before they did.
CREATE TABLE buried(uri TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID, STRICT;
CREATE INDEX buried_by_time ON buried(at);
-- What the author's server signed (delivery/store.hpp).
ALTER TABLE outbox ADD COLUMN signed_copy TEXT NOT NULL DEFAULT '';
ALTER TABLE feed ADD COLUMN signed_copy TEXT NOT NULL DEFAULT '';
INSERT INTO profile_looks SELECT author, unixepoch() * 1000 + abs(random() % 259200000), 0 FROM consents;
)sql";

constexpr const char* kVersion7 = R"sql(
-- What several lists block is blocked as long as one of them does.
CREATE TABLE blocks_by_source(
  kind INTEGER NOT NULL, what TEXT NOT NULL, reason TEXT NOT NULL, source TEXT NOT NULL, since INTEGER NOT NULL,
  PRIMARY KEY(kind, what, source)
) WITHOUT ROWID, STRICT;
INSERT INTO blocks_by_source SELECT kind, what, reason, source, since FROM blocks;
DROP TABLE blocks;
ALTER TABLE blocks_by_source RENAME TO blocks;
)sql";

constexpr const char* kVersion8 = R"sql(
-- What others complained of (reports/report_store.hpp). `about` and `forwarded`: JSON arrays of URIs.
CREATE TABLE reports(
  id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, activity TEXT NOT NULL UNIQUE,
  reporter TEXT NOT NULL, comment TEXT NOT NULL, about TEXT NOT NULL, forwarded TEXT NOT NULL,
  open INTEGER NOT NULL
) STRICT;
CREATE INDEX reports_by_state ON reports(open, id);
)sql";

constexpr const char* kVersion9 = R"sql(
-- Servers of which nobody follows a collection any more, in the order in which the last one left.
CREATE TABLE former_servers(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, authority TEXT NOT NULL, inbox TEXT NOT NULL,
  UNIQUE(collection, authority)
) STRICT;
-- When the node's actor (tag '') and those of hashtags came to be.
CREATE TABLE actors(tag TEXT PRIMARY KEY, since INTEGER NOT NULL) WITHOUT ROWID, STRICT;
)sql";

constexpr const char* kVersion10 = R"sql(
-- How many authors a day a replay brings; which it has brought on `day` (days since 1970), a line each.
ALTER TABLE replays ADD COLUMN authors_per_day INTEGER NOT NULL DEFAULT 0;
ALTER TABLE replays ADD COLUMN authors_today TEXT NOT NULL DEFAULT '';
ALTER TABLE replays ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr const char* kVersion11 = R"sql(
-- Who changed what (administrators/changes.hpp).
CREATE TABLE changes(
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, who TEXT NOT NULL, does TEXT NOT NULL, about TEXT NOT NULL,
  outcome TEXT NOT NULL
) STRICT;
)sql";

constexpr const char* kVersion12 = R"sql(
-- A post without hashtags is not deleted, and keeps those that it had (`former`).
ALTER TABLE posts ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE posts ADD COLUMN former TEXT NOT NULL DEFAULT '';
UPDATE posts SET deleted = 1 WHERE tags = '';
-- Hashtags of posts that were over the limits, and when they are tried again.
CREATE TABLE put_off(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, uri TEXT NOT NULL UNIQUE, author TEXT NOT NULL,
  published INTEGER NOT NULL, tags TEXT NOT NULL, due INTEGER NOT NULL
) STRICT;
CREATE INDEX put_off_by_author ON put_off(author);
)sql";

constexpr const char* kVersion13 = R"sql(
-- Posts that an owner may have signed that it took in that hour (since 1970), and has there no more since their
-- servers said otherwise. `post` is the SHA-256 of the URI.
CREATE TABLE history_corrected(
  tag INTEGER NOT NULL, hour INTEGER NOT NULL, post BLOB NOT NULL, PRIMARY KEY(tag, hour, post)
) WITHOUT ROWID, STRICT;
-- Who was proved to have dropped posts, by what was signed then (audit/offences.hpp).
CREATE TABLE offences(origin TEXT PRIMARY KEY, at INTEGER NOT NULL, evidence TEXT NOT NULL) WITHOUT ROWID, STRICT;
)sql";

constexpr const char* kVersion14 = R"sql(
-- When a post was edited so that a hashtag left it, or came back (belief::version_of).
ALTER TABLE posts ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed ADD COLUMN announced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_seen ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE history ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
-- By the digest of feed_seen, of the Add that was announced last, if that was of an edit: its Undo names the same id.
CREATE TABLE announced(digest BLOB PRIMARY KEY, changed INTEGER NOT NULL) WITHOUT ROWID, STRICT;
)sql";

constexpr const char* kVersion15 = R"sql(
-- When the author's server signed it; 0: it was fetched.
ALTER TABLE consents ADD COLUMN stated INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr const char* kVersion16 = R"sql(
-- Which inboxes were told of an entry, where that is not plain (delivery/told_notes.hpp).
ALTER TABLE feed ADD COLUMN told TEXT NOT NULL DEFAULT '';
-- Of a removal: the place of what it takes back. 0: not known.
ALTER TABLE feed ADD COLUMN added INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_seen ADD COLUMN added INTEGER NOT NULL DEFAULT 0;
-- Since when an inbox is not there (0: it is), and refuses, and how often in a row.
ALTER TABLE inboxes ADD COLUMN gone_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inboxes ADD COLUMN refusing_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inboxes ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr const char* kVersion17 = R"sql(
-- Not deleted, but edited then so that it is under no hashtag; 0: deleted.
ALTER TABLE buried ADD COLUMN edited INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr const char* kVersion18 = R"sql(
-- What authors' servers signed about the end of posts and accounts, by SHA-256 in hex: given out for some days.
CREATE TABLE signed_deletions(
  seq INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, body TEXT NOT NULL, kept INTEGER NOT NULL
) STRICT;
-- Removals of the feed whose signed copies have still to be handed on to followers, by their places there.
CREATE TABLE copies_owed(
  seq INTEGER PRIMARY KEY, accepted INTEGER NOT NULL, tag TEXT NOT NULL, uri TEXT NOT NULL, author TEXT NOT NULL,
  signed_copy TEXT NOT NULL, changed INTEGER NOT NULL, added INTEGER NOT NULL
) STRICT;
)sql";

constexpr const char* kVersion19 = R"sql(
-- On how many days an inbox took nothing that it was sent, and when the last of them began.
ALTER TABLE inboxes ADD COLUMN silent_days INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inboxes ADD COLUMN silent_at INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr const char* kVersion20 = R"sql(
-- Those without hashtags, too: who got them has them still, and is told when the account ends.
CREATE INDEX posts_former_by_author ON posts(author, uri) WHERE deleted = 0 AND tags = '';
)sql";

constexpr const char* kVersion21 = R"sql(
-- Posts that the node was only told of, and has not looked at: a restart goes on with them.
CREATE INDEX history_heard ON history(tag, published, tie) WHERE removed = 0 AND changed <= -9223372036854775807;
)sql";

constexpr std::array kMigrations = {
    Migration{kVersion1, "makes the tables"},
    Migration{kVersion2, "makes room for receipts and take-downs, and counts the posts of each hashtag",
              "SELECT count(*) FROM history_tags"},
    Migration{kVersion3, "makes room for divided histories"},
    Migration{kVersion4, "makes room for reports of audits"},
    Migration{kVersion5, "notes since when others wait for the administrator", "SELECT count(*) FROM links"},
    Migration{kVersion6, "makes room for refusals and signed copies, and plans looks at profiles"},
    Migration{kVersion7, "copies the blocks, one for each list"},
    Migration{kVersion8, "makes room for reports of others"},
    Migration{kVersion9, "makes room for servers that follow no more, and for when actors came to be"},
    Migration{kVersion10, "lets replays bring few authors a day"},
    Migration{kVersion11, "makes room for what administrators change"},
    Migration{kVersion12, "tells posts without hashtags from deleted ones, and makes room for those put off"},
    Migration{kVersion13, "makes room for what was corrected, and for evidence"},
    Migration{kVersion14, "lets hashtags that are put back come back"},
    Migration{kVersion15, "makes room for when authors said what they wish"},
    Migration{kVersion16, "makes room for who was told, and for who refuses"},
    Migration{kVersion17, "makes room for edits that come before their posts"},
    Migration{kVersion18, "makes room for signed deletions"},
    Migration{kVersion19, "makes room for who takes nothing for days"},
    Migration{kVersion20, "finds an author's posts without hashtags, too"},
    Migration{kVersion21, "finds the posts that nobody has looked at"}};

}  // namespace

std::span<const Migration, kCount> all() { return kMigrations; }

}  // namespace tagring::migrations
