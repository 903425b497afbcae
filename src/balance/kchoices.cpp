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

namespace {

// What the free places are once the node has left `from`, which is one of them then.
Surroundings without(const Surroundings& around, const Place& from) {
  Surroundings after;
  after.self = around.self;
  if (!from.own) after.self.load -= from.load;
  after.free = around.free;
  for (Place& place : after.free) {
    if (place.after == from.index) {
      place.successor = from.successor;
      place.successor_node = from.successor_node;
      place.own = from.own;
    }
    if (place.before == from.index) place.load += from.load;
  }
  after.free.insert(after.free.begin(), from);  // first: among equals, staying is best
  if (from.own) return after;
  for (Place& place : after.free) {
    if (!place.own && place.successor_node == from.successor_node) place.successor.load += from.load;
  }
  return after;
}

Move relocation(const Parameters& parameters, const Surroundings& around) {
  const std::optional<Choice> departure = best_departure(parameters, around.self, around.active);
  if (!departure) return {};
  const auto from = std::ranges::find(around.active, departure->index, &Place::index);
  const Surroundings after = without(around, *from);
  const std::optional<Choice> arrival = best_join(parameters, after.self, after.free);
  if (!arrival || arrival->index == from->index) return {};
  return {departure->cost + arrival->cost, departure->load + arrival->load, from->index, arrival->index};
}

Move change_of_count(const Parameters& parameters, const Surroundings& around) {
  if (around.self.load > parameters.upper * around.self.capacity) {
    const auto choice = best_departure(parameters, around.self, around.active);
    if (choice) return {choice->cost, choice->load, choice->index, std::nullopt};
  } else if (around.self.load < parameters.lower * around.self.capacity) {
    const auto choice = best_join(parameters, around.self, around.free);
    if (choice) return {choice->cost, choice->load, std::nullopt, choice->index};
  }
  return {};
}

}  // namespace

Move best_move(const Parameters& parameters, const Surroundings& around, bool may_change_count) {
  const Move moved = relocation(parameters, around);
  if (!may_change_count) return moved;
  const Move changed = change_of_count(parameters, around);
  return changed.cost < moved.cost ? changed : moved;
}

bool is_worth(const Parameters& parameters, const Bearer& self, double cost, double moved) {
  const double effort = parameters.normalised ? moved / std::max(self.capacity, kLeastCapacity) : moved;
  return cost < -parameters.epsilon * effort && cost < 0;
}

}  // namespace tagring::balance
