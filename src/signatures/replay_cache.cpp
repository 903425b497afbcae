#include "signatures/replay_cache.hpp"

namespace tagring::signatures {

void ReplayCache::drop_oldest() {
  size_ -= by_time_.begin()->second.size();
  by_time_.erase(by_time_.begin());
}

bool ReplayCache::insert(std::span<const SignatureClaim> claims, WallTime now) {
  while (!by_time_.empty() && by_time_.begin()->first < now - lifetime_) drop_oldest();
  bool is_new = true;
  for (const SignatureClaim& claim : claims) {
    const bool inserted = by_time_[claim.signed_at].insert(crypto::sha256(claim.signature)).second;
    is_new = is_new && inserted;
    size_ += inserted ? 1 : 0;
  }
  while (size_ > size_max_) drop_oldest();
  return is_new;
}

void ReplayCache::forget(std::span<const SignatureClaim> claims) {
  for (const SignatureClaim& claim : claims) {
    const auto second = by_time_.find(claim.signed_at);
    if (second == by_time_.end()) continue;
    size_ -= second->second.erase(crypto::sha256(claim.signature));
    if (second->second.empty()) by_time_.erase(second);
  }
}

}  // namespace tagring::signatures
