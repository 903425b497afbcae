// Two stores of history that were apart become alike.
#include "storage/reconcile.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/rng.hpp"
#include "db_history/hour_reader.hpp"
#include "sql/keys.hpp"
#include "tests/db/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using storage::CompareLimits;
using storage::Comparison;
using storage::Difference;
using storage::HistoryEntry;
using storage::HourDigest;
using storage::HourRange;

const RingId kOne = RingId::power_of_two(0);
const HourRange kEverything{{RingId(), 0}, {RingId() - kOne, 1'000'000}};

HistoryEntry post(std::uint64_t number, std::uint64_t tags, bool removed = false) {
  const std::int64_t hour = 480'000 + static_cast<std::int64_t>(number * 7919 % 2000);
  return {Tag::from_canonical(fmt::format("tag{}", number % tags)),
          fmt::format("https://a.example/users/u/statuses/{}", number), "https://a.example/users/u",
          WallTime(std::chrono::hours(hour) + Duration(number % 1000)), removed};
}

class Reconcile : public StoresTest {
 protected:
  Reconcile() {
    auto opened = open_stores(elsewhere_.options(), clock);
    if (!opened) throw std::runtime_error(opened.error().message);
    other_ = std::move(*opened);
  }

  storage::HistoryStore& here() { return stores->history; }
  storage::HistoryStore& there() { return other_->history; }
  void put(storage::HistoryStore& store, std::vector<HistoryEntry> entries) {
    must(store.put(std::move(entries)));
  }
  // Takes over what `replica` has more.
  Result<storage::Reconciled> take(storage::HistoryStore& store, storage::HistoryStore& replica,
                                   CompareLimits limits = {}) {
    return run(storage::reconcile(
        store, kEverything, 0,
        [&](std::vector<Comparison> asked) { return storage::compare(replica, std::move(asked), 0, limits); },
        [&](std::vector<HistoryEntry> entries) {
          heard_.insert(heard_.end(), entries.begin(), entries.end());
          return store.put(std::move(entries));
        },
        limits));
  }
  // Of what takes were told since, what is of hours of which the store has let go.
  std::size_t heard_of_let_go(storage::HistoryStore& store) {
    std::vector<redundancy::Partition> partitions;
    for (const HistoryEntry& entry : heard_) partitions.push_back(entry.partition);
    const std::vector<WallTime> kept_from = must(store.kept_from(std::move(partitions)));
    std::size_t count = 0;
    for (std::size_t i = 0; i < heard_.size(); ++i)
      count += storage::hour_of(heard_[i].published) < storage::hour_of(kept_from[i]) ? 1 : 0;
    heard_.clear();
    return count;
  }
  // So many posts of the hashtag go: the oldest of them.
  HistoryEntry let_go(storage::HistoryStore& store, const Tag& tag, std::size_t count) {
    const storage::HistoryPage before = must(store.page(tag, std::nullopt, 1'000'000));
    must(store.let_go(tag, count, WallTime::max()));
    return before.entries.back();
  }
  HourDigest digest(storage::HistoryStore& store) { return must(store.digests({kEverything}, 0)).front(); }
  std::vector<HistoryEntry> all(storage::HistoryStore& store) {
    return must(store.entries(kEverything, 0, std::nullopt, 1'000'000));
  }

 private:
  std::vector<HistoryEntry> heard_;
  Place elsewhere_{GetParam()};
  std::unique_ptr<Stores> other_;
};

INSTANTIATE_TEST_SUITE_P(, Reconcile, every_database(), name_of);

TEST_P(Reconcile, ADigestDependsOnWhatThereIsAndNotOnHowItCame) {
  std::vector<HistoryEntry> entries;
  for (std::uint64_t i = 0; i < 200; ++i) entries.push_back(post(i, 5));
  entries[17].removed = true;
  put(here(), entries);
  put(here(), entries);  // again
  std::ranges::reverse(entries);
  HistoryEntry& removed = entries[200 - 1 - 17];
  ASSERT_TRUE(std::exchange(removed.removed, false));
  put(there(), entries);
  removed.removed = true;
  put(there(), {removed});
  EXPECT_EQ(digest(here()), digest(there()));
  EXPECT_EQ(digest(here()).posts, 200U);
  put(there(), {post(3, 5, true)});
  EXPECT_NE(digest(here()), digest(there()));
  EXPECT_EQ(digest(there()).posts, 200U);
}

TEST_P(Reconcile, PartsFollowEachOtherAndAddUpToTheWhole) {
  std::vector<HistoryEntry> entries;
  for (std::uint64_t i = 0; i < 300; ++i) entries.push_back(post(i, 7));
  put(here(), std::move(entries));
  const std::vector<HourDigest> parts = must(here().split(kEverything, 0, 16));
  ASSERT_EQ(parts.size(), 16U);
  EXPECT_EQ(parts.front().range.first, kEverything.first);
  EXPECT_EQ(parts.back().range.last, kEverything.last);
  HourDigest sum{kEverything, 0, 0};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) {
      EXPECT_EQ(parts[i].range.first.key, parts[i - 1].range.last.key);
      EXPECT_EQ(parts[i].range.first.hour, parts[i - 1].range.last.hour + 1);
    }
    EXPECT_EQ(must(here().digests({parts[i].range}, 0)).front(), parts[i]);
    sum.posts += parts[i].posts;
    sum.digest = (sum.digest + parts[i].digest) % (std::uint64_t{1} << 62U);
  }
  EXPECT_EQ(sum, digest(here()));
}

TEST_P(Reconcile, HoursBeforeThatTimeDoNotCount) {
  put(here(), {post(1, 1), post(2, 1), post(3, 1)});
  std::vector<std::int64_t> hours;
  for (const HistoryEntry& entry : all(here())) hours.push_back(storage::hour_of(entry.published));
  std::ranges::sort(hours);
  EXPECT_EQ(must(here().digests({kEverything}, hours[1])).front().posts, 2U);
  EXPECT_EQ(must(here().entries(kEverything, hours[2], std::nullopt, 10)).size(), 1U);
}

TEST_P(Reconcile, BothEndWithTheUnionInWhichTombstonesWin) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Rng rng(seed);
    std::vector<HistoryEntry> mine;
    std::vector<HistoryEntry> theirs;
    for (std::uint64_t i = 0; i < 400; ++i) {
      const HistoryEntry entry = post(seed * 1000 + i, 6);
      HistoryEntry removed = entry;
      removed.removed = true;
      if (!rng.chance(0.1)) mine.push_back(rng.chance(0.1) ? removed : entry);
      if (!rng.chance(0.1)) theirs.push_back(rng.chance(0.1) ? removed : entry);
    }
    put(here(), std::move(mine));
    put(there(), std::move(theirs));
    ASSERT_TRUE(take(here(), there()));
    ASSERT_TRUE(take(there(), here()));
    EXPECT_EQ(digest(here()), digest(there()));
    EXPECT_EQ(all(here()), all(there()));
    const auto again = take(here(), there());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->questions, 1U);
    EXPECT_EQ(again->entries, 0U);
  }
}

TEST_P(Reconcile, CostsWhatIsDifferentAndNotWhatThereIs) {
  std::vector<HistoryEntry> entries;
  for (std::uint64_t i = 0; i < 20'000; ++i) entries.push_back(post(i, 50));
  put(there(), entries);
  std::erase_if(entries, [](const HistoryEntry& entry) { return entry.uri.ends_with("777"); });
  put(here(), entries);
  const auto done = take(here(), there());
  ASSERT_TRUE(done);
  EXPECT_EQ(digest(here()), digest(there()));
  EXPECT_LE(done->questions, 6U);
  EXPECT_LE(done->entries, 20U * CompareLimits{}.leaf);
}

TEST_P(Reconcile, AnHourThatIsTooLargeForOneAnswerComesInSeveral) {
  std::vector<HistoryEntry> entries = {post(1, 1)};
  for (std::uint64_t i = 0; i < 1000; ++i) {
    entries.push_back({"cats"_tag, fmt::format("https://a.example/{}", i), "https://a.example/u",
                       WallTime(std::chrono::hours(480'000) + Duration(i / 3)), i % 10 == 0});
  }
  put(there(), std::move(entries));
  const auto done = take(here(), there());
  ASSERT_TRUE(done);
  EXPECT_EQ(done->entries, 1001U);
  EXPECT_EQ(all(here()), all(there()));
}

TEST_P(Reconcile, WhatOneLetGoIsNotFetchedBackAndNotLostToOthers) {
  std::vector<HistoryEntry> entries;
  for (std::uint64_t i = 0; i < 2'000; ++i) entries.push_back(post(i, 5));
  put(here(), entries);
  put(there(), entries);
  const auto left = must(here().let_go("tag3"_tag, 150, WallTime::max()));
  EXPECT_EQ(left.posts, 250U);
  EXPECT_EQ(all(here()).size(), 1'850U);
  const auto bucket = must(here().bucket("tag3"_tag, storage::hour_of(left.oldest), std::nullopt, 1));
  EXPECT_LE(bucket.kept_from, left.oldest);
  EXPECT_GT(bucket.kept_from, WallTime());
  for (auto* asks : {&here(), &there()}) {
    const auto done = take(*asks, asks == &here() ? there() : here());
    ASSERT_TRUE(done);
    EXPECT_EQ(done->questions, 1U);
    EXPECT_EQ(done->entries, 0U);
  }
  EXPECT_EQ(all(there()).size(), 2'000U);
  EXPECT_EQ(must(here().totals()).entries, 1'850U);
  EXPECT_EQ(must(here().totals()).let_go, 150U);
  // A real difference beside it is found, and only that changes anything.
  put(there(), {post(9'999, 5)});
  const auto done = take(here(), there());
  ASSERT_TRUE(done);
  EXPECT_EQ(all(here()).size(), 1'851U);
  EXPECT_LE(done->entries, CompareLimits{}.leaf);
  EXPECT_EQ(heard_of_let_go(here()), 0U);
}

// Removals and late posts of the time that one let go of differ for ever, and in every round.
TEST_P(Reconcile, WhatEitherLetGoIsNotSentWhateverElseDiffers) {
  for (const std::uint64_t tags : {3U, 20U, 80U}) {
    const std::uint64_t first = tags * 100'000;  // so that none is in two runs
    std::vector<HistoryEntry> entries;
    for (std::uint64_t i = 0; i < tags * 40; ++i) entries.push_back(post(first + i, tags));
    put(here(), entries);
    put(there(), entries);
    std::vector<HistoryEntry> removed;
    for (std::uint64_t i = 0; i < tags; ++i) {
      const Tag tag = Tag::from_canonical(fmt::format("tag{}", i));
      removed.push_back(let_go(here(), tag, 20));
      removed.back().removed = true;
      if (i % 3 == 0) let_go(there(), tag, i % 2 == 0 ? 10 : 30);
    }
    put(there(), removed);
    std::vector<HistoryEntry> fresh;
    for (std::uint64_t i = 0; i < tags; i += 5) {
      fresh.push_back({Tag::from_canonical(fmt::format("tag{}", i)),
                       fmt::format("https://a.example/{}", first + i), "https://a.example/users/u",
                       WallTime(std::chrono::hours(483'000 + 1'000 * tags + i))});
    }
    put(there(), fresh);
    const auto taken = take(here(), there());
    ASSERT_TRUE(taken);
    EXPECT_GE(taken->entries, fresh.size());
    EXPECT_EQ(heard_of_let_go(here()), 0U);
    for (const HistoryEntry& entry : fresh)
      EXPECT_EQ(must(here().find({{entry.partition, entry.uri}})).front(), entry);
    ASSERT_TRUE(take(there(), here()));
    EXPECT_EQ(heard_of_let_go(there()), 0U);
    // From now on nothing is told to either, and little is asked.
    for (auto* asks : {&here(), &there()}) {
      const auto done = take(*asks, asks == &here() ? there() : here());
      ASSERT_TRUE(done);
      EXPECT_EQ(done->entries, 0U) << tags;
      EXPECT_LE(done->questions, 2 + tags / 10) << tags;
    }
  }
}

TEST_P(Reconcile, OfAnHourOfWhichSomeWasLetGoOnlyTheRestIsSent) {
  std::vector<HistoryEntry> entries;
  for (int i = 0; i < 100; ++i) {
    entries.push_back({"cats"_tag, fmt::format("https://a.example/{}", i), "https://a.example/u",
                       WallTime(std::chrono::hours(480'000) + std::chrono::minutes(i))});
  }
  put(here(), entries);
  put(there(), entries);
  must(here().let_go("cats"_tag, 30, WallTime::max()));
  EXPECT_EQ(must(here().kept_from({"cats"_tag, "dogs"_tag})),
            (std::vector{entries[30].published - std::chrono::minutes(1) + Duration(1), WallTime()}));
  EXPECT_EQ(must(here().floors(kEverything, 9)),
            (std::vector<storage::HourPlace>{{"cats"_tag.key(), 480'000}}));
  HistoryEntry late = entries[40];
  late.uri += "/late";
  put(there(), {late});
  ASSERT_TRUE(take(here(), there()));
  EXPECT_EQ(must(here().find({{late.partition, late.uri}})).front(), late);
  EXPECT_EQ(all(here()).size(), 71U);
  ASSERT_TRUE(take(there(), here()));
  EXPECT_EQ(digest(here()), digest(there()));
}

TEST_P(Reconcile, APostThatOneTookDownStaysWithTheOthers) {
  put(here(), {post(1, 1), post(2, 1)});
  put(there(), {post(1, 1), post(2, 1)});
  must(here().take_down({"net", "https://a.example/actor", "tag0"_tag, post(1, 1).uri, "why", at(1), "s"}));
  EXPECT_EQ(all(here()).size(), 1U);
  EXPECT_EQ(must(here().take_down_of("tag0"_tag, storage::post_id(post(1, 1).uri)))->reason, "why");
  for (auto* asks : {&here(), &there()}) {
    const auto done = take(*asks, asks == &here() ? there() : here());
    EXPECT_EQ(done->entries, 0U);
  }
  EXPECT_EQ(all(here()).size(), 1U);
  EXPECT_EQ(all(there()).size(), 2U);
}

TEST_P(Reconcile, AQuestionNamesNoHourTwice) {
  const RingId key = "cats"_tag.key();
  const auto asked = [&](std::int64_t first, std::int64_t last) {
    return Comparison{{{{key, first}, {key, last}}, 0, 0}, std::nullopt};
  };
  const auto compare = [&](std::vector<Comparison> ranges) {
    return run(storage::compare(here(), std::move(ranges), 0, CompareLimits{}));
  };
  EXPECT_TRUE(compare({asked(7, 9), asked(1, 3), asked(4, 6)}));
  for (const std::int64_t first : {1, 3, 9}) {
    const auto refused = compare({asked(7, 9), asked(1, 3), asked(first, 12)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  }
}

TEST_P(Reconcile, HoursAreReadSomeThousandAtATime) {
  using db_history::HourReader;
  std::vector<HistoryEntry> entries;  // each in an hour of its own
  for (std::uint64_t i = 0; i < HourReader::kHoursMax + 500; ++i) entries.push_back(post(i, 3));
  put(here(), std::move(entries));
  HourReader reader({kEverything}, 0);
  std::size_t hours = 0;
  const auto read_on = [&] {
    return must(stores->database->read([&](Connection& db) {
      return reader.read_on(db, [&](std::size_t, const db_history::HourRow&) { ++hours; });
    }));
  };
  EXPECT_TRUE(read_on());
  EXPECT_EQ(hours, HourReader::kHoursMax);
  EXPECT_FALSE(read_on());
  EXPECT_EQ(hours, HourReader::kHoursMax + 500);
  EXPECT_EQ(digest(here()).posts, hours);
  std::uint64_t posts = 0;
  for (const HourDigest& part : must(here().split(kEverything, 0, 16))) posts += part.posts;
  EXPECT_EQ(posts, hours);
}

TEST_P(Reconcile, AReplicaThatAnswersNonsenseChangesNothingAndIsLeft) {
  put(here(), {post(1, 1)});
  const auto before = all(here());
  const auto answered = [&](std::function<Difference(const Comparison&)> answer, std::size_t times) {
    return run(storage::reconcile(
        here(), kEverything, 0,
        [&](std::vector<Comparison> asked) -> Task<Result<std::vector<Difference>>> {
          std::vector<Difference> differences;
          for (std::size_t i = 0; i < times; ++i) differences.push_back(answer(asked.front()));
          return [](std::vector<Difference> given) -> Task<Result<std::vector<Difference>>> {
            co_return given;
          }(std::move(differences));
        },
        [&](std::vector<HistoryEntry> entries) { return here().put(std::move(entries)); }, CompareLimits{}));
  };
  const auto refused = [&](std::function<Difference(const Comparison&)> answer,
                           ErrorCode why = ErrorCode::kInvalid, std::size_t times = 1) {
    const auto result = answered(std::move(answer), times);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, why);
    EXPECT_EQ(all(here()), before);
  };
  refused([](const Comparison&) { return Difference{.index = 1, .parts = {}, .entries = {}, .next = {}}; });
  refused([](const Comparison& asked) {  // the whole as its own part, for ever
    return Difference{.index = 0, .parts = {{asked.own.range, 5, 5}}, .entries = {}, .next = {}};
  });
  const auto of_everything = [](std::size_t posts) {
    return Difference{
        .index = 0, .parts = {}, .entries = std::vector<HistoryEntry>(posts, post(2, 1)), .next = {}};
  };
  refused([&](const Comparison&) { return of_everything(1); }, ErrorCode::kInvalid, 2);  // one range twice
  refused([&](const Comparison&) { return of_everything(CompareLimits{}.entries + 1); });
  refused([](const Comparison& asked) {  // parts that overlap
    return Difference{
        .index = 0, .parts = {{asked.own.range, 5, 5}, {asked.own.range, 6, 6}}, .entries = {}, .next = {}};
  });
  refused(  // no end of it
      [](const Comparison&) {
        return Difference{.index = 0, .parts = {}, .entries = {}, .next = {}, .later = true};
      },
      ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace tagring::db
