#include "signatures/fasp_signature.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <span>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "signatures/digest.hpp"
#include "signatures/message_signature.hpp"
#include "signatures/signature_rules.hpp"

namespace tagring::signatures {
namespace {

constexpr std::array<std::string_view, 3> kRequestParts = {"@method", "@target-uri", "content-digest"};
constexpr std::array<std::string_view, 2> kResponseParts = {"@status", "content-digest"};
constexpr std::size_t kSignatureSize = 64;

void sign(Headers& headers, sf::InnerList input, const SignedMessage& message, const crypto::PrivateKey& key,
          std::string_view key_id, WallTime now) {
  input.parameters = {{"created", std::int64_t(now.time_since_epoch() / std::chrono::seconds(1))},
                      {"keyid", std::string(key_id)}};
  const Result<std::string> base = signature_base(input, message);
  TR_ASSERT(base);  // all of it is there
  headers.set("Signature-Input", fmt::format("{}={}", kSignatureLabel, sf::serialize(input)));
  headers.set("Signature", fmt::format("{}=:{}:", kSignatureLabel, to_base64(key.sign(*base))));
}

sf::InnerList covering(std::span<const std::string_view> parts) {
  sf::InnerList input;
  for (const std::string_view part : parts) input.items.push_back({std::string(part), {}});
  return input;
}

bool covers(const sf::InnerList& input, std::string_view name) {
  return std::ranges::any_of(input.items, [name](const sf::Item& item) {
    const auto* text = std::get_if<std::string>(&item.value);
    return text != nullptr && *text == name;
  });
}

// The only member of Signature-Input.
struct Input {
  std::string label;
  sf::InnerList list;
};

Result<Input> only_input(const Headers& headers) {
  const std::optional<std::string> text = headers.joined("signature-input");
  if (!text) return refuse("there is no Signature-Input");
  const Result<sf::Dictionary> inputs = sf::parse_dictionary(*text);
  if (!inputs) return refuse("Signature-Input is no dictionary (RFC 8941): " + inputs.error().message);
  if (inputs->size() != 1) return refuse("there must be one signature");
  const auto* list = std::get_if<sf::InnerList>(&inputs->front().value);
  if (list == nullptr) return refuse("Signature-Input has a member that is no list");
  if (sf::find<std::int64_t>(list->parameters, "created") == nullptr)
    return refuse("signature does not say when it was created");
  return Input{inputs->front().key, *list};
}

Result<void> check_sha256(const Headers& headers, std::string_view body) {
  if (headers.count("content-digest") != 1) return refuse("there must be one Content-Digest");
  const std::string digest = *headers.find("content-digest");
  const Result<sf::Dictionary> dictionary = sf::parse_dictionary(digest);
  const bool sha256 = dictionary && std::ranges::any_of(*dictionary, [](const sf::Member& member) {
                        return member.key == "sha-256";
                      });
  if (!sha256) return refuse("Content-Digest has no sha-256");
  return check_content_digest(digest, body);
}

}  // namespace

void sign_fasp_call(HttpCall& call, const crypto::PrivateKey& key, std::string_view key_id, WallTime now) {
  call.headers.set("Content-Digest", make_content_digest(call.body));
  const SignedMessage message{.method = call.method,
                              .scheme = call.url.scheme,
                              .authority = call.url.authority(),
                              .target = call.url.target,
                              .headers = call.headers};
  sign(call.headers, covering(kRequestParts), message, key, key_id, now);
}

Result<SignatureClaim> read_fasp_signature(const HttpRequest& request, WallTime now, SignaturePolicy policy) {
  TRY(const Input input, only_input(request.headers));
  for (const std::string_view part : kRequestParts) {
    if (!covers(input.list, part)) return refuse(fmt::format("signature does not cover {}", part));
  }
  TRY_VOID(check_sha256(request.headers, request.body));
  policy.agreed_key_ids = true;
  const std::string signatures = request.headers.joined("signature").value_or("");
  return read_message_signatures(signatures, request, now, policy).front();
}

void ask_for_fasp_signature(HttpResponse& response) {
  sf::InnerList wanted = covering(kRequestParts);
  wanted.parameters = {{"created", true}};
  // RFC 9421 has no scheme of HTTP's authentication, and HTTP wants one with 401 (RFC 9110, 15.5.2).
  response.headers.set("WWW-Authenticate", R"(HTTP-Message-Signatures realm="FASP")");
  response.headers.set("Accept-Signature", fmt::format("{}={}", kSignatureLabel, sf::serialize(wanted)));
}

void sign_fasp_response(HttpResponse& response, const crypto::PrivateKey& key, std::string_view key_id,
                        WallTime now) {
  response.headers.set("Content-Digest", make_content_digest(response.body));
  const SignedMessage message{.method = {},
                              .scheme = {},
                              .authority = {},
                              .target = {},
                              .headers = response.headers,
                              .status = response.status};
  sign(response.headers, covering(kResponseParts), message, key, key_id, now);
}

Result<void> check_fasp_response(const HttpResponse& response, const crypto::PublicKey& key, WallTime now,
                                 Duration age_max) {
  TRY(const Input input, only_input(response.headers));
  for (const std::string_view part : kResponseParts) {
    if (!covers(input.list, part)) return refuse(fmt::format("signature does not cover {}", part));
  }
  TRY_VOID(check_sha256(response.headers, response.body));
  SignaturePolicy policy;
  policy.age_max = age_max;
  SigningTime time(now, policy);
  TRY_VOID(time.created(*sf::find<std::int64_t>(input.list.parameters, "created")));
  const Result<sf::Dictionary> signatures =
      sf::parse_dictionary(response.headers.joined("signature").value_or(""));
  if (!signatures || signatures->size() != 1 || signatures->front().key != input.label)
    return refuse("Signature and Signature-Input do not belong together");
  const std::string* bytes = sf::bytes_of(signatures->front());
  if (bytes == nullptr || bytes->size() != kSignatureSize) return refuse("Signature is none of Ed25519");
  const SignedMessage message{.method = {},
                              .scheme = {},
                              .authority = {},
                              .target = {},
                              .headers = response.headers,
                              .status = response.status};
  TRY(const std::string base, signature_base(input.list, message));
  if (!key.verify(base, *bytes, crypto::Algorithm::kEd25519))
    return refuse("the answer is not signed by its server");
  return {};
}

}  // namespace tagring::signatures
