#include "evaluation/balancing.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace tagring::evaluation {
namespace {

class Run {
 public:
  Run(const Network& network, const BalancingOptions& options)
      : options_(options), placement_(network), rng_(options.seed), relocations_(network.capacity.size()) {}

  Balanced run() {
    for (const std::uint32_t node : shuffled()) join(node);
    joined_ = moved_;
    Balanced best = result(0);
    for (unsigned round = 1; round <= options_.rounds; ++round) {
      bool changed = false;
      for (const std::uint32_t node : shuffled()) changed = rebalance(node) || changed;
      Balanced now = result(round);
      if (now.fit.bytes_over_ratio < best.fit.bytes_over_ratio) best = std::move(now);
      if (!changed) break;
    }
    return best;
  }

 private:
  [[nodiscard]] Balanced result(unsigned round) const {
    const double total = placement_.network().total;
    return {placement_,     fit_of(placement_),         round,
            moved_ / total, (moved_ - joined_) / total, placement_.active()};
  }

  std::vector<std::uint32_t> shuffled() {
    std::vector<std::uint32_t> order(placement_.network().capacity.size());
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.below(i)]);
    return order;
  }

  // Figure 7.
  void join(std::uint32_t node) {
    const auto half = std::max<std::size_t>(1, placement_.network().of_node[node].size() / 2);
    const double target = options_.parameters.target() * placement_.network().capacity[node];
    if (placement_.active() == 0) {
      moved_ += placement_.activate(placement_.network().of_node[node][0]);
      return;
    }
    while (placement_.active_of(node) < half && placement_.load(node) < target) {
      const balance::Surroundings around = look_around(placement_, node);
      const auto choice = balance::best_join(options_.parameters, around.self, around.free);
      if (!choice || choice->cost >= 0) return;
      moved_ += placement_.activate(static_cast<std::uint32_t>(choice->index));
    }
  }

  bool rebalance(std::uint32_t node) {
    for (unsigned move = 0; move < options_.moves_of_round; ++move) {
      const balance::Surroundings around = look_around(placement_, node);
      const bool may_change_count = options_.create_freely || relocations_[node] > placement_.active_of(node);
      const balance::Move best = balance::best_move(options_.parameters, around, may_change_count);
      if (best.cost >= 0) return move > 0;
      carry_out(node, best);
    }
    return true;
  }

  void carry_out(std::uint32_t node, const balance::Move& move) {
    if (move.from) moved_ += placement_.deactivate(static_cast<std::uint32_t>(*move.from));
    if (move.to) moved_ += placement_.activate(static_cast<std::uint32_t>(*move.to));
    relocations_[node] = move.from && move.to ? relocations_[node] + 1 : 0;
  }

  const BalancingOptions& options_;
  Placement placement_;
  Rng rng_;
  std::vector<std::size_t> relocations_;
  double moved_ = 0;
  double joined_ = 0;
};

}  // namespace

balance::Surroundings look_around(const Placement& placement, std::uint32_t node) {
  const Network& network = placement.network();
  const auto bearer = [&](std::uint32_t who) {
    return balance::Bearer{placement.load(who), network.capacity[who]};
  };
  balance::Surroundings around;
  around.self = bearer(node);
  for (const std::uint32_t site : network.of_node[node]) {
    const bool active = placement.is_active(site);
    balance::Place place;
    place.index = site;
    place.load = placement.arc(site);
    if (placement.active() > (active ? 1U : 0U)) {
      const std::uint32_t after = placement.next(site);
      const std::uint32_t before = placement.previous(site);
      place.successor_node = network.sites[after].node;
      place.successor = bearer(network.sites[after].node);
      place.own = network.sites[after].node == node;
      if (place.own) place.after = after;
      if (network.sites[before].node == node) place.before = before;
    }
    if (!active) {
      around.free.push_back(place);
    } else if (placement.active() > 1) {
      around.active.push_back(place);
    }
  }
  return around;
}

Placement unbalanced(const Network& network) {
  Placement placement(network);
  for (const auto& sites : network.of_node) placement.activate(sites[0]);
  return placement;
}

Balanced balance_network(const Network& network, const BalancingOptions& options) {
  return Run(network, options).run();
}

}  // namespace tagring::evaluation
