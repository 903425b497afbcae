// On how many nodes, networks and domains the copies of a hashtag stand when nodes choose their places for
// that too: the decisions are balance/kchoices.hpp's, as in a node.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluation/network.hpp"

namespace tagring::evaluation {

struct Spreading {
  std::vector<NodeRow> nodes;
  unsigned kappa = 48;
  unsigned vservers = 4;
  unsigned copies = 4;
  unsigned rounds = 4;      // in each of which every node decides once
  unsigned hashtags = 400;  // that are looked at
  std::uint64_t seed = 1;
};

struct Spread {
  double nodes = 0;     // part of the hashtags whose copies stand on as many nodes as there are copies
  double networks = 0;  // the same of /48s
  double domains = 0;   // and of registered domains
  double largest = 0;   // share of the ring of a node, of the mean
  double moves = 0;     // of a node so far
};

// Nodes join one after the other, choosing their places by load, which is as keys are: evenly over the ring.
// What is then, and after each round.
std::vector<Spread> spread_copies(const Spreading& options);

}  // namespace tagring::evaluation
