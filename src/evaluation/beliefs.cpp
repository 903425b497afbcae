#include "evaluation/beliefs.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "evaluation/log_weight.hpp"

namespace tagring::evaluation {
namespace {

constexpr double kDamping = 0.5;   // of tolerances, from one round to the next
constexpr double kCertain = 1e-9;  // of a chance, short of 1

// Each as often as its weight, a logarithm, says.
template <typename Arc>
const Arc& draw_one(const std::vector<Arc>& arcs, Rng* rng) {
  TR_ASSERT(!arcs.empty());
  const double most = std::ranges::max(arcs, {}, &Arc::weight).weight;
  double sum = 0;
  for (const Arc& arc : arcs) sum += std::exp(arc.weight - most);
  double rest = sum * (1 - rng->uniform());
  std::size_t i = 0;
  while (i + 1 < arcs.size() && (rest -= std::exp(arcs[i].weight - most)) > 0) ++i;
  return arcs[i];
}

}  // namespace

Beliefs::Beliefs(const Network& network)
    : network_(&network),
      count_(network.sites.size()),
      tolerance_(count_),
      histogram_(count_),
      state_(count_),
      begin_(count_),
      decided_(network.capacity.size()) {
  const double mean = network.total / static_cast<double>(count_);
  for (const double capacity : network.capacity) bearing_.emplace_back(capacity, mean);
  for (std::size_t site = 0; site < count_; ++site) {
    tolerance_[site] = bearing_[network.sites[site].node].anything();
    longest_over_ = std::max(longest_over_, gib_at(count_ + site) - gib_at(count_ + site - 1));
  }
}

double Beliefs::gib_at(std::size_t at) const {
  return network_->sites[at % count_].before + static_cast<double>(at / count_) * network_->total;
}

// Arcs that may end at a place, the shortest first, with their begin and GiB. There is one at least, but at
// the beginning of the first turn.
template <typename Visit>
void Beliefs::for_arcs_to(std::size_t end, const Visit& visit) const {
  const std::uint32_t site = site_at(end);
  if (state_[site] == State::kInactive) return;
  if (state_[site] == State::kEnd) {
    const std::size_t sites = begin_[site] < site ? site - begin_[site] : site + count_ - begin_[site];
    if (sites <= end) visit(end - sites, gib_at(end) - gib_at(end - sites));
    return;
  }
  const double longest = network_->capacity[network_->sites[site].node] + longest_over_;
  bool any = false;
  for (std::size_t begin = end; begin-- > 0 && end - begin <= count_;) {
    const State state = state_[site_at(begin)];
    if (state == State::kInactive) continue;
    const double gib = gib_at(end) - gib_at(begin);
    if (any && gib > longest) return;
    visit(begin, gib);
    any = true;
    if (state != State::kOpen) return;
  }
}

double Beliefs::tolerance(std::uint32_t site, double gib) const {
  if (state_[site] == State::kEnd) return 0;
  return bearing_[network_->sites[site].node].of(tolerance_[site], gib, temperature_);
}

// Of all ways from one place on, by where they lead.
std::vector<double> Beliefs::ways_from(std::size_t first, std::size_t last) const {
  std::vector<double> ways(last + 1, kImpossible);
  ways[first] = 0;
  std::vector<double> weights;
  for (std::size_t end = first + 1; end <= last; ++end) {
    weights.clear();
    double most = kImpossible;
    for_arcs_to(end, [&](std::size_t begin, double gib) {
      if (begin < first) return;
      weights.push_back(ways[begin] + tolerance(site_at(end), gib));
      most = std::max(most, weights.back());
    });
    if (most == kImpossible) continue;
    double sum = 0;
    for (const double weight : weights) sum += std::exp(weight - most);
    ways[end] = most + std::log(sum);
  }
  return ways;
}

void Beliefs::weigh_ways() {
  const auto first = std::ranges::find_if(state_, [](State state) { return state != State::kInactive; });
  to_ = ways_from(static_cast<std::size_t>(first - state_.begin()), 2 * count_ - 1);
  from_.assign(3 * count_, kImpossible);
  for (std::size_t end = 3 * count_; end-- > count_;) {
    if (state_[site_at(end)] == State::kInactive) continue;
    if (from_[end] == kImpossible) from_[end] = 0;  // the last one
    for_arcs_to(end, [&](std::size_t begin, double gib) {
      from_[begin] = log_sum(from_[begin], from_[end] + tolerance(site_at(end), gib));
    });
  }
  all_ = kImpossible;
  for (const Arc& arc : arcs_across()) all_ = log_sum(all_, arc.weight);
}

std::vector<Beliefs::Arc> Beliefs::arcs_across() const {
  const std::size_t cut = 2 * count_;
  std::vector<Arc> arcs;
  for (std::size_t end = cut; end < 3 * count_; ++end) {
    for_arcs_to(end, [&](std::size_t begin, double gib) {
      if (begin >= cut) return;
      arcs.push_back({begin, end, gib, to_[begin] + tolerance(site_at(end), gib) + from_[end]});
    });
  }
  return arcs;
}

std::vector<Beliefs::Arc> Beliefs::arcs_to(std::uint32_t site) const {
  const std::size_t end = count_ + site;
  const double chance = std::min(std::exp(to_[end] + from_[end] - all_), 1 - kCertain);
  const double absent = all_ + std::log1p(-chance);
  std::vector<Arc> arcs;
  for_arcs_to(end, [&](std::size_t begin, double gib) {
    arcs.push_back({begin, end, gib, to_[begin] + from_[end] - absent});
  });
  return arcs;
}

Histogram Beliefs::histogram(std::uint32_t site) const {
  const Bearing& bearing = bearing_[network_->sites[site].node];
  Histogram made = bearing.nothing();
  const std::vector<Arc> arcs = arcs_to(site);
  const bool may_be_absent = state_[site] == State::kOpen || arcs.empty();
  double most = may_be_absent ? 0 : kImpossible;
  for (const Arc& arc : arcs) most = std::max(most, arc.weight);
  if (may_be_absent) made[0] = std::exp(-most);
  for (const Arc& arc : arcs) bearing.add(&made, arc.gib, arc.weight - most, temperature_);
  return made;
}

std::vector<Bearing::Tolerance> Beliefs::tolerances(std::uint32_t node) const {
  std::vector<const Histogram*> places;
  for (const std::uint32_t site : network_->of_node[node]) places.push_back(&histogram_[site]);
  return bearing_[node].tolerances(places, temperature_);
}

void Beliefs::update(double temperature) {
  temperature_ = temperature;
  weigh_ways();
  for (std::uint32_t node = 0; node < network_->capacity.size(); ++node) {
    if (decided_[node] != 0) continue;
    const auto& own = network_->of_node[node];
    for (const std::uint32_t site : own) histogram_[site] = histogram(site);
    const std::vector<Bearing::Tolerance> heard = tolerances(node);
    for (std::size_t i = 0; i < own.size(); ++i) {
      for (std::size_t step = 0; step < heard[i].size(); ++step) {
        double& known = tolerance_[own[i]][step];
        known = std::lerp(heard[i][step], known, kDamping);
      }
    }
  }
}

void Beliefs::decide(std::uint32_t node, Rng* rng) {
  TR_ASSERT(decided_[node] == 0);
  decided_[node] = 1;
  const auto& own = network_->of_node[node];
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::uint32_t site = own[i];
    std::vector<Arc> arcs = arcs_to(site);
    const Bearing::Tolerance tolerance = tolerances(node)[i];
    for (Arc& arc : arcs) arc.weight += bearing_[node].of(tolerance, arc.gib, temperature_);
    if (state_[site] != State::kBegin) arcs.push_back({});
    const Arc& arc = draw_one(arcs, rng);
    settle(site, arc);
    histogram_[site] = bearing_[node].nothing();
    bearing_[node].add(&histogram_[site], arc.gib, 0, temperature_);
  }
}

// An arc without end is none.
void Beliefs::settle(std::uint32_t site, const Arc& arc) {
  if (arc.end == 0) {
    state_[site] = State::kInactive;
    return;
  }
  for (std::size_t at = arc.begin + 1; at < arc.end; ++at) state_[site_at(at)] = State::kInactive;
  begin_[site] = site_at(arc.begin);
  State& begin = state_[begin_[site]];
  if (begin == State::kOpen) begin = State::kBegin;
  state_[site] = State::kEnd;
}

std::vector<std::uint32_t> Beliefs::draw(Rng* rng) const {
  std::vector<Arc> arcs = arcs_across();
  const Arc across = draw_one(arcs, rng);
  std::vector<std::uint32_t> sites{site_at(across.end)};
  const std::size_t first = across.end - count_;
  const std::vector<double> ways = ways_from(first, across.begin);
  for (std::size_t end = across.begin; end != first;) {
    sites.push_back(site_at(end));
    arcs.clear();
    for_arcs_to(end, [&](std::size_t begin, double gib) {
      if (begin >= first) arcs.push_back({begin, end, gib, ways[begin] + tolerance(site_at(end), gib)});
    });
    end = draw_one(arcs, rng).begin;
  }
  return sites;
}

}  // namespace tagring::evaluation
