#include "signatures/signature.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "signatures/cavage.hpp"
#include "signatures/message_signature.hpp"
#include "signatures/signature_rules.hpp"

namespace tagring::signatures {
namespace {

// The Signature headers of a request by scheme.
struct SignatureHeaders {
  std::vector<std::string> cavage;
  std::string message;  // joined
};

SignatureHeaders sort_headers(const HttpRequest& request) {
  const bool has_input = request.headers.count("signature-input") > 0;
  SignatureHeaders sorted;
  for (const auto& [name, value] : request.headers) {
    if (!ascii_iequals(name, "signature")) continue;
    // No dictionary has a key with a capital in it.
    if (!has_input || value.contains("keyId=") || value.contains("keyId =")) {
      sorted.cavage.push_back(value);
    } else {
      sorted.message += (sorted.message.empty() ? "" : ", ") + value;
    }
  }
  return sorted;
}

}  // namespace

Result<std::vector<SignatureClaim>> read_signatures(const HttpRequest& request, WallTime now,
                                                    const SignaturePolicy& policy) {
  const SignatureHeaders headers = sort_headers(request);
  std::vector<Result<SignatureClaim>> read;
  if (!headers.message.empty()) read = read_message_signatures(headers.message, request, now, policy);
  if (headers.cavage.size() == 1) {
    read.push_back(read_cavage(headers.cavage.front(), request, now, policy));
  } else if (headers.cavage.size() > 1) {
    read.emplace_back(refuse("request has two Signature headers"));
  }
  if (read.empty()) return refuse("request is not signed");
  std::vector<SignatureClaim> claims;
  for (Result<SignatureClaim>& claim : read) {
    if (claim) claims.push_back(*std::move(claim));
  }
  if (claims.empty()) return std::unexpected(read.front().error());
  return claims;
}

bool verify(const SignatureClaim& claim, const crypto::PublicKey& key) {
  const crypto::Algorithm algorithm = claim.algorithm.value_or(crypto::algorithm_of(key.type()));
  return std::ranges::any_of(claim.signing_strings, [&](const std::string& text) {
    return key.verify(text, claim.signature, algorithm);
  });
}

void sign_call(HttpCall& call, const crypto::PrivateKey& key, std::string_view key_id, WallTime now,
               SignatureForm form) {
  call.headers.set("Date", to_http_date(now));
  switch (form) {
    case SignatureForm::kCavage:
      return sign_cavage(call, call.url.target, key, key_id);
    case SignatureForm::kCavagePathOnly:
      return sign_cavage(call, call.url.path(), key, key_id);
    case SignatureForm::kMessage:
      return sign_message(call, key, key_id, now);
  }
}

}  // namespace tagring::signatures
