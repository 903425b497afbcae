// What a post takes on the disk, which limits and forecasts count with: measured on real databases, with
// posts as an owner gets them. docs/config.md names the figures.
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>

#include "base/rng.hpp"
#include "db_history/history_store.hpp"
#include "tests/db/fixture.hpp"

namespace tagring::db {
namespace {

constexpr std::uint64_t kOfAYear = 100'000;
constexpr std::uint64_t kYearSeconds = 365 * 86'400;  // seconds

// A year of them, in order of time but for a minute: authors of whom few write much, on servers of which one
// has a fifth, under hashtags of which a few have most.
class DrawnPosts {
 public:
  storage::HistoryEntry next() {
    const std::uint64_t rank = few_have_most(kOfAYear / 10);
    const std::uint64_t host = rank * 2'654'435'761U % 500;
    const std::string author =
        fmt::format("https://{}/users/somebody{}",
                    host < 100 ? "mastodon.social" : fmt::format("social{}.example", host), rank);
    const std::uint64_t second = 1'763'000'000 + made_++ * kYearSeconds / kOfAYear - rng_.below(60);
    const std::uint64_t id =
        113'512'345'678'901'234U + (second - 1'762'999'900) * 65'536'000 + rng_.below(65'536'000);
    return {Tag::from_canonical(fmt::format("tag{}", few_have_most(2'000))),
            fmt::format("{}/statuses/{}", author, id), author,
            WallTime(std::chrono::seconds(static_cast<std::int64_t>(second))), false};
  }

 private:
  std::uint64_t few_have_most(std::uint64_t many) {
    const double u = rng_.uniform();
    return static_cast<std::uint64_t>(u * u * u * static_cast<double>(many));
  }

  Rng rng_{1};
  std::uint64_t made_ = 0;
};

class SizeTest : public StoresTest {
 protected:
  void fill() {
    DrawnPosts posts;
    for (std::uint64_t i = 0; i < kOfAYear; i += 1'000) {
      std::vector<storage::HistoryEntry> batch;
      for (int n = 0; n < 1'000; ++n) batch.push_back(posts.next());
      must(stores->history.put(std::move(batch)));
    }
  }
};

TEST_P(SizeTest, OfAPostIsWhatTheNodeCountsWith) {
  fill();
  reopen();
  const storage::HistoryStore::Totals totals = must(stores->history.totals());
  ASSERT_EQ(totals.entries, kOfAYear);
  const double each = static_cast<double>(totals.bytes) / static_cast<double>(kOfAYear);
  RecordProperty("bytes_of_a_post", fmt::format("{:.1f}", each));
  if (GetParam() == Dialect::kPostgres) {
    const auto said = static_cast<double>(db_history::SqliteHistoryStore::kUsualOnPostgres);
    EXPECT_NEAR(each, said, said / 4) << "correct the constant, docs/config.md and docs/postgresql.md";
  } else {
    // Of few hashtags it is what nodes count with; where each has few posts an hour, half as much again.
    EXPECT_GE(each, 60) << "correct docs/config.md";
    EXPECT_LE(each, 90) << "correct docs/config.md";
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, SizeTest, every_database(), name_of);

}  // namespace
}  // namespace tagring::db
