// Weights of ways around the ring span thousands of orders of magnitude, so they are kept as logarithms.
#pragma once

#include <cmath>
#include <limits>
#include <utility>

namespace tagring::evaluation {

inline constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// The logarithm of the sum of two weights.
inline double log_sum(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kImpossible ? a : a + std::log1p(std::exp(b - a));
}

}  // namespace tagring::evaluation
