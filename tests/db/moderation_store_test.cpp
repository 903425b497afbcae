#include "db/moderation_store.hpp"

#include <gmock/gmock.h>

#include "tests/db/fixture.hpp"

namespace tagring::db {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

using reports::Report;

class ReportStore : public StoresTest {
 protected:
  SqliteReportStore& store() { return stores->reports; }
  static Report report(int n) {
    return {.id = static_cast<std::uint64_t>(n),
            .at = at(n),
            .activity = "https://a.example/reports/" + std::to_string(n),
            .reporter = "https://a.example/actor",
            .comment = "\"quoted\"",
            .about = {"https://tags.example/tag/cats", "https://b.example/1"},
            .forwarded = {}};
  }
};

INSTANTIATE_TEST_SUITE_P(, ReportStore, every_database(), name_of);

TEST_P(ReportStore, KeepsEachActivityOnceAndShowsTheOpenOnesFirst) {
  for (int n = 1; n <= 3; ++n) EXPECT_TRUE(must(store().add_report(report(n))));
  EXPECT_FALSE(must(store().add_report(report(2))));
  Report closed = report(3);
  closed.open = false;
  closed.forwarded = {"https://b.example/1"};
  must(store().note_forwarded(3, "https://b.example/1"));
  must(store().note_forwarded(3, "https://b.example/1"));
  EXPECT_TRUE(must(store().close_report(3, 10)));
  EXPECT_FALSE(must(store().close_report(3, 10))) << "closed already";
  reopen();
  EXPECT_THAT(must(store().reports(10)), ElementsAre(report(2), report(1), closed));
  EXPECT_THAT(must(store().reports(1)), ElementsAre(report(2)));
  EXPECT_EQ(must(store().report(3)), closed);
  EXPECT_EQ(run(store().report(4)).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(must(store().open_reporters()), SizeIs(2));
}

TEST_P(ReportStore, KnowsWhenTheOldestOpenOneCame) {
  EXPECT_EQ(must(store().oldest_open()), std::nullopt);
  for (int n = 1; n <= 3; ++n) must(store().add_report(report(n)));
  must(store().close_report(1, 10));
  EXPECT_EQ(must(store().oldest_open()), at(2));
}

TEST_P(ReportStore, OnlyTheNewestOfThoseThatAreClosedStay) {
  for (int n = 1; n <= 4; ++n) must(store().add_report(report(n)));
  for (std::uint64_t id = 1; id <= 3; ++id) must(store().close_report(id, 2));
  std::vector<std::uint64_t> ids;
  for (const Report& one : must(store().reports(10))) ids.push_back(one.id);
  EXPECT_THAT(ids, ElementsAre(4, 3, 2));
  // Never a number that was given out before.
  must(store().add_report(report(1)));
  EXPECT_EQ(must(store().reports(1)).front().id, 5U);
}

class ChangeStore : public StoresTest {};

INSTANTIATE_TEST_SUITE_P(, ChangeStore, every_database(), name_of);

TEST_P(ChangeStore, KeepsTheLatest) {
  std::vector<administrators::Change> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back({at(i), "anna", "/subscribe", "tags=[\"" + std::to_string(i) + "\"]", "done"});
    must(stores->changes.add_change(all.back(), 3));
  }
  EXPECT_THAT(must(stores->changes.changes(10)), ElementsAre(all[4], all[3], all[2]));
  EXPECT_THAT(must(stores->changes.changes(1)), ElementsAre(all[4]));
}

}  // namespace
}  // namespace tagring::db
