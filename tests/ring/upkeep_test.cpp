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

// A member at members[0] of a ring of whole scripts; the others stand clockwise from it.
struct Among {
  explicit Among(std::vector<Contact> contacts, Tuning tuning = {})
      : members(std::move(contacts)), node({members[0]}, {}, tuning) {}
  void join() {
    node.add_ring({members.begin() + 1, members.end()});
    node.known = {members[1]};
    node.membership.start(Membership::Founding::kNever);
    node.loop.run_for(std::chrono::seconds(10));
    ASSERT_TRUE(vserver().is_member());
  }
  ScriptedPeer& peer(std::size_t i) { return node.peers.at(members[i].id); }
  Vserver& vserver() { return *node.membership.vservers()[0]; }
  [[nodiscard]] std::vector<Contact> list() { return vserver().successors().copy(); }

  std::vector<Contact> members;
  NodeAmongScripts node;
};

TEST(AmongLiars, WhomTheFirstOfTheListDoesNotNameAnyMoreStaysAsLongAsItAnswers) {
  const std::vector<Contact> members = real_contacts(0, 5);
  Among ring(members);
  ring.join();
  ASSERT_EQ(ring.list(), std::vector<Contact>(members.begin() + 1, members.end()));
  ring.peer(1).neighbours.successors = {members[3]};
  ring.node.loop.run_for(std::chrono::seconds(20));
  EXPECT_EQ(ring.list(), std::vector<Contact>(members.begin() + 1, members.end()));
  ring.peer(2).dead = true;
  ring.node.loop.run_for(std::chrono::seconds(20));
  EXPECT_EQ(ring.list(), (std::vector<Contact>{members[1], members[3], members[4]}));
  ring.node.stop();
}

// Its successor says nothing of who has come between them.
TEST(AmongLiars, WhoSaysItselfThatItStandsBehindAMemberBecomesItsSuccessor) {
  std::vector<Contact> members = real_contacts(0, 5);
  const Contact newcomer = members[1];
  members.erase(members.begin() + 1);
  Among ring(members);
  ring.join();
  ASSERT_EQ(ring.list().front(), members[1]);
  const auto say = [&] { return ring.node.await(ring.vserver().answer({Ring::kRelay, Nudge{newcomer}})); };
  ring.node.asked.clear();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(say());
  EXPECT_EQ(std::ranges::count(ring.node.asked, newcomer.id), 1) << "it does not answer";
  EXPECT_EQ(ring.list().front(), members[1]);
  ring.node.loop.run_for(Vserver::kSilentFor);
  ScriptedPeer peer;
  peer.neighbours = {members[0], {members[1], members[2], members[3]}};
  ring.node.peers[newcomer.id] = peer;
  EXPECT_TRUE(say());
  ring.node.loop.run_for(std::chrono::seconds(10));
  EXPECT_EQ(ring.list().front(), newcomer);
  ring.node.stop();
}

TEST(AmongLiars, WhoHearsNothingOfItsPredecessorTellsItOfItselfAndNoOther) {
  Among ring(real_contacts(0, 5));
  ring.join();
  const Contact before = ring.members.back();
  ASSERT_EQ(ring.vserver().predecessor(), before);
  unsigned told = 0;
  ring.node.on_answered = [&](const Contact& to, const Request& request) {
    const auto* nudge = std::get_if<Nudge>(&request.body);
    if (nudge == nullptr || !nudge->successor) return;
    EXPECT_EQ(to, before);
    EXPECT_EQ(*nudge->successor, ring.members[0]);
    ++told;
  };
  ring.node.loop.run_for(std::chrono::minutes(1));
  EXPECT_GE(told, 2U);
  const auto notify = [&](bool is_own_word) {
    for (int i = 0; i < 12; ++i) {
      EXPECT_TRUE(ring.node.await(ring.vserver().answer({Ring::kRelay, Notify{before, is_own_word}})));
      ring.node.loop.run_for(std::chrono::seconds(5));
    }
  };
  notify(/*is_own_word=*/true);
  told = 0;
  notify(/*is_own_word=*/true);
  EXPECT_EQ(told, 0U);
  notify(/*is_own_word=*/false);
  EXPECT_GE(told, 1U) << "anybody may have said so";
  ring.node.stop();
}

// The owner of the place lies: it names accomplices only, and says that the last of them stands before it.
TEST(AmongLiars, WhoJoinsStandsBetweenTheClosestThatAnswer) {
  const std::vector<Contact> members = real_contacts(0, 7);
  Tuning tuning;
  tuning.secure_lookups = true;
  Among ring(members, tuning);
  ring.node.add_ring({members.begin() + 1, members.end()});
  const Contact& liar = members[1];
  const Contact& accomplice = members[4];
  for (const std::size_t i : {1U, 4U}) {
    ring.peer(i).neighbours = {i == 1 ? accomplice : liar, {i == 1 ? accomplice : liar}};
    ring.peer(i).find = {i == 1 ? std::optional(Segment{accomplice.id, liar.id}) : std::nullopt, {liar}};
  }
  for (const std::size_t i : {2U, 3U, 5U, 6U}) ring.peer(i).find = {std::nullopt, {members[6], liar}};
  ring.node.known = {accomplice, members[3]};
  ring.node.membership.start(Membership::Founding::kNever);
  ring.node.loop.run_for(std::chrono::seconds(10));
  ASSERT_TRUE(ring.vserver().is_member());
  EXPECT_EQ(ring.vserver().predecessor(), members[6]);
  EXPECT_EQ(ring.list(), std::vector<Contact>(members.begin() + 1, members.end() - 1))
      << "as the last one has it";
  ring.node.stop();
}

// A liar may say for ever that it is busy, or that the place is taken by who was there before.
TEST(AmongLiars, WhoIsAlwaysBusyKeepsNobodyOutForEver) {
  const std::vector<Contact> members = real_contacts(0, 5);
  Among ring(members);
  ring.node.add_ring({members.begin() + 1, members.end()});
  ring.peer(4).busy = true;
  ring.node.known = {members[1]};
  ring.node.membership.start(Membership::Founding::kNever);
  ring.node.loop.run_for(std::chrono::seconds(20));
  EXPECT_FALSE(ring.vserver().is_member());
  ring.node.loop.run_for(std::chrono::minutes(1));
  ASSERT_TRUE(ring.vserver().is_member());
  EXPECT_EQ(ring.list().front(), members[1]);
  ring.node.stop();
}

}  // namespace
}  // namespace tagring::ring
