// k-choices (Ledlie and Seltzer, INFOCOM 2005; paper §6.2, figure 7): how a node chooses among its κ possible
// places on a ring. Pure decisions on figures that the caller has asked for: the same code decides in a node
// and in the evaluation.
//
// Where it differs from the paper's figure:
//   - a mismatch counts relative to the capacity of who bears it: else the many small nodes are nothing
//     beside a few large ones (the printed form is an option, for comparison);
//   - the joining node's own mismatch before the move is subtracted too: it is constant for a choice, but not
//     for the decision whether to move at all;
//   - a place before a vserver of the node's own changes nothing, and costs nothing;
//   - a node that can bear nothing may have no vserver, but who has one keeps it.
//
// Loads are in any one unit: bytes for storage, bytes per second for relaying.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "balance/layout.hpp"
#include "base/ring_id.hpp"

namespace tagring::balance {

struct Parameters {
  double upper = 0.95;     // U, of capacity: above it a node is overloaded
  double lower = 0.35;     // L, of capacity: below it a node is underloaded
  bool normalised = true;  // costs relative to capacity
  double overload = 0;     // how much worse a load above capacity is than one that misses the target
  // What a move must take from above U for each part that it carries. If there is such a demand, nodes move
  // only for those that are strained: a network in motion is never at rest otherwise.
  double relief = 0;
  double epsilon = 0;  // what a move must gain for each part of the mover's capacity that must be carried

  [[nodiscard]] double target() const { return (upper + lower) / 2; }
};

// A node on one ring, with the load of all its vservers together.
struct Bearer {
  double load = 0;
  double capacity = 0;   // at least 0; a node without capacity wants no load
  bool strained = true;  // if it is above U, then for so long that something must be done
};

// One of the node's possible places: what it would take from, or leave to, the vserver that follows it.
struct Place {
  std::size_t index = 0;             // of the vserver
  double load = 0;                   // of the keys between it and the vserver before it
  Bearer successor;                  // the node that owns those keys if this one does not
  bool own = false;                  // the successor is the node itself
  std::uint64_t successor_node = 0;  // tells whether two places have the same node for a successor
  // The node's own active vservers that stand directly before and after it, if they are its own.
  std::optional<std::size_t> before = std::nullopt;
  std::optional<std::size_t> after = std::nullopt;
  RingId id = {};  // where it is
};

// Change of the total mismatch |target − load| if `self` takes the place. Negative is better.
double join_cost(const Parameters& parameters, const Bearer& self, const Place& place);
// The same if `self` gives it up.
double departure_cost(const Parameters& parameters, const Bearer& self, const Place& place);

struct Choice {
  std::size_t index = 0;
  double cost = 0;
  double load = 0;      // to be carried
  double relieved = 0;  // by so much less is above U

  friend bool operator==(const Choice&, const Choice&) = default;
};

// The cheapest place to join at, or to leave. Nothing if there is none.
std::optional<Choice> best_join(const Parameters& parameters, const Bearer& self,
                                std::span<const Place> free);
std::optional<Choice> best_departure(const Parameters& parameters, const Bearer& self,
                                     std::span<const Place> active);

// What a node knows when it decides.
struct Surroundings {
  Bearer self;
  std::vector<Place> active;
  std::vector<Place> free;
  Layout layout;
};

// A vserver that goes, one that comes, or both; neither if nothing is better than what is.
struct Move {
  double cost = 0;
  double carried = 0;   // what must be moved
  double relieved = 0;  // by so much less is above U
  std::optional<std::size_t> from = std::nullopt;
  std::optional<std::size_t> to = std::nullopt;

  [[nodiscard]] bool is_none() const { return !from && !to; }
};

// Whether a move gains enough for what it carries.
bool is_worth(const Parameters& parameters, const Bearer& self, const Move& move);

// The best relocation (the cheapest departure, then the cheapest place to join at), or, if the number of
// vservers may change, creation below L or destruction above U (paper §6.2), whichever gains more. No move if
// neither is worth it. The last vserver stays, however much it bears: without one a node is on the ring no
// more.
Move best_move(const Parameters& parameters, Surroundings around, bool may_change_count);

// The relocation after which the fewest copies of hashtags stand together (paper §7), whatever it costs that
// is no overload. No move if none takes enough of them apart for what it carries, or if there are fewer nodes
// than copies. A study so far: no node decides by it (docs/evaluation.md, "Copies on different nodes").
Move best_spread(const Parameters& parameters, const Surroundings& around);

}  // namespace tagring::balance
