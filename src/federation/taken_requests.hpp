// The requests that were taken lately, by the hash of their signatures: whoever has lost the answer to one,
// and sends it once more, does so at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace tagring::federation {

// Bounded: no registered domain has more than an eighth of it. Of one that has, some are forgotten, and where
// all is taken, of the one that has most: else one that sends much would have those of all others forgotten.
class TakenRequests {
 public:
  static constexpr std::size_t kMax = 10'000;
  static constexpr std::size_t kOfDomainMax = kMax / 8;

  // `domain`: of who signed it.
  void add(const std::string& domain, std::uint64_t signature);
  [[nodiscard]] bool contains(const std::string& domain, std::uint64_t signature) const;

 private:
  using Domains = std::map<std::string, std::set<std::uint64_t>>;
  void forget_some(Domains::iterator domain);

  Domains domains_;
  std::size_t size_ = 0;
};

}  // namespace tagring::federation
