// Who sent a request: the HTTP signature checked, with the sender's key fetched as needed.
#pragma once

#include "base/workers.hpp"
#include "fediverse/replay_cache.hpp"
#include "fediverse/signature.hpp"
#include "node/actors.hpp"

namespace tagring::node {

// For SignaturePolicy::not_before: when this process started, by the wall clock as it goes now. It may have
// been set since, and by what it said then a node would refuse everything until that hour comes. Dates on the
// wire have whole seconds.
inline WallTime start_by_wall_clock(const Clock& clock, Instant started) {
  return std::chrono::floor<std::chrono::seconds>(clock.wall_now() - (clock.now() - started));
}

struct Authentic {
  fediverse::RemoteActor actor;
  bool covers_synchronization = false;  // its header Collection-Synchronization is signed
};

class Authenticator {
 public:
  Authenticator(fediverse::SignaturePolicy policy, Actors& actors, Clock& clock, Workers& workers)
      : policy_(std::move(policy)),
        actors_(actors),
        clock_(clock),
        started_(clock.now()),
        workers_(workers),
        replays_(policy_.age_max) {}

  // The actor whose key signed the request: of several signatures, the first that is genuine counts. kDenied,
  // with the reason, for everything that is not in order: unsigned, badly covered, stale, replayed, wrongly
  // signed; kUnavailable if the key could not be fetched. A GET may be repeated.
  [[nodiscard]] Task<Result<Authentic>> authenticate(HttpRequest request);

 private:
  Task<Result<Authentic>> signer(fediverse::SignatureClaim claim);
  Task<bool> is_genuine(fediverse::SignatureClaim claim, crypto::PublicKey key);

  fediverse::SignaturePolicy policy_;
  Actors& actors_;
  Clock& clock_;
  const Instant started_;
  Workers& workers_;
  fediverse::ReplayCache replays_;
};

}  // namespace tagring::node
