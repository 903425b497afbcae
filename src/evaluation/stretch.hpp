// Part of the annealing that k-choices (paper §6.2) is measured against:
// a stretch of the ring whose active sites are drawn anew, all at once: every set of them with the
// probability that it has at a temperature (Boltzmann's), given what is active elsewhere. A set is a path
// from one active site to the next, so the weights of all of them are summed up in one pass along the
// stretch, and one is drawn in another pass back (forward filtering, backward sampling).
//
// What a node bears in one place must not depend on what it bears in another. So of each node one site at
// most may change, and the stretch ends before a second active site of a node.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "evaluation/placement.hpp"

namespace tagring::evaluation {

class Stretch {
 public:
  explicit Stretch(const Network& network);

  // About so many sites from `first` on. False if there are none to draw from.
  bool open(const Placement& placement, std::uint32_t first, std::uint32_t length);
  // From what was so when it was opened. `temperature` in GiB.
  void draw(double temperature, Rng* rng);

  // Sites that were active when it was opened, and that are to be, both in ring order.
  [[nodiscard]] const std::vector<std::uint32_t>& former() const { return former_; }
  [[nodiscard]] const std::vector<std::uint32_t>& drawn() const { return drawn_; }
  // The active site after it, whose arc begins in it.
  [[nodiscard]] std::uint32_t end() const { return end_; }

 private:
  // Somewhere an arc may begin or end. Weights are logarithms: they span thousands of orders of magnitude.
  struct Place {
    std::uint32_t site = 0;
    double at = 0;         // GiB from the beginning of the stretch
    double room = 0;       // GiB that the node can bear here
    double unmoved = 0;    // its penalty if it bears nothing here
    std::size_t fits = 0;  // arcs that begin at this place or later are no more than that
    double weight = 0;     // of all ways to get here
    double all = 0;        // sum over the places before this one: weight
    double shorter = 0;    // sum over the places before this one: weight · e^(at / temperature)
  };
  [[nodiscard]] std::uint32_t node_of(std::uint32_t site) const { return network_->sites[site].node; }
  [[nodiscard]] std::uint32_t distance(std::uint32_t from, std::uint32_t to) const;
  void choose_places(const Placement& placement, std::uint32_t first);
  [[nodiscard]] Place place(const Placement& placement, std::uint32_t site) const;
  void weigh();
  // e^most · relative: over the places from which an arc to the end fits, summed one by one.
  struct Sum {
    double most = 0;
    double relative = 0;
  };
  [[nodiscard]] Sum sum_of_fitting(const Place& end, std::size_t index) const;
  [[nodiscard]] double weight_of_fitting(const Place& end, std::size_t index) const;
  [[nodiscard]] double weight_of_longer(const Place& end) const;
  [[nodiscard]] std::size_t draw_previous(std::size_t index, Rng* rng) const;

  const Network* network_;
  double temperature_ = 1;
  std::uint32_t before_ = 0;  // the active site before it
  std::uint32_t end_ = 0;
  std::vector<std::uint32_t> former_;
  std::vector<std::uint32_t> drawn_;
  std::vector<Place> places_;  // from before_ to end_
  // By node, the round in which it was last seen with an active site, and with any.
  std::uint64_t round_ = 0;
  std::vector<std::uint64_t> active_in_;
  std::vector<std::uint64_t> chosen_in_;
};

}  // namespace tagring::evaluation
