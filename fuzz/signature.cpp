// Signed requests. Text: method and target, headers, empty line, body, as in HTTP; lines end with a newline.
#include "fediverse/signature.hpp"

#include "fediverse/vocabulary.hpp"
#include "fuzz/target.hpp"

namespace tagring::fuzzing {
namespace {

using namespace fediverse;

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

void check_claim(const HttpRequest& request) {
  const Result<SignatureClaim> claim = read_signature(request, kNow, policy());
  if (!claim) {
    TR_ASSERT(claim.error().code == ErrorCode::kDenied);
    return;
  }
  TR_ASSERT(is_same_origin(claim->key_id, claim->key_id));
  TR_ASSERT(!claim->covered.empty() && !claim->signing_strings.empty() && claim->signing_strings.size() <= 2);
  TR_ASSERT(claim->signed_at >= kNow - policy().age_max && claim->signed_at <= kNow + policy().ahead_max);

  // What must be covered cannot change.
  HttpRequest changed = request;
  changed.body += "x";
  TR_ASSERT(!read_signature(changed, kNow, policy()));
  changed = request;
  changed.headers.set("Host", "tags.example.com");
  TR_ASSERT(!read_signature(changed, kNow, policy()));
  changed = request;
  changed.target += "x";
  const Result<SignatureClaim> other = read_signature(changed, kNow, policy());
  TR_ASSERT(!other || other->signing_strings.front() != claim->signing_strings.front());
}

// A call to that target with that body, signed by us, is read and verified; and not with another body.
void check_signing(const HttpRequest& request) {
  Result<Url> url = Url::parse("https://tags.example.org" + request.target);
  if (!url || url->host != "tags.example.org" || request.body.empty()) return;
  HttpCall call("POST", *url, Instant());
  call.body = request.body;
  call.headers.set("Content-Type", std::string(kActivityJson));
  sign_call(call, key(), kKeyId, kNow);
  HttpRequest received{
      .method = "POST", .target = call.url.target, .headers = call.headers, .body = call.body, .peer = {}};
  received.headers.set("Host", call.url.authority());
  const Result<SignatureClaim> claim = read_signature(received, kNow, policy());
  if (call.url.port != 443 && call.url.port != 8443) {
    TR_ASSERT(!claim);
    return;
  }
  TR_ASSERT(claim);
  TR_ASSERT(claim->key_id == kKeyId);
  static const crypto::PublicKey verifier = key().public_key();
  TR_ASSERT(verify(*claim, verifier));
  received.target += "x";
  const Result<SignatureClaim> moved = read_signature(received, kNow, policy());
  TR_ASSERT(!moved || !verify(*moved, verifier) || call.url.target.contains('?'));
}

}  // namespace

void fuzz(std::string_view text) {
  const HttpRequest request = read_request(text);
  check_claim(request);
  check_signing(request);
}

}  // namespace tagring::fuzzing
