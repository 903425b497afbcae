#include "federation/taken_requests.hpp"

#include <algorithm>

#include "base/counted.hpp"

namespace tagring::federation {

void TakenRequests::forget_some(Domains::iterator domain) {
  drop_some(domain->second, [this](std::uint64_t) { --size_; });
  if (domain->second.empty()) domains_.erase(domain);
}

void TakenRequests::add(const std::string& domain, std::uint64_t signature) {
  const auto its = domains_.find(domain);
  if (its != domains_.end() && its->second.size() >= kOfDomainMax) forget_some(its);
  if (size_ >= kMax)
    forget_some(
        std::ranges::max_element(domains_, {}, [](const auto& entry) { return entry.second.size(); }));
  if (domains_[domain].insert(signature).second) ++size_;
}

bool TakenRequests::contains(const std::string& domain, std::uint64_t signature) const {
  const auto its = domains_.find(domain);
  return its != domains_.end() && its->second.contains(signature);
}

}  // namespace tagring::federation
