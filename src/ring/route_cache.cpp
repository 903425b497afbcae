#include "ring/route_cache.hpp"

#include "base/counted.hpp"

namespace tagring::ring {

void RouteCache::put(const Owner& owner, Instant now) {
  make_room(by_end_, kSizeMax);
  by_end_.insert_or_assign(owner.segment.to, Entry{owner, now + lifetime_});
}

std::map<RingId, RouteCache::Entry>::const_iterator RouteCache::covering(const RingId& key) const {
  if (by_end_.empty()) return by_end_.end();
  auto it = by_end_.lower_bound(key);
  if (it == by_end_.end()) it = by_end_.begin();
  return it->second.owner.segment.contains(key) ? it : by_end_.end();
}

std::optional<Owner> RouteCache::find(const RingId& key, Instant now) const {
  const auto it = covering(key);
  if (it == by_end_.end() || it->second.expires <= now) return std::nullopt;
  return it->second.owner;
}

void RouteCache::doubt(const RingId& key, Instant now) {
  const auto entry = covering(key);
  if (entry != by_end_.end() && now - (entry->second.expires - lifetime_) >= kJustNow) by_end_.erase(entry);
}

void RouteCache::forget(const RingId& key) {
  const auto it = covering(key);
  if (it != by_end_.end()) by_end_.erase(it);
}

}  // namespace tagring::ring
