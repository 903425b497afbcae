#include "db/fasp_store.hpp"

#include "tests/db/fixture.hpp"

namespace tagring::db {
namespace {

using fasp::FaspBackfill;
using fasp::FaspNews;
using fasp::FaspPost;
using fasp::FaspServer;

class FaspStore : public StoresTest {
 protected:
  SqliteFaspStore& store() { return stores->fasp; }
  FaspServer server(const std::string& host) {
    return {.host = host,
            .id = "id of " + host,
            .base_url = "https://" + host + "/api/fasp",
            .fasp_id = "7",
            .own_key = "PEM",
            .server_key = std::string("\0\xff key", 6),
            .completion_url = "https://" + host + "/admin",
            .since = at(5),
            .shares = true,
            .hashtags = false,
            .content_subscription = "1",
            .account_subscription = "2"};
  }
  static FaspNews news(const std::string& uri, bool gone = false) {
    return {.seq = 0, .server = "a.example", .uri = uri, .account = false, .gone = gone, .since = at(9)};
  }
};

INSTANTIATE_TEST_SUITE_P(, FaspStore, every_database(), name_of);

TEST_P(FaspStore, KeepsServersByHost) {
  must(store().save_server(server("b.example")));
  must(store().save_server(server("a.example")));
  FaspServer changed = server("b.example");
  changed.hashtags = true;
  changed.content_subscription.clear();
  must(store().save_server(changed));
  reopen();
  EXPECT_EQ(must(store().servers()), (std::vector<FaspServer>{server("a.example"), changed}));
}

TEST_P(FaspStore, NewsComesInOrderAndReplacesWhatTheSameServerSaidBefore) {
  const auto first = must(store().add_news({news("https://a.example/1"), news("https://a.example/2")}, {}));
  ASSERT_EQ(first.size(), 2U);
  EXPECT_LT(first[0].seq, first[1].seq);
  const auto again = must(store().add_news({news("https://a.example/1", true)}, {}));
  reopen();
  EXPECT_EQ(must(store().news(0, 10)), (std::vector<FaspNews>{first[1], again[0]}));
  must(store().drop_news(first[0].seq));  // replaced meanwhile: strikes off nothing
  EXPECT_EQ(must(store().news(first[1].seq, 10)), again);
  must(store().drop_news(again[0].seq));
  must(store().drop_news(first[1].seq));
  // Never a number that was given out before.
  EXPECT_GT(must(store().add_news({news("https://a.example/3")}, {})).front().seq, again[0].seq);
}

TEST_P(FaspStore, NewsAndTheBackfillThatBroughtThemAreWrittenTogether) {
  FaspBackfill backfill{"a.example", "672", 100, 0, true, at(3), 50};
  must(store().save_backfill(backfill));
  backfill.received = 1;
  backfill.more = false;
  must(store().add_news({news("https://a.example/1")}, backfill));
  reopen();
  EXPECT_EQ(must(store().backfills()), std::vector<FaspBackfill>{backfill});
}

TEST_P(FaspStore, ARemovedServerTakesItsNewsWithItAndLeavesThePosts) {
  must(store().save_server(server("a.example")));
  must(store().save_backfill({"a.example", "672", 100, 0, true, at(3), 50}));
  must(store().add_news({news("https://a.example/1")}, {}));
  must(store().save_post({"https://a.example/2", at(1), at(2)}));
  must(store().drop_server("a.example"));
  EXPECT_TRUE(must(store().servers()).empty());
  EXPECT_TRUE(must(store().news(0, 10)).empty());
  EXPECT_TRUE(must(store().backfills()).empty());
  EXPECT_TRUE(must(store().find_post("https://a.example/2")));
}

TEST_P(FaspStore, GivesPostsThatAreDueTheLongestDueFirst) {
  must(store().save_post({"https://a.example/1", at(1), at(30)}));
  must(store().save_post({"https://a.example/2", at(1), at(10)}));
  must(store().save_post({"https://a.example/3", at(1), at(20)}));
  must(store().save_post({"https://a.example/2", at(5), at(25)}));
  EXPECT_TRUE(must(store().due_posts(at(19), 10)).empty());
  const FaspPost third{"https://a.example/3", at(1), at(20)};
  EXPECT_EQ(must(store().due_posts(at(30), 1)), std::vector<FaspPost>{third});
  EXPECT_EQ(must(store().due_posts(at(30), 10)).size(), 3U);
  must(store().drop_post("https://a.example/3"));
  EXPECT_FALSE(must(store().find_post("https://a.example/3")));
}

TEST_P(FaspStore, APostThatGotItsDateFromAClockThatWasAheadIsDueNow) {
  const WallTime now = clock.wall;
  const FaspPost ahead{"https://a.example/1", now, now + std::chrono::days(365)};
  const FaspPost late{"https://a.example/2", now, now};
  must(store().save_post(ahead));
  must(store().save_post(late));
  must(store().save_post({"https://a.example/3", now, now + SqliteFaspStore::kDueWithin}));
  EXPECT_EQ(must(store().due_posts(now, 10)), (std::vector<FaspPost>{late, ahead}));
  EXPECT_EQ(must(store().due_posts(now, 1)), std::vector<FaspPost>{late});
}

}  // namespace
}  // namespace tagring::db
