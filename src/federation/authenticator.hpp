// Who sent a request: the HTTP signature checked, with the sender's key fetched as needed.
#pragma once

#include "base/http.hpp"
#include "base/runtime.hpp"
#include "base/workers.hpp"
#include "crypto/key.hpp"
#include "federation/remote_keys.hpp"
#include "fediverse/actor.hpp"
#include "signatures/replay_cache.hpp"
#include "signatures/signature.hpp"

namespace tagring::federation {

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
  Authenticator(signatures::SignaturePolicy policy, RemoteKeys& actors, const Runtime& runtime)
      : policy_(std::move(policy)),
        actors_(actors),
        clock_(runtime.clock),
        started_(runtime.clock.now()),
        workers_(runtime.workers),
        replays_(policy_.age_max) {}

  // The actor whose key signed the request: of several signatures, the first that is genuine counts. kDenied,
  // with the reason, for everything that is not in order: unsigned, badly covered, stale, replayed, wrongly
  // signed; kUnavailable if the key could not be fetched. A GET may be repeated.
  [[nodiscard]] Task<Result<Authentic>> authenticate(HttpRequest request);

  [[nodiscard]] RemoteKeys& keys() { return actors_; }

 private:
  Task<Result<Authentic>> signer(signatures::SignatureClaim claim);
  Task<bool> is_genuine(signatures::SignatureClaim claim, crypto::PublicKey key);

  signatures::SignaturePolicy policy_;
  RemoteKeys& actors_;
  Clock& clock_;
  const Instant started_;
  Workers& workers_;
  signatures::ReplayCache replays_;
};

// To a request whose sender could not be made sure of: 401, or 503 if only the sender's key was out of reach.
HttpResponse not_authentic(const Error& error);

}  // namespace tagring::federation
