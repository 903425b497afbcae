#include "storage/retention.hpp"

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "tests/db/fixture.hpp"

namespace tagring::node {
namespace {

class RetentionTest : public db::StoresTest {
 protected:
  boost::asio::io_context loop;
  Log log = Log::off();
  Workers workers;

  void put(const std::string& tag, int from, int to, Duration age) {
    std::vector<storage::HistoryEntry> entries;
    for (int i = from; i < to; ++i) {
      const WallTime published = clock.wall_now() - age + std::chrono::minutes(i);
      entries.push_back(
          {tag, fmt::format("https://a.example/{}/{}", tag, i), "https://a.example/u", published});
    }
    db::must(stores->history.put(std::move(entries)));
  }
  std::uint64_t make_room(std::uint64_t posts_max) {
    storage::Retention retention({posts_max * storage::HistoryStore::kBytesOfEntry}, stores->history,
                                 Runtime{clock, loop.get_executor(), workers, log, Rng(1)});
    return db::must(retention.make_room());
  }
  std::size_t count(const std::string& tag) {
    return db::must(stores->history.page(tag, {}, 100'000)).entries.size();
  }
};

TEST_F(RetentionTest, NothingGoesWhileThereIsRoom) {
  put("old", 0, 100, std::chrono::days(2'000));
  EXPECT_EQ(make_room(100), 0U);
  EXPECT_EQ(make_room(0), 0U);  // no limit
  EXPECT_EQ(count("old"), 100U);
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

TEST_F(RetentionTest, WhatIsOlderThanAYearGoesFirstAndTheOldestOfAll) {
  put("recent", 0, 500, std::chrono::days(300));
  put("older", 0, 100, std::chrono::days(400));
  put("oldest", 0, 100, std::chrono::days(900));
  EXPECT_EQ(make_room(650), 56U);  // and a hundredth more
  EXPECT_EQ(count("oldest"), 44U);
  EXPECT_EQ(count("older"), 100U);
  EXPECT_EQ(make_room(530), 114U + 5U);
  EXPECT_EQ(count("oldest"), 0U);
  EXPECT_EQ(count("recent"), 500U);
}

TEST_F(RetentionTest, AFloodUnderOneHashtagDisplacesOnlyItself) {
  for (int tag = 0; tag < 20; ++tag) put(fmt::format("victim{}", tag), 0, 50, std::chrono::days(300));
  put("flood", 0, 6'000, std::chrono::days(5));
  EXPECT_GT(make_room(3'000), 4'000U - 1);
  for (int tag = 0; tag < 20; ++tag) EXPECT_EQ(count(fmt::format("victim{}", tag)), 50U);
  EXPECT_EQ(count("flood"), 1'970U);
  put("flood", 6'000, 9'000, std::chrono::days(5));  // and goes on
  make_room(3'000);
  for (int tag = 0; tag < 20; ++tag) EXPECT_EQ(count(fmt::format("victim{}", tag)), 50U);
}

TEST_F(RetentionTest, OfSeveralLargeHashtagsEachGivesInTurns) {
  put("one", 0, 1'000, std::chrono::days(30));
  put("two", 0, 900, std::chrono::days(60));
  put("small", 0, 100, std::chrono::days(90));
  make_room(1'000);
  EXPECT_EQ(count("small"), 100U);
  EXPECT_NEAR(static_cast<double>(count("one")), static_cast<double>(count("two")), 16);
  EXPECT_EQ(count("one") + count("two"), 890U);
}

TEST_F(RetentionTest, AHashtagThatIsDividedCountsAsOne) {
  for (const char* shelf : {"heavy", "heavy/16", "heavy/32", "heavy/48"})
    put(shelf, 0, 300, std::chrono::days(30));
  put("other", 0, 400, std::chrono::days(60));
  make_room(1'000);
  EXPECT_EQ(count("other"), 400U);
  // By age, not shelf by shelf.
  for (const char* shelf : {"heavy", "heavy/16", "heavy/32", "heavy/48"})
    EXPECT_NEAR(static_cast<double>(count(shelf)), 590.0 / 4, 16) << shelf;
  make_room(700);
  EXPECT_NEAR(static_cast<double>(count("other")), 693.0 / 2, 17);
}

TEST_F(RetentionTest, WhatWasLetGoIsNotTakenAgain) {
  put("cats", 0, 100, std::chrono::days(30));
  make_room(50);
  EXPECT_EQ(count("cats"), 50U);
  put("cats", 0, 100, std::chrono::days(30));
  EXPECT_EQ(count("cats"), 50U);
  put("cats", 100, 101, std::chrono::days(30));
  EXPECT_EQ(count("cats"), 51U);
}

}  // namespace
}  // namespace tagring::node
