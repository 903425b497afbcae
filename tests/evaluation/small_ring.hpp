// Rings small enough to try every set of active sites.
#pragma once

#include <vector>

#include "evaluation/placement.hpp"

namespace tagring::evaluation {

// Whose place it is, and GiB that lie between the place before and this one.
struct PlaceOnRing {
  std::uint32_t node;
  double gib;
};

inline Network make_ring(const std::vector<double>& capacity, const std::vector<PlaceOnRing>& places) {
  Network network;
  network.capacity = capacity;
  network.of_node.resize(capacity.size());
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    auto& own = network.of_node[places[i].node];
    network.total += places[i].gib;
    network.sites.push_back({places[i].node, static_cast<std::uint32_t>(own.size()), i, network.total});
    own.push_back(i);
  }
  return network;
}

inline Placement with(const Network& network, const std::vector<std::uint32_t>& active) {
  Placement placement(network);
  for (const std::uint32_t site : active) placement.activate(site);
  return placement;
}

}  // namespace tagring::evaluation
