// Whose outboxes are read, where not all can be.
#include "publisher/latest_authors.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace tagring::publisher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

WallTime at(std::int64_t time) { return WallTime(Duration(time)); }

TEST(LatestAuthors, AreThoseWhoWroteLastOfEachHostFirst) {
  const auto chosen = [](LatestAuthors::Max max) {
    LatestAuthors authors(max);
    authors.add("a", "a/1", at(3));
    authors.add("a", "a/1", at(7));
    authors.add("a", "a/1", at(1));
    authors.add("a", "a/3", at(4));
    authors.add("a", "a/2", at(5));
    authors.add("b", "b/1", at(2));
    return authors.chosen();
  };
  EXPECT_THAT(chosen({9, 9}), ElementsAre("a/1", "b/1", "a/2", "a/3"));
  EXPECT_THAT(chosen({2, 9}), ElementsAre("a/1", "b/1", "a/2"));
  EXPECT_THAT(chosen({9, 2}), ElementsAre("a/1", "b/1"));
  EXPECT_THAT(LatestAuthors({9, 9}).chosen(), IsEmpty());
}

TEST(LatestAuthors, OfSmallHostsAreNotLeftOutForSomeLargeOnes) {
  LatestAuthors authors({200, 1000});
  for (int host = 0; host < 5; ++host) {
    const std::string name = fmt::format("large{}", host);
    for (int i = 0; i < 300; ++i) authors.add(name, fmt::format("{}/{}", name, i), at(1'000'000 + i));
  }
  for (int host = 0; host < 50; ++host) {
    const std::string name = fmt::format("small{}", host);
    authors.add(name, name + "/only", at(host));
  }
  const std::vector<std::string> chosen = authors.chosen();
  EXPECT_EQ(chosen.size(), 1000U);
  EXPECT_EQ(std::ranges::count_if(chosen, [](const auto& author) { return author.ends_with("/only"); }), 50);
}

TEST(LatestAuthors, AreTheSameWhateverWasPassedOverMeanwhile) {
  Rng rng(11);
  LatestAuthors few({5, 20});
  LatestAuthors all({5, 1'000'000});
  for (int i = 0; i < 20'000; ++i) {
    const std::string host = fmt::format("h{}", rng.below(10) * rng.below(10));
    const std::string author = fmt::format("{}/{}", host, rng.below(50));
    const WallTime published = at(static_cast<std::int64_t>(rng.below(1000)));
    few.add(host, author, published);
    all.add(host, author, published);
    if (i % 500 != 0) continue;
    std::vector<std::string> expected = all.chosen();
    expected.resize(std::min<std::size_t>(expected.size(), 20));
    ASSERT_EQ(few.chosen(), expected) << i;
  }
}

}  // namespace
}  // namespace tagring::publisher
