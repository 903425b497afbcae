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
      options_.on_round(round, placement_);
      Balanced now = result(round);
      if (now.fit.bytes_over_ratio < best.fit.bytes_over_ratio) best = std::move(now);
      if (!changed) break;
    }
    return best;
  }

 private:
  using Places = std::vector<balance::Place>;

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

  [[nodiscard]] balance::Bearer bearer(std::uint32_t node) const {
    return {placement_.load(node), placement_.network().capacity[node]};
  }

  // What the node learns when it asks the successors of its possible places.
  [[nodiscard]] Places places(std::uint32_t node, bool active) const {
    const Network& network = placement_.network();
    Places result;
    for (const std::uint32_t site : network.of_node[node]) {
      if (placement_.is_active(site) != active) continue;
      balance::Place place;
      place.index = site;
      place.load = placement_.arc(site);
      if (placement_.active() > (active ? 1U : 0U)) {
        const std::uint32_t successor = network.sites[placement_.next(site)].node;
        place.successor = bearer(successor);
        place.own = successor == node;
      }
      result.push_back(place);
    }
    return result;
  }

  std::optional<balance::Choice> choose_join(std::uint32_t node) const {
    return balance::best_join(options_.parameters, bearer(node), places(node, false));
  }
  std::optional<balance::Choice> choose_departure(std::uint32_t node) const {
    if (placement_.active() < 2) return std::nullopt;
    return balance::best_departure(options_.parameters, bearer(node), places(node, true));
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
      const auto choice = choose_join(node);
      if (!choice || choice->cost >= 0) return;
      moved_ += placement_.activate(static_cast<std::uint32_t>(choice->index));
    }
  }

  bool rebalance(std::uint32_t node) {
    for (unsigned move = 0; move < options_.moves_of_round; ++move) {
      const Move best = std::ranges::min({relocation(node), change_of_count(node)}, {}, &Move::cost);
      if (!balance::is_worth(options_.parameters, bearer(node), best.cost, best.carried)) return move > 0;
      carry_out(node, best);
    }
    return true;
  }

  // A vserver that goes, one that comes, or both; neither if that would not be better.
  struct Move {
    double cost = 0;
    double carried = 0;
    std::optional<std::uint32_t> from;
    std::optional<std::uint32_t> to;
  };

  Move relocation(std::uint32_t node) {
    const auto departure = choose_departure(node);
    if (!departure) return {};
    const auto from = static_cast<std::uint32_t>(departure->index);
    placement_.deactivate(from);
    const auto arrival = choose_join(node);
    placement_.activate(from);
    if (!arrival || arrival->index == from) return {};
    return {departure->cost + arrival->cost, departure->load + arrival->load, from,
            static_cast<std::uint32_t>(arrival->index)};
  }

  [[nodiscard]] Move change_of_count(std::uint32_t node) const {
    if (!options_.create_freely && relocations_[node] <= placement_.active_of(node)) return {};
    const balance::Bearer self = bearer(node);
    if (self.load > options_.parameters.upper * self.capacity) {
      const auto choice = choose_departure(node);
      if (choice)
        return {choice->cost, choice->load, static_cast<std::uint32_t>(choice->index), std::nullopt};
    } else if (self.load < options_.parameters.lower * self.capacity) {
      const auto choice = choose_join(node);
      if (choice)
        return {choice->cost, choice->load, std::nullopt, static_cast<std::uint32_t>(choice->index)};
    }
    return {};
  }

  void carry_out(std::uint32_t node, const Move& move) {
    if (move.from) moved_ += placement_.deactivate(*move.from);
    if (move.to) moved_ += placement_.activate(*move.to);
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

Placement unbalanced(const Network& network) {
  Placement placement(network);
  for (const auto& sites : network.of_node) placement.activate(sites[0]);
  return placement;
}

Balanced balance_network(const Network& network, const BalancingOptions& options) {
  return Run(network, options).run();
}

}  // namespace tagring::evaluation
