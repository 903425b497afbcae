// Look-ups in rings of which a fifth lies. "tagring sim attack" takes the same figures with other parameters.

#include "ring_sim/attack.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace tagring::ring_sim {
namespace {

double rate(std::uint64_t hits, const RingAttack& attack) {
  return static_cast<double>(hits) / attack.lookups;
}

// The check of the harness: the paper's look-up does as badly as theory says. Half of log2 N vservers are on
// the way on average, each of whom may lie, and then there is the owner.
void expect_closed_form(std::size_t hosts, double malicious) {
  RingAttack attack;
  attack.hosts = hosts;
  attack.malicious = malicious;
  attack.strategy = Strategy::kPlain;
  attack.lookups = 10'000;
  const RingAttackResult result = run_ring_attack(1, attack);
  const double theory = std::pow(1 - malicious / 2, std::log2(static_cast<double>(hosts))) * (1 - malicious);
  EXPECT_NEAR(rate(result.success, attack), theory, 0.02) << hosts << " hosts, " << malicious;
}

TEST(RingAttackPlain, AsTheClosedFormAmongAHundred) { expect_closed_form(100, 0.2); }
TEST(RingAttackPlain, AsTheClosedFormAmongAThousand) {
  expect_closed_form(1'000, 0.12);
  expect_closed_form(1'000, 0.2);
}

RingAttackResult attacked(const RingAttack& attack) { return run_ring_attack(2, attack); }

TEST(RingAttackSecure, WithoutLiarsItAlwaysFindsTheOwner) {
  for (const std::size_t hosts : {32U, 1'000U}) {
    RingAttack attack;
    attack.hosts = hosts;
    attack.malicious = 0;
    attack.lookups = 1'000;
    EXPECT_EQ(attacked(attack).success, attack.lookups) << hosts;
  }
}

TEST(RingAttackSecure, FindsTheTrueOwnerAmongAThousandOfWhomAFifthLies) {
  for (const Strategy strategy : {Strategy::kStatic, Strategy::kAdaptive, Strategy::kInvent}) {
    RingAttack attack;
    attack.strategy = strategy;
    attack.lookups = 2'000;
    const RingAttackResult result = attacked(attack);
    EXPECT_GE(rate(result.true_owner, attack), 0.99) << static_cast<int>(strategy);
    EXPECT_LE(result.calls, attack.lookups * attack.queries);
  }
}

TEST(RingAttackSecure, FindsTheTrueOwnerAmongTenThousandOfWhomAFifthLies) {
  RingAttack attack;
  attack.hosts = 10'000;
  attack.lookups = 2'000;
  EXPECT_GE(rate(attacked(attack).true_owner, attack), 0.98);
}

TEST(RingAttackSecure, TheSameSeedGivesTheSameRun) {
  RingAttack attack;
  attack.hosts = 200;
  attack.lookups = 200;
  const RingAttackResult first = attacked(attack);
  const RingAttackResult second = attacked(attack);
  EXPECT_EQ(first.true_owner, second.true_owner);
  EXPECT_EQ(first.calls, second.calls);
}

}  // namespace
}  // namespace tagring::ring_sim
