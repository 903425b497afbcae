// A database of the oldest version that PostgreSQL has had, or of one of the last two, with a row in every
// table, becomes one of today: in both kinds of database.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sstream>

#include "crypto/hash.hpp"
#include "db_history/history_rows.hpp"
#include "sql/keys.hpp"
#include "sql/tables.hpp"
#include "storage/statements.hpp"
#include "tests/db/fixture.hpp"
#include "tests/db/writes.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using ::testing::MatchesRegex;

const std::string kWriter = "https://a.example/users/u";
const std::string kPost = kWriter + "/statuses/1";
const std::string kFollower = "https://f.example/users/f";
const std::string kInbox = "https://f.example/inbox";

// What is taken of the hash of a hashtag's post there.
Blob seen_digest(std::string* bytes) {
  const auto hash = crypto::sha3_256(std::string("cats") + '\0' + kPost);
  *bytes = std::string(hash.begin(), hash.begin() + 16);
  return Blob{*bytes};
}

// Rows as nodes of that version had them; where the database gives numbers it gives them here. The dates are
// of 1970, so that the history has them in its partition for other years.
class Older {
 public:
  Older(Connection& db, int version) : db_(db) {
    relay();
    followers();
    instances();
    replays_and_fasp();
    moderation();
    history();
    receipts();
    later(version);
  }

 private:
  template <class... Args>
  void write(const char* sql, const Args&... args) {
    const Result<std::int64_t> changed = db_.run(sql, args...);
    ASSERT_TRUE(changed) << sql << ": " << changed.error().message;
    ASSERT_EQ(*changed, 1) << sql;
  }

  void relay() {
    std::string digest;
    for (const auto& [name, last] : std::map<std::string, int>{
             {"feed", 8}, {"outbox", 3}, {"letters", 2}, {"history_tags", 1}, {"history_entries", 1}})
      write("INSERT INTO counters(name, value) VALUES(?, ?)", name, last);
    write("INSERT INTO meta(name, value) VALUES('key', ?)", Blob{std::string_view("\0\xff'", 3)});
    write("INSERT INTO posts(uri, author, published, tags) VALUES(?, ?, 5, 'cats')", kPost, kWriter);
    write("INSERT INTO consents(author, relay, archive) VALUES(?, 1, 1)", kWriter);
    write(
        "INSERT INTO outbox(seq, ring, replicas_left, tag, op, uri, author, published, indexable, "
        "signed_copy)"
        " VALUES(3, 1, 9, 'cats', 0, ?, ?, 5, 1, '')",
        kPost, kWriter);
    write(
        "INSERT INTO feed(seq, accepted, tag, op, uri, author, published, indexable, signed_copy)"
        " VALUES(8, 10, 'cats', 0, ?, ?, 5, 1, '')",
        kPost, kWriter);
    write("INSERT INTO feed_seen(digest, op, hour) VALUES(?, 0, 0)", seen_digest(&digest));
    write("INSERT INTO profile_looks(author, due, missing) VALUES(?, 30, 1)", kWriter);
    write("INSERT INTO buried(uri, at) VALUES('https://a.example/buried', 7)");
    write(
        "INSERT INTO put_off(uri, author, published, tags, due) VALUES('https://a.example/off', ?, 5, "
        "'cats', 9)",
        kWriter);
    write("INSERT INTO wants(tag, reason) VALUES('cats', 'admin')");
    write(
        "INSERT INTO subscriptions(tag, owner, follow_id, accepted) VALUES('cats', 'https://o.example', 'i', "
        "1)");
  }

  void followers() {
    const std::string key = key_bytes("cats"_tag.key());
    write("INSERT INTO followers(tag, actor, inbox, follow_id, via, since) VALUES('cats', ?, ?, 'id', 0, 7)",
          kFollower, kInbox);
    write(
        "INSERT INTO partials(collection, authority, digest, count, octets) VALUES('cats', "
        "'https://f.example',"
        " ?, 1, 25)",
        Blob{std::string(32, 'd')});
    write("INSERT INTO followed_tags(key, tag) VALUES(?, 'cats')", Blob{key});
    write("INSERT INTO inboxes(inbox, acknowledged) VALUES(?, 7)", kInbox);
    write("INSERT INTO letters(seq, actor, inbox, body, written) VALUES(2, 'cats', ?, '{}', 9)", kInbox);
    write(
        "INSERT INTO former_servers(collection, authority, inbox)"
        " VALUES('dogs', 'https://g.example', 'https://g.example/inbox')");
    write("INSERT INTO actors(tag, since) VALUES('cats', 4)");
  }

  void instances() {
    write("INSERT INTO permissions(host, publishes, receives) VALUES('home.example', 1, 0)");
    write(
        "INSERT INTO links(actor, relay, host, inbox, delivery_inbox, follow, style, accepted, since)"
        " VALUES('https://home.example/actor', 'cats', 'home.example', 'in', 'shared', '{}', 1, 1, 6)");
    write(
        "INSERT INTO own_follows(actor, object, inbox, follow_id, accepted, since)"
        " VALUES('us', ?, ?, 'own', 1, 6)",
        kFollower, kInbox);
    write("INSERT INTO tag_reasons(host, source, tag) VALUES('home.example', 'admin', 'cats')");
    write("INSERT INTO recent_follows(actor, object, follow_id, at) VALUES(?, 'cats', 'id', 6)", kFollower);
  }

  void replays_and_fasp() {
    write(
        "INSERT INTO replays(host, tag, newest_first, not_before, posts_max, per_minute, started, state, "
        "reason,"
        " found, sent, skipped, pages, pages_done, at, newest, oldest, failing_since, authors_per_day,"
        " authors_today, day) VALUES('home.example', 'cats', 1, 2, 3, 60, 4, 1, '', 5, 2, 1, 1, 0, '', 6, 7, "
        "0, 8,"
        " 'https://a.example/users/u', 9)");
    write(
        "INSERT INTO replay_pages(host, tag, page, after, last) VALUES('home.example', 'cats', 0, '', "
        "'5~a')");
    write("INSERT INTO replay_sent(host, digest) VALUES('home.example', -5)");
    write(
        "INSERT INTO fasp_servers(host, id, base_url, fasp_id, own_key, server_key, completion_url, since, "
        "shares,"
        " hashtags, content_subscription, account_subscription) VALUES('home.example', 'id', "
        "'https://home.example',"
        " 'f', 'pem', ?, 'https://home.example/done', 6, 1, 0, 'c', '')",
        Blob{std::string(32, '\xff')});
    write("INSERT INTO fasp_news(server, uri, account, gone, since) VALUES('home.example', ?, 0, 1, 6)",
          kPost);
    write(
        "INSERT INTO fasp_backfills(server, id, wanted, received, more, since, asked)"
        " VALUES('home.example', 'b', 9, 4, 1, 6, 7)");
    write("INSERT INTO fasp_posts(uri, checked, due) VALUES(?, 6, 9)", kPost);
  }

  void moderation() {
    write(
        "INSERT INTO blocks(kind, what, reason, source, since) VALUES(0, 'bad.example', 'spam', 'admin', 6)");
    write("INSERT INTO separations(host, other, receive) VALUES('home.example', 'far.example', 1)");
    write("INSERT INTO refusals(author, tag) VALUES(?, 'dogs')", kWriter);
    write(
        "INSERT INTO reports(at, activity, reporter, comment, about, forwarded, open)"
        " VALUES(6, 'https://f.example/flag', ?, 'käse', ?, '[]', 1)",
        kFollower, "[\"" + kPost + "\"]");
    write(
        "INSERT INTO changes(at, who, does, about, outcome) VALUES(6, 'token', '/blocks/add', 'bad', "
        "'done')");
  }

  void history() {
    using namespace db_history::history_rows;
    const std::string key = key_bytes("cats"_tag.key());
    const PostHash hash = hash_post("cats"_tag, kPost);
    const storage::TakeDown notice{"net", "https://us.example/actor", "dogs"_tag, kPost, "why", at(5), "s"};
    write("INSERT INTO history_tags(tag, key, kept_from, posts, begun) VALUES('cats', ?, 3, 1, 2)",
          Blob{key});
    for (const char* text : {"https://a.example/users/", "=/statuses/"})
      write("INSERT INTO history_strings(text) VALUES(?)", text);
    write("INSERT INTO history_authors(prefix, name) VALUES(1, 'u')");
    write(
        "INSERT INTO history(tag, published, tie, author, form, tail, removed) VALUES(1, 5, '', 1, 2, ?, 0)",
        Any(std::int64_t{1}));
    write("INSERT INTO history_uris(digest, published) VALUES(?, 5)", hash.index);
    write("INSERT INTO history_hours(tag, hour, posts, digest) VALUES(1, 0, 1, ?)", hash.live);
    write("INSERT INTO history_sets(tag, version, replicas, reach, at) VALUES('cats', 3, 8, 16, 6)");
    write("INSERT INTO history_corrected(tag, hour, post) VALUES(1, 0, ?)", Blob{std::string(32, '\0')});
    write("INSERT INTO take_downs(tag, post, notice) VALUES('dogs', ?, ?)",
          Blob{bytes_of(storage::post_id(kPost))}, json::serialize(storage::to_json(notice)));
  }

  void receipts() {
    const storage::TakenItem item{"cats"_tag, kPost, false, at(5), true};
    const storage::Receipt receipt{"net", Ring::kStorage, "https://owner.example/actor", at(6), 1, {}, "s"};
    write("INSERT INTO receipt_keys(pem) VALUES('pem')");
    write("INSERT INTO receipts(id, kept, key, receipt, items) VALUES(400, 6, 1, ?, ?)",
          json::serialize(storage::to_json(receipt)), json::serialize(json::array{storage::to_json(item)}));
    write("INSERT INTO receipt_tags(tag, id) VALUES('cats', 400)");
    write("INSERT INTO audits(report) VALUES('{}')");
    write("INSERT INTO offences(origin, at, evidence) VALUES('https://owner.example', 6, '{}')");
  }

  // Columns and tables that came later.
  void later(int version) {
    std::string digest;
    if (version >= 14) {
      for (const char* sql : {"UPDATE posts SET changed = 21", "UPDATE outbox SET changed = 22",
                              "UPDATE feed SET changed = 23, announced = 24",
                              "UPDATE feed_seen SET changed = 23", "UPDATE history SET changed = 25"})
        write(sql);
      write("INSERT INTO announced(digest, changed) VALUES(?, 24)", seen_digest(&digest));
    }
    if (version >= 15) write("UPDATE consents SET stated = 26");
    if (version >= 16) {
      write("UPDATE feed SET told = 'https://f.example/inbox', added = 3");
      write("UPDATE feed_seen SET added = 3");
      write("UPDATE inboxes SET gone_since = 27, refusing_since = 28, refusals = 29");
    }
    if (version >= 17) write("UPDATE buried SET edited = 31");
    if (version >= 18) {
      write("INSERT INTO counters(name, value) VALUES('signed_deletions', 1)");
      write("INSERT INTO signed_deletions(seq, hash, body, kept) VALUES(1, 'abc', 'body', 6)");
      write(
          "INSERT INTO copies_owed(seq, accepted, tag, uri, author, signed_copy, changed, added)"
          " VALUES(6, 10, 'cats', ?, ?, 'copy', 0, 3)",
          kPost + "0", kWriter);
    }
    if (version >= 19) write("UPDATE inboxes SET silent_days = 32, silent_at = 33");
  }

  Connection& db_;
};

std::vector<std::string> rows_of(const std::string& contents) {
  std::vector<std::string> rows;
  std::istringstream lines(contents);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("migrations:")) rows.push_back(line);
  }
  return rows;
}

class Upgrade : public testing::TestWithParam<std::tuple<Dialect, int>> {
 protected:
  // A database of that version with those rows; what is in it.
  std::vector<std::string> make() {
    auto db = place.connect();
    if (!db || !migrate(*db, version)) throw std::runtime_error("no database of an older version");
    const Older filled(*db, version);
    const std::string before = contents_of(*db).value();
    for (const Table& table : tables_of(*db).value())
      EXPECT_TRUE(("\n" + before).contains("\n" + table.name + ": ")) << "no row is in " << table.name;
    EXPECT_TRUE(rehearse(*db, {}));
    EXPECT_EQ(difference(contents_of(*db).value(), before), "") << "after a rehearsal";
    return rows_of(before);
  }
  void open() {
    auto opened = open_stores(place.options(), clock);
    if (!opened) throw std::runtime_error(opened.error().message);
    stores = std::move(*opened);
  }

  const int version = std::get<1>(GetParam());
  Place place{std::get<0>(GetParam())};
  ManualClock clock;
  std::unique_ptr<Stores> stores;
};
INSTANTIATE_TEST_SUITE_P(, Upgrade,
                         testing::Combine(every_database(),
                                          testing::Values(kFirstOnPostgres, kSchemaVersion - 2,
                                                          kSchemaVersion - 1)),
                         [](const auto& test) {
                           const bool is_sqlite = std::get<0>(test.param) == Dialect::kSqlite;
                           return fmt::format("{}{}", is_sqlite ? "Sqlite" : "Postgres",
                                              std::get<1>(test.param));
                         });

TEST_P(Upgrade, KeepsEveryRowAndAddsWhatIsUsual) {
  const std::vector<std::string> before = make();
  open();
  const std::vector<std::string> after = rows_of(contents(*stores));
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    ASSERT_TRUE(after[i].starts_with(before[i])) << after[i] << ", was " << before[i];
    EXPECT_THAT(after[i].substr(before[i].size()), MatchesRegex("( 0| '')*")) << after[i];
  }
}

TEST_P(Upgrade, WhatANodeHadItHasStill) {
  make();
  open();
  const auto feed = must(stores->relay.feed(0, 9));
  ASSERT_EQ(feed.size(), 1U);
  EXPECT_EQ(feed.front().event.uri, kPost);
  const delivery::Store::Cursor cursor = must(stores->relay.cursors()).at(kInbox);
  EXPECT_EQ(cursor.acknowledged, 7U);
  EXPECT_EQ(cursor.gone_since.has_value(), version >= 16);
  EXPECT_EQ(must(stores->relay.find_post(kPost))->author, kWriter);
  EXPECT_EQ(
      must(stores->relay.followers({}, "", 9)),
      (std::vector<delivery::Follower>{{"cats"_tag, kFollower, kInbox, "id", delivery::Via::kBoost, 7}}));
  EXPECT_FALSE(must(stores->relay.accept({feed.front().event}, 0)).front().fresh) << "it was seen";
  const auto page = must(stores->history.page("cats"_tag, {}, 9));
  ASSERT_EQ(page.entries.size(), 1U);
  EXPECT_EQ(page.entries.front().uri, kPost);
  EXPECT_EQ(page.kept_from, at(3));
  EXPECT_EQ(must(stores->history.find({{"cats"_tag, kPost}})).front(), page.entries.front());
  EXPECT_EQ(must(stores->history.take_downs()).size(), 1U);
  EXPECT_EQ(must(stores->history.sets()).front().replicas, 8U);
  EXPECT_EQ(must(stores->receipts.latest(9)).size(), 1U);
  EXPECT_EQ(must(stores->reports.reports(9)).front().about, std::vector{kPost});
  EXPECT_EQ(must(stores->replays.replays()).front().authors_today, std::vector{kWriter});
  EXPECT_EQ(must(stores->fasp.servers()).front().server_key, std::string(32, '\xff'));
  EXPECT_EQ(must(stores->instances.links()).front().host, "home.example");
  EXPECT_EQ(must(stores->meta.get("key")), std::string("\0\xff'", 3));
}

TEST_P(Upgrade, AllThatANodeWritesCanBeWritten) {
  make();
  open();
  std::uint64_t seed = 0;
  for (int i = 0; i < 5; ++i) {
    for (const writes::Write& write : every_write()) {
      Rng rng(++seed);
      const Result<void> done = write.perform(*stores, rng);
      EXPECT_TRUE(done) << write.name << ": " << done.error().message;
    }
  }
}

}  // namespace
}  // namespace tagring::db
