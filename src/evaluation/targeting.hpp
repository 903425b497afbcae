// What it costs to own replicas of a hashtag that one has chosen (paper §8.4): IDs are not chosen, but who
// has many addresses or names chooses among as many IDs.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluation/network.hpp"
#include "ring/contact.hpp"

namespace tagring::evaluation {

// What an attacker has a choice of.
enum class Choice : std::uint8_t {
  kNetworks,  // many /64s (paper IDs) or /48s (spread IDs), one domain
  kDomains,   // one network, many domains that are already registered
  kNames,     // one network, and names that are registered once they are found to fit
};

struct Target {
  ring::IdScheme scheme = ring::IdScheme::kPaper;
  Choice choice = Choice::kNetworks;
  unsigned vservers = 8;  // numbers that the attacker's nodes may use
  unsigned replicas = 2;  // of the hashtag
  unsigned owned = 1;     // wanted of them, any
};

// What makes success at least as likely as failure.
struct TargetCost {
  double success = 0;     // its probability: networks and domains are whole
  double candidates = 0;  // IDs to choose from
  std::uint64_t n64 = 0;  // networks and domains to have
  std::uint64_t n48 = 0;
  std::uint64_t domains = 0;
};

// Places on the ring that the vservers 0 … `vservers` − 1 of the nodes take.
std::vector<RingId> honest_places(const std::vector<NodeRow>& nodes, ring::IdScheme scheme,
                                  unsigned vservers);

// By formula, for IDs that are spread evenly over the ring.
TargetCost target_cost(const Target& target, std::size_t places);

// The same by trial: how often an attacker with these means owns what it wants of a random hashtag's
// replicas, its IDs made as nodes make them.
double target_success(const Target& target, const TargetCost& cost, const std::vector<RingId>& places,
                      unsigned trials, std::uint64_t seed);

}  // namespace tagring::evaluation
