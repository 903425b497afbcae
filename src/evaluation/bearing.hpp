// How much a node can bear in one of its places, given what is believed of what it bears in the others: the
// node's part of belief propagation (see beliefs.hpp). What it bears is counted in steps of a grid; beyond
// its capacity the penalty is linear, so that everything above can stand for the last step with less weight.
// Capacities, loads and temperatures are in GiB; a load that is so much above capacity as the temperature is
// e times less likely.
#pragma once

#include <cstddef>
#include <vector>

namespace tagring::evaluation {

// By step of the grid, from 0 to the whole capacity: how likely the node bears so much in one place. The
// unit does not matter.
using Histogram = std::vector<double>;

class Bearing {
 public:
  // A grid's step is about `step`, but there are neither very few nor very many.
  Bearing(double capacity, double step);

  [[nodiscard]] Histogram nothing() const { return Histogram(steps_ + 1); }
  // `weight` is a logarithm; it is divided between the two steps beside `gib`.
  void add(Histogram* histogram, double gib, double weight, double temperature) const;

  // By step: the logarithm of how likely it is that the node bears so much in one place more, relative to
  // nothing. Decreases.
  using Tolerance = std::vector<double>;
  [[nodiscard]] Tolerance anything() const { return Tolerance(steps_ + 1); }
  // Of each place, by what is believed of all the others.
  [[nodiscard]] std::vector<Tolerance> tolerances(const std::vector<const Histogram*>& places,
                                                  double temperature) const;
  [[nodiscard]] double of(const Tolerance& tolerance, double gib, double temperature) const;

 private:
  // The last step below, and how far the next one is reached, from 0 to 1.
  struct Beside {
    std::size_t below;
    double above;
  };
  [[nodiscard]] Beside beside(double gib) const;
  [[nodiscard]] Histogram sum(const Histogram& a, const Histogram& b,
                              const std::vector<double>& excess) const;
  [[nodiscard]] Tolerance tolerance(const Histogram& others, const std::vector<double>& excess) const;

  double capacity_;
  double step_;
  std::size_t steps_;
};

}  // namespace tagring::evaluation
