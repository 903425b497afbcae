#include "signatures/cavage.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

#include "base/bytes.hpp"
#include "signatures/digest.hpp"
#include "signatures/signature_rules.hpp"

namespace tagring::signatures {
namespace {

constexpr std::size_t kHeaderSizeMax = 8192;
constexpr std::size_t kCoveredMax = 64;
constexpr std::string_view kRequestTarget = "(request-target)";
constexpr std::string_view kCreated = "(created)";
constexpr std::string_view kExpires = "(expires)";

using Parameters = std::map<std::string, std::string, std::less<>>;

// --- the Signature header ------------------------------------------------------------------------------

// Takes `"a\"b"` from the front of `rest`. Nothing if it does not end.
std::optional<std::string> take_quoted(std::string_view& rest) {
  std::string value;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return value;
    }
    if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
    value.push_back(rest[i]);
  }
  return std::nullopt;
}

// name = value, …: values quoted or not, spaces around '=' and ',' allowed.
Result<Parameters> parse_parameters(std::string_view text) {
  if (text.size() > kHeaderSizeMax) return refuse("Signature header is too long");
  Parameters parameters;
  std::string_view rest = trim(text);
  for (bool more = true; more;) {
    const std::size_t equals = rest.find('=');
    const std::string name = ascii_lower(trim(rest.substr(0, equals)));
    if (equals == std::string_view::npos || name.empty() ||
        name.find_first_of(" \t,\"") != std::string::npos) {
      return refuse("Signature header is not a list of name=value");
    }
    rest = trim(rest.substr(equals + 1));
    std::optional<std::string> value;
    if (rest.starts_with('"')) {
      value = take_quoted(rest);
      if (!value) return refuse("Signature header has a quoted value without end");
    } else {
      const std::size_t end = std::min(rest.find(','), rest.size());
      value = std::string(trim(rest.substr(0, end)));
      rest.remove_prefix(end);
    }
    rest = trim(rest);
    more = !rest.empty();
    if (more && rest.front() != ',') return refuse("Signature header lacks a comma between parameters");
    if (more) rest.remove_prefix(1);
    if (!parameters.emplace(name, std::move(*value)).second) {
      return refuse(fmt::format("Signature header has the parameter {} twice", name));
    }
  }
  return parameters;
}

Result<std::string> parameter(const Parameters& parameters, std::string_view name) {
  const auto found = parameters.find(ascii_lower(name));
  if (found == parameters.end() || found->second.empty()) {
    return refuse(fmt::format("Signature header lacks {}", name));
  }
  return found->second;
}

Result<std::optional<crypto::Algorithm>> parse_algorithm(const Parameters& parameters) {
  const auto found = parameters.find("algorithm");
  if (found == parameters.end()) return std::nullopt;
  const std::string name = ascii_lower(found->second);
  if (name == "hs2019") return std::nullopt;
  if (name == "rsa-sha256") return crypto::Algorithm::kRsaSha256;
  // Misskey's library and node-http-signature name the hash too.
  if (name == "ed25519" || name == "ed25519-sha512") return crypto::Algorithm::kEd25519;
  return refuse("signature algorithm is none of rsa-sha256, hs2019, ed25519");
}

Result<std::vector<std::string>> parse_covered(std::string_view list) {
  std::vector<std::string> names;
  for (std::string_view rest = trim(list); !rest.empty(); rest = trim(rest)) {
    const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    std::string name = ascii_lower(rest.substr(0, end));
    rest.remove_prefix(end);
    if (std::ranges::find(names, name) != names.end())
      return refuse(fmt::format("signature covers {} twice", name));
    if (names.size() == kCoveredMax) return refuse("signature covers too many headers");
    names.push_back(std::move(name));
  }
  if (names.empty()) return refuse("signature covers nothing");
  return names;
}

// Seconds since 1970 of (created) and (expires).
Result<std::int64_t> parse_seconds(const Parameters& parameters, std::string_view name) {
  TRY(const std::string text, parameter(parameters, name));
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) {
    return refuse(fmt::format("signature parameter {} is no time", name));
  }
  return seconds;
}

// --- the request against the signature -----------------------------------------------------------------

Result<WallTime> read_time(const SignatureClaim& claim, const Parameters& parameters,
                           const HttpRequest& request, WallTime now, const SignaturePolicy& policy) {
  SigningTime time(now, policy);
  if (claim.covers(kCreated) || claim.covers(kExpires)) {
    if (claim.algorithm == crypto::Algorithm::kRsaSha256) {
      return refuse("(created) and (expires) are not for rsa-sha256; use hs2019");
    }
  }
  if (claim.covers(kExpires)) {
    TRY(const std::int64_t expires, parse_seconds(parameters, "expires"));
    TRY_VOID(time.expires(expires));
  }
  if (claim.covers(kCreated)) {
    TRY(const std::int64_t created, parse_seconds(parameters, "created"));
    TRY_VOID(time.created(created));
  }
  if (claim.covers("date")) {
    TRY_VOID(time.date(request));
  }
  if (!time.signed_at()) return refuse("signature covers neither date nor (created)");
  return *time.signed_at();
}

Result<void> check_body(const SignatureClaim& claim, const HttpRequest& request) {
  if (!claim.covers("digest")) {
    if (request.body.empty()) return {};
    return refuse("signature does not cover the digest of the body");
  }
  TRY(const std::string header, only_header(request, "digest"));
  return check_digest(header, request.body);
}

Result<void> check_coverage(const SignatureClaim& claim) {
  for (const std::string_view name : {kRequestTarget, std::string_view("host")}) {
    if (!claim.covers(name)) return refuse(fmt::format("signature does not cover {}", name));
  }
  return {};
}

Result<std::string> signing_string(const SignatureClaim& claim, const Parameters& parameters,
                                   const HttpRequest& request, std::string_view target) {
  std::string text;
  for (const std::string& name : claim.covered) {
    std::string value;
    if (name == kRequestTarget) {
      value = fmt::format("{} {}", ascii_lower(request.method), target);
    } else if (name == kCreated || name == kExpires) {
      value = parameters.find(std::string_view(name).substr(1, name.size() - 2))->second;
    } else {
      const std::optional<std::string> joined = request.headers.joined(name);
      if (!joined) return refuse(fmt::format("signed header {} is missing", name));
      value = std::string(trim(*joined));
    }
    if (!text.empty()) text += '\n';
    text += fmt::format("{}: {}", name, value);
  }
  return text;
}

}  // namespace

Result<SignatureClaim> read_cavage(std::string_view header, const HttpRequest& request, WallTime now,
                                   const SignaturePolicy& policy) {
  TRY(const Parameters parameters, parse_parameters(header));
  SignatureClaim claim;
  TRY(claim.key_id, parameter(parameters, "keyId"));
  if (!Url::parse(claim.key_id)) return refuse("keyId is not an http(s) URL");
  TRY(claim.algorithm, parse_algorithm(parameters));
  TRY(const std::string covered, parameter(parameters, "headers"));
  TRY(claim.covered, parse_covered(covered));
  TRY(const std::string signature, parameter(parameters, "signature"));
  const std::optional<std::string> bytes = from_base64(signature);
  if (!bytes) return refuse("signature is not base64");
  claim.signature = *bytes;

  TRY_VOID(check_coverage(claim));
  TRY_VOID(check_host(request, policy));
  TRY(claim.signed_at, read_time(claim, parameters, request, now, policy));
  TRY_VOID(check_body(claim, request));

  const std::string_view target = request.target;
  TRY(std::string whole, signing_string(claim, parameters, request, target));
  claim.signing_strings.push_back(std::move(whole));
  if (target.contains('?')) {
    TRY(std::string path_only, signing_string(claim, parameters, request, path_of(target)));
    claim.signing_strings.push_back(std::move(path_only));
  }
  return claim;
}

void sign_cavage(HttpCall& call, std::string_view target, const crypto::PrivateKey& key,
                 std::string_view key_id) {
  if (!call.body.empty()) call.headers.set("Digest", make_digest(call.body));

  // Some receivers split at commas without trimming, and some know only these headers: nothing is optional
  // here.
  std::vector<std::string> covered = {std::string(kRequestTarget), "host"};
  std::string text = fmt::format("{}: {} {}\nhost: {}", kRequestTarget, ascii_lower(call.method), target,
                                 call.url.authority());
  for (const std::string_view name : {"date", "digest", "content-type", "collection-synchronization"}) {
    const std::optional<std::string> value = call.headers.find(name);
    if (!value) continue;
    covered.emplace_back(name);
    text += fmt::format("\n{}: {}", name, *value);
  }
  const std::string_view algorithm = key.type() == crypto::KeyType::kEd25519 ? "hs2019" : "rsa-sha256";
  call.headers.set("Signature",
                   fmt::format(R"(keyId="{}",algorithm="{}",headers="{}",signature="{}")", key_id, algorithm,
                               fmt::join(covered, " "), to_base64(key.sign(text))));
}

}  // namespace tagring::signatures
