// Attackers on a ring that is alive: what must hold while they are at it (docs/attacks.md).

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "ring_sim/fixture.hpp"

namespace tagring::ring_sim {
namespace {

// A ring whose upkeep runs, and of which every fifth host lies about keys.
struct LivingRing {
  explicit LivingRing(std::size_t hosts, bool secure = true, RingOptions options = {})
      : world(5, tuning(secure), with_lies(std::move(options))) {
    world.build(hosts);
    for (std::size_t host = 0; host < hosts; host += 5) liars.insert(host);
    for (const std::size_t host : liars) liar_ids.insert(world.members_.at(host)->vserver.self().id);
  }
  static ring::Tuning tuning(bool secure) {
    ring::Tuning result;
    result.fix_finger_every = std::chrono::seconds(2);
    result.secure_lookups = secure;
    return result;
  }
  RingOptions with_lies(RingOptions options) {
    options.misbehave = [this](std::size_t from, const ring::Contact& asked, const ring::Request& request) {
      return misbehave(from, asked, request);
    };
    options.bootstrap = [this] { return bootstrap; };
    return options;
  }
  // They claim every key that they are asked for.
  void claim_everything() {
    misbehave = [this](std::size_t, const ring::Contact& asked,
                       const ring::Request& request) -> std::optional<Result<ring::Reply>> {
      const auto* find = std::get_if<ring::Find>(&request.body);
      if (find == nullptr || !liar_ids.contains(asked.id)) return std::nullopt;
      return ring::FindReply{Segment{find->key - RingId::power_of_two(0), asked.id}, {}};
    };
  }
  // They claim every key, and say that they have never heard of who asks.
  void deny_everybody() {
    claim_everything();
    misbehave = [this, claim = misbehave](
                    std::size_t from, const ring::Contact& asked,
                    const ring::Request& request) -> std::optional<Result<ring::Reply>> {
      if (!std::holds_alternative<ring::GetNeighbours>(request.body)) return claim(from, asked, request);
      const auto& predecessor = world.members_.at(from)->vserver.predecessor();
      if (!liar_ids.contains(asked.id) || liars.contains(from) || !predecessor) return std::nullopt;
      return ring::Neighbours{predecessor, world.true_owner(asked.id).successors().copy()};
    };
  }
  void drop_everything() {
    misbehave = [this](std::size_t, const ring::Contact& asked,
                       const ring::Request& request) -> std::optional<Result<ring::Reply>> {
      if (!std::holds_alternative<ring::Find>(request.body) || !liar_ids.contains(asked.id))
        return std::nullopt;
      return fail(ErrorCode::kUnavailable, "dropped");
    };
  }
  // Of look-ups by honest hosts of keys with honest owners, the part that found them.
  double found(unsigned lookups) {
    Rng rng(3);
    unsigned right = 0;
    for (unsigned done = 0; done < lookups;) {
      const RingId key = random_id(rng);
      const RingId& owner = world.true_owner(key).self().id;
      RingWorld::Member& from = *world.members_.at(rng.below(world.members_.size()));
      if (liar_ids.contains(owner) || liar_ids.contains(from.vserver.self().id)) continue;
      ++done;
      const auto result = await(world, from.owner, from.membership.find_owner(key));
      if (result && *result && (*result)->contact.id == owner) ++right;
    }
    return static_cast<double>(right) / lookups;
  }
  // Of the fingers of honest hosts, the part that are the right ones.
  double right_fingers() {
    unsigned right = 0;
    unsigned all = 0;
    for (const auto& [host, member] : world.members_) {
      if (liars.contains(host)) continue;
      for (const auto& [bit, finger] : member->vserver.fingers()) {
        ++all;
        if (finger == world.true_owner(member->vserver.self().id + RingId::power_of_two(bit)).self()) ++right;
      }
    }
    return static_cast<double>(right) / all;
  }
  void forget_fingers() {
    for (const auto& [host, member] : world.members_) {
      ring::Vserver& vserver = member->vserver;
      vserver.restore(vserver.predecessor(), vserver.successors().copy(), {});
    }
  }

  decltype(RingOptions::misbehave) misbehave = RingOptions().misbehave;  // from now on
  std::optional<std::vector<ring::Contact>> bootstrap;
  RingWorld world;
  std::set<std::size_t> liars;
  std::set<RingId> liar_ids;
};

// To the victim there are liars only.
std::optional<Result<ring::Reply>> lie_of_a_false_ring(std::vector<ring::Contact> others,
                                                       const ring::Contact& asked,
                                                       const ring::Request& request) {
  std::ranges::sort(others, {}, [&](const auto& c) { return clockwise_distance(asked.id, c.id); });
  others.erase(others.begin());
  if (std::holds_alternative<ring::GetNeighbours>(request.body))
    return ring::Neighbours{others.back(), others};
  const auto* find = std::get_if<ring::Find>(&request.body);
  if (find == nullptr) return std::nullopt;
  if (in_half_open(others.back().id, find->key, asked.id))
    return ring::FindReply{Segment{others.back().id, asked.id}, {}};
  return ring::FindReply{std::nullopt, others};
}

TEST(Attackers, WhoClaimsEverythingGetsNothing) {
  LivingRing ring(200);
  ring.claim_everything();
  EXPECT_GE(ring.found(300), 0.99);
}

TEST(Attackers, WhoClaimsEverythingGetsMuchWithoutSecureLookups) {
  LivingRing ring(200, false);
  ring.claim_everything();
  EXPECT_LT(ring.found(300), 0.8);
}

TEST(Attackers, DroppedQuestionsAreAskedElsewhere) {
  LivingRing ring(200);
  ring.drop_everything();
  EXPECT_GE(ring.found(300), 0.99);
}

// Right tables stay right, although every refresh of a finger asks liars.
TEST(Attackers, LiarsDoNotGetIntoFingers) {
  LivingRing ring(100);
  ring.claim_everything();
  ring.world.run();
  ring.world.loop.run_for(std::chrono::minutes(2));
  EXPECT_GE(ring.right_fingers(), 0.99);
}

// Those who claim a member's own ID are met like another ring: that moves nobody, and nobody stops serving.
TEST(Attackers, WhoDeniesAMemberIsMetAndMovesNobody) {
  LivingRing ring(100);
  ring.deny_everybody();
  ring.world.run();
  ring.world.loop.run_for(std::chrono::minutes(5));
  std::uint64_t met = 0;
  for (const auto& [host, member] : ring.world.members_) met += member->membership.counters().merges;
  EXPECT_GT(met, 0U) << "an attack that does no harm tests nothing";
  EXPECT_TRUE(ring.world.is_ideal());
}

// Nor where there are none yet.
TEST(Attackers, FingersGrowAmongLiars) {
  for (const bool secure : {true, false}) {
    LivingRing ring(100, secure);
    ring.forget_fingers();
    ring.claim_everything();
    ring.world.run();
    ring.world.loop.run_for(std::chrono::minutes(2));
    if (secure) {
      EXPECT_GE(ring.right_fingers(), 0.9);
    } else {
      EXPECT_LT(ring.right_fingers(), 0.9) << "an attack that does no harm tests nothing";
    }
  }
}

// Candidates that do not exist, just before the victim: it calls one at a time, remembers one, believes none.
TEST(Attackers, AFloodOfForgedNotifiesChangesNothing) {
  LivingRing ring(40);
  ring.world.run();
  ring.world.loop.run_for(std::chrono::seconds(30));
  ring::Vserver& victim = ring.world.members_.at(1)->vserver;
  const auto predecessor = victim.predecessor();
  const std::uint64_t before = ring.world.messages;
  constexpr unsigned kFlood = 5'000;
  for (unsigned i = 0; i < kFlood; ++i) {
    ring::Contact forged = victim.self();
    forged.host = "n" + std::to_string(100'000 + i) + ".example";
    forged.address.bytes[5] = static_cast<std::uint8_t>(1 + i / 256);
    forged.address.bytes[6] = static_cast<std::uint8_t>(i);
    forged.id = ring::make_node_id(ring::IdScheme::kSpread, forged.address.prefix64(), forged.host, 0);
    (void)await(ring.world, ring.world.members_.at(1)->owner,
                victim.answer({Ring::kRelay, ring::Notify{forged}}));
    EXPECT_EQ(victim.predecessor(), predecessor);
  }
  ring.world.loop.run_for(std::chrono::seconds(10));
  EXPECT_EQ(victim.predecessor(), predecessor);
  EXPECT_TRUE(ring.world.is_ideal());
  // Two calls for each notify at most, and the upkeep of 40 for a minute.
  EXPECT_LT(ring.world.messages - before, 2 * kFlood + 40 * 200);
}

// Hosts that know liars, and one honest member: these lead each into a ring of their own, and it finds out.
// Unless its true successor is one of them: that is who must let it in.
TEST(Attackers, OneHonestContactLeadsOutOfAFalseRing) {
  unsigned led_out = 0;
  for (std::size_t victim = 60; victim < 72; ++victim) {
    LivingRing ring(60);
    std::vector<ring::Contact> liars;
    for (const std::size_t host : ring.liars) liars.push_back(ring.world.members_.at(host)->vserver.self());
    ring.misbehave = [&](std::size_t from, const ring::Contact& asked,
                         const ring::Request& request) -> std::optional<Result<ring::Reply>> {
      if (from != victim || !ring.liar_ids.contains(asked.id)) return std::nullopt;
      return lie_of_a_false_ring(liars, asked, request);
    };
    const ring::Contact honest = ring.world.members_.at(1)->vserver.self();
    ring.bootstrap = {liars[0], liars[1], honest};
    ring.world.run();
    ring.world.start(victim);
    ring.world.loop.run_for(std::chrono::minutes(30));
    const RingId& self = ring.world.members_.at(victim)->vserver.self().id;
    const RingId& successor = ring.world.true_owner(self + RingId::power_of_two(0)).self().id;
    if (ring.liar_ids.contains(successor)) continue;
    EXPECT_TRUE(ring.world.is_ideal()) << "host " << victim;
    ++led_out;
  }
  EXPECT_GE(led_out, 8U);
}

// Who comes and goes for ever comes back to the place that its address and domain give, and breaks nothing.
TEST(Attackers, ComingAndGoingWinsNoOtherPlace) {
  RingWorld world(9, small_tuning());
  for (std::size_t host = 0; host < 16; ++host) {
    world.start(host);
    world.loop.run_for(std::chrono::seconds(2));
  }
  ASSERT_TRUE(rounds_until_ideal(world, small_tuning().stabilise_every, 60));
  world.watch();
  std::set<RingId> places;
  for (int cycle = 0; cycle < 40; ++cycle) {
    world.start(16);
    world.loop.run_for(std::chrono::seconds(8));
    places.insert(world.members_.at(16)->vserver.self().id);
    if (world.may_crash(16)) world.crash(16);
    world.loop.run_for(std::chrono::seconds(4));
    if (world.is_up(16)) world.crash(16);
  }
  EXPECT_EQ(places.size(), 1U);
  EXPECT_FALSE(world.broken()) << *world.broken();
  EXPECT_TRUE(rounds_until_ideal(world, small_tuning().stabilise_every, 60));
}

// By the paper's IDs, sixty nodes of one /64 stand on one point: together they own what one would, and their
// end at once is survived, because lists reach beyond them.
TEST(Attackers, SybilsOfOne64OwnNoMoreThanOneNode) {
  constexpr std::size_t kHonest = 40;
  constexpr std::size_t kSybils = 60;
  RingOptions options;
  options.first_of_hoster = kHonest;
  ring::Tuning tuning;
  tuning.ids.scheme = ring::IdScheme::kPaper;
  RingWorld world(11, tuning, options);
  world.build(kHonest + kSybils);
  double all = 0;
  double largest = 0;
  for (std::size_t host = kHonest; host < kHonest + kSybils; ++host) {
    const auto owned = world.members_.at(host)->vserver.owned();
    ASSERT_TRUE(owned);
    const double part = clockwise_distance(owned->from, owned->to).fraction();
    all += part;
    largest = std::max(largest, part);
  }
  EXPECT_NEAR(all, largest, 1e-9);
  world.run();
  world.loop.run_for(std::chrono::seconds(30));
  for (std::size_t host = kHonest; host < kHonest + kSybils; ++host) world.crash(host);
  const auto rounds = rounds_until_ideal(world, tuning.stabilise_every, 80);
  EXPECT_TRUE(rounds);
}

}  // namespace
}  // namespace tagring::ring_sim
