// draft-cavage-http-signatures-12. For signature.cpp, which chooses between the schemes.
#pragma once

#include "base/result.hpp"
#include "base/time.hpp"
#include "crypto/key.hpp"
#include "http/message.hpp"
#include "signatures/claim.hpp"

namespace tagring::signatures {

// `header` is the Signature header of the request. Errors as in read_signature.
Result<SignatureClaim> read_cavage(std::string_view header, const HttpRequest& request, WallTime now,
                                   const SignaturePolicy& policy);

// `target` is what (request-target) says: the call's, or that without its query.
void sign_cavage(HttpCall& call, std::string_view target, const crypto::PrivateKey& key,
                 std::string_view key_id);

}  // namespace tagring::signatures
