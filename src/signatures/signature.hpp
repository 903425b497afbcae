// HTTP signatures as the fediverse speaks them: draft-cavage-http-signatures-12 and RFC 9421, with RSA or
// Ed25519.
//
// Signing emits the form that every known implementation of the scheme reads. Reading is strict about what a
// signature must cover and tolerant about how it is spelled. Both are pure; RSA takes its time (about 1 ms to
// sign), so busy callers run sign_call and verify on a worker.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "crypto/key.hpp"
#include "http/message.hpp"
#include "signatures/claim.hpp"

namespace tagring::signatures {

// How a request is signed. Nearly everybody reads kCavage. Some leave the query out of the request target
// (kCavagePathOnly; the same as kCavage where there is no query), and some read only RFC 9421 (kMessage).
enum class SignatureForm : std::uint8_t { kCavage, kCavagePathOnly, kMessage };

// Adds Date, the digest of the body (if there is one) and Signature; RFC 9421 also Signature-Input. Covers
// method, target, host and time; with a body also its digest; and Content-Type and Collection-Synchronization
// where the call has them. A call that is signed in another form already must not be signed again.
void sign_call(HttpCall& call, const crypto::PrivateKey& key, std::string_view key_id, WallTime now,
               SignatureForm form = SignatureForm::kCavage);

// Reads the signatures of a request and checks everything that needs no key: coverage, Host, time, and the
// digest against the body. Those that pass, in the order in which they are to be tried: RFC 9421 (at most 4)
// before draft-cavage (at most 1). If there is none, the error of the first, which is always kDenied (HTTP
// 401) with its own message.
Result<std::vector<SignatureClaim>> read_signatures(const HttpRequest& request, WallTime now,
                                                    const SignaturePolicy& policy);

// True if one of the candidates was signed by the owner of `key`. False also if the algorithm is not for
// such a key.
[[nodiscard]] bool verify(const SignatureClaim& claim, const crypto::PublicKey& key);

}  // namespace tagring::signatures
