// The requests that were taken lately, by the hash of their signatures: whoever has lost the answer to one,
// and sends it once more, does so at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "base/counted.hpp"
#include "base/time.hpp"

namespace tagring::federation {

// Bounded: no registered domain has more than an eighth of what is taken in a while. Of one that has, some
// are forgotten, and where all is taken, of the one that has most: else one that sends much would have those
// of all others forgotten. What has served its time is forgotten with all else of its while, so that nobody's
// share is less for what others sent long ago.
class TakenRequests {
 public:
  static constexpr std::size_t kMax = 10'000;  // of a while; two are remembered
  static constexpr std::size_t kOfDomainMax = kMax / 8;
  // So long a signature is good, if it is of a clock that is ahead (signatures/claim.hpp).
  static constexpr Duration kWhile = std::chrono::minutes(65);

  // `domain`: of who signed it.
  void add(const std::string& domain, std::uint64_t signature, Instant now);
  [[nodiscard]] bool contains(const std::string& domain, std::uint64_t signature) const;

 private:
  using Generation = Shares<std::set<std::uint64_t>>;  // by domain

  Generation latest_;
  Generation former_;
  Instant began_{};  // the latest
};

}  // namespace tagring::federation
