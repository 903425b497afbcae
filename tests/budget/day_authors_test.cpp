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

  const std::string host = "social.example";
  const std::string tag = "cats";
  const DayAuthors::Got got = {{"cats", {{0, UINT64_MAX}}}};
  WallClock clock;
  DayAuthors authors{clock};
};

TEST_F(DayAuthorsTest, WhereNotAllOfTheDayAreKnownNobodyElseHasRoom) {
  authors.came_to(host, tag, author(1));
  EXPECT_TRUE(has_room(2));
  // Three things each: the post, its author under the hashtag, and at their own server.
  for (std::size_t i = 0; 3 * i < DayAuthors::kMax; ++i)
    authors.note_tags(fmt::format("https://a.example/{}", i), fmt::format("https://a.example/u{}", i),
                      {"dogs"});
  EXPECT_FALSE(has_room(2)) << "who came live since is not known";
  EXPECT_TRUE(has_room(1)) << "and makes no more of them";
  clock.time += std::chrono::days(1);
  for (int i = 1; i <= 4; ++i) {
    EXPECT_TRUE(has_room(i));
    authors.came_to(host, tag, author(i));
  }
  EXPECT_FALSE(has_room(5));
}

}  // namespace
}  // namespace tagring::budget
