#include "ring/route_cache.hpp"

#include <gtest/gtest.h>

#include "ring/fixture.hpp"

namespace tagring::ring {
namespace {

constexpr Duration kLifetime = std::chrono::seconds(60);
constexpr Instant kNow{std::chrono::hours(1)};

// The vserver at `to`, which owns (from, to].
Owner owner(std::uint8_t from, std::uint8_t to) { return {contact_at(to), Segment{place(from), place(to)}}; }

// Where the owner of `key` stands, or -1.
int found(const RouteCache& cache, std::uint8_t key, Instant now = kNow) {
  const std::optional<Owner> result = cache.find(place(key), now);
  return result ? result->contact.id.bytes()[0] : -1;
}

TEST(RouteCache, KnowsNothingAtFirst) { EXPECT_EQ(found(RouteCache(kLifetime), 10), -1); }

TEST(RouteCache, AnswersForEveryKeyOfASegmentAndNoOther) {
  RouteCache cache(kLifetime);
  cache.put(owner(10, 20), kNow);
  EXPECT_EQ(found(cache, 10), -1) << "a segment does not hold its beginning";
  EXPECT_EQ(found(cache, 11), 20);
  EXPECT_EQ(found(cache, 20), 20) << "but its end";
  EXPECT_EQ(found(cache, 21), -1);
  EXPECT_EQ(found(cache, 0), -1);
}

TEST(RouteCache, GivesBackTheWholeOwner) {
  RouteCache cache(kLifetime);
  cache.put(owner(10, 20), kNow);
  const std::optional<Owner> result = cache.find(place(15), kNow);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->contact, contact_at(20));
  EXPECT_EQ(result->segment, (Segment{place(10), place(20)}));
}

TEST(RouteCache, ASegmentMayReachOverTheEndOfTheRing) {
  RouteCache cache(kLifetime);
  cache.put(owner(240, 20), kNow);
  cache.put(owner(20, 100), kNow);
  EXPECT_EQ(found(cache, 241), 20);
  EXPECT_EQ(found(cache, 255), 20);
  EXPECT_EQ(found(cache, 0), 20);
  EXPECT_EQ(found(cache, 20), 20);
  EXPECT_EQ(found(cache, 21), 100);
  EXPECT_EQ(found(cache, 240), -1);
}

TEST(RouteCache, ALoneVserverOwnsEverything) {
  RouteCache cache(kLifetime);
  cache.put(owner(20, 20), kNow);
  for (const std::uint8_t key : {0, 19, 20, 21, 255}) EXPECT_EQ(found(cache, key), 20);
}

TEST(RouteCache, WhoCameBetweenIsBelievedAtOnce) {
  RouteCache cache(kLifetime);
  cache.put(owner(10, 30), kNow);
  cache.put(owner(10, 20), kNow);
  EXPECT_EQ(found(cache, 15), 20);
  EXPECT_EQ(found(cache, 25), 30);
}

TEST(RouteCache, TheLatestAnswerOfAnOwnerCounts) {
  RouteCache cache(kLifetime);
  cache.put(owner(10, 30), kNow);
  cache.put(owner(20, 30), kNow);
  EXPECT_EQ(found(cache, 15), -1);
  EXPECT_EQ(found(cache, 25), 30);
  EXPECT_EQ(cache.size(), 1U);
}

TEST(RouteCache, BelievesAnAnswerForItsLifetimeOnly) {
  RouteCache cache(kLifetime);
  cache.put(owner(10, 20), kNow);
  EXPECT_EQ(found(cache, 15, kNow + kLifetime - Duration(1)), 20);
  EXPECT_EQ(found(cache, 15, kNow + kLifetime), -1);
}

TEST(RouteCache, TheSameAnswerAgainIsBelievedAnew) {
  RouteCache cache(kLifetime);
  cache.put(owner(10, 20), kNow);
  cache.put(owner(10, 20), kNow + kLifetime / 2);
  EXPECT_EQ(found(cache, 15, kNow + kLifetime), 20);
}

TEST(RouteCache, ForgetsTheSegmentOfAKeyAndNoOther) {
  RouteCache cache(kLifetime);
  cache.put(owner(10, 20), kNow);
  cache.put(owner(20, 30), kNow);
  cache.put(owner(240, 10), kNow);
  cache.forget(place(15));
  EXPECT_EQ(found(cache, 15), -1);
  EXPECT_EQ(found(cache, 20), -1);
  EXPECT_EQ(found(cache, 25), 30);
  cache.forget(place(250));
  EXPECT_EQ(found(cache, 5), -1);
  EXPECT_EQ(cache.size(), 1U);
}

TEST(RouteCache, ForgettingWhatItDoesNotKnowIsHarmless) {
  RouteCache cache(kLifetime);
  cache.forget(place(15));
  cache.put(owner(10, 20), kNow);
  cache.forget(place(10));
  cache.forget(place(21));
  EXPECT_EQ(found(cache, 15), 20);
}

TEST(RouteCache, ForgetsTheExpiredToo) {
  RouteCache cache(kLifetime);
  cache.put(owner(10, 20), kNow - 2 * kLifetime);
  cache.forget(place(15));
  EXPECT_EQ(cache.size(), 0U);
}

TEST(RouteCache, ClearForgetsEverything) {
  RouteCache cache(kLifetime);
  cache.put(owner(10, 20), kNow);
  cache.put(owner(20, 30), kNow);
  cache.clear();
  EXPECT_EQ(cache.size(), 0U);
  EXPECT_EQ(found(cache, 15), -1);
}

TEST(RouteCache, NeverHoldsMoreThanItsBound) {
  RouteCache cache(kLifetime);
  const auto nth = [](std::size_t n) {
    std::array<std::uint8_t, 32> bytes{};
    for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(n >> (24 - 8 * i));
    return RingId::from_bytes(bytes);
  };
  for (std::size_t n = 0; n < RouteCache::kSizeMax; ++n)
    cache.put({contact_at(1), Segment{nth(n), nth(n + 1)}}, kNow);
  EXPECT_EQ(cache.size(), RouteCache::kSizeMax);
  EXPECT_TRUE(cache.find(nth(1), kNow)) << "nothing was lost before the bound";
  cache.put({contact_at(2), Segment{place(100), place(200)}}, kNow);
  EXPECT_LE(cache.size(), RouteCache::kSizeMax);
  EXPECT_TRUE(cache.find(place(150), kNow)) << "the latest is kept";
}

}  // namespace
}  // namespace tagring::ring
