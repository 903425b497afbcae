// Remembers the signatures of requests that changed something, so that a recorded request cannot be sent
// again while its date is still good.
//
// Not for GET: two honest fetches of one document within a second carry the same signature.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/time.hpp"
#include "signatures/claim.hpp"

namespace tagring::signatures {

// A signature that a request had, as it is remembered: together with what it would have to be of. So what is
// no signature of one request, whoever put it there, stands in the way of no other, whose signature it is.
struct SeenSignature {
  using Mark = std::array<std::uint8_t, 16>;  // of a SHA-256 whose other half is as hard to hit

  SeenSignature(std::string domain_of_signer, const SignatureClaim& claim);

  std::string domain;
  WallTime signed_at;
  std::vector<Mark> marks;  // of each text that may have been signed, with the signature
};

// Bounded: where all is taken, the oldest of the domain that has most are forgotten; and of one that has an
// eighth, so that one domain costs no more memory than that. Who floods a node to that end can then replay
// what that domain sent, but a request is for one host and path and travels in TLS; refusing honest requests
// instead would let any flood close the inbox.
class ReplayCache {
 public:
  static constexpr std::size_t kShares = 8;

  // `lifetime` is the policy's age_max.
  explicit ReplayCache(Duration lifetime, std::size_t size_max = 1U << 20U);

  // Records the signatures of a request, one of which has been verified; all that may be good, or the request
  // could be sent again with one left out. False if one was seen before.
  [[nodiscard]] bool insert(std::span<const SeenSignature> signatures, WallTime now);
  // As if the request had not come.
  void forget(std::span<const SeenSignature> signatures);
  [[nodiscard]] std::size_t size() const { return seen_.size(); }

 private:
  // One node for each: what comes from many domains in many seconds takes no more than from one in one.
  using Signatures = std::set<std::pair<WallTime, SeenSignature::Mark>>;
  void drop_old(WallTime now);

  Duration lifetime_;
  std::size_t size_max_;
  std::size_t share_;
  Shares<Signatures> seen_;  // by domain
  WallTime dropped_at_{};
};

}  // namespace tagring::signatures
