// What the tests of both signature schemes share.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "fediverse/signature.hpp"

namespace tagring::fediverse {

inline const WallTime kNow = *from_rfc3339("2026-11-21T10:00:00Z");
inline constexpr std::string_view kKeyId = "https://peer.example/users/bob#main-key";
inline constexpr std::string_view kBody = R"({"type":"Follow"})";

inline const crypto::PrivateKey& rsa_key() {
  static const crypto::PrivateKey key = crypto::PrivateKey::generate(crypto::KeyType::kRsa2048);
  return key;
}

inline crypto::PrivateKey ed25519_key() {
  return crypto::PrivateKey::ed25519_from_seed(std::string(32, 's'));
}

inline SignaturePolicy policy() {
  SignaturePolicy p;
  p.authorities = {"tags.example.org", "tags.example.org:8443"};
  return p;
}

inline HttpCall make_call(std::string method, std::string_view url, std::string body) {
  HttpCall call(std::move(method), *Url::parse(url), Instant());
  if (!body.empty()) call.headers.add("Content-Type", "application/activity+json");
  call.body = std::move(body);
  return call;
}

// What the other side receives of a call.
inline HttpRequest received(const HttpCall& call) {
  HttpRequest request;
  request.method = call.method;
  request.target = call.url.target;
  request.headers = call.headers;
  request.headers.add("Host", call.url.authority());
  request.body = call.body;
  return request;
}

inline HttpRequest signed_post(const crypto::PrivateKey& key = rsa_key(), WallTime when = kNow) {
  HttpCall call = make_call("POST", "https://tags.example.org/inbox", std::string(kBody));
  sign_call(call, key, kKeyId, when);
  return received(call);
}

inline HttpRequest signed_get(std::string_view url = "https://tags.example.org/tag/cats",
                              WallTime when = kNow) {
  HttpCall call = make_call("GET", url, "");
  sign_call(call, rsa_key(), kKeyId, when);
  return received(call);
}

inline std::string digest_of(std::string_view body, std::string_view algorithm = "SHA-256") {
  const crypto::Hash256 hash = crypto::sha256(body);
  return std::string(algorithm) + "=" +
         to_base64(std::string_view(reinterpret_cast<const char*>(hash.data()), 32));
}

inline bool accepted(const HttpRequest& request, const crypto::PublicKey& key = rsa_key().public_key()) {
  const Result<std::vector<SignatureClaim>> claims = read_signatures(request, kNow, policy());
  EXPECT_TRUE(claims) << claims.error().message;
  return claims && std::ranges::any_of(*claims, [&](const SignatureClaim& c) { return verify(c, key); });
}

inline std::string refusal(const HttpRequest& request, const SignaturePolicy& p = policy()) {
  const Result<std::vector<SignatureClaim>> claims = read_signatures(request, kNow, p);
  if (claims) return "accepted";
  EXPECT_EQ(claims.error().code, ErrorCode::kDenied);
  return claims.error().message;
}

inline HttpRequest with_signature(HttpRequest request, std::string value) {
  request.headers.set("Signature", std::move(value));
  return request;
}

// The request with one text in its Signature header replaced by another.
inline HttpRequest edited(HttpRequest request, std::string_view from, std::string_view to) {
  std::string value = *request.headers.find("Signature");
  const std::size_t at = value.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  request.headers.set("Signature", value.replace(at, from.size(), to));
  return request;
}

}  // namespace tagring::fediverse
