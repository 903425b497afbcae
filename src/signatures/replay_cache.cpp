#include "signatures/replay_cache.hpp"

#include <algorithm>
#include <utility>

#include "crypto/hash.hpp"

namespace tagring::signatures {
namespace {

constexpr Duration kDropEvery = std::chrono::minutes(1);

}  // namespace

SeenSignature::SeenSignature(std::string domain_of_signer, const SignatureClaim& claim)
    : domain(std::move(domain_of_signer)), signed_at(claim.signed_at) {
  const crypto::Hash256 signature = crypto::sha256(claim.signature);
  for (const std::string& text : claim.signing_strings) {
    std::string both(signature.begin(), signature.end());
    const crypto::Hash256 hash = crypto::sha256(both + text);
    std::copy_n(hash.begin(), Mark().size(), marks.emplace_back().begin());
  }
}

ReplayCache::ReplayCache(Duration lifetime, std::size_t size_max)
    : lifetime_(lifetime), size_max_(size_max), share_(std::max<std::size_t>(1, size_max / kShares)) {}

void ReplayCache::resized(Domains::iterator domain, std::size_t before) {
  const std::size_t now = domain->second.size();
  if (before == now) return;
  by_size_.erase({before, domain->first});
  if (now > 0) by_size_.emplace(now, domain->first);
  size_ = size_ - before + now;
  if (now == 0) domains_.erase(domain);
}

void ReplayCache::drop_old(WallTime now) {
  if (now >= dropped_at_ && now - dropped_at_ < kDropEvery) return;
  dropped_at_ = now;
  for (auto next = domains_.begin(); next != domains_.end();) {
    const auto domain = next++;
    Signatures& seen = domain->second;
    const std::size_t before = seen.size();
    seen.erase(seen.begin(), seen.lower_bound({now - lifetime_, {}}));
    resized(domain, before);
  }
}

bool ReplayCache::insert(std::span<const SeenSignature> signatures, WallTime now) {
  drop_old(now);
  bool is_new = true;
  for (const SeenSignature& signature : signatures) {
    if (signature.marks.empty()) continue;
    const auto domain = domains_.try_emplace(signature.domain).first;
    Signatures& seen = domain->second;
    const std::size_t before = seen.size();
    for (const SeenSignature::Mark& mark : signature.marks)
      is_new = seen.emplace(signature.signed_at, mark).second && is_new;
    while (seen.size() > share_) seen.erase(seen.begin());
    resized(domain, before);
  }
  while (size_ > size_max_) {
    const auto most = domains_.find(by_size_.rbegin()->second);
    most->second.erase(most->second.begin());
    resized(most, most->second.size() + 1);
  }
  return is_new;
}

void ReplayCache::forget(std::span<const SeenSignature> signatures) {
  for (const SeenSignature& signature : signatures) {
    const auto domain = domains_.find(signature.domain);
    if (domain == domains_.end()) continue;
    const std::size_t before = domain->second.size();
    for (const SeenSignature::Mark& mark : signature.marks) domain->second.erase({signature.signed_at, mark});
    resized(domain, before);
  }
}

}  // namespace tagring::signatures
