// How good a placement could be if somebody knew everything: beliefs decide where the largest nodes stand,
// and annealing places the others, again and again while there is time. Not a proof that nothing better
// exists, but a figure that local decisions can be measured against.
#pragma once

#include <cstdint>
#include <functional>

#include "evaluation/placement.hpp"

namespace tagring::evaluation {

// The best placement found, by its penalty; `start` if there is no better one. `progress` as for
// anneal().
Placement search(Placement start, std::function<double()> progress, std::uint64_t seed);

}  // namespace tagring::evaluation
