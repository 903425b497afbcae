#include "fediverse/signature.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"

namespace tagring::fediverse {
namespace {

constexpr std::size_t kHeaderSizeMax = 8192;
constexpr std::size_t kCoveredMax = 64;
constexpr std::int64_t kSecondsMax = 253'402'300'799;  // 9999-12-31T23:59:59Z
constexpr std::string_view kRequestTarget = "(request-target)";
constexpr std::string_view kCreated = "(created)";
constexpr std::string_view kExpires = "(expires)";

using Parameters = std::map<std::string, std::string, std::less<>>;

std::unexpected<Error> refuse(std::string message) { return fail(ErrorCode::kDenied, std::move(message)); }

bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string sha256_base64(std::string_view body) {
  const crypto::Hash256 hash = crypto::sha256(body);
  return to_base64(std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size()));
}

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

Result<std::optional<crypto::KeyType>> parse_algorithm(const Parameters& parameters) {
  const auto found = parameters.find("algorithm");
  if (found == parameters.end()) return std::nullopt;
  const std::string name = ascii_lower(found->second);
  if (name == "hs2019") return std::nullopt;
  if (name == "rsa-sha256") return crypto::KeyType::kRsa2048;
  if (name == "ed25519") return crypto::KeyType::kEd25519;
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
Result<WallTime> parse_seconds(const Parameters& parameters, std::string_view name) {
  TRY(const std::string text, parameter(parameters, name));
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0 || seconds > kSecondsMax) {
    return refuse(fmt::format("signature parameter {} is no time", name));
  }
  return WallTime(std::chrono::seconds(seconds));
}

// --- the request against the signature -----------------------------------------------------------------

Result<std::string> only_header(const HttpRequest& request, std::string_view name) {
  const std::size_t count = request.headers.count(name);
  if (count == 0) return refuse(fmt::format("signed header {} is missing", name));
  if (count > 1) return refuse(fmt::format("header {} occurs twice", name));
  return std::string(trim(*request.headers.find(name)));
}

Result<void> check_time(WallTime time, WallTime now, const SignaturePolicy& policy) {
  if (time > now + policy.ahead_max) return refuse("signature is dated in the future; check the clock");
  if (time < now - policy.age_max) return refuse("signature is too old; check the clock and sign again");
  if (policy.not_before && time < *policy.not_before) {
    return refuse("signature is from before this node started; sign again");
  }
  return {};
}

// When it was signed. Every time that the signature covers must be right.
Result<WallTime> read_time(const SignatureClaim& claim, const Parameters& parameters,
                           const HttpRequest& request, WallTime now, const SignaturePolicy& policy) {
  std::optional<WallTime> signed_at;
  if (claim.covers(kCreated) || claim.covers(kExpires)) {
    if (claim.key_type == crypto::KeyType::kRsa2048) {
      return refuse("(created) and (expires) are not for rsa-sha256; use hs2019");
    }
  }
  if (claim.covers(kExpires)) {
    TRY(const WallTime expires, parse_seconds(parameters, "expires"));
    if (expires < now - policy.ahead_max) return refuse("signature has expired");
  }
  if (claim.covers(kCreated)) {
    TRY(const WallTime created, parse_seconds(parameters, "created"));
    TRY_VOID(check_time(created, now, policy));
    signed_at = created;
  }
  if (claim.covers("date")) {
    TRY(const std::string date, only_header(request, "date"));
    const std::optional<WallTime> time = from_http_date(date);
    if (!time) return refuse("Date is no IMF-fixdate, as in \"Sun, 06 Nov 1994 08:49:37 GMT\"");
    TRY_VOID(check_time(*time, now, policy));
    signed_at = time;
  }
  if (!signed_at) return refuse("signature covers neither date nor (created)");
  return *signed_at;
}

Result<void> check_host(const HttpRequest& request, const SignaturePolicy& policy) {
  TRY(const std::string host, only_header(request, "host"));
  for (const std::string& authority : policy.authorities) {
    const std::size_t colon = authority.find_last_of(":]");
    const bool has_port = colon != std::string::npos && authority[colon] == ':';
    if (ascii_iequals(host, authority)) return {};
    if (has_port && ascii_iequals(host, std::string_view(authority).substr(0, colon))) return {};
  }
  return refuse("Host is not a name of this node");
}

// "SHA-256=<base64>", or a list with other algorithms beside it (RFC 3230).
Result<void> check_digest(const SignatureClaim& claim, const HttpRequest& request) {
  if (!claim.covers("digest")) {
    if (request.body.empty()) return {};
    return refuse("signature does not cover the digest of the body");
  }
  TRY(const std::string header, only_header(request, "digest"));
  const std::string expected = sha256_base64(request.body);
  bool found = false;
  for (std::string_view rest = header; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view entry = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) return refuse("Digest is not a list of algorithm=value");
    if (!ascii_iequals(entry.substr(0, equals), "sha-256")) continue;
    const std::optional<std::string> value = from_base64(entry.substr(equals + 1));
    if (!value || value->size() != 32) return refuse("Digest has no base64 of 32 octets for SHA-256");
    if (entry.substr(equals + 1) != expected) return refuse("Digest does not fit the body");
    found = true;
  }
  if (!found) return refuse("Digest has no SHA-256");
  return {};
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

bool SignatureClaim::covers(std::string_view name) const {
  return std::ranges::find(covered, name) != covered.end();
}

Result<SignatureClaim> read_signature(const HttpRequest& request, WallTime now,
                                      const SignaturePolicy& policy) {
  const std::size_t count = request.headers.count("signature");
  if (count == 0) return refuse("request is not signed");
  if (count > 1) return refuse("request has two Signature headers");
  if (request.headers.count("signature-input") > 0) {
    return refuse("RFC 9421 signatures are not read here; sign as draft-cavage-http-signatures-12");
  }
  TRY(const Parameters parameters, parse_parameters(*request.headers.find("signature")));
  SignatureClaim claim;
  TRY(claim.key_id, parameter(parameters, "keyId"));
  if (!Url::parse(claim.key_id)) return refuse("keyId is not an http(s) URL");
  TRY(claim.key_type, parse_algorithm(parameters));
  TRY(const std::string covered, parameter(parameters, "headers"));
  TRY(claim.covered, parse_covered(covered));
  TRY(const std::string signature, parameter(parameters, "signature"));
  const std::optional<std::string> octets = from_base64(signature);
  if (!octets) return refuse("signature is not base64");
  claim.signature = *octets;

  TRY_VOID(check_coverage(claim));
  TRY_VOID(check_host(request, policy));
  TRY(claim.signed_at, read_time(claim, parameters, request, now, policy));
  TRY_VOID(check_digest(claim, request));

  const std::string_view target = request.target;
  TRY(std::string whole, signing_string(claim, parameters, request, target));
  claim.signing_strings.push_back(std::move(whole));
  if (target.contains('?')) {
    TRY(std::string path_only,
        signing_string(claim, parameters, request, target.substr(0, target.find('?'))));
    claim.signing_strings.push_back(std::move(path_only));
  }
  return claim;
}

bool verify(const SignatureClaim& claim, const crypto::PublicKey& key) {
  if (claim.key_type && *claim.key_type != key.type()) return false;
  return std::ranges::any_of(claim.signing_strings,
                             [&](const std::string& text) { return key.verify(text, claim.signature); });
}

void sign_call(HttpCall& call, const crypto::PrivateKey& key, std::string_view key_id, WallTime now) {
  call.headers.set("Date", to_http_date(now));
  if (!call.body.empty()) call.headers.set("Digest", "SHA-256=" + sha256_base64(call.body));

  // Some receivers split at commas without trimming, and some know only these headers: nothing is optional
  // here.
  std::vector<std::string> covered = {std::string(kRequestTarget), "host"};
  std::string text = fmt::format("{}: {} {}\nhost: {}", kRequestTarget, ascii_lower(call.method),
                                 call.url.target, call.url.authority());
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

}  // namespace tagring::fediverse
