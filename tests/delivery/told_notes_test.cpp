// What stands beside an entry of the feed, as text.
#include "delivery/told_notes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/hash.hpp"

namespace tagring::delivery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(ToldNotes, OfAnInboxTheLastOneCounts) {
  const std::uint64_t one = 1;
  const std::uint64_t other = crypto::hash64("https://social.example/inbox");
  const std::string text = to_note(other, false) + to_note(one, false) + to_note(one, true);
  EXPECT_THAT(read_notes(text), ElementsAre(Pair(one, true), Pair(other, false)));
}

TEST(ToldNotes, WhatIsNoneIsPassedOver) {
  EXPECT_THAT(read_notes(""), IsEmpty());
  EXPECT_THAT(read_notes("+AAAA"), IsEmpty());
  EXPECT_THAT(read_notes("+!!!!!!!!!!!" + to_note(7, true)), ElementsAre(Pair(7U, true)));
}

}  // namespace
}  // namespace tagring::delivery
