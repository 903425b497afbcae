#include "balance/kchoices.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace tagring::balance {
namespace {

// Instead of a capacity of zero: any load there is then bad beyond comparison, and an error of rounding is
// not.
constexpr double kLeastCapacity = 1e-6;

// What a move must take apart: of as many copies as stand together on this node, and for each copy that it
// carries; and what it may add to the node's load, of the median.
constexpr double kSpreadsLeast = 0.3;
constexpr double kSpreadsOfCarried = 0.2;
constexpr double kSpreadMayAdd = 0.25;

// How far from its target a node would be if its load changed by `change`.
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

// The price of moving that much data, in units of cost.
double effort(const Parameters& parameters, const Bearer& self, double carried) {
  const double part = parameters.normalised ? carried / std::max(self.capacity, kLeastCapacity) : carried;
  return parameters.epsilon * part;
}

bool is_overloaded(const Parameters& parameters, const Bearer& bearer) {
  return bearer.strained && bearer.load > parameters.upper * bearer.capacity;
}

// How much of the load would be above U.
double excess(const Parameters& parameters, const Bearer& bearer, double change) {
  return std::max(0.0, bearer.load + change - parameters.upper * bearer.capacity);
}

double relief_of(const Parameters& parameters, const Bearer& self, const Place& place, double taken) {
  if (place.own) return 0;
  return excess(parameters, place.successor, 0) - excess(parameters, place.successor, -taken) +
         excess(parameters, self, 0) - excess(parameters, self, taken);
}

// Its load is taken (1) or left (-1).
Choice choice_of(const Parameters& parameters, const Bearer& self, const Place& place, double sign) {
  const double taken = sign * place.load;
  return {place.index, cost_of(parameters, self, place, taken), place.own ? 0 : place.load,
          relief_of(parameters, self, place, taken)};
}

// The place with the least cost and effort, whose load is taken (1) or left (-1).
std::optional<Choice> cheapest(const Parameters& parameters, const Bearer& self,
                               std::span<const Place> places, double sign) {
  std::optional<Choice> best;
  double least = 0;
  for (const Place& place : places) {
    const Choice choice = choice_of(parameters, self, place, sign);
    const double in_all = choice.cost + effort(parameters, self, choice.load);
    if (best && in_all >= least) continue;
    best = choice;
    least = in_all;
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
  return cheapest(parameters, self, free, 1);
}

std::optional<Choice> best_departure(const Parameters& parameters, const Bearer& self,
                                     std::span<const Place> active) {
  return cheapest(parameters, self, active, -1);
}

namespace {

// The free places once the node has left `from`, which is then one of them.
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

// To one of the places that are free once the node has left `from`.
Move relocation_of(const Parameters& parameters, const Surroundings& around, const Surroundings& left,
                   const Place& from, const Place& to) {
  const Choice departure = choice_of(parameters, around.self, from, -1);
  const Choice arrival = choice_of(parameters, left.self, to, 1);
  return {departure.cost + arrival.cost, departure.load + arrival.load, departure.relieved + arrival.relieved,
          from.index, to.index};
}

Move relocation(const Parameters& parameters, const Surroundings& around) {
  const std::optional<Choice> departure = best_departure(parameters, around.self, around.active);
  if (!departure) return {};
  const auto from = std::ranges::find(around.active, departure->index, &Place::index);
  const Surroundings after = without(around, *from);
  const std::optional<Choice> arrival = best_join(parameters, after.self, after.free);
  if (!arrival || arrival->index == from->index) return {};
  const auto to = std::ranges::find(after.free, arrival->index, &Place::index);
  return relocation_of(parameters, around, after, *from, *to);
}

Move change_of_count(const Parameters& parameters, const Surroundings& around) {
  if (is_overloaded(parameters, around.self)) {
    if (around.active.size() < 2) return {};
    const auto choice = best_departure(parameters, around.self, around.active);
    if (choice) return {choice->cost, choice->load, choice->relieved, choice->index, std::nullopt};
  } else if (around.self.load < parameters.lower * around.self.capacity) {
    const auto choice = best_join(parameters, around.self, around.free);
    if (choice) return {choice->cost, choice->load, choice->relieved, std::nullopt, choice->index};
  }
  return {};
}

}  // namespace

bool is_worth(const Parameters& parameters, const Bearer& self, const Move& move) {
  return move.cost < 0 && move.cost + effort(parameters, self, move.carried) < 0 &&
         (parameters.relief <= 0 || move.relieved >= parameters.relief * move.carried);
}

Move best_move(const Parameters& parameters, Surroundings around, bool may_change_count) {
  if (parameters.relief > 0 && !is_overloaded(parameters, around.self)) {
    std::erase_if(around.free,
                  [&](const Place& place) { return !is_overloaded(parameters, place.successor); });
    if (around.free.empty()) return {};
  }
  Move best;
  double least = 0;
  const auto consider = [&](const Move& move) {
    const double in_all = move.cost + effort(parameters, around.self, move.carried);
    if (!is_worth(parameters, around.self, move) || in_all >= least) return;
    best = move;
    least = in_all;
  };
  consider(relocation(parameters, around));
  if (may_change_count) consider(change_of_count(parameters, around));
  return best;
}

namespace {

// Of the nodes that are known, this one among them. A few that exaggerate do not change much.
double median_load(const Surroundings& around) {
  std::map<std::uint64_t, double> of_node;
  for (const auto* places : {&around.active, &around.free}) {
    for (const Place& place : *places) {
      if (!place.own) of_node[place.successor_node] = place.successor.load;
    }
  }
  std::vector<double> loads = {around.self.load};
  for (const auto& [node, load] : of_node) loads.push_back(load);
  std::ranges::sort(loads);
  return loads[loads.size() / 2];
}

}  // namespace

Move best_spread(const Parameters& parameters, const Surroundings& around) {
  const Layout& layout = around.layout;
  if (layout.nodes() < layout.copies) return {};
  const double may_bear = around.self.load + kSpreadMayAdd * median_load(around);
  Move best;
  double most = kSpreadsLeast * layout.together_here();
  for (const Place& from : around.active) {
    const Surroundings left = without(around, from);
    for (const Place& to : left.free) {
      if (to.index == from.index || left.self.load + (to.own ? 0 : to.load) > may_bear) continue;
      const Move move = relocation_of(parameters, around, left, from, to);
      if (move.relieved < 0) continue;
      const Layout::Change change = layout.change(from.id, to.id);
      if (change.parted < most || change.parted <= kSpreadsOfCarried * change.carried) continue;
      best = move;
      most = change.parted;
    }
  }
  return best;
}

}  // namespace tagring::balance
