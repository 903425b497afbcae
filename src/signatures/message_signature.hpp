// HTTP Message Signatures (RFC 9421). For signature.cpp, which chooses between the schemes.
//
// Components are taken whole: those with parameters ("sf", "key", "bs", "req", "tr", @query-param) are not
// understood, and no signature with one of them is.
#pragma once

#include "base/result.hpp"
#include "base/time.hpp"
#include "crypto/key.hpp"
#include "http/message.hpp"
#include "signatures/claim.hpp"
#include "signatures/structured_fields.hpp"

namespace tagring::signatures {

inline constexpr std::size_t kMessageSignaturesMax = 4;  // in one request

inline constexpr std::string_view kSignatureLabel = "sig1";  // of what we sign
// A request or response, as far as components of a signature are taken from it.
struct SignedMessage {
  std::string_view method;
  std::string_view scheme;
  std::string authority;  // lower case, without the scheme's default port
  std::string_view target;
  const Headers& headers;
  std::optional<int> status = {};  // set: it is a response, and the four above count for nothing
};

// The text that is signed (RFC 9421 §2.5). `input` is a member of Signature-Input. kDenied if a component is
// missing, unknown, named twice or has parameters.
Result<std::string> signature_base(const sf::InnerList& input, const SignedMessage& message);

// `signatures` is the Signature header of the request without what belongs to another scheme. One answer for
// each member of Signature-Input, in order; at least one.
std::vector<Result<SignatureClaim>> read_message_signatures(std::string_view signatures,
                                                            const HttpRequest& request, WallTime now,
                                                            const SignaturePolicy& policy);

void sign_message(HttpCall& call, const crypto::PrivateKey& key, std::string_view key_id, WallTime now);

}  // namespace tagring::signatures
