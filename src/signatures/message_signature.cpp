#include "signatures/message_signature.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "signatures/digest.hpp"
#include "signatures/signature_rules.hpp"

namespace tagring::signatures {
namespace {

// --- components ----------------------------------------------------------------------------------------

Result<std::string> component(std::string_view name, const SignedMessage& message) {
  const std::string_view target = message.target;
  if (message.status && name == "@status") return fmt::to_string(*message.status);
  if (message.status && name.starts_with('@'))
    return refuse(fmt::format("signature of a response covers {}", name));
  if (name == "@method") return std::string(message.method);
  if (name == "@target-uri") return fmt::format("{}://{}{}", message.scheme, message.authority, target);
  if (name == "@authority") return message.authority;
  if (name == "@scheme") return std::string(message.scheme);
  if (name == "@request-target") return std::string(target);
  if (name == "@path") return std::string(path_of(target));
  if (name == "@query") {
    const std::string_view query = target.substr(path_of(target).size());
    return std::string(query.empty() ? "?" : query);
  }
  if (name.starts_with('@')) return refuse(fmt::format("signature covers {}, which is not known here", name));
  if (ascii_lower(name) != name) return refuse("signature names a header in upper case");
  const std::optional<std::string> value = message.headers.joined(name);
  if (!value) return refuse(fmt::format("signed header {} is missing", name));
  return std::string(trim(*value));
}

Result<std::vector<std::string>> component_names(const sf::InnerList& input) {
  std::vector<std::string> names;
  for (const sf::Item& item : input.items) {
    const auto* name = std::get_if<std::string>(&item.value);
    if (name == nullptr) return refuse("signature covers something that is no string");
    if (!item.parameters.empty()) {
      return refuse(fmt::format("signature covers {} with parameters, which are not known here", *name));
    }
    if (std::ranges::find(names, *name) != names.end())
      return refuse(fmt::format("signature covers {} twice", *name));
    names.push_back(*name);
  }
  if (names.empty()) return refuse("signature covers nothing");
  return names;
}

// --- reading -------------------------------------------------------------------------------------------

Result<std::optional<crypto::Algorithm>> parse_algorithm(const sf::Parameters& parameters) {
  if (!sf::has(parameters, "alg")) return std::nullopt;
  const auto* name = sf::find<std::string>(parameters, "alg");
  if (name != nullptr && *name == "rsa-v1_5-sha256") return crypto::Algorithm::kRsaSha256;
  if (name != nullptr && *name == "rsa-pss-sha512") return crypto::Algorithm::kRsaPssSha512;
  if (name != nullptr && *name == "ed25519") return crypto::Algorithm::kEd25519;
  return refuse("signature alg is none of rsa-v1_5-sha256, rsa-pss-sha512, ed25519");
}

Result<void> check_coverage(const SignatureClaim& claim, const HttpRequest& request) {
  if (!claim.covers("@method")) return refuse("signature does not cover @method");
  const bool whole_target =
      claim.covers("@request-target") ||
      (claim.covers("@path") && (claim.covers("@query") || !request.target.contains('?')));
  const bool authority = claim.covers("@authority") || claim.covers("host");
  if (!claim.covers("@target-uri") && !(whole_target && authority)) {
    return refuse("signature does not cover @target-uri");
  }
  if (!request.body.empty() && !claim.covers("content-digest")) {
    return refuse("signature does not cover the content-digest of the body");
  }
  return {};
}

Result<WallTime> read_time(const SignatureClaim& claim, const sf::Parameters& parameters,
                           const HttpRequest& request, WallTime now, const SignaturePolicy& policy) {
  SigningTime time(now, policy);
  for (const std::string_view name : {"created", "expires"}) {
    if (!sf::has(parameters, name)) continue;
    const auto* seconds = sf::find<std::int64_t>(parameters, name);
    if (seconds == nullptr) return refuse(fmt::format("signature parameter {} is no time", name));
    TRY_VOID(name == "created" ? time.created(*seconds) : time.expires(*seconds));
  }
  if (claim.covers("date")) {
    TRY_VOID(time.date(request));
  }
  if (!time.signed_at()) return refuse("signature has neither created nor covers date");
  return *time.signed_at();
}

// The texts that may have been signed: with the authority that Host says and, where that lacks the port, with
// the port.
Result<std::vector<std::string>> signature_bases(const sf::InnerList& input, const HttpRequest& request,
                                                 const SignaturePolicy& policy) {
  TRY(const std::string authority, check_host(request, policy));
  if (!request.target.starts_with('/')) return refuse("request target is no path");
  TRY(const std::string host, only_header(request, "host"));
  const Result<Url> received = Url::parse(policy.scheme + "://" + host);
  if (!received) return refuse("Host is no authority");
  std::vector<std::string> bases;
  for (const std::string& candidate : {received->authority(), authority}) {
    const SignedMessage message{.method = request.method,
                                .scheme = policy.scheme,
                                .authority = candidate,
                                .target = request.target,
                                .headers = request.headers};
    TRY(std::string base, signature_base(input, message));
    if (std::ranges::find(bases, base) == bases.end()) bases.push_back(std::move(base));
  }
  return bases;
}

Result<SignatureClaim> read_one(const sf::Member& member, const sf::Dictionary& signatures,
                                const HttpRequest& request, WallTime now, const SignaturePolicy& policy) {
  const auto* input = std::get_if<sf::InnerList>(&member.value);
  if (input == nullptr) return refuse("Signature-Input has a member that is no list");
  const auto found = std::ranges::find(signatures, member.key, &sf::Member::key);
  const std::string* bytes = found == signatures.end() ? nullptr : sf::bytes_of(*found);
  if (bytes == nullptr) return refuse("Signature has no byte sequence " + member.key);
  const auto* key_id = sf::find<std::string>(input->parameters, "keyid");
  if (policy.agreed_key_ids && key_id == nullptr) return refuse("signature has no keyid");
  if (!policy.agreed_key_ids && (key_id == nullptr || !Url::parse(*key_id)))
    return refuse("keyid is not an http(s) URL");

  SignatureClaim claim;
  claim.key_id = *key_id;
  claim.signature = *bytes;
  TRY(claim.algorithm, parse_algorithm(input->parameters));
  TRY(claim.covered, component_names(*input));
  TRY_VOID(check_coverage(claim, request));
  TRY(claim.signing_strings, signature_bases(*input, request, policy));
  TRY(claim.signed_at, read_time(claim, input->parameters, request, now, policy));
  if (claim.covers("content-digest")) {
    TRY(const std::string digest, only_header(request, "content-digest"));
    TRY_VOID(check_content_digest(digest, request.body));
  }
  return claim;
}

Result<sf::Dictionary> dictionary_of(std::string_view name, std::string_view text) {
  Result<sf::Dictionary> dictionary = sf::parse_dictionary(text);
  if (!dictionary) {
    return refuse(fmt::format("{} is no dictionary (RFC 8941): {}", name, dictionary.error().message));
  }
  if (dictionary->empty()) return refuse(fmt::format("{} is empty", name));
  if (dictionary->size() > kMessageSignaturesMax) return refuse("request has too many signatures");
  return dictionary;
}

}  // namespace

Result<std::string> signature_base(const sf::InnerList& input, const SignedMessage& message) {
  TRY(const std::vector<std::string> names, component_names(input));
  std::string base;
  for (const std::string& name : names) {
    TRY(const std::string value, component(name, message));
    base += fmt::format("{}: {}\n", sf::serialize(sf::BareItem(name)), value);
  }
  return base + "\"@signature-params\": " + sf::serialize(input);
}

std::vector<Result<SignatureClaim>> read_message_signatures(std::string_view signatures,
                                                            const HttpRequest& request, WallTime now,
                                                            const SignaturePolicy& policy) {
  const std::string input_text = request.headers.joined("signature-input").value_or("");
  const Result<sf::Dictionary> inputs = dictionary_of("Signature-Input", input_text);
  if (!inputs) return {std::unexpected(inputs.error())};
  const Result<sf::Dictionary> bytes = dictionary_of("Signature", signatures);
  if (!bytes) return {std::unexpected(bytes.error())};
  std::vector<Result<SignatureClaim>> claims;
  for (const sf::Member& member : *inputs) {
    claims.push_back(read_one(member, *bytes, request, now, policy));
  }
  return claims;
}

void sign_message(HttpCall& call, const crypto::PrivateKey& key, std::string_view key_id, WallTime now) {
  if (!call.body.empty()) call.headers.set("Content-Digest", make_content_digest(call.body));
  sf::InnerList input;
  const auto cover = [&](std::string_view name) { input.items.push_back({std::string(name), {}}); };
  cover("@method");
  cover("@target-uri");
  for (const std::string_view name : {"content-digest", "content-type", "collection-synchronization"}) {
    if (call.headers.find(name)) cover(name);
  }
  const bool ed25519 = key.type() == crypto::KeyType::kEd25519;
  input.parameters = {{"created", std::int64_t(now.time_since_epoch() / std::chrono::seconds(1))},
                      {"keyid", std::string(key_id)},
                      {"alg", std::string(ed25519 ? "ed25519" : "rsa-v1_5-sha256")}};
  const SignedMessage message{.method = call.method,
                              .scheme = call.url.scheme,
                              .authority = call.url.authority(),
                              .target = call.url.target,
                              .headers = call.headers};
  const Result<std::string> base = signature_base(input, message);
  TR_ASSERT(base);  // all of it was found above
  call.headers.set("Signature-Input", fmt::format("{}={}", kSignatureLabel, sf::serialize(input)));
  call.headers.set("Signature", fmt::format("{}=:{}:", kSignatureLabel, to_base64(key.sign(*base))));
}

}  // namespace tagring::signatures
