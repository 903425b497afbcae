#include "storage/history.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "base/rng.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::storage {
namespace {

WallTime at(std::int64_t milliseconds) { return WallTime(Duration(milliseconds)); }

HistoryEntry entry(std::int64_t milliseconds, std::string uri, bool removed = false) {
  return {"cats"_tag, std::move(uri), "https://a.example/u", at(milliseconds), removed};
}

TEST(HistoryCursor, TextIsMillisecondsAndThePercentEncodedUri) {
  const HistoryCursor cursor{at(1763691840000), "https://a.example/1~2"};
  EXPECT_EQ(cursor.text(), "1763691840000~https%3A%2F%2Fa.example%2F1~2");
  const auto parsed = HistoryCursor::parse(cursor.text());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->published, cursor.published);
  EXPECT_EQ(parsed->uri, cursor.uri);
}

TEST(HistoryCursor, AnyPlaceRoundTrips) {
  Rng rng(1);
  for (int i = 0; i < 500; ++i) {
    HistoryCursor cursor{at(static_cast<std::int64_t>(rng.next() >> 8U) - (std::int64_t{1} << 54)), {}};
    for (std::uint64_t n = rng.below(30); n > 0; --n) cursor.uri.push_back(static_cast<char>(rng.below(256)));
    const auto parsed = HistoryCursor::parse(cursor.text());
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->published, cursor.published);
    EXPECT_EQ(parsed->uri, cursor.uri);
  }
}

TEST(HistoryCursor, RefusesWhatIsNoCursor) {
  for (const char* text :
       {"", "~", "~https%3A", "12", "12x~a", " 12~a", "+12~a", "99999999999999999999~a", "1~%zz", "1~%4"}) {
    EXPECT_FALSE(HistoryCursor::parse(text)) << text;
  }
  EXPECT_FALSE(HistoryCursor::parse("1~" + std::string(10'000, 'a')));
}

TEST(History, IsOrderedByTimeThenUriGreatestFirst) {
  EXPECT_TRUE(newer(entry(2, "a"), entry(1, "b")));
  EXPECT_TRUE(newer(entry(1, "b"), entry(1, "a")));
  EXPECT_FALSE(newer(entry(1, "a"), entry(1, "a")));
  EXPECT_TRUE(HistoryCursor::of(entry(1, "b")).before(entry(1, "a")));
  EXPECT_FALSE(HistoryCursor::of(entry(1, "b")).before(entry(1, "b")));
  EXPECT_FALSE(HistoryCursor::of(entry(1, "b")).before(entry(1, "c")));
}

TEST(MergePages, ATombstoneOnOneReplicaHidesTheEntryOfAllOthers) {
  const HistoryPage a{{entry(3, "x"), entry(2, "y")}, false, {}};
  const HistoryPage b{{entry(3, "x", true), entry(1, "z")}, false, {}};
  const HistoryPage merged = merge_pages({a, b}, 10, false);
  EXPECT_EQ(merged.entries, (std::vector{entry(2, "y"), entry(1, "z")}));
  EXPECT_FALSE(merged.more);
  EXPECT_FALSE(merged.next);
  EXPECT_EQ(merge_pages({a, b}, 10, true).entries,
            (std::vector{entry(3, "x", true), entry(2, "y"), entry(1, "z")}));
}

TEST(MergePages, ALaterEntryShowsWhatIsATombstoneElsewhere) {
  HistoryEntry tombstone = entry(10, "https://a.example/1", true);
  tombstone.changed = at(100);
  tombstone.author += "0";
  HistoryEntry back = entry(10, "https://a.example/1");
  back.changed = at(200);
  HistoryPage a;
  a.entries = {tombstone};
  HistoryPage b;
  b.entries = {back};
  for (const auto& pages : {std::vector{a, b}, std::vector{b, a}}) {
    EXPECT_EQ(merge_pages(pages, 9, false).entries, std::vector{back});
    EXPECT_EQ(merge_newer_pages(pages, 9).entries, std::vector{back});
  }
}

TEST(MergePages, DoesNotPassWhatAReplicaWithMoreToSayHasReached) {
  const HistoryPage a{{entry(9, "x"), entry(8, "y")}, true, {}};
  const HistoryPage b{{entry(7, "z")}, false, {}};
  const HistoryPage merged = merge_pages({a, b}, 10, false);
  EXPECT_EQ(merged.entries, (std::vector{entry(9, "x"), entry(8, "y")}));
  EXPECT_TRUE(merged.more);
  EXPECT_EQ(merged.next->uri, "y");
}

// One has reached 3, the other 5: what the first has between them is not known yet.
TEST(MergeNewerPages, DoesNotPassWhatAReplicaWithMoreToSayHasReached) {
  const HistoryPage a{{entry(3, "x"), entry(2, "y")}, true, {}};
  const HistoryPage b{{entry(5, "v"), entry(4, "w"), entry(2, "y")}, true, {}};
  for (const auto& pages : {std::vector{a, b}, std::vector{b, a}}) {
    const HistoryPage merged = merge_newer_pages(pages, 10);
    EXPECT_EQ(merged.entries, (std::vector{entry(3, "x"), entry(2, "y")}));
    EXPECT_TRUE(merged.more);
    ASSERT_TRUE(merged.next);
    EXPECT_EQ(merged.next->text(), HistoryCursor::of(entry(3, "x")).text());
  }
}

TEST(MergePages, APageOfTombstonesStillSaysWhereToGoOn) {
  const HistoryPage a{{entry(9, "x", true), entry(8, "y", true)}, true, {}};
  const HistoryPage merged = merge_pages({a}, 10, false);
  EXPECT_TRUE(merged.entries.empty());
  EXPECT_TRUE(merged.more);
  ASSERT_TRUE(merged.next);
  EXPECT_EQ(merged.next->uri, "y");
}

TEST(MergePages, AReplicaThatClaimsMoreButShowsNothingHoldsNobodyUp) {
  const HistoryPage liar{{}, true, {}};
  const HistoryPage merged = merge_pages({liar, {{entry(1, "x")}, false, {}}}, 10, false);
  EXPECT_EQ(merged.entries.size(), 1U);
  EXPECT_FALSE(merged.more);
}

TEST(MergePages, AddUpWhatWasDisputedInEitherDirection) {
  HistoryPage a{{entry(3, "x")}, false, {}};
  HistoryPage b{{entry(2, "y")}, false, {}};
  a.disputed = 2;
  b.disputed = 1;
  EXPECT_EQ(merge_pages({a, b}, 10, false).disputed, 3U);
  EXPECT_EQ(merge_newer_pages({a, b}, 10).disputed, 3U);
}

// A replica as a sorted list.
HistoryPage page_of(const std::vector<HistoryEntry>& replica, const std::optional<HistoryCursor>& cursor,
                    std::size_t limit) {
  HistoryPage page;
  for (const HistoryEntry& e : replica) {
    if (cursor && !cursor->before(e)) continue;
    if (page.entries.size() == limit) {
      page.more = true;
      break;
    }
    page.entries.push_back(e);
  }
  return page;
}

TEST(MergePages, PagingYieldsEveryLiveEntryOnceInOrderWhateverReplicasHold) {
  Rng rng(11);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::vector<HistoryEntry>> replicas(1 + rng.below(4));
    std::vector<HistoryEntry> expected;
    const bool keep_removed = rng.chance(0.3);
    for (std::uint64_t i = rng.below(60); i > 0; --i) {
      HistoryEntry e = entry(static_cast<std::int64_t>(rng.below(20)), "u" + std::to_string(i));
      bool somewhere = false;
      bool removed = false;
      for (auto& replica : replicas) {
        if (!rng.chance(0.6)) continue;
        e.removed = rng.chance(0.2);
        somewhere = true;
        removed = removed || e.removed;
        replica.push_back(e);
      }
      e.removed = removed;
      if (somewhere && (!removed || keep_removed)) expected.push_back(e);
    }
    for (auto& replica : replicas) std::ranges::sort(replica, newer);
    std::ranges::sort(expected, newer);

    const std::size_t limit = 1 + rng.below(8);
    std::vector<HistoryEntry> read;
    std::optional<HistoryCursor> cursor;
    for (int pages = 0;; ++pages) {
      ASSERT_LT(pages, 200);
      std::vector<HistoryPage> parts;
      for (const auto& replica : replicas) parts.push_back(page_of(replica, cursor, limit));
      const HistoryPage merged = merge_pages(parts, limit, keep_removed);
      ASSERT_LE(merged.entries.size(), limit);
      read.insert(read.end(), merged.entries.begin(), merged.entries.end());
      if (!merged.more) break;
      ASSERT_TRUE(merged.next);
      cursor = merged.next;
    }
    ASSERT_EQ(read, expected) << round;
  }
}

HistoryDay day(int number, std::uint64_t posts, std::uint64_t authors) {
  return {std::chrono::sys_days(std::chrono::days(number)), posts, authors};
}

TEST(MergeDays, WhoLacksPostsMakesNoDaySmaller) {
  EXPECT_THAT(merge_days({{day(1, 5, 2)}, {day(1, 9, 3), day(2, 1, 1)}}),
              testing::ElementsAre(day(1, 9, 3), day(2, 1, 1)));
  EXPECT_THAT(merge_days({{day(1, 9, 3)}, {}, {day(1, 9, 3)}, {day(1, 4, 1)}}),
              testing::ElementsAre(day(1, 9, 3)));
}

TEST(MergeDays, OneOfThreeCannotMakeADayGreater) {
  const std::vector<HistoryDay> honest = {day(1, 5, 2)};
  const std::vector<HistoryDay> liar = {day(1, 900, 800), day(1, 900, 800), day(2, 7, 7)};
  EXPECT_THAT(merge_days({honest, liar, honest}), testing::ElementsAre(day(1, 5, 2)));
}

}  // namespace
}  // namespace tagring::storage
