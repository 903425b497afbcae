#include "evaluation/bearing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>

namespace tagring::evaluation {
namespace {

constexpr double kFewest = 24;
constexpr double kMost = 120;
constexpr double kCapacityMin = 1e-3;  // GiB
constexpr double kLeast = 1e-300;

}  // namespace

Bearing::Bearing(double capacity, double step)
    : capacity_(std::max(capacity, kCapacityMin)),
      steps_(static_cast<std::size_t>(std::clamp(capacity_ / step, kFewest, kMost))) {
  step_ = capacity_ / static_cast<double>(steps_);
}

Bearing::Beside Bearing::beside(double gib) const {
  const double at = gib / step_;
  const std::size_t below = std::min(static_cast<std::size_t>(at), steps_ - 1);
  return {below, at - static_cast<double>(below)};
}

void Bearing::add(Histogram* histogram, double gib, double weight, double temperature) const {
  if (gib >= capacity_) {
    histogram->back() += std::exp(weight - (gib - capacity_) / temperature);
    return;
  }
  const auto [below, above] = beside(gib);
  const double likely = std::exp(weight);
  (*histogram)[below] += likely * (1 - above);
  (*histogram)[below + 1] += likely * above;
}

// Of two independent loads. `excess`: by steps above capacity, what is left of the weight.
Histogram Bearing::sum(const Histogram& a, const Histogram& b, const std::vector<double>& excess) const {
  Histogram both(steps_ + 1);
  for (std::size_t i = 0; i <= steps_; ++i) {
    if (a[i] == 0) continue;
    for (std::size_t j = 0; j <= steps_ - i; ++j) both[i + j] += a[i] * b[j];
    double over = 0;
    for (std::size_t j = steps_ - i + 1; j <= steps_; ++j) over += b[j] * excess[i + j - steps_];
    both[steps_] += a[i] * over;
  }
  const double most = std::ranges::max(both);
  for (double& weight : both) weight /= most;
  return both;
}

Bearing::Tolerance Bearing::tolerance(const Histogram& others, const std::vector<double>& excess) const {
  Tolerance tolerance(steps_ + 1);
  double fitting = std::reduce(others.begin(), others.end());
  double over = 0;
  for (std::size_t step = 0; step <= steps_; ++step) {
    if (step > 0) {
      const double full = others[steps_ - step + 1];
      fitting -= full;
      over = (over + full) * excess[1];
    }
    tolerance[step] = std::log(std::max(std::max(fitting, 0.0) + over, kLeast));
  }
  for (double& weight : tolerance | std::views::reverse) weight -= tolerance[0];
  return tolerance;
}

std::vector<Bearing::Tolerance> Bearing::tolerances(const std::vector<const Histogram*>& places,
                                                    double temperature) const {
  std::vector<double> excess(steps_ + 1);
  for (std::size_t i = 0; i <= steps_; ++i)
    excess[i] = std::exp(-static_cast<double>(i) * step_ / temperature);
  Histogram none = nothing();
  none[0] = 1;
  // Of each place and all after it.
  std::vector<Histogram> rest(places.size() + 1, none);
  for (std::size_t i = places.size(); i-- > 1;) rest[i] = sum(*places[i], rest[i + 1], excess);
  std::vector<Tolerance> made;
  Histogram before = std::move(none);
  for (std::size_t i = 0; i < places.size(); ++i) {
    made.push_back(tolerance(sum(before, rest[i + 1], excess), excess));
    before = sum(*places[i], before, excess);
  }
  return made;
}

double Bearing::of(const Tolerance& tolerance, double gib, double temperature) const {
  if (gib >= capacity_) return tolerance.back() - (gib - capacity_) / temperature;
  const auto [below, above] = beside(gib);
  return tolerance[below] * (1 - above) + tolerance[below + 1] * above;
}

}  // namespace tagring::evaluation
