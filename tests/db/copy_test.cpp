#include "db/copy.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "db/schema.hpp"
#include "tests/db/fixture.hpp"
#include "tests/db/writes.hpp"

namespace tagring::db {

using namespace sql;

namespace {

// From which kind, to which.
class CopyTest : public testing::TestWithParam<std::tuple<Dialect, Dialect>> {
 protected:
  void write(std::uint64_t first, std::uint64_t count) {
    const auto stores = must_open(from);
    for (std::uint64_t seed = first; seed < first + count; ++seed)
      ASSERT_TRUE(random_write(*stores, seed)) << seed;
  }
  // More rows than go over in one transaction.
  void write_many() {
    const auto stores = must_open(from);
    must(stores->database->write([](Connection& db) {
      return db.run(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
          " INSERT INTO wants(tag, reason) SELECT 'tag' || i, 'ä' FROM n",
          12'000);
    }));
  }
  std::unique_ptr<Stores> must_open(const Place& place) {
    auto opened = open_stores(place.options(), clock);
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }
  std::string all_of(const Place& place) { return contents(*must_open(place)); }
  Result<Copied> copy(const CopyWatch& watch = {}) {
    return copy_database(from.connect().value(), to.connect().value(), watch);
  }
  // As kill -9 does, when so many rows are over.
  void copy_and_be_killed(CopyStep::Doing doing, std::uint64_t rows) {
    const pid_t child = ::fork();
    if (child == 0) {
      static_cast<void>(copy([&](const CopyStep& step) {
        const bool is_there = step.table == "wants" || step.table.empty();
        if (step.doing == doing && is_there && step.rows >= rows) ::_exit(9);
      }));
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(WEXITSTATUS(status), 9);
  }

  Place from{std::get<0>(GetParam())};
  Place to{std::get<1>(GetParam())};
  ManualClock clock;
};
INSTANTIATE_TEST_SUITE_P(, CopyTest, testing::Combine(every_database(), every_database()),
                         [](const auto& of) {
                           return name_of({std::get<0>(of.param), 0}) + "To" +
                                  name_of({std::get<1>(of.param), 0});
                         });

TEST_P(CopyTest, TakesEverythingAndChangesNothing) {
  write(1, 500);
  const std::string before = all_of(from);
  const auto copied = copy();
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_GT(copied->rows, 100U);
  EXPECT_EQ(copied->resumed, 0U);
  EXPECT_EQ(difference(all_of(to), before), "");
  EXPECT_EQ(difference(all_of(from), before), "");
}

TEST_P(CopyTest, NumbersAreNotGivenTwice) {
  {
    const auto stores = must_open(from);
    const auto news = must(stores->fasp.add_news({{0, "a", "u", false, false, at(1)}}, std::nullopt));
    must(stores->fasp.drop_news(news.front().seq));
    must(stores->history.put(
        {{Tag::from_canonical("cats"), "https://a.example/1", "https://a.example/u", at(1)}}));
  }
  ASSERT_TRUE(copy());
  const auto stores = must_open(to);
  EXPECT_EQ(must(stores->fasp.add_news({{0, "a", "u", false, false, at(1)}}, std::nullopt)).front().seq, 2U);
  must(stores->history.put(
      {{Tag::from_canonical("dogs"), "https://b.example/1", "https://b.example/u", at(1)}}));
}

TEST_P(CopyTest, GoesOnWhereItWasKilled) {
  write_many();
  copy_and_be_killed(CopyStep::Doing::kCopies, 7'000);
  const auto refused = open_stores(to.options(), clock);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("migrate-database"), std::string::npos) << refused.error().message;
  const auto copied = copy();
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->resumed, from.is_postgres() ? 5'002U : 5'000U)
      << "PostgreSQL's term and last commit are rows, too";
  EXPECT_EQ(difference(all_of(to), all_of(from)), "");
}

TEST_P(CopyTest, GoesOnAlsoIfItWasKilledAtItsVeryEnd) {
  write(1, 50);
  copy_and_be_killed(CopyStep::Doing::kFinishes, 0);
  const auto copied = copy();
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->resumed, copied->rows);
  EXPECT_EQ(difference(all_of(to), all_of(from)), "");
}

TEST_P(CopyTest, WhatTheSourceHasDoneMeanwhileIsFoundAndMended) {
  write_many();
  copy_and_be_killed(CopyStep::Doing::kCompares, 1'000);
  {
    const auto stores = must_open(from);
    must(stores->relay.unwant({Tag::from_canonical("tag17")}, "ä"));
    must(stores->relay.want({Tag::from_canonical("a")}, "earlier than all"));
  }
  ASSERT_TRUE(copy());
  EXPECT_EQ(difference(all_of(to), all_of(from)), "");
}

TEST_P(CopyTest, WhatCameBackInTheSourceUnderAnotherNumberStopsNoCopy) {
  write_many();
  const delivery::PublishedPost post = {
      .uri = "https://a.example/1", .author = "https://a.example/u", .published = at(1), .tags = {}};
  must(must_open(from)->relay.put_off(post, at(2)));
  copy_and_be_killed(CopyStep::Doing::kCopies, 7'000);
  {
    const auto stores = must_open(from);
    must(stores->relay.drop_put_off(post.uri, WallTime::max()));
    must(stores->relay.put_off(post, at(3)));
  }
  const auto copied = copy();
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(difference(all_of(to), all_of(from)), "");
}

TEST_P(CopyTest, ATargetWithTablesIsRefusedAndLeftAlone) {
  write(1, 50);
  {
    must(must_open(to)->meta.set("key", "mine"));
  }
  const std::string before = all_of(to);
  const auto refused = copy();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_EQ(difference(all_of(to), before), "");
}

TEST_P(CopyTest, ASourceThatIsNoNodesIsRefused) {
  const auto refused = copy();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  ASSERT_TRUE(open_stores(to.options(), clock)) << "nothing was written there";
}

}  // namespace
}  // namespace tagring::db
