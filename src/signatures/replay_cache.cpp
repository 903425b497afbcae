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

void ReplayCache::drop_old(WallTime now) {
  if (now >= dropped_at_ && now - dropped_at_ < kDropEvery) return;
  dropped_at_ = now;
  seen_.change_all([&](Signatures& its) { its.erase(its.begin(), its.lower_bound({now - lifetime_, {}})); });
}

bool ReplayCache::insert(std::span<const SeenSignature> signatures, WallTime now) {
  drop_old(now);
  bool is_new = true;
  for (const SeenSignature& signature : signatures) {
    seen_.change(signature.domain, [&](Signatures& its) {
      for (const SeenSignature::Mark& mark : signature.marks)
        is_new = its.emplace(signature.signed_at, mark).second && is_new;
      while (its.size() > share_) its.erase(its.begin());
    });
  }
  while (seen_.size() > size_max_)
    seen_.change(seen_.heaviest(), [](Signatures& its) { its.erase(its.begin()); });
  return is_new;
}

void ReplayCache::forget(std::span<const SeenSignature> signatures) {
  for (const SeenSignature& signature : signatures) {
    seen_.change(signature.domain, [&](Signatures& its) {
      for (const SeenSignature::Mark& mark : signature.marks) its.erase({signature.signed_at, mark});
    });
  }
}

}  // namespace tagring::signatures
