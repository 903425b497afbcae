#include "evaluation/annealing.hpp"

#include <algorithm>
#include <cmath>

namespace tagring::evaluation {
namespace {

constexpr unsigned kStepsOfBatch = 20'000;
constexpr double kHottest = 2;      // GiB: about what a small node may bear
constexpr double kColdest = 0.001;  // GiB
// Among placements with the same bytes above capacity, fewer nodes above it are better.
constexpr double kNodeOver = 0.002;  // GiB

class Annealing {
 public:
  Annealing(Placement start, std::uint64_t seed)
      : placement_(std::move(start)), best_(placement_), rng_(seed) {
    for (std::uint32_t node = 0; node < placement_.network().capacity.size(); ++node) energy_ += energy(node);
    best_energy_ = energy_;
  }

  Placement run(const std::function<double()>& progress) {
    for (double done = progress(); done < 1; done = progress()) {
      temperature_ = kHottest * std::pow(kColdest / kHottest, done);
      for (unsigned step = 0; step < kStepsOfBatch; ++step) try_step();
      if (energy_ < best_energy_) {
        best_energy_ = energy_;
        best_ = placement_;
      }
    }
    return best_;
  }

 private:
  [[nodiscard]] double energy(std::uint32_t node) const {
    const double excess = placement_.load(node) - placement_.network().capacity[node];
    return excess > 1e-6 ? excess + kNodeOver : 0;
  }

  // One vserver appears or vanishes, or two of a node change places.
  void try_step() {
    const Network& network = placement_.network();
    const auto site = static_cast<std::uint32_t>(rng_.below(network.sites.size()));
    double change = toggle(site);
    std::uint32_t other = site;
    if (rng_.below(2) == 0) {
      const auto& own = network.of_node[network.sites[site].node];
      other = own[rng_.below(own.size())];
      // One that is now as the first was.
      if (other != site && placement_.is_active(other) == placement_.is_active(site)) {
        change += toggle(other);
      } else {
        other = site;
      }
    }
    const double kick = -temperature_ * std::log(1 - static_cast<double>(rng_.below(1U << 30)) / (1U << 30));
    if (change <= kick) {
      energy_ += change;
      return;
    }
    if (other != site) toggle(other);
    toggle(site);
  }

  double toggle(std::uint32_t site) {
    const bool active = placement_.is_active(site);
    if (active && placement_.active() < 2) return 0;
    const std::uint32_t node = placement_.network().sites[site].node;
    const std::uint32_t next = placement_.network().sites[placement_.next(site)].node;
    const double before = energy(node) + (next == node ? 0 : energy(next));
    if (active) {
      placement_.deactivate(site);
    } else {
      placement_.activate(site);
    }
    return energy(node) + (next == node ? 0 : energy(next)) - before;
  }

  Placement placement_;
  Placement best_;
  Rng rng_;
  double energy_ = 0;
  double best_energy_ = 0;
  double temperature_ = kHottest;
};

}  // namespace

Placement anneal(Placement start, const AnnealingOptions& options) {
  return Annealing(std::move(start), options.seed).run(options.progress);
}

}  // namespace tagring::evaluation
