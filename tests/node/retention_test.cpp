#include "storage/retention.hpp"

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "redundancy/partition.hpp"
#include "tests/db/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::node {
namespace {

class RetentionTest : public testing::Test, protected db::OpenStores {
 protected:
  explicit RetentionTest(sql::Dialect dialect = sql::Dialect::kSqlite) : OpenStores(dialect) {}

  boost::asio::io_context loop;
  Log log = Log::off();
  Workers workers;
  std::uint64_t bytes = 0;  // after the last look

  void put(const redundancy::Partition& partition, int from, int to, Duration age) {
    std::vector<storage::HistoryEntry> entries;
    for (int i = from; i < to; ++i) {
      const WallTime published = clock.wall_now() - age + std::chrono::minutes(i);
      entries.push_back({partition, fmt::format("https://a.example/{}/{}", partition.name(), i),
                         "https://a.example/u", published});
    }
    db::must(stores->history.put(std::move(entries)));
  }
  std::uint64_t make_room(std::uint64_t posts_max) {
    return keep_to(posts_max * storage::HistoryStore::kBytesOfEntry);
  }
  std::uint64_t keep_to(std::uint64_t bytes_max) {
    storage::Retention retention({bytes_max}, stores->history,
                                 Runtime{clock, loop.get_executor(), workers, log, Rng(1)});
    const std::uint64_t gone = db::must(retention.make_room());
    bytes = retention.state().bytes;
    return gone;
  }
  std::size_t count(const redundancy::Partition& partition) {
    return db::must(stores->history.page(partition, {}, 100'000)).entries.size();
  }
};

TEST_F(RetentionTest, NothingGoesWhileThereIsRoom) {
  put("old"_tag, 0, 100, std::chrono::days(2'000));
  EXPECT_EQ(make_room(100), 0U);
  EXPECT_EQ(make_room(0), 0U);  // no limit
  EXPECT_EQ(count("old"_tag), 100U);
}

TEST(PostsMax, AreThoseForWhichTheDiskHasRoomOutsideItsReserve) {
  using storage::HistoryStore;
  constexpr auto kEach = static_cast<std::int64_t>(HistoryStore::kBytesOfEntry);
  constexpr std::uint64_t kHere = 20'000'000;
  constexpr std::uint64_t kLimit = 2 * kHere * HistoryStore::kBytesOfEntry;
  HistoryStore::Totals totals;
  totals.entries = kHere;
  EXPECT_EQ(storage::posts_max(totals, kLimit, std::nullopt), 2 * kHere) << "the disk is not known";
  EXPECT_EQ(storage::posts_max(totals, kLimit, 5 * kEach), kHere + 5);
  EXPECT_EQ(storage::posts_max(totals, kLimit, 0), kHere);
  EXPECT_EQ(storage::posts_max(totals, kLimit, -1000 * kEach), kHere - 1000) << "into the reserve already";
  EXPECT_EQ(storage::posts_max(totals, kLimit, kEach * 100'000'000), 2 * kHere) << "never beyond the limit";
  totals.bytes_unused = 400 * HistoryStore::kBytesOfEntry;
  EXPECT_EQ(storage::posts_max(totals, kLimit, -1000 * kEach), kHere - 600) << "room in the file is room";
  const std::uint64_t gigabyte = 1'000'000'000 / HistoryStore::kBytesOfEntry;
  EXPECT_EQ(storage::posts_max(totals, kLimit, -kEach * 100'000'000), gigabyte) << "however full it is";
  EXPECT_EQ(storage::posts_max(totals, kLimit / 1000, -kEach * 100'000'000), 2 * kHere / 1000);
}

TEST(PostsMax, AreFewerWhereEachTakesMore) {
  storage::HistoryStore::Totals totals;
  totals.entries = 10'000'000;
  totals.bytes_of_entry = 400;
  EXPECT_EQ(storage::posts_max(totals, 8'000'000'000, std::nullopt), 20'000'000U);
  EXPECT_EQ(storage::posts_max(totals, 8'000'000'000, -400'000), 10'000'000U - 1'000);
  EXPECT_EQ(storage::posts_max(totals, 8'000'000'000, -8'000'000'000), 1'000'000'000U / 400);
}

class RetentionOnPostgres : public RetentionTest {
 protected:
  RetentionOnPostgres() : RetentionTest(sql::Dialect::kPostgres) {}
};

// There a post takes several times what it does in SQLite.
TEST_F(RetentionOnPostgres, PostsGoWhenTheirTablesTakeWhatTheyMay) {
  constexpr int kPosts = 12'000;
  for (int i = 0; i < kPosts; i += 1'000) put("cats"_tag, i, i + 1'000, std::chrono::days(30));
  const std::uint64_t taken = db::must(stores->history.totals()).bytes_of_history();
  EXPECT_GT(taken, 3 * kPosts * storage::HistoryStore::kBytesOfEntry);
  EXPECT_EQ(keep_to(taken + kPosts), 0U);
  EXPECT_EQ(bytes, taken);
  EXPECT_NEAR(static_cast<double>(keep_to(taken / 5 * 4)), 0.2 * kPosts, 0.02 * kPosts);
  EXPECT_NEAR(static_cast<double>(bytes), 0.8 * static_cast<double>(taken),
              0.02 * static_cast<double>(taken));
  EXPECT_NEAR(static_cast<double>(count("cats"_tag)), 0.8 * kPosts, 0.02 * kPosts);
}

TEST_F(RetentionTest, WhatIsOlderThanAYearGoesFirstAndTheOldestOfAll) {
  put("recent"_tag, 0, 500, std::chrono::days(300));
  put("older"_tag, 0, 100, std::chrono::days(400));
  put("oldest"_tag, 0, 100, std::chrono::days(900));
  EXPECT_EQ(make_room(650), 56U);  // and a hundredth more
  EXPECT_EQ(count("oldest"_tag), 44U);
  EXPECT_EQ(count("older"_tag), 100U);
  EXPECT_EQ(make_room(530), 114U + 5U);
  EXPECT_EQ(count("oldest"_tag), 0U);
  EXPECT_EQ(count("recent"_tag), 500U);
}

Tag victim(int number) { return Tag::from_canonical(fmt::format("victim{}", number)); }

TEST_F(RetentionTest, AFloodUnderOneHashtagDisplacesOnlyItself) {
  for (int tag = 0; tag < 20; ++tag) put(victim(tag), 0, 50, std::chrono::days(300));
  put("flood"_tag, 0, 6'000, std::chrono::days(5));
  EXPECT_GT(make_room(3'000), 4'000U - 1);
  for (int tag = 0; tag < 20; ++tag) EXPECT_EQ(count(victim(tag)), 50U);
  EXPECT_EQ(count("flood"_tag), 1'970U);
  put("flood"_tag, 6'000, 9'000, std::chrono::days(5));  // and goes on
  make_room(3'000);
  for (int tag = 0; tag < 20; ++tag) EXPECT_EQ(count(victim(tag)), 50U);
}

TEST_F(RetentionTest, OfSeveralLargeHashtagsEachGivesInTurns) {
  put("one"_tag, 0, 1'000, std::chrono::days(30));
  put("two"_tag, 0, 900, std::chrono::days(60));
  put("small"_tag, 0, 100, std::chrono::days(90));
  make_room(1'000);
  EXPECT_EQ(count("small"_tag), 100U);
  EXPECT_NEAR(static_cast<double>(count("one"_tag)), static_cast<double>(count("two"_tag)), 16);
  EXPECT_EQ(count("one"_tag) + count("two"_tag), 890U);
}

TEST_F(RetentionTest, AHashtagThatIsDividedCountsAsOne) {
  for (const unsigned part : {0, 16, 32, 48}) put({"heavy"_tag, part}, 0, 300, std::chrono::days(30));
  put("other"_tag, 0, 400, std::chrono::days(60));
  make_room(1'000);
  EXPECT_EQ(count("other"_tag), 400U);
  // By age, not partition by partition.
  for (const unsigned part : {0, 16, 32, 48})
    EXPECT_NEAR(static_cast<double>(count({"heavy"_tag, part})), 590.0 / 4, 16) << part;
  make_room(700);
  EXPECT_NEAR(static_cast<double>(count("other"_tag)), 693.0 / 2, 17);
}

TEST_F(RetentionTest, WhatWasLetGoIsNotTakenAgain) {
  put("cats"_tag, 0, 100, std::chrono::days(30));
  make_room(50);
  EXPECT_EQ(count("cats"_tag), 50U);
  put("cats"_tag, 0, 100, std::chrono::days(30));
  EXPECT_EQ(count("cats"_tag), 50U);
  put("cats"_tag, 100, 101, std::chrono::days(30));
  EXPECT_EQ(count("cats"_tag), 51U);
}

}  // namespace
}  // namespace tagring::node
