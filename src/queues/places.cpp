#include "queues/places.hpp"

#include <algorithm>

namespace tagring::queues {

Places::Places(std::size_t most) : most_(most), share_(std::max<std::size_t>(1, most / kShares)) {}

bool Places::take(const std::string& domain, std::string who) {
  Domain& its = domains_[domain];
  if (taken_ < most_ && may_take(its)) {
    ++its.taken;
    ++taken_;
    return true;
  }
  its.line.emplace_back(++last_, std::move(who));
  stand_ready(domain, its);
  return false;
}

void Places::give_back(const std::string& domain) {
  const auto its = domains_.find(domain);
  --its->second.taken;
  --taken_;
  stand_ready(domain, its->second);
  if (its->second.taken == 0 && its->second.line.empty()) domains_.erase(its);
}

std::optional<Places::Next> Places::next() {
  if (taken_ >= most_ || ready_.empty()) return std::nullopt;
  std::string domain = std::move(ready_.extract(ready_.begin()).value().second);
  Domain& its = domains_.at(domain);
  std::string who = std::move(its.line.front().second);
  its.line.pop_front();
  ++its.taken;
  ++taken_;
  stand_ready(domain, its);
  return Next{std::move(domain), std::move(who)};
}

void Places::stand_ready(const std::string& name, const Domain& domain) {
  if (may_take(domain) && !domain.line.empty()) ready_.emplace(domain.line.front().first, name);
}

}  // namespace tagring::queues
