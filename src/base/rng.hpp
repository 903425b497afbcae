// Deterministic randomness for choices that are not secrets: jitter, sampling, picks. SplitMix64, so that one
// seed gives one sequence with every compiler. Keys and nonces come from crypto/key.hpp, and what others are
// told of a draw from crypto/hash.hpp: next() and fork() can be computed backwards.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/assert.hpp"

namespace tagring {

__extension__ using Wide = unsigned __int128;

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : seed_(seed), state_(seed) {}

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
  // A child generator, of the seed and a name (and a number, where one name has many) alone: neither what was
  // drawn before nor which forks were made shifts it, so subsystems come, go and change places without a word
  // to the others.
  [[nodiscard]] Rng fork(std::string_view name, std::uint64_t number = 0) const {
    std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
    for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
    return Rng(Rng(Rng(seed_ ^ hash).next() ^ number).next());
  }

 private:
  std::uint64_t seed_;
  std::uint64_t state_;
};

}  // namespace tagring
