#include "federation/taken_requests.hpp"

#include "base/counted.hpp"

namespace tagring::federation {

void TakenRequests::Generation::resized(Domains::iterator domain, std::size_t before) {
  const std::size_t now = domain->second.size();
  if (before == now) return;
  by_size.erase({before, domain->first});
  if (now > 0) by_size.emplace(now, domain->first);
  size = size - before + now;
  if (now == 0) domains.erase(domain);
}

void TakenRequests::Generation::forget_some(Domains::iterator domain) {
  const std::size_t before = domain->second.size();
  drop_some(domain->second, [](std::uint64_t) {});
  resized(domain, before);
}

void TakenRequests::Generation::add(const std::string& domain, std::uint64_t signature) {
  const auto its = domains.find(domain);
  if (its != domains.end() && its->second.size() >= kOfDomainMax) forget_some(its);
  if (size >= kMax) forget_some(domains.find(by_size.rbegin()->second));
  const auto added = domains.try_emplace(domain).first;
  const std::size_t before = added->second.size();
  added->second.insert(signature);
  resized(added, before);
}

bool TakenRequests::Generation::contains(const std::string& domain, std::uint64_t signature) const {
  const auto its = domains.find(domain);
  return its != domains.end() && its->second.contains(signature);
}

void TakenRequests::add(const std::string& domain, std::uint64_t signature, Instant now) {
  if (now - began_ >= kWhile) {
    former_ = now - began_ < 2 * kWhile ? std::move(latest_) : Generation();
    latest_ = Generation();
    began_ = now;
  }
  latest_.add(domain, signature);
}

bool TakenRequests::contains(const std::string& domain, std::uint64_t signature) const {
  return latest_.contains(domain, signature) || former_.contains(domain, signature);
}

}  // namespace tagring::federation
