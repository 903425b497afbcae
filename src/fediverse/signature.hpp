// HTTP signatures as the fediverse speaks them: draft-cavage-http-signatures-12 with RSA-SHA256 or Ed25519.
//
// Signing emits the form that every known implementation reads. Reading is strict about what a signature must
// cover and tolerant about how it is spelled. Both are pure; RSA takes its time (about 1 ms to sign), so busy
// callers run sign_call and verify on a worker.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/http.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "crypto/key.hpp"

namespace tagring::fediverse {

// Adds Date, Digest (if there is a body) and Signature. Covers (request-target), host and date; with a body
// also digest; and Content-Type and Collection-Synchronization where the call has them.
void sign_call(HttpCall& call, const crypto::PrivateKey& key, std::string_view key_id, WallTime now);

// What a request's signature must satisfy apart from being genuine.
struct SignaturePolicy {
  // Names under which this node is reached, "host" or "host:port" in lower case. A Host that lacks only the
  // port is right too: Mastodon sends it so.
  std::vector<std::string> authorities;
  Duration age_max = std::chrono::hours(1);
  Duration ahead_max = std::chrono::minutes(5);  // clocks differ
  // Requests dated earlier are refused. With the start of the process here, nothing that a ReplayCache has
  // forgotten by a restart gets in again.
  std::optional<WallTime> not_before;
};

// A signature that was read, and whose request fits it, but whose key has not been tried: see verify().
struct SignatureClaim {
  std::string key_id;  // a URL, fragment included
  // Set if the algorithm is bound to a type of key. "hs2019", and none named, are not.
  std::optional<crypto::KeyType> key_type;
  std::vector<std::string> covered;  // lower case, in order: "(request-target)", "host", …
  // The texts that may have been signed: the request as it is and, since many servers leave the query out of
  // the request target, without its query.
  std::vector<std::string> signing_strings;
  std::string signature;  // octets
  WallTime signed_at;     // Date, or (created)

  [[nodiscard]] bool covers(std::string_view name) const;
};

// Reads the Signature header and checks everything that needs no key: coverage, Host, time, and the Digest
// against the body. Every failure is kDenied (HTTP 401) with its own message.
Result<SignatureClaim> read_signature(const HttpRequest& request, WallTime now,
                                      const SignaturePolicy& policy);

// True if one of the candidates was signed by the owner of `key`. False also if the algorithm is not for
// such a key.
[[nodiscard]] bool verify(const SignatureClaim& claim, const crypto::PublicKey& key);

}  // namespace tagring::fediverse
