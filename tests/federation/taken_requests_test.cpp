#include "federation/taken_requests.hpp"

#include <gtest/gtest.h>
#include <string>

#include "signatures/claim.hpp"

namespace tagring::federation {
namespace {

TEST(TakenRequests, WhoeverSendsMuchHasOnlyTheirOwnForgotten) {
  TakenRequests taken;
  taken.add("small.example", 1, Instant());
  for (std::uint64_t i = 0; i < 10 * TakenRequests::kMax; ++i) taken.add("large.example", i, Instant());
  EXPECT_TRUE(taken.contains("small.example", 1));
  std::size_t remembered = 0;
  for (std::uint64_t i = 0; i < 10 * TakenRequests::kMax; ++i)
    remembered += taken.contains("large.example", i) ? 1 : 0;
  EXPECT_LE(remembered, TakenRequests::kOfDomainMax);
  EXPECT_TRUE(taken.contains("large.example", 10 * TakenRequests::kMax - 1));
}

TEST(TakenRequests, WhereAllIsTakenWhoHasMostMakesRoom) {
  TakenRequests taken;
  constexpr std::uint64_t kMany = 40;
  for (std::uint64_t i = 0; i < 10; ++i) taken.add("small.example", i, Instant());
  for (std::uint64_t of = 0; of < kMany; ++of)
    for (std::uint64_t i = 0; i < TakenRequests::kOfDomainMax; ++i)
      taken.add("large" + std::to_string(of) + ".example", i, Instant());
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(taken.contains("small.example", i)) << i;
  std::size_t remembered = 10;
  for (std::uint64_t of = 0; of < kMany; ++of)
    for (std::uint64_t i = 0; i < TakenRequests::kOfDomainMax; ++i)
      remembered += taken.contains("large" + std::to_string(of) + ".example", i) ? 1 : 0;
  EXPECT_LE(remembered, TakenRequests::kMax);
}

TEST(TakenRequests, WhatOneDomainSignedIsNothingOfAnother) {
  TakenRequests taken;
  taken.add("a.example", 7, Instant());
  EXPECT_TRUE(taken.contains("a.example", 7));
  EXPECT_FALSE(taken.contains("b.example", 7));
  for (std::uint64_t i = 0; i < TakenRequests::kMax + 100; ++i)
    taken.add(std::to_string(i) + ".example", i, Instant());
  EXPECT_TRUE(taken.contains(std::to_string(TakenRequests::kMax + 99) + ".example", TakenRequests::kMax + 99))
      << "also where each has one";
}

TEST(TakenRequests, WhoeverSentYesterdayTakesNothingOfTheShareOfWhoSendsToday) {
  TakenRequests taken;
  const Instant yesterday;
  for (std::uint64_t i = 0; i < TakenRequests::kMax; ++i)
    taken.add("idle" + std::to_string(i) + ".example", i, yesterday);
  const Instant today = yesterday + std::chrono::hours(24);
  for (std::uint64_t i = 0; i < TakenRequests::kOfDomainMax; ++i)
    taken.add("busy.example", i, today + std::chrono::seconds(i));
  std::size_t remembered = 0;
  for (std::uint64_t i = 0; i < TakenRequests::kOfDomainMax; ++i)
    remembered += taken.contains("busy.example", i) ? 1 : 0;
  EXPECT_EQ(remembered, TakenRequests::kOfDomainMax);
  EXPECT_FALSE(taken.contains("idle0.example", 0));
}

TEST(TakenRequests, AreRememberedForAsLongAsTheirSignaturesAreGood) {
  const signatures::SignaturePolicy policy;
  const Duration good = policy.age_max + policy.ahead_max;
  TakenRequests taken;
  for (int minute = 0; minute < 200; ++minute)
    taken.add("a.example", static_cast<std::uint64_t>(minute), Instant(std::chrono::minutes(minute)));
  const int first = 199 - static_cast<int>(good / std::chrono::minutes(1));
  for (int minute = first; minute < 200; ++minute)
    EXPECT_TRUE(taken.contains("a.example", static_cast<std::uint64_t>(minute))) << minute;
  EXPECT_FALSE(taken.contains("a.example", 0));
}

}  // namespace
}  // namespace tagring::federation
