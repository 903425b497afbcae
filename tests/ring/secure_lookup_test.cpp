// Look-ups among liars: whom a node believes, and what it remembers. How often they succeed: tests/ring_sim.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ring/fixture.hpp"

namespace tagring::ring {
namespace {

using testing::Contains;
using testing::Not;

RingId just_after(const RingId& id) { return id + RingId::power_of_two(0); }

// A node that knows the next two of a ring of six clockwise; [0] is the node.
struct ShortSighted {
  explicit ShortSighted(bool secure = true)
      : ring(clockwise()), node({ring[0]}, {}, tuning(secure)), self(*node.membership.vservers()[0]) {
    node.add_ring(ring);
    node.peers.erase(ring[0].id);
    self.restore(ring[5], {ring[1], ring[2]}, {});
  }
  static Tuning tuning(bool secure) {
    Tuning result;
    result.secure_lookups = secure;
    return result;
  }
  static std::vector<Contact> clockwise() {
    std::vector<Contact> contacts = real_contacts(0, 6);
    std::ranges::rotate(contacts, std::ranges::find(contacts, real_contact(0).id, &Contact::id));
    return contacts;
  }
  // "The key is mine", and all that lies before it.
  void let_claim(std::size_t liar, const RingId& key) {
    node.peers[ring[liar].id].find = {Segment{key - RingId::power_of_two(0), ring[liar].id}, {}};
  }
  // Knows no more than to name that one.
  void let_name(std::size_t peer, std::size_t named) {
    node.peers[ring[peer].id].find = {std::nullopt, {ring[named]}};
  }
  Result<Owner> find(const RingId& key) { return node.await(node.membership.find_owner(key)); }

  std::vector<Contact> ring;
  NodeAmongScripts node;
  Vserver& self;
};

TEST(SecureLookup, TakesTheClosestOfTheClaims) {
  ShortSighted s;
  const RingId key = s.ring[3].id;  // of whom s.ring[1] knows
  s.let_claim(2, key);
  s.node.peers[s.ring[2].id].find.owned = Segment{s.ring[2].id, s.ring[2].id};
  s.let_name(1, 3);
  const Result<Owner> owner = s.node.await(s.self.secure_lookup(key));
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->contact, s.ring[3]);
}

// Who is not there lets calls run out.
class Slow : public NodeAmongScripts {
 public:
  using NodeAmongScripts::NodeAmongScripts;
  Task<Result<Reply>> call(Contact to, Request request, Instant deadline) override {
    if (peers.contains(to.id)) co_return co_await NodeAmongScripts::call(to, std::move(request), deadline);
    asked.push_back(to.id);
    co_await clock.sleep_until(deadline);
    co_return fail(ErrorCode::kTimedOut, "no answer");
  }
};

TEST(SecureLookup, IsNotKeptWaitingByWhomLiarsNameToAnOrdinaryOne) {
  Slow node({real_contact(0)}, {}, ShortSighted::tuning(true));
  Vserver& self = *node.membership.vservers()[0];
  const std::vector<Contact> liars = real_contacts(1, 20);
  const std::vector<Contact> dead = real_contacts(100, 76);
  for (std::size_t i = 0; i + 1 < liars.size(); ++i) {
    FindReply& answer = node.peers[liars[i].id].find;
    for (std::size_t j = 0; j < 4; ++j) answer.closer.push_back(dead[4 * i + j]);
    answer.closer.push_back(liars[i + 1]);
  }
  self.restore(liars[0], {liars[0]}, {});
  EXPECT_FALSE(node.await(self.lookup(just_after(real_contact(0).id))));
  EXPECT_LE(node.asked.size(), 8U + 3U) << "time for eight who do not answer, and three who do";
}

TEST(SecureLookup, AnOrdinaryOneReadsNoMoreOfAnAnswerThanOthersGive) {
  ShortSighted s(/*secure=*/false);
  const RingId key = s.ring[3].id;
  s.node.peers[s.ring[2].id].find = {std::nullopt, real_contacts(100, 64)};
  s.let_name(1, 3);
  const Result<Owner> owner = s.find(key);
  ASSERT_TRUE(owner) << owner.error().message;
  EXPECT_EQ(owner->contact, s.ring[3]);
}

TEST(SecureLookup, AnOrdinaryOneBelievesTheFirst) {
  ShortSighted s;
  const RingId key = s.ring[3].id;
  s.node.peers[s.ring[2].id].find = {Segment{s.ring[2].id, s.ring[2].id}, {}};
  s.let_name(1, 3);
  EXPECT_EQ(s.node.await(s.self.lookup(key))->contact, s.ring[2]);
}

TEST(SecureLookup, MakesNoMoreCallsThanItMay) {
  ShortSighted s;
  Tuning tuning = ShortSighted::tuning(true);
  tuning.secure_calls = 1;
  NodeAmongScripts node({s.ring[0]}, {}, tuning);
  node.add_ring(s.ring);
  node.membership.vservers()[0]->restore(s.ring[5], {s.ring[1], s.ring[2]}, {});
  LookupCost cost;
  (void)node.await(node.membership.vservers()[0]->secure_lookup(s.ring[3].id, {}, &cost));
  EXPECT_EQ(node.asked.size(), 1U);
  EXPECT_EQ(cost.calls, 1U);
}

TEST(SecureLookup, WhoClaimsAPlaceThatIsNotItsOwnIsNotAsked) {
  ShortSighted s;
  Contact false_owner = s.ring[4];
  false_owner.id = s.ring[3].id;  // as if it stood at the key itself
  s.node.peers[s.ring[1].id].find = {std::nullopt, {false_owner}};
  s.let_name(2, 3);
  s.node.peers[s.ring[3].id].dead = true;
  EXPECT_FALSE(s.node.await(s.self.secure_lookup(s.ring[3].id)));
}

TEST(SecureLookup, NobodyIsAskedTwice) {
  ShortSighted s;
  s.let_name(1, 3);
  s.let_name(2, 3);
  s.let_name(3, 1);
  (void)s.node.await(s.self.secure_lookup(just_after(s.ring[3].id)));
  std::ranges::sort(s.node.asked);
  EXPECT_EQ(std::ranges::adjacent_find(s.node.asked), s.node.asked.end());
}

TEST(SecureLookup, TheDeadDoNotHideTheOwner) {
  ShortSighted s;
  s.node.peers[s.ring[1].id].dead = true;
  s.let_name(2, 3);
  const Result<Owner> owner = s.node.await(s.self.secure_lookup(s.ring[3].id));
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->contact, s.ring[3]);
}

// --- segments ----------------------------------------------------------------------------------------------

TEST(ClaimedSegment, EndsWhereAMemberThatAnsweredStands) {
  ShortSighted s;
  const RingId key = s.ring[3].id;
  s.let_name(2, 3);
  s.node.peers[s.ring[3].id].find.owned = Segment{s.ring[3].id, s.ring[3].id};  // everything
  for (const Result<Owner>& owner :
       {s.node.await(s.self.lookup(key)), s.node.await(s.self.secure_lookup(key))}) {
    ASSERT_TRUE(owner);
    EXPECT_EQ(owner->segment, (Segment{s.ring[2].id, s.ring[3].id}));
  }
}

// --- what a node believes ----------------------------------------------------------------------------------

TEST(FindOwnerAmongLiars, IsSecureTheFirstTimeAndOrdinaryThen) {
  ShortSighted s;
  const RingId key = s.ring[3].id;
  s.let_name(1, 3);
  s.let_name(2, 3);
  ASSERT_TRUE(s.find(key));
  EXPECT_EQ(s.node.membership.counters().secure, 1U);
  s.node.loop.run_for(std::chrono::minutes(5));
  ASSERT_TRUE(s.find(key));
  EXPECT_EQ(s.node.membership.counters().lookups, 2U);
  EXPECT_EQ(s.node.membership.counters().secure, 1U);
}

TEST(FindOwnerAmongLiars, ALaterLiarIsNotBelieved) {
  ShortSighted s;
  const RingId key = s.ring[3].id;
  s.let_name(1, 3);
  s.let_name(2, 3);
  ASSERT_EQ(s.find(key)->contact, s.ring[3]);
  s.node.loop.run_for(std::chrono::minutes(5));
  s.node.peers[s.ring[2].id].find = {Segment{s.ring[2].id, s.ring[2].id}, {}};
  EXPECT_EQ(s.find(key)->contact, s.ring[3]);
  EXPECT_EQ(s.node.membership.counters().secure, 2U);
}

TEST(FindOwnerAmongLiars, ADeadOwnerIsReplacedOnce) {
  ShortSighted s;
  const RingId key = s.ring[3].id;
  s.let_name(1, 3);
  s.let_name(2, 3);
  ASSERT_EQ(s.find(key)->contact, s.ring[3]);
  s.node.peers[s.ring[3].id].dead = true;
  s.node.peers[s.ring[4].id].find.owned = Segment{s.ring[2].id, s.ring[4].id};
  s.let_name(2, 4);
  s.node.membership.forget_route(key);
  ASSERT_EQ(s.find(key)->contact, s.ring[4]);
  EXPECT_EQ(s.node.membership.counters().secure, 2U);
  s.node.membership.forget_route(key);
  ASSERT_EQ(s.find(key)->contact, s.ring[4]);
  EXPECT_EQ(s.node.membership.counters().secure, 2U) << "the new owner is known by then";
}

TEST(FindOwnerAmongLiars, WhatWasSecuredIsLookedAtAgainAfterHours) {
  ShortSighted s;
  s.let_name(1, 3);
  s.let_name(2, 3);
  ASSERT_TRUE(s.find(s.ring[3].id));
  s.node.loop.run_for(Membership::Options{}.secure_lifetime);
  ASSERT_TRUE(s.find(s.ring[3].id));
  EXPECT_EQ(s.node.membership.counters().secure, 2U);
}

TEST(FindOwnerAmongLiars, WithoutTheSettingNothingIsSecured) {
  ShortSighted s(false);
  s.let_name(1, 3);
  s.let_name(2, 3);
  ASSERT_TRUE(s.find(s.ring[3].id));
  EXPECT_EQ(s.node.membership.counters().secure, 0U);
  EXPECT_THAT(s.node.asked, Not(Contains(s.ring[1].id)));
}

}  // namespace
}  // namespace tagring::ring
