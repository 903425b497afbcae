#include "evaluation/search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.hpp"
#include "evaluation/annealing.hpp"
#include "evaluation/beliefs.hpp"

namespace tagring::evaluation {
namespace {

// Parts of the time. Where there is room for everybody, annealing alone finds it.
constexpr double kAnnealStart = 0.125;
constexpr double kTrials = 0.75;
// Temperatures, of the mean GiB between two places. Beliefs begin where everything is possible. Below about
// a half they stop to agree with each other, and the longer they are asked there, the worse they guess;
// deciding makes them agree again.
constexpr double kHottest = 2;
constexpr double kUndecided = 0.25;
constexpr double kDecided = 0.12;
constexpr unsigned kRounds = 16;
constexpr unsigned kRoundsOfNode = 4;
// The largest nodes are decided, as many as have this part of all capacity.
constexpr double kDecidedCapacity = 2.0 / 3;
constexpr double kBatchesOfTrial = 400;

std::vector<std::uint32_t> largest_nodes(const Network& network) {
  std::vector<std::uint32_t> nodes(network.capacity.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  const auto capacity = [&](std::uint32_t node) { return network.capacity[node]; };
  std::ranges::sort(nodes, std::greater{}, capacity);
  double rest = kDecidedCapacity * std::reduce(network.capacity.begin(), network.capacity.end());
  const auto end =
      std::ranges::find_if(nodes, [&](std::uint32_t node) { return (rest -= capacity(node)) < 0; });
  nodes.erase(end, nodes.end());
  return nodes;
}

class Search {
 public:
  Search(Placement start, std::function<double()> progress, std::uint64_t seed)
      : best_(std::move(start)),
        best_penalty_(penalty(best_)),
        network_(&best_.network()),
        unit_(network_->total / static_cast<double>(network_->sites.size())),
        progress_(std::move(progress)),
        rng_(seed) {}

  Placement run() {
    keep(annealed(best_, [this] { return progress_() / kAnnealStart; }));
    if (goes_on()) try_beliefs();
    const double begin = std::min(progress_(), kTrials);
    keep(annealed(best_, [&] { return (progress_() - begin) / (1 - begin); }));
    return best_;
  }

 private:
  void try_beliefs() {
    Beliefs undecided(*network_);
    for (unsigned round = 0; round < kRounds && goes_on(); ++round)
      undecided.update(temperature(kHottest, kUndecided, round, kRounds));
    while (goes_on()) {
      keep(annealed(trial(undecided), [this, batches = 0.0]() mutable {
        return std::max(batches++ / kBatchesOfTrial, progress_() / kTrials);
      }));
    }
  }

  [[nodiscard]] double temperature(double from, double to, unsigned done, unsigned all) const {
    return unit_ * from * std::pow(to / from, static_cast<double>(done) / all);
  }

  Placement trial(Beliefs beliefs) {
    const std::vector<std::uint32_t> nodes = largest_nodes(*network_);
    const auto count = static_cast<unsigned>(nodes.size());
    for (unsigned i = 0; i < count; ++i) {
      beliefs.decide(nodes[i], &rng_);
      for (unsigned round = 0; round < kRoundsOfNode; ++round) {
        if (!goes_on()) return best_;
        beliefs.update(temperature(kUndecided, kDecided, i, count));
      }
    }
    Placement placement(*network_);
    for (const std::uint32_t site : beliefs.draw(&rng_)) placement.activate(site);
    return placement;
  }

  [[nodiscard]] Placement annealed(const Placement& start, const std::function<double()>& progress) {
    return anneal(start, progress, rng_.next());
  }
  void keep(Placement found) {
    const double found_penalty = penalty(found);
    if (found_penalty >= best_penalty_) return;
    best_ = std::move(found);
    best_penalty_ = found_penalty;
  }
  [[nodiscard]] bool goes_on() const { return best_penalty_ > 0 && progress_() < kTrials; }

  Placement best_;
  double best_penalty_;
  const Network* network_;
  double unit_;  // mean GiB between two places
  std::function<double()> progress_;
  Rng rng_;
};

}  // namespace

Placement search(Placement start, std::function<double()> progress, std::uint64_t seed) {
  return Search(std::move(start), std::move(progress), seed).run();
}

}  // namespace tagring::evaluation
