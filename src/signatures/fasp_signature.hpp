// How a FASP and a fediverse server sign what they say to each other: RFC 9421 with Ed25519 and a
// Content-Digest, for requests and for answers. The keys are those that both exchanged when the FASP
// registered, and a keyid is the name that the other side gave to the signer then.
#pragma once

#include "base/result.hpp"
#include "base/time.hpp"
#include "crypto/key.hpp"
#include "http/message.hpp"
#include "signatures/claim.hpp"

namespace tagring::signatures {

// Adds Content-Digest, also of an empty body, Signature-Input and Signature. Covers method, target and
// digest.
void sign_fasp_call(HttpCall& call, const crypto::PrivateKey& key, std::string_view key_id, WallTime now);

// The signature of a request, of which there must be one: covers @method, @target-uri and content-digest,
// with a time and a keyid, and a SHA-256 that is of the body. Whether it is genuine, verify() says. kDenied,
// with the reason, for everything else.
Result<SignatureClaim> read_fasp_signature(const HttpRequest& request, WallTime now, SignaturePolicy policy);

// To an answer of 401: how a request has to be signed.
void ask_for_fasp_signature(HttpResponse& response);

// The same for an answer: covers status and digest.
void sign_fasp_response(HttpResponse& response, const crypto::PrivateKey& key, std::string_view key_id,
                        WallTime now);

// kDenied unless the owner of `key` signed status and body, within `age_max` of now. Which keyid stands there
// does not matter: it is clear who was asked, and Mastodon leaves it out.
Result<void> check_fasp_response(const HttpResponse& response, const crypto::PublicKey& key, WallTime now,
                                 Duration age_max);

}  // namespace tagring::signatures
