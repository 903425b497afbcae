// Nodes join and balance by k-choices, one after the other in random order, each seeing only what its
// possible successors report: the decisions are balance/kchoices.hpp's, as in a node.
#pragma once

#include "balance/kchoices.hpp"
#include "base/rng.hpp"
#include "evaluation/placement.hpp"

namespace tagring::evaluation {

struct BalancingOptions {
  balance::Parameters parameters;
  unsigned rounds = 20;
  // Vservers that a node may create, destroy or relocate in a round.
  unsigned moves_of_round = 1;
  // As printed, a node creates or destroys only after it has relocated more often than it has vservers.
  bool create_freely = false;
  std::uint64_t seed = 1;
};

struct Balanced {
  Placement placement;  // after the best round
  Fit fit;
  unsigned rounds = 0;         // until then
  double moved_ratio = 0;      // GiB moved by joins and rounds until then, of all
  double moved_by_rounds = 0;  // of that, by rounds
  std::size_t vservers = 0;
};

// What a node learns when it asks the successors of its possible places.
balance::Surroundings look_around(const Placement& placement, std::uint32_t node);
// Every node is one vserver, the first.
Placement unbalanced(const Network& network);
Balanced balance_network(const Network& network, const BalancingOptions& options);

}  // namespace tagring::evaluation
