#include "db_history/history_store.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/rng.hpp"
#include "sql/keys.hpp"
#include "tests/db/fixture.hpp"
#include "tests/db/writes.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using redundancy::Partition;
using storage::HistoryCursor;
using storage::HistoryEntry;
using storage::HistoryPage;
using storage::newer;

class HistoryStore : public StoresTest {
 protected:
  void put(std::vector<HistoryEntry> entries) { must(stores->history.put(std::move(entries))); }
  HistoryPage page(Partition partition, std::optional<HistoryCursor> cursor, std::size_t limit) {
    return must(stores->history.page(std::move(partition), std::move(cursor), limit));
  }
  std::vector<HistoryEntry> all(const Partition& partition) {
    return page(partition, std::nullopt, 100'000).entries;
  }
};

HistoryEntry entry(Partition partition, std::int64_t milliseconds, std::string uri, bool removed = false) {
  return {std::move(partition), std::move(uri), "https://a.example/users/u", at(milliseconds), removed};
}

// URIs of every shape that real servers use, and others.
std::string random_uri(Rng& rng, const std::string& author) {
  const std::string number = std::to_string(rng.below(1U << 20U));
  switch (rng.below(8)) {
    case 0:
      return author + "/statuses/" + number;
    case 1:
      return author + "/" + number;
    case 2:
      return "https://a.example/objects/0a1b2c3d-0000-4000-8000-00000000" +
             std::to_string(1000 + rng.below(9000));
    case 3:
      return "https://a.example/notes/9x" + number;
    case 4:
      return "https://other.example/p/0" + number;
    case 5:
      return "urn:" + number;
    case 6:
      return author + "/posts/" + number + "/";
    default:
      return author + number;
  }
}

INSTANTIATE_TEST_SUITE_P(, HistoryStore, every_database(), name_of);

TEST_P(HistoryStore, PagesRunNewestFirstAndOfEqualTimesTheGreaterUriFirst) {
  put({entry("cats"_tag, 10, "https://a.example/users/u/1"),
       entry("cats"_tag, 30, "https://a.example/users/u/2"),
       entry("cats"_tag, 20, "https://a.example/users/u/5"),
       entry("cats"_tag, 20, "https://a.example/users/u/10"), entry("cats"_tag, 20, "https://b.example/x"),
       entry("dogs"_tag, 25, "https://a.example/users/u/9")});
  std::vector<std::string> uris;
  for (const auto& e : all("cats"_tag)) uris.push_back(e.uri);
  EXPECT_EQ(uris, (std::vector<std::string>{"https://a.example/users/u/2", "https://b.example/x",
                                            "https://a.example/users/u/5", "https://a.example/users/u/10",
                                            "https://a.example/users/u/1"}));
  EXPECT_TRUE(all("birds"_tag).empty());
}

TEST_P(HistoryStore, OfAKnownEntryNothingChangesButRemovedWins) {
  const HistoryEntry first = entry("cats"_tag, 10, "https://a.example/users/u/1");
  put({first});
  HistoryEntry other = first;
  other.author = "https://evil.example/u";
  other.published = at(99);
  put({other});
  EXPECT_EQ(all("cats"_tag), std::vector{first});

  other.removed = true;
  put({other});
  HistoryEntry tombstone = first;
  tombstone.removed = true;
  EXPECT_EQ(all("cats"_tag), std::vector{tombstone});
  put({first});
  EXPECT_EQ(all("cats"_tag), std::vector{tombstone});
  EXPECT_EQ(must(stores->history.totals()).entries, 1U);
}

// Whoever writes waits for one piece at most.
TEST_P(HistoryStore, TheDaysOfALargeHistoryAreReadInPieces) {
  constexpr std::int64_t kDay = 86'400'000;
  std::vector<HistoryEntry> entries;
  for (std::int64_t i = 0; i < 9'000; ++i) {
    // Two days; of the second, 3,000 in one millisecond; every tenth is removed.
    const std::int64_t time = i < 4'500 ? kDay + i : i < 6'000 ? 2 * kDay + i : 2 * kDay + 7'000;
    entries.push_back(entry("cats"_tag, time, fmt::format("https://a.example/users/u/{}", i), i % 10 == 0));
    entries.back().author = fmt::format("https://a.example/users/u{}", i % 700);
  }
  put(entries);
  stores.reset();
  int jobs = 0;
  DatabaseOptions options = place.options();
  options.pause = [&jobs]() -> Task<void> {
    ++jobs;
    co_return;
  };
  stores = open_stores(options, clock).value();
  jobs = 0;
  const auto days = must(stores->history.days("cats"_tag, std::chrono::sys_days(std::chrono::days(1)),
                                              std::chrono::sys_days(std::chrono::days(9))));
  EXPECT_GE(jobs, 5);
  const auto day = [](int number) { return std::chrono::sys_days(std::chrono::days(number)); };
  EXPECT_EQ(days, (std::vector<storage::HistoryDay>{{day(1), 4'050, 630}, {day(2), 4'050, 630}}));
  EXPECT_EQ(must(stores->history.days("cats"_tag, day(2), day(3))).size(), 1U);
  EXPECT_EQ(must(stores->history.days("cats"_tag, day(3), day(9))).size(), 0U);
  EXPECT_EQ(must(stores->history.days("dogs"_tag, day(0), day(9))).size(), 0U);
}

TEST_P(HistoryStore, TheLatestEditCountsInWhateverOrder) {
  const auto said = [](WallTime changed, bool removed) {
    HistoryEntry e = entry("cats"_tag, 10, "https://a.example/users/u/1", removed);
    e.changed = changed;
    return e;
  };
  std::vector<HistoryEntry> all_of = {said({}, false), said(at(100), true), said(at(200), false)};
  std::ranges::sort(all_of, {}, &HistoryEntry::changed);
  do {
    must(stores->history.correct("cats"_tag, all_of.front().uri, std::nullopt, false));
    for (const HistoryEntry& e : all_of) put({e});
    EXPECT_EQ(all("cats"_tag), std::vector{said(at(200), false)});
    EXPECT_EQ(must(stores->history.totals()).entries, 1U);
  } while (std::ranges::next_permutation(all_of, {}, &HistoryEntry::changed).found);
  const auto days = must(
      stores->history.days("cats"_tag, std::chrono::sys_days(), std::chrono::sys_days(std::chrono::days(1))));
  ASSERT_EQ(days.size(), 1U);
  EXPECT_EQ(days[0].posts, 1U);
  const auto before =
      must(stores->history.digests({{{RingId(), 0}, {RingId() - RingId::power_of_two(0), 9}}}, 0));
  put({said(at(300), true)});
  EXPECT_NE(must(stores->history.digests({{{RingId(), 0}, {RingId() - RingId::power_of_two(0), 9}}}, 0)),
            before);
  put({said(at(400), false)});
  EXPECT_EQ(must(stores->history.digests({{{RingId(), 0}, {RingId() - RingId::power_of_two(0), 9}}}, 0)),
            before);
  put({said({}, true), said(at(500), false)});
  EXPECT_EQ(all("cats"_tag), std::vector{said({}, true)}) << "it is deleted";
}

// Of what never was, somebody may have said that it is gone, and when and by whom it was.
TEST_P(HistoryStore, WhatComesBackIsWhereItsAddSays) {
  HistoryEntry tombstone = entry("cats"_tag, 10, "https://a.example/users/u/1", true);
  tombstone.changed = at(100);
  HistoryEntry back = entry("cats"_tag, 20, tombstone.uri);
  back.author = "https://a.example/users/v";
  back.changed = at(200);
  put({tombstone, entry("cats"_tag, 15, "https://a.example/users/u/2"), back});
  EXPECT_EQ(all("cats"_tag).front(), back);
  EXPECT_EQ(all("cats"_tag).size(), 2U);
  EXPECT_EQ(must(stores->history.totals()).entries, 2U);
}

TEST_P(HistoryStore, InALargeBatchWhatComesBackMayBeOfANewAuthor) {
  HistoryEntry tombstone = entry("cats"_tag, 10, "https://a.example/users/u/1", true);
  tombstone.changed = at(50);
  put({tombstone, entry("cats"_tag, 20, "https://a.example/users/u/2")});
  std::vector<HistoryEntry> batch = {entry("cats"_tag, 30, "https://a.example/users/u/1"),
                                     entry("cats"_tag, 20, "https://a.example/users/u/3")};
  batch[0].changed = at(100);
  for (HistoryEntry& e : batch) e.author = "https://a.example/users/v";
  for (std::int64_t i = 0; i < 50; ++i)
    batch.push_back(entry("cats"_tag, 100 + i, fmt::format("https://a.example/users/u/{}", 100 + i)));
  put(batch);
  batch.push_back(entry("cats"_tag, 20, "https://a.example/users/u/2"));
  std::ranges::sort(batch, newer);
  EXPECT_EQ(all("cats"_tag), batch);
}

HistoryEntry hearsay(HistoryEntry entry) {
  entry.changed = storage::kBeforeAll;
  return entry;
}

// The next program that opens it finds it, wherever it is.
TEST_P(HistoryStore, PostsThatWereOnlyHeardAreFoundUntilTheyAreSaid) {
  const HistoryEntry post = entry("cats"_tag, 10, "https://a.example/users/u/1");
  const HistoryEntry other = entry({"dogs"_tag, 16}, 10, "https://a.example/users/u/2");
  const HistoryEntry removal = entry("cats"_tag, 30, "https://a.example/users/u/3", true);
  const HistoryEntry dated = {"cats"_tag, "https://a.example/users/u/4", other.author, at(40), false, false,
                              at(-1)};
  put({hearsay(post), hearsay(other), hearsay(removal), dated});
  reopen();
  EXPECT_THAT(must(stores->history.heard(10)), testing::UnorderedElementsAre(hearsay(post), hearsay(other)));
  EXPECT_THAT(must(stores->history.heard(1)), testing::SizeIs(1));
  put({hearsay(post), other});
  EXPECT_THAT(must(stores->history.heard(10)), testing::ElementsAre(hearsay(post)));
  put({post});
  EXPECT_THAT(must(stores->history.heard(10)), testing::IsEmpty());
  EXPECT_THAT(all("cats"_tag), testing::ElementsAre(dated, hearsay(removal), post));
}

// Such a removal takes nothing away.
TEST_P(HistoryStore, OfWhatWasOnlyHeardThePostIsLaterThanItsRemoval) {
  const HistoryEntry post = hearsay(entry("cats"_tag, 10, "https://a.example/users/u/1"));
  const HistoryEntry removal = hearsay(entry("cats"_tag, 10, "https://a.example/users/u/1", true));
  put({removal});
  put({post});
  put({removal});
  EXPECT_THAT(all("cats"_tag), testing::ElementsAre(post));
}

TEST_P(HistoryStore, ATombstoneForAnUnknownPostIsKeptWithTheAuthorAndTimeGiven) {
  const HistoryEntry tombstone = entry("cats"_tag, 10, "https://a.example/users/u/1", true);
  put({tombstone});
  put({entry("cats"_tag, 10, "https://a.example/users/u/1")});
  EXPECT_EQ(all("cats"_tag), std::vector{tombstone});
}

TEST_P(HistoryStore, WhatIsCorrectedIsAsIfItHadAlwaysBeenSo) {
  const auto everything = [this] {
    return must(stores->history.digests({{{"cats"_tag.key(), -100}, {"cats"_tag.key(), 100}}}, -100)).front();
  };
  const HistoryEntry kept = entry("cats"_tag, 20, "https://a.example/users/u/2");
  put({kept});
  const auto without = everything();
  const HistoryEntry wrong = entry("cats"_tag, 10, "https://a.example/users/u/1", true);
  HistoryEntry right = entry("cats"_tag, 4'000'000, wrong.uri);
  right.author = "https://a.example/users/v";
  put({wrong});
  ASSERT_TRUE(run(stores->history.correct("cats"_tag, wrong.uri, right, false)));
  EXPECT_EQ(all("cats"_tag), (std::vector{right, kept}));
  EXPECT_EQ(must(stores->history.totals()).entries, 2U);
  ASSERT_TRUE(run(stores->history.correct("cats"_tag, wrong.uri, std::nullopt, false)));
  EXPECT_EQ(all("cats"_tag), std::vector{kept});
  EXPECT_EQ(everything(), without);
  EXPECT_EQ(must(stores->history.totals()).entries, 1U);
  ASSERT_TRUE(run(stores->history.correct("cats"_tag, wrong.uri, right, false))) << "which is not here";
  EXPECT_EQ(all("cats"_tag), (std::vector{right, kept}));
}

TEST_P(HistoryStore, WhatWasPromisedAndIsCorrectedIsNamedInItsHour) {
  const auto corrected = [this](std::int64_t hour) {
    return must(stores->history.bucket("cats"_tag, hour, std::nullopt, 10)).corrected;
  };
  using Ids = std::vector<crypto::Hash256>;
  const HistoryEntry post = entry("cats"_tag, 10, "https://a.example/users/u/1");
  const auto correct = [&](std::optional<HistoryEntry> truth, bool promised) {
    ASSERT_TRUE(run(stores->history.correct("cats"_tag, post.uri, std::move(truth), promised)));
  };
  put({post});
  HistoryEntry later = post;
  later.published += std::chrono::minutes(1);
  correct(later, true);
  EXPECT_EQ(corrected(0), Ids()) << "it is in that hour still";
  later.published += std::chrono::hours(2);
  correct(later, true);
  EXPECT_EQ(corrected(0), Ids{storage::post_id(post.uri)});
  correct(std::nullopt, false);
  EXPECT_EQ(corrected(2), Ids());
  must(stores->history.let_go("cats"_tag, 1, at(0) + std::chrono::hours(3)));
  EXPECT_EQ(corrected(0), Ids{storage::post_id(post.uri)}) << "nothing was let go";
  put({entry("cats"_tag, 4 * 3'600'000, "https://a.example/users/u/2")});
  must(stores->history.let_go("cats"_tag, 1, at(0) + std::chrono::hours(5)));
  EXPECT_EQ(corrected(0), Ids());
}

TEST_P(HistoryStore, WhatWasTakenDownIsNotCorrected) {
  const HistoryEntry post = entry("cats"_tag, 10, "https://a.example/users/u/1");
  put({post});
  ASSERT_TRUE(run(stores->history.take_down(
      {"net", "https://n.example/actor", "cats"_tag, post.uri, "why", at(5), "s"})));
  ASSERT_TRUE(run(stores->history.correct("cats"_tag, post.uri, std::nullopt, false)));
  EXPECT_TRUE(must(stores->history.find({{"cats"_tag, post.uri}})).front()->taken_down);
}

TEST_P(HistoryStore, OneUriMayStandInSeveralTags) {
  put({entry("cats"_tag, 10, "https://a.example/1"), entry("dogs"_tag, 10, "https://a.example/1", true)});
  EXPECT_FALSE(all("cats"_tag).at(0).removed);
  EXPECT_TRUE(all("dogs"_tag).at(0).removed);
  const auto totals = must(stores->history.totals());
  EXPECT_EQ(totals.tags, 2U);
  EXPECT_EQ(totals.entries, 2U);
}

TEST_P(HistoryStore, AgreesWithANaiveModelAndSurvivesReopening) {
  Rng rng(7);
  std::map<std::pair<Partition, std::string>, HistoryEntry> model;
  for (int round = 0; round < 60; ++round) {
    std::vector<HistoryEntry> batch;
    for (int i = 0; i < 50; ++i) {
      const std::string author = "https://a.example/users/u" + std::to_string(rng.below(5));
      HistoryEntry e{rng.chance(0.7) ? "cats"_tag : "dogs"_tag, random_uri(rng, author), author,
                     at(static_cast<std::int64_t>(rng.below(400))), rng.chance(0.2)};
      if (!model.empty() && rng.chance(0.3)) {
        e = std::next(model.begin(), static_cast<std::ptrdiff_t>(rng.below(model.size())))->second;
        e.removed = rng.chance(0.5);
      }
      auto [place, fresh] = model.emplace(std::pair(e.partition, e.uri), e);
      if (e.removed) place->second.removed = true;
      batch.push_back(std::move(e));
    }
    put(std::move(batch));
  }
  reopen();
  for (const Partition& tag : {Partition("cats"_tag), Partition("dogs"_tag)}) {
    std::vector<HistoryEntry> expected;
    for (const auto& [key, e] : model) {
      if (key.first == tag) expected.push_back(e);
    }
    std::ranges::sort(expected, newer);
    std::vector<HistoryEntry> paged;
    std::optional<HistoryCursor> cursor;
    for (;;) {
      const HistoryPage next = page(tag, cursor, 1 + rng.below(60));
      paged.insert(paged.end(), next.entries.begin(), next.entries.end());
      ASSERT_EQ(next.more, paged.size() < expected.size());
      if (!next.more) break;
      cursor = next.next;
      ASSERT_TRUE(cursor);
    }
    EXPECT_EQ(paged, expected);
  }
  const auto totals = must(stores->history.totals());
  EXPECT_EQ(totals.tags, 2U);
  EXPECT_EQ(totals.entries, model.size());
}

// The first is given large batches, the other each entry by itself.
void expect_same(Stores& stores, Stores& other, const std::vector<Partition>& partitions) {
  // Numbers of words are given as they come.
  const auto rest = [](Connection& db) {
    return contents_of(db, {"history", "history_authors", "history_strings"});
  };
  EXPECT_EQ(difference(must(stores.database->read(rest)), must(other.database->read(rest))), "");
  for (const Partition& partition : partitions) {
    const auto posts = must(stores.history.page(partition, std::nullopt, 100'000)).entries;
    EXPECT_EQ(posts, must(other.history.page(partition, std::nullopt, 100'000)).entries);
    const auto days = [&](Stores& of) {
      return must(of.history.days(partition, std::chrono::sys_days(std::chrono::days(0)),
                                  std::chrono::sys_days(std::chrono::days(30'000))));
    };
    EXPECT_EQ(days(stores), days(other));
  }
  const storage::HourRange everywhere{{RingId(), 0}, {RingId() - RingId::power_of_two(0), 1'000'000}};
  EXPECT_EQ(must(stores.history.split(everywhere, 0, 100'000)),
            must(other.history.split(everywhere, 0, 100'000)));
  EXPECT_EQ(must(stores.history.totals()).entries, must(other.history.totals()).entries);
}

TEST_P(HistoryStore, ALargeBatchComesToTheSameAsItsEntriesOneByOne) {
  const std::vector<Partition> partitions = {"cats"_tag, {"cats"_tag, 32}, {"cats"_tag, 64}, "dogs"_tag};
  Place other_place(GetParam());
  const auto other = open_stores(other_place.options(), clock).value();
  Rng rng(11);
  std::vector<HistoryEntry> said;
  const auto any_of = [&rng](const auto& all) { return all[rng.below(all.size())]; };
  const auto any_time = [&rng]() -> WallTime {  // in ten years, and often the same
    const std::chrono::year year(static_cast<int>(2018 + rng.below(10)));
    return std::chrono::sys_days(year / 1 / 1) + Duration(static_cast<int>(rng.below(100)) * 97'000);
  };
  const auto make = [&](int round) {  // with authors who are new in each round
    const std::string author = fmt::format("https://a{}.example/users/u{}", rng.below(3),
                                           100 * static_cast<unsigned>(round) + rng.below(150));
    HistoryEntry e{any_of(partitions), random_uri(rng, author), author, any_time(), rng.chance(0.2)};
    if (!said.empty() && rng.chance(0.4)) {
      e = any_of(said);
      if (rng.chance(0.3)) e.partition = any_of(partitions);
      if (rng.chance(0.3)) e.published = any_time();
      if (rng.chance(0.3)) e.author = author;
      e.removed = rng.chance(0.5);
    }
    if (rng.chance(0.9)) e.changed = at(static_cast<std::int64_t>(rng.below(50)));
    return e;
  };
  for (int round = 0; round < 6; ++round) {
    std::vector<HistoryEntry> batch;
    // Two posts with the same digest in history_uris.
    if (round == 0) {
      batch = {entry("cats"_tag, 10, "https://a.example/users/u/17139202"),
               entry("cats"_tag, 20, "https://a.example/users/u/22860986")};
    }
    while (batch.size() < 200) {
      batch.push_back(make(round));
      said.push_back(batch.back());
    }
    for (const HistoryEntry& e : batch) must(other->history.put({e}));
    put(std::move(batch));
    std::vector<HistoryEntry> hidden(30, said.front());
    std::ranges::generate(hidden, [&] { return any_of(said); });
    for (Stores* of : {stores.get(), other.get()}) {
      for (const HistoryEntry& e : hidden) {  // those that are there
        static_cast<void>(run(of->history.take_down(
            {"net", "https://n.example/actor", e.partition.tag, e.uri, "why", at(5), "s"})));
      }
      if (round == 3) must(of->history.let_go("dogs"_tag, 20, WallTime::max()));
    }
    expect_same(*stores, *other, partitions);
    ASSERT_FALSE(HasFailure()) << round;
  }
}

TEST_P(HistoryStore, ACursorBetweenEntriesWorksWhateverItsUri) {
  put({entry("cats"_tag, 20, "https://m.example/1"), entry("cats"_tag, 10, "https://m.example/0")});
  EXPECT_EQ(page("cats"_tag, HistoryCursor{at(20), "https://z.example/"}, 9).entries.size(), 2U);
  EXPECT_EQ(page("cats"_tag, HistoryCursor{at(20), "https://m.example/1"}, 9).entries.size(), 1U);
  EXPECT_EQ(page("cats"_tag, HistoryCursor{at(20), "https://a.example/"}, 9).entries.size(), 1U);
  EXPECT_EQ(page("cats"_tag, HistoryCursor{at(20), ""}, 9).entries.size(), 1U);
  EXPECT_EQ(page("cats"_tag, HistoryCursor{at(5), "https://z.example/"}, 9).entries.size(), 0U);
}

TEST_P(HistoryStore, ManyPostsInOneMillisecondArePagedInOrder) {
  std::vector<HistoryEntry> expected;
  for (int i = 0; i < 500; ++i)
    expected.push_back(entry("cats"_tag, 10, "https://a.example/users/u/" + std::to_string(i)));
  put(expected);
  std::ranges::sort(expected, newer);
  std::vector<HistoryEntry> paged;
  std::optional<HistoryCursor> cursor;
  do {
    const HistoryPage next = page("cats"_tag, cursor, 7);
    paged.insert(paged.end(), next.entries.begin(), next.entries.end());
    cursor = next.next;
  } while (cursor);
  EXPECT_EQ(paged, expected);
}

TEST_P(HistoryStore, SegmentsAreReadClockwiseAcrossZeroWithoutGapsOrRepeats) {
  Rng rng(3);
  std::vector<HistoryEntry> everything;
  for (int i = 0; i < 300; ++i) {
    everything.push_back(entry(Tag::from_canonical("tag" + std::to_string(rng.below(40))),
                               static_cast<std::int64_t>(rng.below(50)),
                               "https://a.example/users/u/" + std::to_string(i), rng.chance(0.1)));
  }
  put(everything);
  for (int round = 0; round < 200; ++round) {
    const auto edge = [&] {
      return Tag::from_canonical(rng.chance(0.5) ? "tag" + std::to_string(rng.below(40))
                                                 : std::to_string(rng.next()))
          .key();
    };
    Segment segment{edge(), edge()};
    if (round % 10 == 0) segment.to = segment.from;
    std::vector<HistoryEntry> expected;
    std::ranges::copy_if(everything, std::back_inserter(expected),
                         [&](const HistoryEntry& e) { return segment.contains(e.partition.key()); });
    const auto distance = [&](const HistoryEntry& e) {
      // One less, so that of a whole ring `from` itself comes last.
      return clockwise_distance(segment.from, e.partition.key()) - RingId::power_of_two(0);
    };
    std::ranges::sort(expected, [&](const HistoryEntry& a, const HistoryEntry& b) {
      return a.partition != b.partition ? distance(a) < distance(b) : newer(a, b);
    });
    std::vector<HistoryEntry> read;
    for (;;) {
      auto last = read.empty() ? std::nullopt : std::optional(read.back().partition);
      auto cursor = read.empty() ? std::nullopt : std::optional(HistoryCursor::of(read.back()));
      const std::size_t limit = 1 + rng.below(40);
      const auto part = must(stores->history.segment(segment, last, cursor, limit));
      read.insert(read.end(), part.begin(), part.end());
      if (part.size() < limit) break;
    }
    ASSERT_EQ(read, expected) << round;
  }
}

TEST_P(HistoryStore, ASegmentIsReadToItsEndWhereManyPartitionsHaveNothing) {
  const std::string uri = "https://a.example/users/u/1";
  std::vector<Tag> tags;
  for (int i = 0; i < 13; ++i) tags.push_back(Tag::from_canonical("tag" + std::to_string(i)));
  for (const Tag& tag : tags) put({entry(tag, 10, uri)});
  for (std::size_t i = 0; i < 12; ++i) {
    if (i % 3 == 0) {
      must(stores->history.correct(tags[i], uri, std::nullopt, false));
    } else if (i % 3 == 1) {
      must(stores->history.forget(tags[i], 10, at(1'000)));
    } else {
      must(stores->history.take_down({"net", "https://n.example/actor", tags[i], uri, "why", at(5), "s"}));
    }
  }
  const RingId last = tags[12].key();  // comes after all others
  EXPECT_EQ(must(stores->history.segment({last, last}, std::nullopt, std::nullopt, 4)),
            std::vector{entry(tags[12], 10, uri)});
}

TEST_P(HistoryStore, APartitionOfWhichNothingIsLeftToSayIsGone) {
  const HistoryEntry post = entry("cats"_tag, 10, "https://a.example/users/u/1");
  put({post});
  must(stores->history.correct("cats"_tag, post.uri, std::nullopt, false));
  EXPECT_EQ(must(stores->history.totals()).tags, 0U);
  put({post, entry("dogs"_tag, 20, "https://a.example/users/u/2")});
  EXPECT_EQ(all("cats"_tag), std::vector{post});
  must(stores->history.correct("cats"_tag, post.uri, std::nullopt, true));
  EXPECT_EQ(must(stores->history.totals()).tags, 2U) << "it was promised";
  EXPECT_EQ(must(stores->history.bucket("cats"_tag, 0, std::nullopt, 10)).corrected.size(), 1U);
}

TEST_P(HistoryStore, ASegmentReadsOnlyFromAPlaceInside) {
  const RingId key = "cats"_tag.key();
  const auto answer =
      run(stores->history.segment({key, key + RingId::power_of_two(3)}, "cats"_tag, std::nullopt, 5));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalid);
}

TEST_P(HistoryStore, ABatchWithABadEntryChangesNothing) {
  for (const std::int64_t count : {1, 100}) {
    std::vector<HistoryEntry> batch;
    for (std::int64_t i = 0; i < count; ++i)
      batch.push_back(entry("cats"_tag, i, fmt::format("https://a.example/{}", i)));
    batch.push_back(entry("cats"_tag, 1, ""));
    EXPECT_FALSE(run(stores->history.put(batch)));
    EXPECT_TRUE(all("cats"_tag).empty());
    EXPECT_EQ(must(stores->history.totals()).tags, 0U);
  }
}

TEST_P(HistoryStore, KeepsThePartitionsOfAHashtagApartAndAtTheirKeys) {
  put({entry("cats"_tag, 10, "https://a.example/1"), entry({"cats"_tag, 32}, 10, "https://a.example/1"),
       entry({"cats"_tag, 32}, 20, "https://a.example/2"),
       entry({"cats"_tag, 32}, 20, "https://a.example/2", true)});
  EXPECT_EQ(all("cats"_tag).size(), 1U);
  EXPECT_EQ(all({"cats"_tag, 32}).size(), 2U);
  const RingId key = Partition{"cats"_tag, 32}.key();
  const auto part =
      must(stores->history.segment({key - RingId::power_of_two(0), key}, std::nullopt, std::nullopt, 10));
  ASSERT_EQ(part.size(), 2U);
  EXPECT_EQ(part.front().partition, (Partition{"cats"_tag, 32}));
  const auto weights = must(stores->history.weights(key - RingId::power_of_two(0), 1));
  ASSERT_EQ(weights.size(), 1U);
  EXPECT_EQ(weights.front().key, key);
  EXPECT_EQ(weights.front().entries, 2U);
}

TEST_P(HistoryStore, ForgetsTheOldestOfAPartitionAndKeepsItsCountsTrue) {
  put({entry("cats"_tag, 10, "https://a.example/1"), entry("cats"_tag, 20, "https://a.example/2"),
       entry("cats"_tag, 20, "https://a.example/3"),
       entry("cats"_tag, 7'200'000, "https://a.example/4", true),
       entry("dogs"_tag, 5, "https://a.example/1")});
  EXPECT_EQ(must(stores->history.forget("cats"_tag, 2, at(1'000))), 2U);
  ASSERT_EQ(all("cats"_tag).size(), 2U);
  EXPECT_EQ(all("cats"_tag).back().uri, "https://a.example/3");
  EXPECT_EQ(all("dogs"_tag).size(), 1U);
  EXPECT_EQ(must(stores->history.totals()).entries, 3U);
  // As if it had never had them.
  put({entry("birds"_tag, 20, "https://a.example/3"),
       entry("birds"_tag, 7'200'000, "https://a.example/4", true)});
  const auto posts_of = [&](const Tag& tag) {
    const storage::HourPlace first{tag.key(), 0};
    return must(stores->history.digests({{first, {tag.key(), 100}}}, 0)).front().posts;
  };
  EXPECT_EQ(posts_of("cats"_tag), posts_of("birds"_tag));
  put({entry("cats"_tag, 10, "https://a.example/1")});
  EXPECT_EQ(all("cats"_tag).size(), 3U);
  EXPECT_EQ(must(stores->history.forget("cats"_tag, 100, at(500))), 3U);
  EXPECT_EQ(must(stores->history.forget("cats"_tag, 100, at(500))), 0U);
  EXPECT_TRUE(all("cats"_tag).empty());
}

TEST_P(HistoryStore, SaysWhenWhatWasInAPartitionWasForgotten) {
  const auto begun = [&] { return must(stores->history.bucket({"cats"_tag, 32}, 0, {}, 10)).begun; };
  put({entry({"cats"_tag, 32}, 10, "https://a.example/1")});
  EXPECT_EQ(begun(), WallTime());
  must(stores->history.forget({"cats"_tag, 32}, 10, at(1'000)));
  put({entry({"cats"_tag, 32}, 20, "https://a.example/2")});
  EXPECT_EQ(begun(), at(1'000));
  must(stores->history.forget({"cats"_tag, 32}, 10, at(900)));
  reopen();
  EXPECT_EQ(begun(), at(1'000));
}

TEST_P(HistoryStore, APartitionThatWasForgottenIsAsIfNothingHadBeenLetGo) {
  put({entry({"cats"_tag, 32}, 10, "https://a.example/1"), entry({"cats"_tag, 32}, 20, "https://a.example/2"),
       entry({"cats"_tag, 32}, 30, "https://a.example/3")});
  must(stores->history.let_go({"cats"_tag, 32}, 2, WallTime::max()));
  EXPECT_EQ(must(stores->history.forget({"cats"_tag, 32}, 10, at(50))), 1U);
  EXPECT_EQ(must(stores->history.totals()).entries, 0U);
  put({entry({"cats"_tag, 32}, 10, "https://a.example/1")});
  EXPECT_EQ(all({"cats"_tag, 32}).size(), 1U);
  const storage::HourPlace place{Partition{"cats"_tag, 32}.key(), 0};
  EXPECT_EQ(must(stores->history.digests({{place, place}}, 0)).front().posts, 1U);
}

TEST_P(HistoryStore, ATakeDownThatIsUndoneShowsThePostAgainUnlessItsAuthorHasRemovedIt) {
  const std::string kept = "https://a.example/1";
  const std::string removed = "https://a.example/2";
  put({entry("cats"_tag, 10, kept), entry({"cats"_tag, 32}, 10, kept), entry("cats"_tag, 20, removed)});
  for (const std::string& uri : {kept, removed})
    ASSERT_TRUE(run(
        stores->history.take_down({"net", "https://n.example/actor", "cats"_tag, uri, "why", at(5), "s"})));
  auto tombstone = entry("cats"_tag, 20, removed);
  tombstone.removed = true;
  put({tombstone});
  for (const std::string& uri : {kept, removed}) {
    ASSERT_TRUE(run(stores->history.undo_take_down("cats"_tag, uri)));
    EXPECT_FALSE(run(stores->history.undo_take_down("cats"_tag, uri)));
  }
  const auto shown = [&](const Partition& partition) {
    return std::ranges::count_if(all(partition), [](const HistoryEntry& e) { return !e.removed; });
  };
  EXPECT_EQ(shown("cats"_tag), 1);
  EXPECT_EQ(shown({"cats"_tag, 32}), 1);
  EXPECT_TRUE(must(stores->history.find({{"cats"_tag, removed}})).front()->removed);
  put({entry({"cats"_tag, 16}, 10, kept)});
  EXPECT_EQ(shown({"cats"_tag, 16}), 1);
}

TEST_P(HistoryStore, ATakeDownHoldsInAllPartitionsOfTheHashtag) {
  const std::string uri = "https://a.example/1";
  put({entry("cats"_tag, 10, uri), entry({"cats"_tag, 32}, 10, uri), entry("cats2"_tag, 10, uri),
       entry("dogs"_tag, 10, uri)});
  const auto take_down = [&](const Tag& tag) {
    return run(stores->history.take_down({"net", "https://n.example/actor", tag, uri, "why", at(5), "s"}));
  };
  ASSERT_TRUE(take_down("cats"_tag));
  EXPECT_TRUE(all("cats"_tag).empty());
  EXPECT_TRUE(all({"cats"_tag, 32}).empty());
  EXPECT_EQ(all("cats2"_tag).size(), 1U);
  EXPECT_EQ(all("dogs"_tag).size(), 1U);
  put({entry({"cats"_tag, 16}, 10, uri), entry({"cats"_tag, 16}, 20, "https://a.example/2")});
  EXPECT_EQ(all({"cats"_tag, 16}).size(), 1U);
  EXPECT_TRUE(must(stores->history.find({{{"cats"_tag, 16}, uri}})).front()->taken_down);
  // Here, whoever else still has the post.
  const auto notice = [&] { return must(stores->history.take_down_of("cats"_tag, storage::post_id(uri))); };
  must(stores->history.let_go("cats"_tag, 10, WallTime::max()));
  must(stores->history.let_go({"cats"_tag, 32}, 10, WallTime::max()));
  must(stores->history.let_go({"cats"_tag, 16}, 10, WallTime::max()));
  EXPECT_TRUE(notice());
  must(stores->history.undo_take_down("cats"_tag, uri));
  EXPECT_FALSE(notice());
  EXPECT_FALSE(take_down("cats"_tag));
}

TEST_P(HistoryStore, ANoticeGoesWithAPostThatItsAuthorHasRemoved) {
  HistoryEntry post = entry("cats"_tag, 10, "https://a.example/1");
  put({post});
  must(
      stores->history.take_down({"net", "https://n.example/actor", "cats"_tag, post.uri, "why", at(5), "s"}));
  post.removed = true;
  put({post});
  EXPECT_EQ(must(stores->history.take_downs()).size(), 1U);
  must(stores->history.let_go("cats"_tag, 10, WallTime::max()));
  EXPECT_TRUE(must(stores->history.take_downs()).empty());
}

TEST_P(HistoryStore, KeepsOfASetWhatSupersedesTheOthers) {
  const auto save = [&](std::uint64_t version, unsigned replicas, unsigned reach) {
    must(stores->history.save_set(
        {"cats"_tag, version, replicas, reach, at(static_cast<std::int64_t>(version))}));
  };
  save(2, 8, 8);
  save(1, 16, 16);
  save(2, 8, 16);
  save(2, 4, 8);
  const auto sets = must(stores->history.sets());
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_EQ(sets.front(), (redundancy::StorageSet{"cats"_tag, 2, 8, 16, at(2)}));
  save(3, 4, 4);
  EXPECT_EQ(must(stores->history.sets()).front().version, 3U);
}

}  // namespace
}  // namespace tagring::db
