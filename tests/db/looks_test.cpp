// How much the database looks at where tables have grown for years: of SQLite, which counts the steps that
// its statements take.
#include <fmt/format.h>
#include <sqlite3.h>

#include "tests/db/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::db {
namespace {

// A row that is looked at takes some. What a call does besides takes less.
constexpr int kRows = 20'000;
constexpr int kFew = 5'000;

class Looks : public testing::Test, protected OpenStores {
 protected:
  // The numbers 1 to kRows are "i" in `select`.
  void fill(const std::string& table, const std::string& select) {
    must(stores->database->write([&](Connection& db) {
      return db.execute(fmt::format("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                                    "i < {}) INSERT INTO {} SELECT {} FROM n",
                                    kRows, table, select)
                            .c_str());
    }));
  }
  // Of all statements since it was asked last.
  int steps() {
    return must(stores->database->read([](Connection& db) -> Result<int> {
      int sum = 0;
      for (sqlite3_stmt* each = sqlite3_next_stmt(db.native(), nullptr); each != nullptr;
           each = sqlite3_next_stmt(db.native(), each))
        sum += sqlite3_stmt_status(each, SQLITE_STMTSTATUS_VM_STEP, /*resetFlg=*/1);
      return sum;
    }));
  }
  void publish(int published) {
    must(stores->relay.publish(
        {fmt::format("https://b.example/{}", published), "https://b.example/u", at(published), {"cats"_tag}},
        1));
  }
  // One each second.
  void fill_feed() {
    fill("feed(seq, accepted, tag, op, uri, author, published, indexable)",
         "i, 1000 * i, 'cats', 0, 'https://b.example/' || i, 'https://b.example/u', 1000 * i, 1");
  }
};

TEST_F(Looks, ForTheNewestPostAtNoneOfThoseThatAreKeptForEver) {
  fill("posts(uri, author, published, tags)",
       "'https://a.example/' || i, 'https://a.example/u', i, 'cats'");  // as an older program wrote them
  publish(7);
  EXPECT_GT(steps(), kRows) << "once";
  publish(8);
  publish(kRows + 5);
  must(stores->relay.newest_post());
  EXPECT_LT(steps(), kFew);
}

TEST_F(Looks, ForAPlaceInTheFeedAtTheTimeAlone) {
  fill_feed();
  steps();
  for (const int when : {15'000'000, 0, 1'000 * kRows + 1}) must(stores->relay.feed_start(at(when)));
  EXPECT_LT(steps(), kFew);
}

TEST_F(Looks, EachMinuteAtNothingOfTheFeedThatIsToStay) {
  fill_feed();
  steps();
  must(stores->relay.prune_feed(kRows, at(1'000)));
  EXPECT_LT(steps(), kFew);
  must(stores->relay.prune_feed(1, at(1'001)));
  EXPECT_EQ(must(stores->relay.feed(0, 1)).front().seq, 2U);
}

TEST_F(Looks, ForOneReceiptAtNoOther) {
  fill("receipt_keys(id, pem)", "i, i");
  fill("receipts(id, kept, key, receipt, items)", "i, i, 1, '', ''");
  steps();
  static_cast<void>(run(stores->receipts.at(audit::ReceiptStore::kPlaces / 2)));
  EXPECT_LT(steps(), kFew);
}

TEST_F(Looks, WhereAPostIsCorrectedAtTheHourOfThatAlone) {
  const std::string uri = "https://a.example/users/u/1";
  must(stores->history.put({{"cats"_tag, uri, "https://a.example/users/u", at(5), false}}));
  fill("history_hours(tag, hour, posts, digest)", "(SELECT id FROM history_tags), i, 1, i");
  steps();
  must(stores->history.correct("cats"_tag, uri, std::nullopt, false));
  EXPECT_LT(steps(), kFew);
  EXPECT_EQ(must(stores->database->read([](Connection& db) {
              return number_in(db.query("SELECT count(*) FROM history_hours WHERE hour = 0"));
            })),
            0U);
}

}  // namespace
}  // namespace tagring::db
