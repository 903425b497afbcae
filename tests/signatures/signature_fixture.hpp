// What the tests of both signature schemes share.
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "signatures/message_signature.hpp"
#include "signatures/signature.hpp"

namespace tagring::signatures {

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

inline std::string refusal(const HttpRequest& request, const SignaturePolicy& p = policy(),
                           ErrorCode code = ErrorCode::kDenied) {
  const Result<std::vector<SignatureClaim>> claims = read_signatures(request, kNow, p);
  if (claims) return "accepted";
  EXPECT_EQ(claims.error().code, code);
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

// --- draft-cavage -----------------------------------------------------------------------------------------

// A request signed by hand: `covered` are the lines to sign, in order.
struct HandSigned {
  std::string method = "GET";
  std::string target = "/tag/cats";
  std::vector<std::pair<std::string, std::string>> lines;
  std::string parameters = R"(keyId="https://peer.example/users/bob#main-key",algorithm="rsa-sha256")";
  std::string body;

  [[nodiscard]] HttpRequest request(const crypto::PrivateKey& key = rsa_key()) const {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = body;
    std::string text;
    std::string names;
    for (const auto& [name, value] : lines) {
      text += (text.empty() ? "" : "\n") + name + ": " + value;
      names += (names.empty() ? "" : " ") + name;
      if (!name.starts_with('(')) request.headers.add(name, value);
    }
    request.headers.add("Signature", parameters + R"(,headers=")" + names + R"(",signature=")" +
                                         to_base64(key.sign(text)) + '"');
    return request;
  }
};

inline HandSigned plain_get() {
  HandSigned hand;
  hand.lines = {
      {"(request-target)", "get /tag/cats"}, {"host", "tags.example.org"}, {"date", to_http_date(kNow)}};
  return hand;
}

inline HandSigned plain_post(std::string digest) {
  HandSigned hand;
  hand.method = "POST";
  hand.target = "/inbox";
  hand.body = kBody;
  hand.lines = {{"(request-target)", "post /inbox"},
                {"host", "tags.example.org"},
                {"date", to_http_date(kNow)},
                {"digest", std::move(digest)}};
  return hand;
}

// --- RFC 9421 ---------------------------------------------------------------------------------------------

inline const std::int64_t kSeconds = kNow.time_since_epoch() / std::chrono::seconds(1);

// A request signed by hand: `covered` is the inner list, `parameters` what follows it.
struct HandMessage {
  std::string method = "GET";
  std::string target = "/tag/cats";
  Headers headers = {{"Host", "tags.example.org"}};
  std::string body = {};
  std::string covered = R"(("@method" "@target-uri"))";
  std::string parameters = fmt::format(R"(;created={};keyid="{}")", kSeconds, kKeyId);
  std::string label = "sig1";
  std::string authority = "tags.example.org";

  void sign(HttpRequest& request, const crypto::PrivateKey& key = rsa_key()) const {
    const std::string input = fmt::format("{}={}{}", label, covered, parameters);
    const sf::Dictionary dictionary = sf::parse_dictionary(input).value();
    const SignedMessage message{method, "https", authority, target, headers};
    const Result<std::string> base = signature_base(std::get<sf::InnerList>(dictionary[0].value), message);
    request.headers.add("Signature-Input", input);
    request.headers.add("Signature",
                        fmt::format("{}=:{}:", label, to_base64(key.sign(base.value_or("nothing")))));
  }
  [[nodiscard]] HttpRequest request(const crypto::PrivateKey& key = rsa_key()) const {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.headers = headers;
    request.body = body;
    sign(request, key);
    return request;
  }
};

inline HandMessage hand_post(std::string digest,
                             std::string covered = R"(("@method" "@target-uri" "content-digest"))") {
  HandMessage hand{
      .method = "POST", .target = "/inbox", .body = std::string(kBody), .covered = std::move(covered)};
  hand.headers.add("Content-Digest", std::move(digest));
  return hand;
}

inline HandMessage covering(std::string covered, std::string target = "/tag/cats") {
  return {.target = std::move(target), .covered = std::move(covered)};
}

inline HandMessage with_parameters(std::string parameters) { return {.parameters = std::move(parameters)}; }

inline std::string key_parameters(std::int64_t created, std::string_view rest = {}) {
  return fmt::format(R"(;created={};keyid="{}"{})", created, kKeyId, rest);
}

}  // namespace tagring::signatures
