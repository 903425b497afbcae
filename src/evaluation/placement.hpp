// Which of the possible vservers are active, and what every node bears by that. O(1) for each question but
// the search for the next active site, which is a scan of a bit set.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluation/network.hpp"

namespace tagring::evaluation {

class Placement {
 public:
  // Nobody is active. The network outlives the placement.
  explicit Placement(const Network& network);

  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] bool is_active(std::uint32_t site) const {
    return (active_[site / 64] >> (site % 64) & 1) != 0;
  }
  [[nodiscard]] std::size_t active() const { return count_; }
  [[nodiscard]] std::size_t active_of(std::uint32_t node) const { return of_node_[node]; }
  // The next active site clockwise, or counter-clockwise, of which at least one other must exist.
  [[nodiscard]] std::uint32_t next(std::uint32_t site) const;
  [[nodiscard]] std::uint32_t previous(std::uint32_t site) const;
  [[nodiscard]] double total() const { return network_->total + added_total_; }
  // GiB of the keys that the site owns, or would own if it were active.
  [[nodiscard]] double arc(std::uint32_t site) const;
  [[nodiscard]] double load(std::uint32_t node) const { return load_[node]; }

  // Moves the arc from or to the next active site's node. GiB that change their place.
  double activate(std::uint32_t site);
  // Not the last one.
  double deactivate(std::uint32_t site);
  // Keys between the site before it and this one have grown by so much.
  void add(std::uint32_t site, double gib);

 private:
  // GiB from the ring's origin up to and including this site.
  [[nodiscard]] double before(std::uint32_t site) const;

  const Network* network_;
  std::vector<double> added_;  // what add() brought, as a Fenwick tree; empty until then
  double added_total_ = 0;
  std::vector<std::uint64_t> active_;
  std::vector<std::size_t> of_node_;
  std::vector<double> load_;
  std::size_t count_ = 0;
};

// Always both: putting everything on one node leaves one node over capacity.
struct Fit {
  std::size_t nodes_over = 0;
  double bytes_over_ratio = 0;  // bytes above capacity, of all bytes
  double mean_gib = 0;          // of load − capacity
  double median_gib = 0;
  double mean_abs_gib = 0;
  double median_abs_gib = 0;
};
Fit fit_of(const Placement& placement);

}  // namespace tagring::evaluation
