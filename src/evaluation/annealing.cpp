#include "evaluation/annealing.hpp"

#include <algorithm>
#include <cmath>

#include "base/rng.hpp"
#include "evaluation/stretch.hpp"

namespace tagring::evaluation {
namespace {

constexpr double kNothing = 1e-6;  // GiB
constexpr unsigned kStepsOfBatch = 2000;
constexpr unsigned kDrawsOfBatch = 100;
// Temperatures, of the mean GiB between two places: hot enough for small nodes to find others, not so hot
// that large ones forget where they stand; cold enough for the last GiB to be placed.
constexpr double kHottest = 0.25;
constexpr double kColdest = 0.005;
// Sites of a stretch.
constexpr double kShortest = 16;
constexpr double kLongest = 1024;

class Annealing {
 public:
  Annealing(Placement start, std::uint64_t seed)
      : placement_(std::move(start)), best_(placement_), stretch_(placement_.network()), rng_(seed) {
    for (std::uint32_t node = 0; node < placement_.network().capacity.size(); ++node) energy_ += energy(node);
    best_energy_ = energy_;
  }

  Placement run(const std::function<double()>& progress) {
    const Network& network = placement_.network();
    const double unit = network.total / static_cast<double>(network.sites.size());
    for (double done = progress(); done < 1 && best_energy_ > kNothing; done = progress()) {
      temperature_ = unit * kHottest * std::pow(kColdest / kHottest, done);
      for (unsigned step = 0; step < kStepsOfBatch; ++step) try_step();
      for (unsigned draw = 0; draw < kDrawsOfBatch; ++draw) draw_stretch();
      if (energy_ < best_energy_) {
        best_energy_ = energy_;
        best_ = placement_;
      }
    }
    return best_;
  }

 private:
  [[nodiscard]] double energy(std::uint32_t node) const {
    return penalty(placement_.load(node) - placement_.network().capacity[node]);
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
    if (change <= -temperature_ * std::log(1 - rng_.uniform())) {
      energy_ += change;
      return;
    }
    if (other != site) toggle(other);
    toggle(site);
  }

  // The sites of a stretch of the ring, all at once.
  void draw_stretch() {
    const Network& network = placement_.network();
    const auto first = static_cast<std::uint32_t>(rng_.below(network.sites.size()));
    const auto length =
        static_cast<std::uint32_t>(kShortest * std::pow(kLongest / kShortest, rng_.uniform()));
    if (!stretch_.open(placement_, first, length)) return;
    stretch_.draw(temperature_, &rng_);
    std::vector<std::uint32_t> nodes{network.sites[stretch_.end()].node};
    for (const auto* sites : {&stretch_.former(), &stretch_.drawn()}) {
      for (const std::uint32_t site : *sites) nodes.push_back(network.sites[site].node);
    }
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    for (const std::uint32_t node : nodes) energy_ -= energy(node);
    const std::vector<std::uint32_t>& drawn = stretch_.drawn();
    for (const std::uint32_t site : drawn) {
      if (!placement_.is_active(site)) placement_.activate(site);
    }
    for (const std::uint32_t site : stretch_.former()) {
      if (std::ranges::find(drawn, site) == drawn.end()) placement_.deactivate(site);
    }
    for (const std::uint32_t node : nodes) energy_ += energy(node);
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
  Stretch stretch_;
  Rng rng_;
  double energy_ = 0;
  double best_energy_ = 0;
  double temperature_ = 1;  // GiB
};

}  // namespace

Placement anneal(Placement start, const std::function<double()>& progress, std::uint64_t seed) {
  return Annealing(std::move(start), seed).run(progress);
}

}  // namespace tagring::evaluation
