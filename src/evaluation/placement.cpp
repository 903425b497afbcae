#include "evaluation/placement.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/assert.hpp"

namespace tagring::evaluation {
namespace {

// Loads are sums of many differences: what is left of an empty node is no load.

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

Placement::Placement(const Network& network)
    : network_(&network),
      active_(network.sites.size() / 64 + 1),
      of_node_(network.capacity.size()),
      load_(network.capacity.size()) {}

std::uint32_t Placement::next(std::uint32_t site) const {
  TR_ASSERT(count_ > 0);
  const std::size_t from = (site + 1) % network_->sites.size();
  std::size_t word = from / 64;
  std::uint64_t bits = active_[word] & (~std::uint64_t{0} << (from % 64));
  while (bits == 0) {
    word = (word + 1) % active_.size();
    bits = active_[word];
  }
  return static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
}

std::uint32_t Placement::previous(std::uint32_t site) const {
  TR_ASSERT(count_ > 0);
  std::size_t word = site / 64;
  std::uint64_t bits = active_[word] & ((std::uint64_t{1} << (site % 64)) - 1);
  while (bits == 0) {
    word = (word + active_.size() - 1) % active_.size();
    bits = active_[word];
  }
  return static_cast<std::uint32_t>(word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(bits)));
}

double Placement::arc(std::uint32_t site) const {
  if (count_ == 0 || (count_ == 1 && is_active(site))) return total();
  const std::uint32_t from = previous(site);
  const double load = before(site) - before(from);
  return from < site ? load : load + total();
}

double Placement::before(std::uint32_t site) const {
  double sum = network_->sites[site].before;
  if (added_.empty()) return sum;
  for (std::size_t i = site + 1; i > 0; i &= i - 1) sum += added_[i];
  return sum;
}

void Placement::add(std::uint32_t site, double gib) {
  added_.resize(network_->sites.size() + 1);
  for (std::size_t i = site + 1; i < added_.size(); i += i & (~i + 1)) added_[i] += gib;
  added_total_ += gib;
  if (count_ == 0) return;
  const std::uint32_t owner = is_active(site) ? site : next(site);
  load_[network_->sites[owner].node] += gib;
}

double Placement::activate(std::uint32_t site) {
  TR_ASSERT(!is_active(site));
  const double load = arc(site);
  const std::uint32_t node = network_->sites[site].node;
  const bool first = count_ == 0;
  const std::uint32_t from = first ? node : network_->sites[next(site)].node;
  if (!first) load_[from] -= load;
  load_[node] += load;
  active_[site / 64] |= std::uint64_t{1} << (site % 64);
  ++of_node_[node];
  ++count_;
  return from == node ? 0 : load;
}

double Placement::deactivate(std::uint32_t site) {
  TR_ASSERT(is_active(site) && count_ > 1);
  const double load = arc(site);
  const std::uint32_t node = network_->sites[site].node;
  const std::uint32_t to = network_->sites[next(site)].node;
  load_[node] -= load;
  load_[to] += load;
  active_[site / 64] &= ~(std::uint64_t{1} << (site % 64));
  --of_node_[node];
  --count_;
  return to == node ? 0 : load;
}

Fit fit_of(const Placement& placement) {
  Fit fit;
  const Network& network = placement.network();
  std::vector<double> mismatches;
  std::vector<double> distances;
  for (std::uint32_t node = 0; node < network.capacity.size(); ++node) {
    const double mismatch = placement.load(node) - network.capacity[node];
    if (mismatch > kNothing) {
      ++fit.nodes_over;
      fit.bytes_over_ratio += mismatch / placement.total();
    }
    mismatches.push_back(mismatch);
    distances.push_back(std::abs(mismatch));
    fit.mean_gib += mismatch / static_cast<double>(network.capacity.size());
    fit.mean_abs_gib += std::abs(mismatch) / static_cast<double>(network.capacity.size());
  }
  fit.median_gib = median(std::move(mismatches));
  fit.median_abs_gib = median(std::move(distances));
  return fit;
}

}  // namespace tagring::evaluation
