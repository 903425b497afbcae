// Databases that older programs have written (older/README.md) become ones of today, and all that a node had
// is there.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <map>
#include <set>
#include <sstream>

#include "sql/tables.hpp"
#include "tests/db/used_node.hpp"
#include "tests/db/writes.hpp"
#include "tests/source_dir.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using namespace used_node;

std::filesystem::path file_of(int version) {
  return source_dir() / fmt::format("tests/db/older/version_{:02}.db.xz", version);
}

template <class T>
std::vector<std::string> uris_of(const std::vector<T>& items) {
  std::vector<std::string> uris;
  for (const T& item : items) uris.push_back(item.uri);
  return uris;
}

// --- what used_node wrote, as far as that version of the schema had a place for it -------------------------

void expect_posts(Stores& stores, int version) {
  EXPECT_EQ(must(stores.relay.find_post(post(kAlice, "1")))->tags, (std::vector{"cats"_tag, "dogs"_tag}));
  EXPECT_EQ(must(stores.relay.find_post(post(kAlice, "2")))->tags, std::vector{"cats"_tag});
  EXPECT_FALSE(must(stores.relay.find_post(post(kAlice, "3")))) << "it is deleted";
  EXPECT_EQ(uris_of(must(stores.relay.posts_of(kAlice, "", 9, delivery::Store::PostsOf::kRelayed))),
            (std::vector{post(kAlice, "1"), post(kAlice, "2")}));
  if (version >= 12) {
    EXPECT_EQ(must(stores.relay.find_post(post(kAlice, "2")))->former, std::vector{"dogs"_tag});
    EXPECT_EQ(must(stores.relay.find_post(post(kAlice, "4")))->former, std::vector{"cats"_tag});
    EXPECT_EQ(must(stores.relay.find_unsigned_deletion(post(kAlice, "3")))->former, std::vector{"cats"_tag});
    EXPECT_EQ(uris_of(must(stores.relay.put_off_until(ago(-10), 9))), std::vector{post(kAlice, "5")});
  }
  const auto owed = must(stores.relay.outbox(0, 99));
  ASSERT_EQ(owed.size(), version < 6 ? 12U : version < 12 ? 13U : 15U);
  EXPECT_EQ(owed.front().event.uri, post(kAlice, "1"));
  EXPECT_EQ(owed.front().replicas_left, 0b110U) << "one has it";
  EXPECT_EQ(std::ranges::count(owed, Ring::kStorage, &delivery::OutboxEntry::ring), 4);
  EXPECT_EQ(owed.back().event.tag, "birds"_tag);
  const auto alice = must(stores.relay.consent(kAlice));
  const auto bob = must(stores.relay.consent(kBob));
  EXPECT_TRUE(alice && alice->relay && alice->archive);
  EXPECT_TRUE(bob && !bob->relay && !bob->archive);
  EXPECT_EQ(bob->stated, version >= 15 ? ago(20) : WallTime());
  std::set<std::string> looked_at;
  for (const auto& look : must(stores.relay.looks_due(at(4'000'000'000'000), 9)))
    looked_at.insert(look.author);
  EXPECT_EQ(looked_at, version < 6    ? (std::set{kAlice, kBob})
                       : version < 13 ? std::set{kAlice}
                                      : (std::set{kAlice, kCarol}));
}

// What comes again or late finds what was there before.
void expect_memory(Stores& stores, int version) {
  publish(stores, {post(kAlice, "3"), kAlice, ago(45), {"cats"_tag}});
  EXPECT_FALSE(must(stores.relay.find_post(post(kAlice, "3")))) << "deleted for good";
  if (version >= 6) {
    publish(stores, {post(kBob, "deleted"), kBob, ago(5), {"cats"_tag}});
    EXPECT_FALSE(must(stores.relay.find_post(post(kBob, "deleted")))) << "its deletion came before";
  }
  if (version >= 17) {
    publish(stores, {post(kBob, "edited"), kBob, ago(5), {"cats"_tag}});
    EXPECT_FALSE(must(stores.relay.find_post(post(kBob, "edited")))) << "its edit came before";
  }
  const auto is_news = [&](delivery::TagEvent event) {
    return must(stores.relay.accept({std::move(event)}, 0)).front().fresh;
  };
  using enum delivery::Op;
  EXPECT_FALSE(is_news({"cats"_tag, kAdd, post(kCarol, "1"), kCarol, ago(120), true})) << "not in the feed";
  EXPECT_FALSE(is_news({"cats"_tag, kAdd, post(kCarol, "2"), kCarol, ago(110), true})) << "removed";
  EXPECT_EQ(is_news({"cats"_tag, kAdd, post(kCarol, "3"), kCarol, ago(100), true, {}, ago(80), ago(80)}),
            version < 14);
  must(stores.history.put({{"cats"_tag, post(kCarol, "old"), kCarol, ago(30 * kDay)}}));
  EXPECT_FALSE(must(stores.history.find({{"cats"_tag, post(kCarol, "old")}})).front()) << "it was let go";
  must(stores.history.put({{"cats"_tag, post(kCarol, "2"), kCarol, ago(110)}}));
  EXPECT_TRUE(must(stores.history.find({{"cats"_tag, post(kCarol, "2")}})).front()->removed);
  EXPECT_EQ(must(stores.meta.next_incarnation(ManualClock())), 1'728'000'000'001U) << "greater than before";
}

void expect_feed(Stores& stores, int version) {
  const auto feed = must(stores.relay.feed(0, 99));
  ASSERT_EQ(feed.size(), version < 14 ? 3U : 6U);
  EXPECT_EQ(feed[0].seq, 2U);
  EXPECT_EQ(feed[0].event.uri, post(kCarol, "1"));
  EXPECT_EQ(feed[2].event.op, delivery::Op::kRemove);
  EXPECT_EQ(feed[2].event.signed_copy, version < 6 ? "" : signed_copy('2', "https://c.example"));
  EXPECT_EQ(feed[2].added, version < 16 ? 0U : 3U);
  if (version >= 14) {
    EXPECT_EQ(must(stores.relay.announced("cats"_tag, {post(kCarol, "3")})), std::vector{ago(80)});
    EXPECT_EQ(feed[4].event.changed, ago(90));
    EXPECT_EQ(feed[5].event.announced, ago(80));
  }
  EXPECT_EQ(must(stores.relay.notes(0, 99)),
            version < 16 ? delivery::Store::Notes() : (delivery::Store::Notes{{2, "+AAAAAAAAAAE"}}));
  if (version >= 18) {
    EXPECT_EQ(must(stores.relay.find_deletion(kHash)), "{\"type\":\"Delete\"}");
    ASSERT_EQ(must(stores.relay.copies_owed(0, 9)).size(), 1U);
    EXPECT_EQ(must(stores.relay.copies_owed(0, 9)).front().entry.event.uri, post(kCarol, "2"));
  }
}

void expect_followers(Stores& stores, int version) {
  const auto followers = must(stores.relay.followers({}, "", 9));
  ASSERT_EQ(followers.size(), 3U);
  const std::uint64_t end = version < 14 ? 4 : 7;
  EXPECT_EQ(followers[0], (delivery::Follower{"cats"_tag, "https://f.example/users/f", kInbox,
                                              "https://f.example/follows/1", delivery::Via::kBoost, end}));
  EXPECT_EQ(followers[1].via, delivery::Via::kNode);
  EXPECT_EQ(followers[2].since, 1U);
  EXPECT_EQ(must(stores.relay.partial({"cats", "https://f.example"})).count, 1U);
  auto cursors = must(stores.relay.cursors());
  ASSERT_EQ(cursors.size(), 2U);
  EXPECT_EQ(cursors[kInbox], delivery::Store::Cursor{4});
  delivery::Store::Cursor gone{2};
  if (version >= 16) gone = {2, ago(500), ago(400), 3};
  if (version >= 19) gone = {2, ago(500), ago(400), 3, 5, ago(300)};
  EXPECT_EQ(cursors[kGoneInbox], gone);
  const auto letters = must(stores.relay.letters(0, 9));
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].seq, 2U);
  EXPECT_EQ(letters[0].body, "{\"of\":\"käse\"}");
  EXPECT_EQ(must(stores.relay.wanted({}, 9)), (std::vector{"cats"_tag, "dogs"_tag}));
  const auto subscriptions = must(stores.relay.subscriptions());
  ASSERT_EQ(subscriptions.size(), 2U);
  EXPECT_TRUE(subscriptions[0].accepted && !subscriptions[1].accepted);
  if (version >= 9) {
    ASSERT_EQ(must(stores.relay.former_servers()).size(), 1U);
    EXPECT_EQ(must(stores.relay.former_servers()).front().inbox, "https://g.example/inbox");
    EXPECT_EQ(must(stores.relay.actor_since("cats"_tag)), ago(0));
    EXPECT_EQ(must(stores.relay.actor_since({})), ago(0));
  }
}

void expect_instances(Stores& stores, int version) {
  EXPECT_EQ(must(stores.instances.permissions()),
            (std::vector<instances::Permission>{{"home.example", true, false}}));
  const auto links = must(stores.instances.links());
  ASSERT_EQ(links.size(), 2U);
  EXPECT_TRUE(links[0].accepted && !links[1].accepted);
  EXPECT_EQ(links[0].follow, "{\"type\":\"Follow\"}");
  EXPECT_EQ(links[1].style, instances::Style::kLitePub);
  if (version >= 5) {
    EXPECT_EQ(links[1].since, ago(71));
  } else {
    EXPECT_GT(links[1].since, ago(0)) << "who waits is not sent away because of the upgrade";
  }
  EXPECT_EQ(must(stores.instances.own_follows()).front().since, ago(72));
  EXPECT_EQ(must(stores.instances.tag_reasons()).size(), 2U);
  if (version < 6) return;
  EXPECT_TRUE(must(
      stores.instances.is_former_follow("https://f.example/users/f", "cats", "https://f.example/follows/0")));
}

void expect_moderation(Stores& stores, int version) {
  using enum federation::BlockKind;
  const std::vector<federation::Block> blocks = must(stores.blocks.blocks());
  EXPECT_EQ(blocks.size(), version < 7 ? 3U : 4U);
  for (const federation::Block& block :
       {federation::Block{kDomain, "bad.example", "spam", "admin", ago(1000)},
        federation::Block{kAuthor, kTroll, "", "admin", ago(999)},
        federation::Block{kTag, "abuse", "why", "list", ago(998)}})
    EXPECT_THAT(blocks, testing::Contains(block));
  EXPECT_EQ(must(stores.blocks.separations()),
            (std::vector<federation::Separation>{{"home.example", "far.example", true}}));
  if (version >= 6) {
    EXPECT_EQ(must(stores.blocks.refusals()), (std::vector<federation::Refusal>{{kCarol, "dogs"}}));
  }
  if (version >= 8) {
    const auto reports = must(stores.reports.reports(9));
    ASSERT_EQ(reports.size(), 2U);
    EXPECT_EQ(must(stores.reports.report(1)).forwarded, std::vector{post(kCarol, "1")});
    EXPECT_EQ(must(stores.reports.report(1)).comment, "käse");
    EXPECT_FALSE(must(stores.reports.report(2)).open);
  }
  if (version >= 11) {
    EXPECT_EQ(must(stores.changes.changes(9)).front().about, "bad.example");
  }
}

void expect_replays_and_fasp(Stores& stores, int version) {
  replay::Replay replay = replay_of();
  if (version < 10) {
    replay.authors_per_day = 0;
    replay.authors_today = {};
    replay.day = 0;
  }
  EXPECT_EQ(must(stores.replays.replays()), std::vector{replay});
  EXPECT_EQ(must(stores.replays.page("home.example", "cats", 1)), (replay::ReplayPage{"7~b", "5~a"}));
  EXPECT_EQ(must(stores.replays.sent("home.example", {post(kCarol, "1"), post(kCarol, "2")})),
            std::set{post(kCarol, "1")});
  EXPECT_EQ(must(stores.fasp.servers()), std::vector{fasp_server()});
  EXPECT_EQ(must(stores.fasp.news(0, 9)),
            (std::vector<fasp::FaspNews>{{2, "home.example", kCarol, true, true, ago(7)}}));
  EXPECT_EQ(must(stores.fasp.backfills()),
            (std::vector<fasp::FaspBackfill>{{"home.example", "b", 9, 4, true, ago(7), 3}}));
  EXPECT_EQ(must(stores.fasp.find_post(post(kAlice, "1"))),
            (fasp::FaspPost{post(kAlice, "1"), ago(6), ago(-300)}));
}

void expect_history(Stores& stores, int version) {
  const auto page = must(stores.history.page("cats"_tag, {}, 99));
  std::vector expected{post(kAlice, "2"), post(kAlice, "1"), post(kCarol, "3"),    post(kCarol, "2"),
                       post(kCarol, "1"), kOddPost,          post(kCarol, "wrong")};
  if (version >= 8) expected.pop_back();
  if (version < 14) std::erase(expected, post(kCarol, "3"));
  EXPECT_EQ(uris_of(page.entries), expected);
  EXPECT_EQ(page.kept_from, ago(30 * kDay) + Duration(1));
  EXPECT_EQ(must(stores.history.totals()).let_go, 1U);
  EXPECT_EQ(must(stores.history.page("dogs"_tag, {}, 99)).entries.front(),
            (storage::HistoryEntry{"dogs"_tag, post(kCarol, "1"), kCarol, ago(120)}));
  const auto found = must(stores.history.find(
      {{"cats"_tag, kOddPost}, {"cats"_tag, post(kCarol, "2")}, {"cats"_tag, post(kCarol, "bad")}}));
  ASSERT_TRUE(found[0] && found[1] && found[2]);
  EXPECT_EQ(found[0]->author, "https://odd.example/@odd");
  EXPECT_TRUE(found[1]->removed);
  EXPECT_TRUE(found[2]->taken_down);
  EXPECT_EQ(must(stores.history.take_downs()).front().uri, post(kCarol, "bad"));
  if (version >= 3) {
    EXPECT_EQ(must(stores.history.sets()),
              (std::vector<redundancy::StorageSet>{{"cats"_tag, 3, 8, 16, ago(300)}}));
  }
  if (version >= 13) {
    EXPECT_EQ(must(stores.history.bucket("cats"_tag, storage::hour_of(ago(4 * kDay)), {}, 9)).corrected,
              std::vector{storage::post_id(post(kCarol, "wrong"))});
  }
}

void expect_receipts(Stores& stores, int version) {
  const auto latest = must(stores.receipts.latest(9));
  ASSERT_EQ(latest.size(), 1U);
  EXPECT_EQ(latest[0].receipt.actor, "https://owner.example/actor");
  EXPECT_EQ(latest[0].key, "pem");
  EXPECT_EQ(uris_of(latest[0].items), (std::vector{post(kAlice, "1"), post(kAlice, "2")}));
  EXPECT_EQ(must(stores.receipts.receipts("cats"_tag, 0, 9)).size(), 1U);
  if (version >= 4) {
    EXPECT_EQ(must(stores.receipts.audits()), std::vector<std::string>{"{\"asked\":3}"});
  }
  if (version >= 13) {
    EXPECT_EQ(must(stores.receipts.offences()).front().origin, "https://owner.example");
  }
}

void expect_used(Stores& stores, int version) {
  EXPECT_EQ(must(stores.meta.get("key")), kKey);
  expect_posts(stores, version);
  expect_feed(stores, version);
  expect_followers(stores, version);
  expect_instances(stores, version);
  expect_moderation(stores, version);
  expect_replays_and_fasp(stores, version);
  expect_history(stores, version);
  expect_receipts(stores, version);
  expect_memory(stores, version);
}

// --- files -------------------------------------------------------------------------------------------------

using RowsByTable = std::map<std::string, std::vector<std::string>>;

// Without those that say which version it is. Values may have line feeds in them.
Result<RowsByTable> rows_in(Connection& db) {
  TRY(const std::vector<Table> tables, tables_of(db));
  TRY(const std::string contents, contents_of(db, {"migrations"}));
  RowsByTable rows;
  for (const Table& table : tables) rows[table.name];
  rows.erase("migrations");
  std::vector<std::string>* of = nullptr;
  std::istringstream lines(contents);
  for (std::string line; std::getline(lines, line);) {
    const auto table = rows.find(line.substr(0, line.find(':')));
    if (table == rows.end()) {
      of->back() += '\n' + line;
    } else {
      of = &table->second;
      of->push_back(line);
    }
  }
  return rows;
}

class OlderFile : public testing::TestWithParam<int> {
 protected:
  // Unpacks the file, and looks into it.
  void SetUp() override {
    const std::string file = place.options().path;
    // NOLINTNEXTLINE: no input from outside
    ASSERT_EQ(std::system(fmt::format("xz -dc '{}' > '{}'", file_of(version).string(), file).c_str()), 0)
        << "older/README.md says how the file of a version is made";
    auto db = place.connect();
    ASSERT_TRUE(db);
    ASSERT_EQ(version_of(*db), version);
    before = rows_in(*db).value();
  }
  void open() {
    auto opened = open_stores(place.options(), clock);
    if (!opened) throw std::runtime_error(opened.error().message);
    stores = std::move(*opened);
  }
  [[nodiscard]] std::size_t count(const std::string& table) const {
    const auto rows = before.find(table);
    return rows == before.end() ? 0 : rows->second.size();
  }

  const int version = GetParam();
  Place place;
  ManualClock clock;
  RowsByTable before;
  std::unique_ptr<Stores> stores;
};
std::string name_of_version(const testing::TestParamInfo<int>& version) {
  return std::to_string(version.param);
}
// Each version that there was before: whoever makes the next one keeps a file of this one.
INSTANTIATE_TEST_SUITE_P(, OlderFile, testing::Range(1, kSchemaVersion), name_of_version);

TEST_P(OlderFile, KeepsEveryRow) {
  open();
  RowsByTable after = must(stores->database->read(rows_in));
  for (const auto& [table, rows] : before) {
    ASSERT_EQ(after[table].size(), rows.size()) << table;
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_TRUE((after[table][i] + ' ').starts_with(rows[i] + ' '))
          << after[table][i] << ", was " << rows[i];
  }
}

TEST_P(OlderFile, HasTheTablesOfANewDatabase) {
  const auto shape = [](const Place& of) {
    auto db = of.connect();
    Statement row = db->query("SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'");
    std::set<std::string> names;
    while (row.step().value()) names.insert(row.text(0));
    return std::pair(tables_of(*db).value(), names);
  };
  open();
  stores.reset();
  static const auto expected = [&] {
    const Place fresh;
    static_cast<void>(open_stores(fresh.options(), clock).value());
    return shape(fresh);
  }();
  EXPECT_EQ(shape(place), expected);
}

TEST_P(OlderFile, AllIsReadThatIsThere) {
  open();
  EXPECT_EQ(must(stores->relay.feed(0, 999)).size(), count("feed"));
  EXPECT_EQ(must(stores->relay.outbox(0, 999)).size(), count("outbox"));
  EXPECT_EQ(must(stores->relay.followers({}, "", 999)).size(), count("followers"));
  EXPECT_EQ(must(stores->relay.cursors()).size(), count("inboxes"));
  EXPECT_EQ(must(stores->relay.subscriptions()).size(), count("subscriptions"));
  EXPECT_EQ(must(stores->receipts.totals()).batches, count("receipts"));
  EXPECT_EQ(must(stores->history.totals()).entries, count("history"));
  std::uint64_t posts = 0;
  for (const auto& span : must(stores->history.spans({}, 999))) posts += span.posts;
  EXPECT_EQ(posts, count("history"));
  EXPECT_TRUE(must(stores->relay.check_partials()).repaired.empty());
}

// Or replicas would look for the difference again and again.
TEST_P(OlderFile, SaysOfItsPostsWhatOthersSay) {
  open();
  const Place elsewhere;
  const auto other = open_stores(elsewhere.options(), clock).value();
  for (const auto& span : must(stores->history.spans({}, 999))) {
    const auto entries = must(stores->history.page(span.partition, {}, 999)).entries;
    must(other->history.put(entries));
    std::vector<storage::HourRange> hours;
    for (const storage::HistoryEntry& entry : entries) {
      const storage::HourPlace place{span.key, storage::hour_of(entry.published)};
      hours.push_back({place, place});
    }
    EXPECT_EQ(must(stores->history.digests(hours, 0)), must(other->history.digests(hours, 0)));
  }
}

// By used_node; the others are of a demonstration, whose nodes leave many tables empty.
class OlderUsedNode : public OlderFile {};
std::vector<int> versions_of_used_nodes() {
  std::vector<int> versions;
  for (int version = 2; version < kSchemaVersion; ++version)
    if (version != 19) versions.push_back(version);
  return versions;
}
INSTANTIATE_TEST_SUITE_P(, OlderUsedNode, testing::ValuesIn(versions_of_used_nodes()), name_of_version);

TEST_P(OlderUsedNode, IsReadAsItWasWritten) {
  for (const auto& [table, rows] : before) EXPECT_FALSE(rows.empty()) << table;
  open();
  expect_used(*stores, version);
}

// --- of today ----------------------------------------------------------------------------------------------

class UsedNode : public StoresTest {};
INSTANTIATE_TEST_SUITE_P(, UsedNode, every_database(), name_of);

TEST_P(UsedNode, HasRowsInEveryTableAndIsReadAsItWasWritten) {
  use(*stores, clock);
  reopen();
  for (const auto& [table, rows] : must(stores->database->read(rows_in))) EXPECT_FALSE(rows.empty()) << table;
  expect_used(*stores, kSchemaVersion);
}

// Run by whoever makes another version of the schema, before that: see older/README.md.
TEST(UsedNodeFile, DISABLED_IsWritten) {
  const ManualClock clock;
  const auto opened = open_stores(
      {.path = fmt::format("version_{:02}.db", kSchemaVersion), .vfs = {}, .mode = Mode::kInline}, clock);
  ASSERT_TRUE(opened);
  use(**opened, clock);
}

}  // namespace
}  // namespace tagring::db
