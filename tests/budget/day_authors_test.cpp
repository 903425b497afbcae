#include "budget/day_authors.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tagring::budget {
namespace {

class WallClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {}; }
  [[nodiscard]] WallTime wall_now() const override { return time; }
  [[nodiscard]] boost::asio::awaitable<void> sleep_until(Instant /*deadline*/) override { co_return; }
  WallTime time = WallTime() + std::chrono::days(20'000);
};

class DayAuthorsTest : public testing::Test {
 protected:
  static std::string author(int number) { return fmt::format("https://far{}.example/u", number); }
  // One of four authors a day has room under #cats, at an instance that gets it.
  bool has_room(int number) { return authors.has_room({host, tag, got}, author(number), 4); }
  void come(std::uint64_t seq, int number, int days_ago = 0) {
    authors.came({fmt::format("https://far{}.example/{}", number, seq), tag, author(number), seq}, days_ago);
  }

  const std::string host = "social.example";
  const std::string tag = "cats";
  const DayAuthors::Got got = {{"cats", {{0, UINT64_MAX}}}};
  WallClock clock;
  DayAuthors authors{clock};
};

TEST_F(DayAuthorsTest, WhereNotAllOfTheDayAreKnownNobodyElseHasRoomAsLongAsItCounts) {
  authors.brought_to(host, tag, author(1));
  EXPECT_TRUE(has_room(2));
  // Three things each: the post, its author under the hashtag, and at their own server.
  for (std::size_t i = 0; 3 * i < DayAuthors::kMax; ++i)
    authors.note_tags(fmt::format("https://a.example/{}", i), fmt::format("https://a.example/u{}", i),
                      {"dogs"});
  EXPECT_FALSE(has_room(2)) << "who came live since is not known";
  EXPECT_TRUE(has_room(1)) << "and makes no more of them";
  for (int day = 1; day <= DayAuthors::kDaysBefore; ++day) {
    clock.time += std::chrono::days(1);
    EXPECT_FALSE(has_room(1));
    EXPECT_FALSE(authors.knows_all());
  }
  clock.time += std::chrono::days(1);
  for (int i = 1; i <= 4; ++i) {
    EXPECT_TRUE(has_room(i));
    authors.brought_to(host, tag, author(i));
  }
  EXPECT_FALSE(has_room(5));
}

TEST_F(DayAuthorsTest, NobodyElseHasRoomBeforeWhatCameOfLateHasBeenRead) {
  authors.brought_to(host, tag, author(1));
  authors.begin_reading();
  EXPECT_FALSE(has_room(2));
  EXPECT_TRUE(has_room(1)) << "who makes no more of them";
  authors.end_reading();
  EXPECT_TRUE(has_room(2));
}

TEST_F(DayAuthorsTest, LeavesPlacesToAsManyAsCameByThemselvesOnTheBusiestDay) {
  come(1, 1);
  come(1, 2);
  clock.time += std::chrono::days(1);
  come(2, 3);
  EXPECT_EQ(authors.live({host, tag, got}), 2U);
  authors.brought_to(host, tag, author(11));
  EXPECT_TRUE(has_room(12));
  authors.brought_to(host, tag, author(12));
  EXPECT_FALSE(has_room(13)) << "with two who come by themselves";
  EXPECT_TRUE(has_room(3)) << "who has come";
  EXPECT_FALSE(has_room(1)) << "who came yesterday";
  come(3, 11);
  EXPECT_TRUE(has_room(13)) << "11 came by themselves, after all";
  clock.time += std::chrono::days(2);
  EXPECT_EQ(authors.live({host, tag, got}), 2U) << "whom replays brought count on their day only";
  for (int i = 21; i <= 22; ++i) {
    EXPECT_TRUE(has_room(i));
    authors.brought_to(host, tag, author(i));
  }
  EXPECT_FALSE(has_room(23));
  clock.time += std::chrono::days(1);
  EXPECT_EQ(authors.live({host, tag, got}), 0U);
}

// It tells how many will come.
TEST_F(DayAuthorsTest, OfTheDaysBeforeAllCountsThatEnteredByWhatTheHostGetsNow) {
  come(1, 1);
  come(2, 2);
  const DayAuthors::Got since_then = {{"cats", {{2, UINT64_MAX}}}};
  const DayAuthors::Got not_any_more = {{"cats", {{0, 2}}}};
  EXPECT_EQ(authors.live({host, tag, since_then}), 0U);
  EXPECT_EQ(authors.live({host, tag, not_any_more}), 2U);
  clock.time += std::chrono::days(1);
  EXPECT_EQ(authors.live({host, tag, since_then}), 2U);
  EXPECT_EQ(authors.live({host, tag, not_any_more}), 0U);
}

TEST_F(DayAuthorsTest, AfterARestartPostsAreNotedOnTheirDays) {
  come(1, 1, 2);
  come(2, 2, 2);
  come(3, 3, 1);
  EXPECT_EQ(authors.ways({tag}), std::set<std::string>{tag});
  EXPECT_EQ(authors.live({host, tag, got}), 2U);
  clock.time += std::chrono::days(1);
  EXPECT_EQ(authors.live({host, tag, got}), 1U);
}

}  // namespace
}  // namespace tagring::budget
