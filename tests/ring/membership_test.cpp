#include "ring/membership.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <utility>

#include "ring/fixture.hpp"

namespace tagring::ring {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Founding = Membership::Founding;

const Membership::Options kOptions;

RingId just_after(const RingId& id) { return id + RingId::power_of_two(0); }

std::optional<Contact> successor(const Vserver& vserver) {
  if (vserver.successors().empty()) return std::nullopt;
  return vserver.successors().front();
}

// --- joining -----------------------------------------------------------------------------------------------

TEST(Bootstrap, WhoKnowsNobodyMayFoundARing) {
  NodeAmongScripts node({real_contact(0)});
  node.membership.start(Founding::kAtOnce);
  node.loop.run_for(Duration(1));
  EXPECT_TRUE(node.membership.is_member());
  EXPECT_TRUE(node.membership.vservers()[0]->is_alone());
  EXPECT_THAT(node.asked, IsEmpty());
  node.stop();
}

// It may be gone before that ends. Started again, it does.
TEST(Stopped, AVserverBeginsNothingThatItIsAskedFor) {
  NodeAmongScripts node({real_contact(0)});
  node.membership.start(Founding::kAtOnce);
  node.loop.run_for(Duration(1));
  node.stop();
  Vserver& vserver = *node.membership.vservers()[0];
  const auto notify = [&] {
    return node.await(vserver.answer({Ring::kRelay, Notify{real_contact(1)}})).has_value();
  };
  EXPECT_TRUE(notify());
  EXPECT_TRUE(node.await(vserver.answer({Ring::kRelay, Nudge{}})));
  node.loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(node.asked, IsEmpty());
  vserver.start();
  EXPECT_TRUE(notify());
  node.loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(node.asked, testing::Contains(real_contact(1).id));
  node.stop();
}

TEST(Bootstrap, WhoMayNotFoundARingAsksAgainUntilSomebodyIsKnown) {
  NodeAmongScripts node({real_contact(0)});
  node.membership.start(Founding::kNever);
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

TEST(Bootstrap, WhoKnowsSomebodyFoundsNoRingWhileThatOneMayAnswerStill) {
  NodeAmongScripts node({real_contact(0)});
  node.known = {real_contact(1)};
  node.membership.start(Founding::kAtOnce);
  node.loop.run_for(2 * kOptions.search - Duration(1));
  EXPECT_FALSE(node.membership.is_member());
  EXPECT_THAT(node.asked, testing::Contains(real_contact(1).id));
  node.loop.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(node.membership.is_member());
  node.stop();
}

TEST(Bootstrap, AFormerSelfIsNobody) {
  NodeAmongScripts node({real_contact(0, 0), real_contact(0, 1)});
  node.known = {real_contact(0, 0), real_contact(0, 1)};
  --node.known[0].incarnation;
  node.membership.start(Founding::kAtOnce);
  node.loop.run_for(std::chrono::minutes(1));
  EXPECT_TRUE(node.membership.is_member());
  node.stop();
}

TEST(Bootstrap, EveryVserverJoins) {
  const std::vector<Contact> own = {real_contact(0, 0), real_contact(0, 1), real_contact(0, 2)};
  NodeAmongScripts node(own);
  node.membership.start(Founding::kAtOnce);
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
  node.membership.start(Founding::kNever);
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

TEST(Bootstrap, WhoOwnsEverythingAndLetsNobodyInKeepsNobodyFromAnotherWayIn) {
  NodeAmongScripts node({real_contact(0)});
  node.known = {real_contact(1), real_contact(2)};
  node.add_ring({real_contact(1)});
  node.peers[real_contact(1).id].busy = true;
  node.add_ring({real_contact(2)});
  node.membership.start(Founding::kNever);
  node.loop.run_for(2 * kOptions.join_retry);
  EXPECT_TRUE(node.membership.is_member());
  EXPECT_EQ(successor(*node.membership.vservers()[0]), real_contact(2));
  node.stop();
}

// A ring of two other nodes, one of which this node cannot reach: it has a place before each of them, and
// tries the one before that node first.
struct LineCut {
  static std::vector<Contact> clockwise() {
    std::vector<Contact> contacts = {real_contact(3)};
    for (const std::uint8_t number : {0, 1, 2}) contacts.push_back(real_contact(2, number));
    std::ranges::sort(contacts, {}, &Contact::id);
    std::ranges::rotate(contacts, std::ranges::find(contacts, real_contact(3).id, &Contact::id));
    return contacts;
  }
  // A place of this node that far round the ring.
  static Contact place_between(const RingId& from, const RingId& to) {
    std::uint8_t number = 0;
    while (!in_open(from, real_contact(0, number).id, to)) ++number;
    return real_contact(0, number);
  }
  LineCut()
      : ring(clockwise()),
        kept_out(place_between(ring[3].id, ring[0].id)),
        let_in(place_between(ring[1].id, ring[2].id)),
        node({kept_out, let_in}) {
    node.add_ring(ring);
    node.peers[ring[0].id].dead = true;
    for (std::size_t i = 1; i < 4; ++i) node.peers[ring[i].id].find.closer = {ring[0]};
    node.known = {ring.begin() + 1, ring.end()};
  }
  std::vector<Contact> ring;
  Contact kept_out;
  Contact let_in;
  NodeAmongScripts node;
};

TEST(Bootstrap, APlaceWhoseNeighbourIsOutOfReachKeepsNoOtherOffTheRing) {
  LineCut cut;
  cut.node.membership.start(Founding::kNever);
  cut.node.loop.run_for(std::chrono::minutes(1));
  EXPECT_FALSE(cut.node.membership.find(cut.kept_out.id)->is_member());
  EXPECT_TRUE(cut.node.membership.find(cut.let_in.id)->is_member());
  cut.node.stop();
}

// These others never hear of it, which looks as if the ring had split.
TEST(Bootstrap, APlaceWhoseNeighbourIsOutOfReachKeepsNoOtherFromLookingForSplits) {
  LineCut cut;
  cut.node.membership.start(Founding::kNever);
  cut.node.loop.run_for(2 * kOptions.split_check_every);
  EXPECT_FALSE(cut.node.membership.is_member());
  EXPECT_GT(cut.node.membership.counters().merges, 0U);
  cut.node.stop();
}

// --- the ring is gone --------------------------------------------------------------------------------------

// It has answered since the start, or somebody who has left names it.
TEST(AfterAPowerCut, WhoIsDeadForGoodIsWaitedForForAWhileOnly) {
  NodeAmongScripts node({real_contact(0)});
  node.known = {real_contact(1)};
  node.seekers = {"https://z.example"};
  node.membership.start(Founding::kTogether);
  node.loop.run_for(2 * kOptions.search - Duration(1));
  EXPECT_FALSE(node.membership.is_member());
  node.loop.run_for(std::chrono::seconds(15));
  EXPECT_TRUE(node.membership.is_member());
  node.stop();
}

TEST(AfterAPowerCut, TheFirstOfThoseThatSeekARingTogetherFoundsIt) {
  NodeAmongScripts node({real_contact(0)});
  node.seekers = {"https://z.example", real_contact(0).origin()};
  node.membership.start(Founding::kTogether);
  node.loop.run_for(kOptions.search - Duration(1));
  EXPECT_FALSE(node.membership.is_member());
  node.loop.run_for(kOptions.join_retry);
  EXPECT_TRUE(node.membership.is_member());
  node.stop();
}

TEST(AfterAPowerCut, TheOthersWaitForTheFirstButNotForEver) {
  NodeAmongScripts node({real_contact(0)});
  node.seekers = {"https://a.example"};
  node.membership.start(Founding::kTogether);
  node.loop.run_for(2 * kOptions.search - Duration(1));
  EXPECT_FALSE(node.membership.is_member());
  node.loop.run_for(kOptions.join_retry);
  EXPECT_TRUE(node.membership.is_member());
  node.stop();
}

TEST(AfterAPowerCut, WhoSeeksAloneFoundsNothingUnlessItWasToldTo) {
  for (const Founding founding : {Founding::kTogether, Founding::kInTheEnd}) {
    NodeAmongScripts node({real_contact(0)});
    node.membership.start(founding);
    node.loop.run_for(4 * kOptions.search - Duration(1));
    EXPECT_FALSE(node.membership.is_member());
    node.loop.run_for(std::chrono::hours(1));
    EXPECT_EQ(node.membership.is_member(), founding == Founding::kInTheEnd);
    node.stop();
  }
}

// They may also be there in every second search only, while somebody else is a reason to found the ring.
TEST(AfterAPowerCut, FirstsThatAreAnotherEveryTimeAreWaitedForForTenMinutesAtMost) {
  for (const unsigned every : {1, 2}) {
    NodeAmongScripts node({real_contact(0)});
    node.has_newcomer = true;
    node.seekers = {"https://a.example"};
    node.membership.start(Founding::kTogether);
    const Instant began = node.loop.now();
    const Duration most = 40 * kOptions.search + kOptions.join_retry;
    for (unsigned i = 0; !node.membership.is_member() && node.loop.now() < began + most; ++i) {
      node.loop.run_for(kOptions.join_retry);
      node.seekers.clear();
      if (i % every == 0) node.seekers = {fmt::format("https://a{}.example", i)};
    }
    EXPECT_TRUE(node.membership.is_member());
    EXPECT_GE(node.loop.now() - began, 22 * kOptions.search) << "somebody may come who is first";
    node.stop();
  }
}

TEST(AfterAPowerCut, AFirstThatOneSearchMissesIsWaitedForStill) {
  NodeAmongScripts node({real_contact(0)});
  node.has_newcomer = true;
  node.seekers = {"https://a.example"};
  node.membership.start(Founding::kTogether);
  node.loop.run_for(kOptions.search + kOptions.join_retry);
  node.seekers.clear();
  node.loop.run_for(kOptions.search - kOptions.join_retry - Duration(1));
  EXPECT_FALSE(node.membership.is_member());
  node.loop.run_for(kOptions.join_retry);
  EXPECT_TRUE(node.membership.is_member());
  node.stop();
}

// The node was cut off, and is no more.
TEST(AfterAPowerCut, WhoComesFirstAndTurnsUpAfterLongIsWaitedForAsLong) {
  NodeAmongScripts node({real_contact(0)});
  node.membership.start(Founding::kTogether);
  node.loop.run_for(std::chrono::hours(1));
  node.seekers = {"https://a.example"};
  node.loop.run_for(2 * kOptions.search - Duration(1));
  EXPECT_FALSE(node.membership.is_member());
  node.loop.run_for(2 * kOptions.join_retry);
  EXPECT_TRUE(node.membership.is_member());
  node.stop();
}

// It answers, and is cut off from those to whom it leads, or says so.
struct LetsNobodyIn : NodeAmongScripts {
  explicit LetsNobodyIn(std::uint64_t seed = 1) : NodeAmongScripts({real_contact(0)}, {}, {}, seed) {
    known = {real_contact(1)};
    peers[real_contact(1).id] = {};
  }
};

TEST(AfterAPowerCut, WhoIsThereAndLetsNobodyInIsWaitedForForTenMinutesAtMost) {
  for (const Founding founding : {Founding::kTogether, Founding::kInTheEnd}) {
    LetsNobodyIn node;
    node.seekers = {"https://z.example"};
    node.membership.start(founding);
    node.loop.run_for(20 * kOptions.search - Duration(1));
    EXPECT_FALSE(node.membership.is_member());
    node.loop.run_for(20 * kOptions.search + kOptions.join_retry);
    EXPECT_TRUE(node.membership.is_member());
    node.stop();
  }
}

TEST(AfterAPowerCut, WhoHasLostPatienceTriesToJoinOnceMoreBeforeItFoundsARing) {
  LetsNobodyIn node;
  node.seekers = {"https://z.example"};
  node.membership.start(Founding::kTogether);
  node.loop.run_for(20 * kOptions.search - Duration(1));
  EXPECT_FALSE(node.membership.is_member());
  node.add_ring({real_contact(1)});
  node.loop.run_for(Duration(1));
  EXPECT_TRUE(node.membership.is_member());
  EXPECT_EQ(successor(*node.membership.vservers()[0]), real_contact(1));
  node.stop();
}

// Until then it has waited for nobody.
TEST(AfterAPowerCut, WhoWasAMemberAllTheWhileHasItsPatienceStill) {
  LineCut cut;
  Membership& membership = cut.node.membership;
  cut.node.seekers = {"https://z.example"};
  membership.start(Founding::kTogether);
  cut.node.loop.run_for(std::chrono::hours(1));
  EXPECT_FALSE(membership.is_seeking());
  const auto hand_over = [](Vserver* vserver) -> Task<Result<void>> {
    co_await vserver->stop();
    vserver->leave();
    co_return Result<void>();
  };
  ASSERT_TRUE(cut.node.await(membership.give_up_place(cut.let_in.vserver, hand_over)));
  EXPECT_TRUE(membership.is_seeking()) << "the other place is still out of reach";
  cut.node.loop.run_for(20 * kOptions.search - 2 * kOptions.join_retry);
  EXPECT_FALSE(membership.is_member());
  cut.node.loop.run_for(4 * kOptions.join_retry);
  EXPECT_TRUE(membership.is_member());
  cut.node.stop();
}

// The ring may live. Nor does who has never met anybody know that there was one.
TEST(AfterAPowerCut, WhoLetsNobodyInIsWaitedForWhereNobodyElseLooksForTheRing) {
  for (const Founding founding : {Founding::kTogether, Founding::kInTheEnd, Founding::kAtOnce}) {
    LetsNobodyIn node;
    if (founding == Founding::kAtOnce) node.seekers = {"https://z.example"};
    node.membership.start(founding);
    node.loop.run_for(std::chrono::hours(1));
    EXPECT_FALSE(node.membership.is_member());
    node.stop();
  }
}

// The node was cut off, and is no more.
TEST(AfterAPowerCut, WhoTurnsUpAfterLongIsWaitedForAsLong) {
  LetsNobodyIn node;
  const std::vector<Contact> others = std::exchange(node.known, {});
  node.membership.start(Founding::kTogether);
  node.loop.run_for(std::chrono::hours(1));
  node.known = others;
  node.seekers = {"https://z.example"};
  node.loop.run_for(20 * kOptions.search - Duration(1));
  EXPECT_FALSE(node.membership.is_member());
  node.stop();
}

// Who is later finds the ring of who is earlier, most of them that of the first, who waits for 300 s.
TEST(AfterAPowerCut, NodesThatStartTogetherLosePatienceOneByOneAndAfterTheFirst) {
  std::set<Duration> waited;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    LetsNobodyIn node(seed);
    node.seekers = {"https://a.example"};
    node.membership.start(Founding::kTogether);
    const Instant began = node.loop.now();
    while (!node.membership.is_member() && node.loop.now() < began + 40 * kOptions.search)
      node.loop.run_for(kOptions.join_retry);
    waited.insert(node.loop.now() - began);
    node.stop();
  }
  EXPECT_GT(waited.size(), 2U);
  EXPECT_GE(*waited.begin(), 22 * kOptions.search);
}

// Also one that has lost its disk.
TEST(AfterAPowerCut, ANewcomerIsAReasonToFoundARingButNotWaitedFor) {
  NodeAmongScripts node({real_contact(0)});
  node.has_newcomer = true;
  node.membership.start(Founding::kTogether);
  node.loop.run_for(kOptions.search - Duration(1));
  EXPECT_FALSE(node.membership.is_member());
  node.loop.run_for(kOptions.join_retry);
  EXPECT_TRUE(node.membership.is_member());
  node.stop();
}

TEST(AfterAPowerCut, ANewcomerLeavesItToTheOthers) {
  NodeAmongScripts node({real_contact(0)});
  node.seekers = {"https://z.example"};
  node.membership.start(Founding::kNever);
  node.loop.run_for(std::chrono::hours(1));
  EXPECT_FALSE(node.membership.is_member());
  node.stop();
}

TEST(Bootstrap, StopEndsTheUpkeep) {
  NodeAmongScripts node({real_contact(0)});
  node.membership.start(Founding::kAtOnce);
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
  std::vector<Contact> named = still.ring;
  named.erase(named.begin() + 1);
  for (std::size_t i = 1; i < 6; ++i) still.node.peers[still.ring[i].id].find = {std::nullopt, named};
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
  node.membership.start(Founding::kNever);
  node.loop.run_for(Duration(1));
  Vserver* vserver = node.membership.vservers()[0].get();
  const RingId key = vserver->self().id;
  EXPECT_EQ(node.membership.owning(key), vserver);
  EXPECT_EQ(node.membership.serving(key), nullptr);
  EXPECT_EQ(changes, 1U);
  vserver->fetched(vserver->missing().value(), vserver->rivals_met());
  EXPECT_EQ(node.membership.serving(key), vserver);
  EXPECT_EQ(node.membership.owning(just_after(key)), nullptr);
  EXPECT_EQ(node.membership.serving(just_after(key)), nullptr);
  node.stop();
}

// The segment has grown while its data came: what came is not all of it.
TEST(OwnVservers, DoNotServeASegmentOfWhichAPartIsHere) {
  NodeAmongScripts node({real_contact(0)});
  node.add_ring({real_contact(1)});
  node.known = {real_contact(1)};
  node.membership.start(Founding::kNever);
  node.loop.run_for(Duration(1));
  Vserver* vserver = node.membership.vservers()[0].get();
  const RingId key = vserver->self().id;
  const Segment gap = vserver->missing().value();
  vserver->fetched({just_after(gap.from), gap.to}, vserver->rivals_met());
  EXPECT_EQ(node.membership.serving(key), nullptr);
  EXPECT_EQ(vserver->missing(), gap);
  // One that has shrunk is here.
  vserver->fetched({gap.from - just_after(RingId()), gap.to}, vserver->rivals_met());
  EXPECT_EQ(node.membership.serving(key), vserver);
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
  }
  // Until the first check for a split has been made.
  void check() {
    node.membership.start(Founding::kNever);
    node.loop.run_for(kOptions.split_check_every * 3 / 2 + std::chrono::seconds(5));
  }
  [[nodiscard]] bool told_owner() const { return std::ranges::find(notified, owner.id) != notified.end(); }

  NodeAmongScripts node;
  Vserver& vserver;
  Contact owner;  // on the other ring, of this node's place
  std::vector<RingId> notified;
};

TEST(SplitRings, MembersThatBothOwnAKeyTakeEachOthersNeighboursIn) {
  SplitRings split(real_contact(0), {real_contact(1)}, real_contacts(10, 4));
  split.node.on_answered = [&](const Contact& peer, const Request& request) {
    if (std::holds_alternative<Notify>(request.body)) split.notified.push_back(peer.id);
  };
  std::vector<RingId> list;
  split.node.on_segment_change = [&](Vserver& vserver) {
    if (!list.empty()) return;
    for (const Contact& contact : vserver.successors().contacts()) list.push_back(contact.id);
  };
  split.check();
  EXPECT_EQ(list.size(), 5U) << "of both rings";
  EXPECT_TRUE(std::ranges::is_sorted(list, {}, [](const RingId& id) { return id - real_contact(0).id; }));
  EXPECT_TRUE(split.told_owner());
  EXPECT_EQ(split.vserver.self().incarnation, real_contact(0).incarnation) << "it stays where it is";
  EXPECT_EQ(split.node.membership.counters().merges, 1U);
  split.node.stop();
}

TEST(SplitRings, WhatARivalTookForOurKeysIsFetchedBeforeWeServeThem) {
  SplitRings split(real_contact(0), {real_contact(1)}, real_contacts(10, 4));
  EXPECT_FALSE(split.vserver.missing());
  split.check();
  ASSERT_TRUE(split.vserver.missing());
  EXPECT_EQ(split.vserver.state(), Vserver::State::kFetching);
  EXPECT_THAT(split.vserver.rivals(), testing::Contains(split.owner));
  // Too old: it was asked for before the rival was known.
  split.vserver.fetched(*split.vserver.missing(), 0);
  EXPECT_TRUE(split.vserver.missing());
  split.vserver.fetched(*split.vserver.missing(), split.vserver.rivals_met());
  EXPECT_EQ(split.vserver.state(), Vserver::State::kServing);
  EXPECT_THAT(split.vserver.rivals(), IsEmpty());
  split.node.stop();
}

TEST(SplitRings, ASuccessorThatTookOurKeysWhileWeWereAwayIsARival) {
  NodeAmongScripts node({real_contact(0)});
  const std::vector<Contact> others = real_contacts(1, 2);
  node.add_ring(others);  // they do not know of us any more
  std::vector<Contact> clockwise = others;
  std::ranges::sort(clockwise, {}, [](const Contact& c) { return c.id - real_contact(0).id; });
  Vserver& vserver = *node.membership.vservers()[0];
  vserver.restore(clockwise.back(), clockwise, {});
  EXPECT_FALSE(vserver.missing());
  node.membership.start(Founding::kNever);
  vserver.start();
  node.loop.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(vserver.missing());
  EXPECT_THAT(vserver.rivals(), ElementsAre(clockwise.front()));
  // It is a liar, or cannot hear us, and goes on: that does not keep us from serving.
  vserver.fetched(*vserver.missing(), vserver.rivals_met());
  node.loop.run_for(std::chrono::seconds(30));
  EXPECT_FALSE(vserver.missing());
  // Nor if its data takes longer to come than until it is met again.
  Duration served{};
  for (const Instant end = node.loop.now() + std::chrono::minutes(20); node.loop.now() < end;) {
    const std::optional<Segment> gap = vserver.missing();
    const std::uint64_t met = vserver.rivals_met();
    const Duration step = gap ? std::chrono::seconds(70) : std::chrono::seconds(1);
    node.loop.run_for(step);
    EXPECT_LE(vserver.rivals().size(), 1U);
    if (gap) {
      vserver.fetched(*gap, met);
    } else {
      served += step;
    }
  }
  EXPECT_GT(served, std::chrono::minutes(15));
  EXPECT_GT(vserver.rivals_met(), 2U) << "what it takes for us meanwhile is not forgotten";
  node.stop();
}

TEST(SplitRings, AMemberThatKnowsOfUsByNowIsNoRival) {
  SplitRings split(real_contact(0), {real_contact(1)}, real_contacts(10, 4));
  split.node.peers[split.owner.id].neighbours.predecessor = real_contact(0);
  split.check();
  EXPECT_FALSE(split.vserver.missing());
  EXPECT_EQ(split.node.membership.counters().merges, 0U);
  split.node.stop();
}

TEST(SplitRings, WhoCannotBeAskedForItsNeighboursIsMetLater) {
  SplitRings split(real_contact(0), {}, real_contacts(10, 4));
  split.node.peers[split.owner.id].busy = true;
  split.check();
  EXPECT_TRUE(split.vserver.is_alone());
  split.node.peers[split.owner.id].busy = false;
  split.node.loop.run_for(2 * kOptions.split_check_every);
  EXPECT_EQ(successor(split.vserver), split.owner);
  split.node.stop();
}

TEST(SplitRings, ANodeThatHasMetOthersForgetsItsRoutes) {
  SplitRings split(real_contact(0), {real_contact(1)}, real_contacts(10, 4));
  const RingId key = just_after(real_contact(0).id);
  ASSERT_EQ(split.node.await(split.node.membership.find_owner(key))->contact, real_contact(1));
  const auto looked_up = split.node.membership.counters().lookups;
  split.check();
  ASSERT_EQ(split.node.membership.counters().merges, 1U);
  (void)split.node.await(split.node.membership.find_owner(key));
  EXPECT_EQ(split.node.membership.counters().lookups, looked_up + 1) << "asked anew";
  split.node.stop();
}

TEST(SplitRings, VserversOfOneNodeFindEachOtherWithoutHelp) {
  NodeAmongScripts node({real_contact(0, 0), real_contact(0, 1)});
  const auto& own = node.membership.vservers();
  for (const auto& vserver : own) {
    vserver->create();
    vserver->start();
  }
  node.membership.start(Founding::kNever);
  node.loop.run_for(5 * kOptions.split_check_every);
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(successor(*own[i]), own[1 - i]->self());
    EXPECT_EQ(own[i]->predecessor(), own[1 - i]->self());
  }
  node.stop();
}

}  // namespace
}  // namespace tagring::ring
