#include "ring/membership.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ring/fixture.hpp"

namespace tagring::ring {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Membership::Options kOptions;

RingId just_after(const RingId& id) { return id + RingId::power_of_two(0); }

std::optional<Contact> successor(const Vserver& vserver) {
  if (vserver.successors().empty()) return std::nullopt;
  return vserver.successors().front();
}

// --- joining -----------------------------------------------------------------------------------------------

TEST(Bootstrap, WhoKnowsNobodyMayFoundARing) {
  NodeAmongScripts node({real_contact(0)});
  node.membership.start(true);
  node.loop.run_for(Duration(1));
  EXPECT_TRUE(node.membership.is_member());
  EXPECT_TRUE(node.membership.vservers()[0]->is_alone());
  EXPECT_THAT(node.asked, IsEmpty());
  node.stop();
}

TEST(Bootstrap, WhoMayNotFoundARingAsksAgainUntilSomebodyIsKnown) {
  NodeAmongScripts node({real_contact(0)});
  node.membership.start(false);
  node.loop.run_for(10 * kOptions.join_retry - Duration(1));
  EXPECT_FALSE(node.membership.is_member());
  EXPECT_EQ(node.bootstraps, 10U);

  node.add_ring({real_contact(1)});
  node.known = {real_contact(1)};
  node.loop.run_for(kOptions.join_retry);
  EXPECT_TRUE(node.membership.is_member());
  EXPECT_EQ(successor(*node.membership.vservers()[0]), real_contact(1));
  node.stop();
}

TEST(Bootstrap, WhoKnowsSomebodyFoundsNoRingEvenIfNobodyAnswers) {
  NodeAmongScripts node({real_contact(0)});
  node.known = {real_contact(1)};
  node.membership.start(true);
  node.loop.run_for(std::chrono::minutes(1));
  EXPECT_FALSE(node.membership.is_member());
  EXPECT_THAT(node.asked, testing::Contains(real_contact(1).id));
  node.stop();
}

TEST(Bootstrap, AFormerSelfIsNobody) {
  NodeAmongScripts node({real_contact(0, 0), real_contact(0, 1)});
  node.known = {real_contact(0, 0), real_contact(0, 1)};
  --node.known[0].incarnation;
  node.membership.start(true);
  node.loop.run_for(std::chrono::minutes(1));
  EXPECT_TRUE(node.membership.is_member());
  node.stop();
}

TEST(Bootstrap, EveryVserverJoins) {
  const std::vector<Contact> own = {real_contact(0, 0), real_contact(0, 1), real_contact(0, 2)};
  NodeAmongScripts node(own);
  node.membership.start(true);
  node.loop.run_for(std::chrono::minutes(1));
  ASSERT_TRUE(node.membership.is_member());
  for (const auto& vserver : node.membership.vservers()) {
    EXPECT_EQ(vserver->successors().contacts().size(), 2U);
    EXPECT_TRUE(vserver->predecessor());
  }
  node.stop();
}

TEST(Bootstrap, AVserverThatIsAMemberIsAWayInForTheOthers) {
  NodeAmongScripts node({real_contact(0, 0), real_contact(0, 1)});
  node.membership.vservers()[0]->create();
  node.known = {real_contact(1)};  // who is dead
  node.membership.start(false);
  node.loop.run_for(Duration(1));
  EXPECT_TRUE(node.membership.is_member());
  EXPECT_EQ(successor(*node.membership.vservers()[1]), real_contact(0, 0));
  node.stop();
}

TEST(Bootstrap, ANodeWithAVserverLeftToJoinIsNoMember) {
  NodeAmongScripts node({real_contact(0, 0), real_contact(0, 1)});
  node.membership.vservers()[0]->create();
  EXPECT_FALSE(node.membership.is_member());
  node.membership.vservers()[1]->create();
  EXPECT_TRUE(node.membership.is_member());
}

TEST(Bootstrap, StopEndsTheUpkeep) {
  NodeAmongScripts node({real_contact(0)});
  node.membership.start(true);
  node.loop.run_for(Duration(1));
  node.stop();
  const unsigned bootstraps = node.bootstraps;
  node.loop.run_for(std::chrono::hours(1));
  EXPECT_EQ(node.bootstraps, bootstraps);
}

// --- owners ------------------------------------------------------------------------------------------------

// A member of a ring of six, lying still. [0] is this node, the others follow clockwise.
struct StillRing {
  explicit StillRing(Membership::Options options = {}) : ring(clockwise()), node({ring[0]}, options) {
    node.add_ring(ring);
    node.peers.erase(ring[0].id);
    node.membership.vservers()[0]->restore(ring[5], {ring.begin() + 1, ring.end()}, {});
  }
  static std::vector<Contact> clockwise() {
    std::vector<Contact> contacts = real_contacts(0, 6);
    std::ranges::rotate(contacts, std::ranges::find(contacts, real_contact(0).id, &Contact::id));
    return contacts;
  }
  Result<Owner> find(const RingId& key) { return node.await(node.membership.find_owner(key)); }

  std::vector<Contact> ring;
  NodeAmongScripts node;
};

TEST(FindOwner, WithoutAPlaceOnTheRingThereIsNoOwner) {
  NodeAmongScripts node({real_contact(0)});
  const Result<Owner> owner = node.await(node.membership.find_owner(place(1)));
  ASSERT_FALSE(owner);
  EXPECT_EQ(owner.error().code, ErrorCode::kUnavailable);
}

TEST(FindOwner, OfAnOwnKeyNeedsNoCall) {
  StillRing still;
  const Result<Owner> owner = still.find(still.ring[0].id);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->contact, still.ring[0]);
  EXPECT_EQ(owner->segment, (Segment{still.ring[5].id, still.ring[0].id}));
  EXPECT_THAT(still.node.asked, IsEmpty());
  EXPECT_EQ(still.node.membership.counters().cached, 1U);
}

TEST(FindOwner, AsksTheOwnerItself) {
  StillRing still;
  const Result<Owner> owner = still.find(just_after(still.ring[0].id));
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->contact, still.ring[1]);
  EXPECT_EQ(owner->segment, (Segment{still.ring[0].id, still.ring[1].id}));
  EXPECT_THAT(still.node.asked, ElementsAre(still.ring[1].id));
  EXPECT_EQ(still.node.membership.counters().lookups, 1U);
  EXPECT_EQ(still.node.membership.counters().lookup_calls, 1U);
}

TEST(FindOwner, OneAnswerServesTheWholeSegment) {
  StillRing still;
  ASSERT_TRUE(still.find(just_after(still.ring[0].id)));
  const Result<Owner> owner = still.find(still.ring[1].id);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->contact, still.ring[1]);
  EXPECT_EQ(still.node.asked.size(), 1U);
  EXPECT_EQ(still.node.membership.counters().lookups, 1U);
  EXPECT_EQ(still.node.membership.counters().cached, 1U);
}

TEST(FindOwner, AnAnswerIsBelievedForTheLifetimeOfARoute) {
  StillRing still;
  const RingId key = still.ring[1].id;
  ASSERT_TRUE(still.find(key));
  still.node.loop.run_for(kOptions.route_lifetime - std::chrono::seconds(1));
  ASSERT_TRUE(still.find(key));
  EXPECT_EQ(still.node.asked.size(), 1U);
  still.node.loop.run_for(std::chrono::seconds(1));
  ASSERT_TRUE(still.find(key));
  EXPECT_EQ(still.node.asked.size(), 2U);
}

TEST(FindOwner, AStaleAnswerStaysUntilItIsForgotten) {
  StillRing still;
  const RingId key = just_after(still.ring[0].id);
  ASSERT_TRUE(still.find(key));
  // ring[1] is dead, and ring[2] has all that it had.
  still.node.peers[still.ring[1].id].dead = true;
  still.node.peers[still.ring[2].id].find.owned = Segment{still.ring[0].id, still.ring[2].id};
  EXPECT_EQ(still.find(key)->contact, still.ring[1]);
  still.node.membership.forget_route(key);
  EXPECT_EQ(still.find(key)->contact, still.ring[2]);
  EXPECT_EQ(still.node.membership.counters().lookup_calls, 3U) << "one of them to the dead";
}

TEST(FindOwner, AFailureIsNotRemembered) {
  StillRing still;
  const RingId key = just_after(still.ring[0].id);
  for (auto& [id, peer] : still.node.peers) peer.dead = true;
  ASSERT_FALSE(still.find(key));
  for (auto& [id, peer] : still.node.peers) peer.dead = false;
  EXPECT_TRUE(still.find(key));
}

TEST(FindOwner, WhoNamesAnotherEndThanItselfIsNotBelieved) {
  StillRing still;
  // ring[1] claims a part of the ring that ends at ring[3]: only ring[3] may say so.
  still.node.peers[still.ring[1].id].find.owned = Segment{still.ring[0].id, still.ring[3].id};
  for (std::size_t i = 2; i < 6; ++i) still.node.peers[still.ring[i].id].find = {};
  const Result<Owner> owner = still.find(just_after(still.ring[0].id));
  EXPECT_FALSE(owner);
}

TEST(FindOwner, WhoOwnsSomethingElseIsNotTheOwner) {
  StillRing still;
  still.node.peers[still.ring[1].id].find = {};
  const Result<Owner> owner = still.find(just_after(still.ring[0].id));
  EXPECT_FALSE(owner) << "the others answer with segments that do not hold the key";
}

TEST(FindOwner, WhoseIdIsFalseIsNotAsked) {
  StillRing still;
  Contact liar = still.ring[1];
  liar.vserver = 9;
  still.node.membership.vservers()[0]->restore(still.ring[5], {liar}, {});
  EXPECT_FALSE(still.find(just_after(still.ring[0].id)));
  EXPECT_THAT(still.node.asked, IsEmpty());
}

TEST(FindOwner, ALookUpThatIsLedAstrayEnds) {
  // Everybody knows somebody closer, who does not exist or does not end.
  StillRing still;
  std::vector<Contact> crowd;
  for (std::uint8_t n = 10; n < 250; ++n) crowd.push_back(real_contact(n));
  for (std::size_t i = 0; i < crowd.size(); ++i)
    still.node.peers[crowd[i].id].find.closer = {crowd[(i + 1) % crowd.size()]};
  for (std::size_t i = 1; i < 6; ++i) still.node.peers[still.ring[i].id].find = {std::nullopt, {crowd[0]}};
  EXPECT_FALSE(still.find(just_after(still.ring[0].id)));
  EXPECT_EQ(still.node.asked.size(), Tuning{}.lookup_calls_max);
}

TEST(FindOwner, NobodyIsAskedTwice) {
  StillRing still;
  for (std::size_t i = 1; i < 6; ++i) still.node.peers[still.ring[i].id].find = {std::nullopt, still.ring};
  EXPECT_FALSE(still.find(just_after(still.ring[0].id)));
  EXPECT_EQ(still.node.asked.size(), 5U) << "nor this node itself";
}

TEST(FindOwner, StartsAtTheVserverThatStandsClosestBefore) {
  std::vector<Contact> own = {real_contact(0, 0), real_contact(0, 1)};
  std::ranges::sort(own, {}, &Contact::id);
  for (const std::size_t from : {0U, 1U}) {
    NodeAmongScripts node(own);
    // Each vserver knows one other member only.
    node.membership.vservers()[0]->restore(std::nullopt, {real_contact(1)}, {});
    node.membership.vservers()[1]->restore(std::nullopt, {real_contact(2)}, {});
    (void)node.await(node.membership.find_owner(just_after(own[from].id)));
    ASSERT_FALSE(node.asked.empty());
    EXPECT_EQ(node.asked[0], real_contact(from == 0 ? 1 : 2).id);
  }
}

// --- what is its own ---------------------------------------------------------------------------------------

TEST(OwnVservers, AreFoundByTheirId) {
  NodeAmongScripts node({real_contact(0, 0), real_contact(0, 1)});
  EXPECT_EQ(node.membership.find(real_contact(0, 1).id), node.membership.vservers()[1].get());
  EXPECT_EQ(node.membership.find(real_contact(1).id), nullptr);
}

TEST(OwnVservers, ServeWhatTheyOwnOnlyOnceItIsHere) {
  NodeAmongScripts node({real_contact(0)});
  node.add_ring({real_contact(1)});
  node.known = {real_contact(1)};
  unsigned changes = 0;
  node.on_segment_change = [&](Vserver& vserver) {
    EXPECT_EQ(&vserver, node.membership.vservers()[0].get());
    ++changes;
  };
  node.membership.start(false);
  node.loop.run_for(Duration(1));
  Vserver* vserver = node.membership.vservers()[0].get();
  const RingId key = vserver->self().id;
  EXPECT_EQ(node.membership.owning(key), vserver);
  EXPECT_EQ(node.membership.serving(key), nullptr);
  EXPECT_EQ(changes, 1U);
  vserver->fetched(vserver->missing().value());
  EXPECT_EQ(node.membership.serving(key), vserver);
  EXPECT_EQ(node.membership.owning(just_after(key)), nullptr);
  EXPECT_EQ(node.membership.serving(just_after(key)), nullptr);
  node.stop();
}

// --- split rings -------------------------------------------------------------------------------------------

// This node on a ring with `own_ring`, and another ring, of which bootstrap knows one member. Neither ring
// has heard of the other.
struct SplitRings {
  SplitRings(const Contact& self, const std::vector<Contact>& own_ring,
             const std::vector<Contact>& other_ring)
      : node({self}, {.route_lifetime = std::chrono::hours(1)}), vserver(*node.membership.vservers()[0]) {
    node.add_ring(other_ring);
    for (const Contact& member : other_ring) {
      if (node.peers[member.id].find.owned->contains(self.id)) owner = member;
    }
    for (const Contact& member : other_ring) {
      if (member != owner) node.peers[member.id].find = {std::nullopt, {owner}};
    }
    node.add_ring(own_ring);
    std::vector<Contact> clockwise = own_ring;
    std::ranges::sort(clockwise, {}, [&](const Contact& c) { return clockwise_distance(self.id, c.id); });
    std::optional<Contact> before;
    if (!clockwise.empty()) {
      before = clockwise.back();
      node.peers[clockwise.front().id].find.owned = Segment{self.id, clockwise.front().id};
    }
    vserver.restore(before, clockwise, {});
    node.known = {other_ring.front()};
    node.on_merged = [this] { ++merged; };
  }
  // Until the first check for a split has been made.
  void check() {
    node.membership.start(false);
    node.loop.run_for(kOptions.split_check_every * 3 / 2 + std::chrono::seconds(5));
  }
  // A vserver that leaves comes back as a new incarnation.
  [[nodiscard]] bool moved() const { return vserver.self().incarnation == 2; }

  NodeAmongScripts node;
  Vserver& vserver;
  Contact owner;  // on the other ring, of this node's place
  unsigned merged = 0;
};

TEST(SplitRings, TheSmallerRingMovesToTheLarger) {
  SplitRings split(real_contact(0), {real_contact(1)}, real_contacts(10, 4));
  split.check();
  EXPECT_TRUE(split.moved());
  EXPECT_TRUE(split.node.membership.is_member());
  EXPECT_EQ(successor(split.vserver), split.owner);
  EXPECT_EQ(split.vserver.successors().contacts().size(), 4U);
  EXPECT_EQ(split.merged, 1U);
  EXPECT_EQ(split.node.membership.counters().merges, 1U);
  split.node.stop();
}

TEST(SplitRings, TheLargerRingStays) {
  SplitRings split(real_contact(0), real_contacts(1, 7), real_contacts(10, 4));
  split.check();
  EXPECT_FALSE(split.moved());
  EXPECT_FALSE(split.node.asked.empty()) << "it did look";
  EXPECT_EQ(split.merged, 0U);
  EXPECT_EQ(split.node.membership.counters().merges, 0U);
  split.node.stop();
}

// Where sizes decide nothing: ids ascend from 0, so the one that comes first after it.
TEST(SplitRings, OfEqualRingsTheOneWithTheFirstIdStays) {
  const std::vector<Contact> two = real_contacts(0, 2);
  for (const std::size_t self : {0U, 1U}) {
    SplitRings split(two[self], {}, {two[1 - self]});
    split.check();
    EXPECT_EQ(split.moved(), two[1 - self].id < two[self].id);
    split.node.stop();
  }
}

TEST(SplitRings, AMemberThatHasNotHeardOfUsYetIsNoOtherRing) {
  SplitRings split(real_contact(0), {real_contact(1)}, real_contacts(10, 4));
  // The successor still claims our place, and knows many.
  ScriptedPeer& successor = split.node.peers[real_contact(1).id];
  successor.find.owned = Segment{real_contact(1).id, real_contact(1).id};
  successor.neighbours.successors = real_contacts(10, 4);
  split.node.known = {real_contact(1)};
  split.check();
  EXPECT_FALSE(split.moved());
  EXPECT_THAT(split.node.asked, testing::Each(real_contact(1).id));
  EXPECT_GE(split.node.asked.size(), 2U) << "through bootstrap, and by its own table";
  split.node.stop();
}

TEST(SplitRings, WhoCannotBeAskedHowLargeItsRingIsMovesNobody) {
  SplitRings split(real_contact(0), {}, real_contacts(10, 4));
  split.node.peers[split.owner.id].busy = true;
  split.check();
  EXPECT_FALSE(split.moved());
  split.node.stop();
}

TEST(SplitRings, ANodeThatIsNotOnTheOldRingAnyMoreForgetsItsRoutes) {
  SplitRings split(real_contact(0), {real_contact(1)}, real_contacts(10, 4));
  const RingId key = just_after(real_contact(0).id);
  ASSERT_EQ(split.node.await(split.node.membership.find_owner(key))->contact, real_contact(1));
  split.check();
  ASSERT_TRUE(split.moved());
  split.node.peers[split.owner.id].find.owned = Segment{real_contact(0).id, split.owner.id};
  const Result<Owner> owner = split.node.await(split.node.membership.find_owner(key));
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->contact, split.owner);
  split.node.stop();
}

TEST(SplitRings, WhoLosesItsWayIntoTheNewRingFindsAnother) {
  SplitRings split(real_contact(0), {}, real_contacts(10, 4));
  // Once it has said how large its ring is, the contact dies; bootstrap then knows a lone vserver.
  split.node.on_answered = [&](const Contact& peer, const Request& request) {
    if (peer != split.owner || !std::holds_alternative<GetNeighbours>(request.body)) return;
    split.node.peers[split.owner.id].dead = true;
    split.node.add_ring({real_contact(20)});
    split.node.known = {real_contact(20)};
  };
  split.check();
  EXPECT_TRUE(split.moved());
  EXPECT_TRUE(split.node.membership.is_member());
  EXPECT_EQ(successor(split.vserver), real_contact(20));
  split.node.stop();
}

TEST(SplitRings, AllVserversMoveAndItCountsOnce) {
  NodeAmongScripts node({real_contact(0, 0), real_contact(0, 1)});
  const auto& own = node.membership.vservers();
  own[0]->restore(own[1]->self(), {own[1]->self()}, {});
  own[1]->restore(own[0]->self(), {own[0]->self()}, {});
  const std::vector<Contact> others = real_contacts(10, 6);
  node.add_ring(others);
  for (const Contact& other : others) {
    for (const auto& vserver : own) {
      if (node.peers[other.id].find.owned->contains(vserver->self().id)) node.known.push_back(other);
    }
  }
  unsigned merged = 0;
  node.on_merged = [&] { ++merged; };
  node.membership.start(false);
  node.loop.run_for(kOptions.split_check_every * 3 / 2 + std::chrono::seconds(5));
  EXPECT_EQ(own[0]->self().incarnation, 2U);
  EXPECT_EQ(own[1]->self().incarnation, 2U);
  EXPECT_EQ(merged, 1U);
  EXPECT_EQ(node.membership.counters().merges, 1U);
  node.stop();
}

TEST(SplitRings, VserversOfOneNodeFindEachOtherWithoutHelp) {
  NodeAmongScripts node({real_contact(0, 0), real_contact(0, 1)});
  const auto& own = node.membership.vservers();
  own[0]->create();
  own[1]->create();
  node.membership.start(false);
  node.loop.run_for(20 * kOptions.split_check_every);
  const std::size_t moved = own[0]->self().id < own[1]->self().id ? 1 : 0;
  EXPECT_EQ(successor(*own[moved]), own[1 - moved]->self());
  EXPECT_EQ(own[moved]->self().incarnation, 2U);
  EXPECT_EQ(own[1 - moved]->self().incarnation, 1U);
  node.stop();
}

}  // namespace
}  // namespace tagring::ring
