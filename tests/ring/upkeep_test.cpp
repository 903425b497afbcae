// What a member does by itself, and how often others can have it do that.
#include <gtest/gtest.h>

#include "ring/fixture.hpp"

namespace tagring::ring {
namespace {

// A member of a ring of two; how often it asks the other one for its neighbours.
struct Pair {
  Pair() {
    node.add_ring({other});
    node.known = {other};
    node.membership.start(Membership::Founding::kNever);
    node.loop.run_for(std::chrono::seconds(1));
    peer().neighbours.predecessor = real_contact(0);
    peer().find.owned = Segment{real_contact(0).id, other.id};
    node.loop.run_for(std::chrono::seconds(10));
    node.on_answered = [this](const Contact&, const Request& request) {
      if (std::holds_alternative<GetNeighbours>(request.body)) ++looks;
    };
  }
  ScriptedPeer& peer() { return node.peers.at(other.id); }
  bool nudge() { return node.await(vserver().answer({Ring::kRelay, Nudge{}})).has_value(); }
  Vserver& vserver() { return *node.membership.vservers()[0]; }

  const Contact other = real_contact(1);
  NodeAmongScripts node{{real_contact(0)}};
  unsigned looks = 0;
};

TEST(Upkeep, NudgesOfOthersAreHeededOnceASecondAfterSomeAtOnce) {
  Pair pair;
  const Instant end = pair.node.clock.now() + std::chrono::seconds(4);
  while (pair.node.clock.now() < end) EXPECT_TRUE(pair.nudge());
  EXPECT_LE(pair.looks, 5U + 10U + 2U) << "and in its turn";
  pair.node.stop();
}

TEST(Upkeep, ANudgeThatComesSoonAfterAnotherIsHeededLater) {
  Pair pair;
  EXPECT_TRUE(pair.nudge());
  pair.node.loop.run_for(Duration(200));
  EXPECT_GE(pair.looks, 1U);
  pair.looks = 0;
  EXPECT_TRUE(pair.nudge());
  pair.node.loop.run_for(Vserver::kNudgedEvery + Duration(200));
  EXPECT_GE(pair.looks, 1U);
  pair.node.stop();
}

// Who can name anybody could else keep a newcomer out: of its host nothing is heard for a while then.
TEST(Upkeep, WhatOthersSayOfANewcomerDoesNotKeepItOut) {
  Pair pair;
  const Contact newcomer = real_contact(4, 0);
  const Contact forged = real_contact(4, 1);
  for (const Contact& contact : {newcomer, forged})
    ASSERT_TRUE(in_open(pair.other.id, contact.id, pair.vserver().self().id));
  pair.node.peers[newcomer.id] = {};
  const auto predecessor_after = [&](const Contact& candidate, bool is_own_word) {
    EXPECT_TRUE(pair.node.await(pair.vserver().answer({Ring::kRelay, Notify{candidate, is_own_word}})));
    pair.node.loop.run_for(Duration(100));
    return pair.vserver().predecessor();
  };
  EXPECT_EQ(predecessor_after(forged, /*is_own_word=*/false), pair.other);
  EXPECT_EQ(predecessor_after(newcomer, /*is_own_word=*/false), pair.other);
  EXPECT_EQ(predecessor_after(newcomer, /*is_own_word=*/true), newcomer);
  pair.node.stop();
}

TEST(Upkeep, WhoDoesNotAnswerIsCalledOnceByItsOwnWord) {
  Pair pair;
  const Contact dead = real_contact(4);
  pair.node.asked.clear();
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(pair.node.await(pair.vserver().answer({Ring::kRelay, Notify{dead, true}})));
  EXPECT_EQ(std::ranges::count(pair.node.asked, dead.id), 1);
  pair.node.stop();
}

TEST(Upkeep, OfAListNoMoreIsPingedThanCouldBeTaken) {
  Pair pair;
  const Contact victim = real_contact(2);
  for (std::uint8_t n = 0; n < 128; ++n) {
    Contact named = n < 64 ? victim : real_contact(n);
    named.incarnation = n;
    pair.peer().neighbours.successors.push_back(std::move(named));
  }
  pair.looks = 0;
  pair.node.asked.clear();
  pair.vserver().nudge();
  pair.node.loop.run_for(Duration(200));
  ASSERT_GE(pair.looks, 1U);
  EXPECT_LE(std::ranges::count(pair.node.asked, victim.id), pair.looks);
  EXPECT_LE(pair.node.asked.size(), pair.looks * (4 * Tuning().successors + 10));
  pair.node.stop();
}

}  // namespace
}  // namespace tagring::ring
