#include "fediverse/replay_cache.hpp"

namespace tagring::fediverse {

void ReplayCache::drop_oldest() {
  size_ -= by_time_.begin()->second.size();
  by_time_.erase(by_time_.begin());
}

bool ReplayCache::insert(const SignatureClaim& claim, WallTime now) {
  while (!by_time_.empty() && by_time_.begin()->first < now - lifetime_) drop_oldest();
  if (!by_time_[claim.signed_at].insert(crypto::sha256(claim.signature)).second) return false;
  ++size_;
  while (size_ > size_max_) drop_oldest();
  return true;
}

}  // namespace tagring::fediverse
