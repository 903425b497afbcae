// Signed requests. Text: method and target, headers, empty line, body, as in HTTP; lines end with a newline.
#include "signatures/signature.hpp"

#include "fediverse/vocabulary.hpp"
#include "fuzz/target.hpp"

namespace tagring::fuzzing {
namespace {

using namespace signatures;

constexpr std::string_view kKeyId = "https://example.net/actor#main-key";

SignaturePolicy policy() {
  SignaturePolicy result;
  result.authorities = {"tags.example.org", "tags.example.org:8443"};
  return result;
}

// The same for all runs.
const crypto::PrivateKey& key() {
  static const crypto::PrivateKey value = crypto::PrivateKey::ed25519_from_seed(std::string(32, 's'));
  return value;
}

HttpRequest read_request(std::string_view text) {
  HttpRequest request;
  std::string_view line = take_until(text, '\n');
  request.method = take_until(line, ' ');
  request.target = line;
  for (line = take_until(text, '\n'); !line.empty(); line = take_until(text, '\n')) {
    std::string name(take_until(line, ':'));
    request.headers.add(std::move(name), std::string(line));
  }
  request.body = text;
  return request;
}

void check_claims(const HttpRequest& request) {
  const Result<std::vector<SignatureClaim>> claims = read_signatures(request, kNow, policy());
  if (!claims) {
    TR_ASSERT(claims.error().code == ErrorCode::kDenied);
    return;
  }
  TR_ASSERT(!claims->empty() && claims->size() <= 5);
  for (const SignatureClaim& claim : *claims) {
    TR_ASSERT(fediverse::is_same_origin(claim.key_id, claim.key_id));
    TR_ASSERT(!claim.covered.empty() && !claim.signing_strings.empty() && claim.signing_strings.size() <= 2);
    TR_ASSERT(claim.signed_at >= kNow - policy().age_max && claim.signed_at <= kNow + policy().ahead_max);
  }

  // What must be covered cannot change.
  HttpRequest changed = request;
  changed.body += "x";
  TR_ASSERT(!read_signatures(changed, kNow, policy()));
  changed = request;
  changed.headers.set("Host", "tags.example.com");
  TR_ASSERT(!read_signatures(changed, kNow, policy()));
  changed = request;
  changed.target += "x";
  const Result<std::vector<SignatureClaim>> others = read_signatures(changed, kNow, policy());
  if (!others) return;
  for (const SignatureClaim& claim : *claims) {
    for (const SignatureClaim& other : *others)
      TR_ASSERT(other.signing_strings.front() != claim.signing_strings.front());
  }
}

// A call to that target with that body, signed by us, is read and verified; and not with another target.
void check_signing(const HttpRequest& request, SignatureForm form) {
  Result<Url> url = Url::parse("https://tags.example.org" + request.target);
  if (!url || url->host != "tags.example.org" || request.body.empty()) return;
  HttpCall call("POST", *url, Instant());
  call.body = request.body;
  call.headers.set("Content-Type", std::string(fediverse::kActivityJson));
  sign_call(call, key(), kKeyId, kNow, form);
  HttpRequest received{
      .method = "POST", .target = call.url.target, .headers = call.headers, .body = call.body, .peer = {}};
  received.headers.set("Host", call.url.authority());
  const Result<std::vector<SignatureClaim>> claims = read_signatures(received, kNow, policy());
  if (call.url.port != 443 && call.url.port != 8443) {
    TR_ASSERT(!claims);
    return;
  }
  TR_ASSERT(claims && claims->size() == 1);
  TR_ASSERT(claims->front().key_id == kKeyId);
  static const crypto::PublicKey verifier = key().public_key();
  TR_ASSERT(verify(claims->front(), verifier));
  received.target += "x";
  const Result<std::vector<SignatureClaim>> moved = read_signatures(received, kNow, policy());
  const bool query_may_change = form == SignatureForm::kCavagePathOnly && call.url.target.contains('?');
  TR_ASSERT(!moved || !verify(moved->front(), verifier) || query_may_change);
}

}  // namespace

void fuzz(std::string_view text) {
  const HttpRequest request = read_request(text);
  check_claims(request);
  for (const SignatureForm form :
       {SignatureForm::kCavage, SignatureForm::kCavagePathOnly, SignatureForm::kMessage}) {
    check_signing(request, form);
  }
}

}  // namespace tagring::fuzzing
