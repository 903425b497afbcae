// Deterministic randomness for choices that are not secrets: jitter, sampling, picks. SplitMix64, so that one
// seed gives one sequence with every compiler. Keys and nonces come from crypto/random.hpp.
#pragma once

#include <cstdint>

#include "base/assert.hpp"

namespace tagring {

__extension__ using Wide = unsigned __int128;

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  // Uniform in [0, bound); `bound` must be positive.
  std::uint64_t below(std::uint64_t bound) {
    TR_ASSERT(bound > 0);
    return static_cast<std::uint64_t>(static_cast<Wide>(next()) * bound >> 64U);
  }
  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }
  bool chance(double probability) { return uniform() < probability; }
  // A child generator: give each subsystem its own, so that one more draw in one does not shift the others.
  [[nodiscard]] Rng fork() { return Rng(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace tagring
