// Which vserver owns which segment, as far as it was learnt lately. One answer of an owner serves every key
// of its segment, so that a node with tens of thousands of hashtags needs about one look-up per member of the
// ring.
#pragma once

#include <map>
#include <optional>

#include "base/time.hpp"
#include "ring/vserver.hpp"

namespace tagring::ring {

class RouteCache {
 public:
  explicit RouteCache(Duration lifetime) : lifetime_(lifetime) {}

  void put(const Owner& owner, Instant now);
  [[nodiscard]] std::optional<Owner> find(const RingId& key, Instant now) const;
  // Forgets what was believed about `key`: its owner did not answer, or said it is not the owner.
  void forget(const RingId& key);
  // The same on the word of who may say so again and again: not what was learnt just now.
  void doubt(const RingId& key, Instant now);
  void clear() { by_end_.clear(); }
  [[nodiscard]] std::size_t size() const { return by_end_.size(); }

  static constexpr std::size_t kSizeMax = 65536;
  static constexpr Duration kJustNow = std::chrono::seconds(1);

 private:
  struct Entry {
    Owner owner;
    Instant expires;
  };
  std::map<RingId, Entry>::const_iterator covering(const RingId& key) const;

  Duration lifetime_;
  std::map<RingId, Entry> by_end_;  // end of the segment, which is the owner's id
};

}  // namespace tagring::ring
