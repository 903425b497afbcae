// Look-ups in a ring of which a part lies (paper §8.4): how often they find the true owner.
//
// Ring, tables and look-ups are those that ship; the liars answer Find as their strategy says. They know
// everything: each other, the key, and what has been asked. They are as many random members, others for each
// look-up; whoever looks up is honest, and so is its table.
#pragma once

#include <cstdint>
#include <functional>

#include "ring_sim/world.hpp"

namespace tagring::ring_sim {

enum class Strategy : std::uint8_t {
  kPlain,     // Chord as in the paper's figure 2; a liar on the way claims the key and ends the look-up
  kStatic,    // secure look-up; liars name always those of them who stand nearest the key
  kAdaptive,  // secure look-up; liars name each time others who were not named yet, to use up its calls
  kInvent,    // the same, but liars name members before them that do not exist
};

struct RingAttack {
  std::size_t hosts = 1'000;
  double malicious = 0.2;
  Strategy strategy = Strategy::kAdaptive;
  std::size_t queries = 64;    // of a secure look-up, at most
  std::size_t successors = 0;  // entries of a successor list; zero: 1 for kPlain, as in the paper, else 16
  unsigned lookups = 5'000;
  std::function<void(double done)> on_progress = [](double) {};
};

struct RingAttackResult {
  std::uint64_t true_owner = 0;  // look-ups that ended at the true owner
  std::uint64_t success = 0;     // of them, with an honest one
  std::uint64_t calls = 0;
};

RingAttackResult run_ring_attack(std::uint64_t seed, const RingAttack& attack);

}  // namespace tagring::ring_sim
