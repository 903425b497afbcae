#include "balance/kchoices.hpp"

#include <algorithm>
#include <cmath>

namespace tagring::balance {
namespace {

// Stands for none, so that a load there is bad beyond comparison, and the dust of additions is not.
constexpr double kLeastCapacity = 1e-6;

// How far a node is from its target, were its load another by `change`.
double mismatch(const Parameters& parameters, const Bearer& bearer, double change) {
  const double load = std::max(0.0, bearer.load + change);
  const double excess = std::max(0.0, load - parameters.upper * bearer.capacity);
  const double distance =
      std::abs(parameters.target() * bearer.capacity - load) + parameters.overload * excess;
  if (!parameters.normalised) return distance;
  return distance / std::max(bearer.capacity, kLeastCapacity);
}

double cost_of(const Parameters& parameters, const Bearer& self, const Place& place, double taken) {
  if (place.own) return 0;
  return mismatch(parameters, place.successor, -taken) - mismatch(parameters, place.successor, 0) +
         mismatch(parameters, self, taken) - mismatch(parameters, self, 0);
}

template <class Cost>
std::optional<Choice> cheapest(std::span<const Place> places, Cost cost) {
  std::optional<Choice> best;
  for (const Place& place : places) {
    const double of_place = cost(place);
    if (!best || of_place < best->cost) best = Choice{place.index, of_place, place.load};
  }
  return best;
}

}  // namespace

double join_cost(const Parameters& parameters, const Bearer& self, const Place& place) {
  return cost_of(parameters, self, place, place.load);
}

double departure_cost(const Parameters& parameters, const Bearer& self, const Place& place) {
  return cost_of(parameters, self, place, -place.load);
}

std::optional<Choice> best_join(const Parameters& parameters, const Bearer& self,
                                std::span<const Place> free) {
  return cheapest(free, [&](const Place& place) { return join_cost(parameters, self, place); });
}

std::optional<Choice> best_departure(const Parameters& parameters, const Bearer& self,
                                     std::span<const Place> active) {
  return cheapest(active, [&](const Place& place) { return departure_cost(parameters, self, place); });
}

bool is_worth(const Parameters& parameters, const Bearer& self, double cost, double moved) {
  const double effort = parameters.normalised ? moved / std::max(self.capacity, kLeastCapacity) : moved;
  return cost < -parameters.epsilon * effort && cost < 0;
}

}  // namespace tagring::balance
