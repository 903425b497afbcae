// How good a placement could be if somebody knew everything: simulated annealing over the sets of active
// vservers. Not a proof that nothing better exists, but a figure that local decisions can be measured
// against.
#pragma once

#include <functional>

#include "base/rng.hpp"
#include "evaluation/placement.hpp"

namespace tagring::evaluation {

struct AnnealingOptions {
  // The part of the work that is done, from 0 to 1; asked every few thousand steps. It ends at 1: what the
  // caller measures decides for how long it runs.
  std::function<double()> progress;
  std::uint64_t seed = 1;
};

// The best placement seen on the way from `start`, by bytes above capacity.
Placement anneal(Placement start, const AnnealingOptions& options);

}  // namespace tagring::evaluation
