// Remembers the signatures of requests that changed something, so that a recorded request cannot be sent
// again while its date is still good.
//
// Not for GET: two honest fetches of one document within a second carry the same signature.
#pragma once

#include <cstring>
#include <map>
#include <span>
#include <unordered_set>

#include "base/time.hpp"
#include "crypto/hash.hpp"
#include "crypto/key.hpp"
#include "signatures/claim.hpp"

namespace tagring::signatures {

// Bounded: when it is full, the oldest second is forgotten. Who floods a node to that end can then replay
// what was recorded, but a request is for one host and path and travels in TLS; refusing honest requests
// instead would let any flood close the inbox.
class ReplayCache {
 public:
  // `lifetime` is the policy's age_max.
  explicit ReplayCache(Duration lifetime, std::size_t size_max = 1U << 20U)
      : lifetime_(lifetime), size_max_(size_max) {}

  // Records the signatures of a request, one of which has been verified; all of them, or the request could be
  // sent again with one left out. False if one was seen before.
  [[nodiscard]] bool insert(std::span<const SignatureClaim> claims, WallTime now);
  // As if the request had not come.
  void forget(std::span<const SignatureClaim> claims);
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  // A SHA-256 is as good a hash as any; its first bytes do.
  struct FirstBytes {
    std::size_t operator()(const crypto::Hash256& hash) const {
      std::size_t value = 0;
      std::memcpy(&value, hash.data(), sizeof value);
      return value;
    }
  };
  using Signatures = std::unordered_set<crypto::Hash256, FirstBytes>;
  void drop_oldest();

  Duration lifetime_;
  std::size_t size_max_;
  std::size_t size_ = 0;
  std::map<WallTime, Signatures> by_time_;
};

}  // namespace tagring::signatures
