// Improves a placement by simulated annealing over the sets of active vservers: part of the search for what
// global knowledge could reach (search.hpp). It begins warm, not hot: small nodes find other places, large
// ones keep most of what they have.
#pragma once

#include <cstdint>
#include <functional>

#include "evaluation/placement.hpp"

namespace tagring::evaluation {

// The best placement seen on the way from `start`, by its penalty. `progress` says which part of the
// work is done, from 0 to 1, and is asked every few thousand steps. It ends at 1, or when nothing is left
// above capacity: what the caller measures decides for how long it runs.
Placement anneal(Placement start, const std::function<double()>& progress, std::uint64_t seed);

}  // namespace tagring::evaluation
