#include "evaluation/targeting.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/rng.hpp"
#include "ring/contact.hpp"

namespace tagring::evaluation {
namespace {

constexpr std::uint64_t k64sOf48 = 65'536;
constexpr unsigned kHashtagsOfAttacker = 100;  // that one attacker's IDs are tried on

// That of `count` independent attempts with probability `p` each at least `wanted` succeed.
double at_least(unsigned wanted, unsigned count, double p) {
  double sum = 0;
  for (unsigned k = wanted; k <= count; ++k) {
    const double ways =
        std::exp(std::lgamma(count + 1.0) - std::lgamma(k + 1.0) - std::lgamma(count - k + 1.0));
    sum += ways * std::pow(p, k) * std::pow(1 - p, count - k);
  }
  return sum;
}

// The probability for one replica at which as many as wanted are as likely owned as not.
double even_odds(const Target& target) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (at_least(target.owned, target.replicas, middle) < 0.5 ? low : high) = middle;
  }
  return (low + high) / 2;
}

// The attacker's `index`-th network and domain.
Prefix64 prefix_of(const Target& target, std::uint64_t index, std::uint64_t base) {
  Prefix64 prefix{0x2A, 0x0F};
  // In one /48 there are 65,536 of them; networks beyond that, and /48s, come from a larger block.
  std::uint64_t number = base;
  if (target.choice == Choice::kNetworks)
    number += target.scheme == ring::IdScheme::kPaper ? index : index * k64sOf48;
  for (int i = 0; i < 6; ++i)
    prefix[static_cast<std::size_t>(7 - i)] = static_cast<std::uint8_t>(number >> (8 * i));
  return prefix;
}
std::string domain_of(const Target& target, std::uint64_t index, std::uint64_t base) {
  const std::uint64_t number = target.choice == Choice::kNetworks ? base : base + index;
  return fmt::format("a{:x}.example", number);
}

// How far it is from the key to the first of them.
RingId reach(const std::vector<RingId>& sorted, const RingId& key) {
  const auto first = std::ranges::lower_bound(sorted, key);
  return clockwise_distance(key, first == sorted.end() ? sorted.front() : *first);
}

// The IDs that the attacker has to choose from, by place.
std::vector<RingId> candidates_of(const Target& target, const TargetCost& cost, std::uint64_t base) {
  const auto pairs = static_cast<std::uint64_t>(std::ceil(cost.candidates / target.vservers));
  std::vector<RingId> ids;
  for (std::uint64_t index = 0; index < pairs; ++index) {
    const Prefix64 prefix = prefix_of(target, index, base);
    const std::string domain = domain_of(target, index, base);
    for (unsigned v = 0; v < target.vservers; ++v)
      ids.push_back(ring::make_node_id(target.scheme, prefix, domain, static_cast<std::uint8_t>(v)));
  }
  std::ranges::sort(ids);
  return ids;
}

}  // namespace

std::vector<RingId> honest_places(const std::vector<NodeRow>& nodes, ring::IdScheme scheme,
                                  unsigned vservers) {
  std::vector<RingId> places;
  for (const NodeRow& node : nodes) {
    for (unsigned v = 0; v < vservers; ++v)
      places.push_back(ring::make_node_id(scheme, node.prefix, node.domain, static_cast<std::uint8_t>(v)));
  }
  std::ranges::sort(places);
  // Those within 2^-64 of each other own nothing but for the first of them.
  const auto same = std::ranges::unique(places, {}, &RingId::top);
  places.erase(same.begin(), same.end());
  return places;
}

TargetCost target_cost(const Target& target, std::size_t places) {
  // From a key to its owner it is an exponentially distributed part of the ring, 1 / places on average. So n
  // IDs take the key with probability n / (n + places).
  const double p = even_odds(target);
  TargetCost cost;
  cost.candidates = p / (1 - p) * static_cast<double>(places);
  const auto pairs = static_cast<std::uint64_t>(std::ceil(cost.candidates / target.vservers));
  const double have = static_cast<double>(pairs) * target.vservers;
  cost.success = at_least(target.owned, target.replicas, have / (have + static_cast<double>(places)));
  const bool paper = target.scheme == ring::IdScheme::kPaper;
  cost.n64 = target.choice == Choice::kNetworks ? pairs : 1;
  cost.n48 = paper ? (cost.n64 + k64sOf48 - 1) / k64sOf48 : cost.n64;
  cost.domains = target.choice == Choice::kDomains ? pairs
                 : target.choice == Choice::kNames ? target.owned
                                                   : 1;
  return cost;
}

double target_success(const Target& target, const TargetCost& cost, const std::vector<RingId>& places,
                      unsigned trials, std::uint64_t seed) {
  Rng rng(seed);
  unsigned successes = 0;
  std::vector<RingId> ids;
  for (unsigned trial = 0; trial < trials; ++trial) {
    if (trial % kHashtagsOfAttacker == 0)
      ids = candidates_of(target, cost, rng.next() % (1ULL << 32U) * k64sOf48);
    std::array<std::uint8_t, 32> bytes;
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.next());
    const RingId key = RingId::from_bytes(bytes);
    unsigned owned = 0;
    for (unsigned i = 0; i < target.replicas; ++i) {
      const RingId at = replica_key(key, i, target.replicas);
      if (reach(ids, at) < reach(places, at)) ++owned;
    }
    if (owned >= target.owned) ++successes;
  }
  return static_cast<double>(successes) / trials;
}

}  // namespace tagring::evaluation
