#include "evaluation/stretch.hpp"

#include <algorithm>
#include <cmath>

#include "evaluation/log_weight.hpp"

namespace tagring::evaluation {
namespace {

constexpr double kRounding = 1e-6;  // GiB
constexpr double kExact = 0.001;

// Of a number drawn from (0, 1].
double log_of_random(Rng* rng) { return std::log(1 - rng->uniform()); }

}  // namespace

Stretch::Stretch(const Network& network)
    : network_(&network), active_in_(network.capacity.size()), chosen_in_(network.capacity.size()) {}

std::uint32_t Stretch::distance(std::uint32_t from, std::uint32_t to) const {
  const auto count = static_cast<std::uint32_t>(network_->sites.size());
  return (to + count - from) % count;
}

bool Stretch::open(const Placement& placement, std::uint32_t first, std::uint32_t length) {
  if (placement.active() < 2) return false;
  ++round_;
  former_.clear();
  before_ = placement.previous(first);
  for (std::uint32_t site = placement.is_active(first) ? first : placement.next(first);;
       site = placement.next(site)) {
    if (site == before_) return false;  // once around
    std::uint64_t& active_in = active_in_[node_of(site)];
    if (active_in == round_) {
      end_ = former_.back();
      former_.pop_back();
      break;
    }
    active_in = round_;
    if (distance(first, site) >= length) {
      end_ = site;
      break;
    }
    former_.push_back(site);
  }
  choose_places(placement, first);
  return places_.size() > 2;
}

void Stretch::choose_places(const Placement& placement, std::uint32_t first) {
  places_.clear();
  places_.push_back({.site = before_});
  const auto count = static_cast<std::uint32_t>(network_->sites.size());
  for (std::uint32_t site = first; site != end_; site = site + 1 == count ? 0 : site + 1) {
    const std::uint32_t node = node_of(site);
    if (!placement.is_active(site)) {
      if (active_in_[node] == round_ || chosen_in_[node] == round_) continue;
      chosen_in_[node] = round_;
    }
    places_.push_back(place(placement, site));
  }
  places_.push_back(place(placement, end_));
}

Stretch::Place Stretch::place(const Placement& placement, std::uint32_t site) const {
  const std::uint32_t node = node_of(site);
  Place made{.site = site};
  made.at = network_->sites[site].before - network_->sites[before_].before;
  if (site < before_) made.at += network_->total;
  const double elsewhere = placement.load(node) - (placement.is_active(site) ? placement.arc(site) : 0);
  made.room = network_->capacity[node] - elsewhere;
  made.unmoved = penalty(-made.room);
  const auto fits = std::ranges::lower_bound(places_, made.at - made.room - kRounding, {}, &Place::at);
  made.fits = static_cast<std::size_t>(fits - places_.begin());
  return made;
}

Stretch::Sum Stretch::sum_of_fitting(const Place& end, std::size_t index) const {
  Sum sum{kImpossible, 0};
  for (std::size_t i = end.fits; i < index; ++i) sum.most = std::max(sum.most, places_[i].weight);
  for (std::size_t i = end.fits; i < index; ++i) sum.relative += std::exp(places_[i].weight - sum.most);
  return sum;
}

// Of all ways to get to the place at `index` by an arc that the node has room for.
double Stretch::weight_of_fitting(const Place& end, std::size_t index) const {
  if (end.fits == index) return kImpossible;
  const double all = places_[index].all;
  const double others = places_[end.fits].all - all;
  // Most often a difference of two sums is exact enough.
  if (others < -kExact) return all + std::log1p(-std::exp(others)) + end.unmoved / temperature_;
  const Sum sum = sum_of_fitting(end, index);
  return sum.most + std::log(sum.relative) + end.unmoved / temperature_;
}

// By a longer one, which begins further back: e^(−penalty / temperature) is a product of what belongs to the
// end of the arc and what belongs to its beginning.
double Stretch::weight_of_longer(const Place& end) const {
  return places_[end.fits].shorter - (end.at - end.room + kPenaltyOfNode - end.unmoved) / temperature_;
}

void Stretch::weigh() {
  places_[0].weight = 0;
  places_[0].all = places_[0].shorter = kImpossible;
  for (std::size_t i = 1; i < places_.size(); ++i) {
    const Place& last = places_[i - 1];
    Place& place = places_[i];
    place.all = log_sum(last.all, last.weight);
    place.shorter = log_sum(last.shorter, last.weight + last.at / temperature_);
    place.weight = log_sum(weight_of_fitting(place, i), weight_of_longer(place));
  }
}

std::size_t Stretch::draw_previous(std::size_t index, Rng* rng) const {
  const Place& end = places_[index];
  if (end.weight + log_of_random(rng) < weight_of_longer(end) || end.fits == index) {
    const double drawn = places_[end.fits].shorter + log_of_random(rng);
    std::size_t i = 0;
    while (i + 1 < end.fits && places_[i + 1].shorter < drawn) ++i;
    return i;
  }
  const Sum sum = sum_of_fitting(end, index);
  double rest = sum.relative * std::exp(log_of_random(rng));
  std::size_t i = end.fits;
  while (i + 1 < index && (rest -= std::exp(places_[i].weight - sum.most)) > 0) ++i;
  return i;
}

void Stretch::draw(double temperature, Rng* rng) {
  temperature_ = temperature;
  weigh();
  drawn_.clear();
  for (std::size_t i = draw_previous(places_.size() - 1, rng); i > 0; i = draw_previous(i, rng))
    drawn_.push_back(places_[i].site);
  std::ranges::reverse(drawn_);
}

}  // namespace tagring::evaluation
