#include "federation/taken_requests.hpp"

#include <utility>

namespace tagring::federation {

void TakenRequests::add(const std::string& domain, std::uint64_t signature, Instant now) {
  if (now - began_ >= kWhile) {
    former_ = now - began_ < 2 * kWhile ? std::move(latest_) : Generation();
    latest_ = Generation();
    began_ = now;
  }
  const auto forget_some = [](auto& its) { drop_some(its, [](std::uint64_t) {}); };
  if (latest_.of(domain) >= kOfDomainMax) latest_.change(domain, forget_some);
  if (latest_.size() >= kMax) latest_.change(latest_.heaviest(), forget_some);
  latest_.change(domain, [&](auto& its) { its.insert(signature); });
}

bool TakenRequests::contains(const std::string& domain, std::uint64_t signature) const {
  const auto is_in = [&](const Generation& taken) {
    const auto* its = taken.find(domain);
    return its != nullptr && its->contains(signature);
  };
  return is_in(latest_) || is_in(former_);
}

}  // namespace tagring::federation
