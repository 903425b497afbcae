// The cases in the test suites of Mastodon, tootik, Fedify and Unfathomably, with keys and requests of our
// own. What concerns fetching (keys that are gone, stale or in documents of their own, second knocks,
// redirects) is in tests/node/signatures_test.cpp and bad_input_test.cpp.
#include <functional>
#include <gmock/gmock.h>

#include "signatures/digest.hpp"
#include "signatures/signature_fixture.hpp"

namespace tagring::signatures {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::HasSubstr;

constexpr const char* kGenuine = "genuine";
constexpr const char* kNotGenuine = "not genuine";

std::string outcome(const HttpRequest& request, const crypto::PublicKey& key = rsa_key().public_key()) {
  const Result<std::vector<SignatureClaim>> claims = read_signatures(request, kNow, policy());
  if (!claims) return claims.error().message;
  return std::ranges::any_of(*claims, [&](const SignatureClaim& c) { return verify(c, key); }) ? kGenuine
                                                                                               : kNotGenuine;
}

struct Case {
  const char* name;
  HttpRequest request;
  const char* expected;  // or a part of it
};

void check(const std::vector<Case>& cases, const crypto::PublicKey& key = rsa_key().public_key()) {
  for (const Case& c : cases) EXPECT_THAT(outcome(c.request, key), HasSubstr(c.expected)) << c.name;
}

template <class Change>
HttpRequest changed(HttpRequest request, Change change) {
  change(request);
  return request;
}

HttpRequest without(HttpRequest request, std::string_view name) {
  return changed(std::move(request), [&](HttpRequest& r) {
    Headers rest;
    for (const auto& [field, value] : r.headers) {
      if (!ascii_iequals(field, name)) rest.add(field, value);
    }
    r.headers = std::move(rest);
  });
}

HttpRequest with_header(HttpRequest request, std::string_view name, std::string value) {
  request.headers.set(name, std::move(value));
  return request;
}

HttpRequest with_target(HttpRequest request, std::string target) {
  request.target = std::move(target);
  return request;
}

HttpRequest with_method(HttpRequest request, std::string method) {
  request.method = std::move(method);
  return request;
}

HttpRequest with_body(HttpRequest request, std::string body) {
  request.body = std::move(body);
  return request;
}

// A line of a request that is signed by hand, replaced; empty leaves it out.
HandSigned relined(HandSigned hand, std::string_view name, std::string value) {
  for (auto& [field, old] : hand.lines) {
    if (field == name) old = value;
  }
  if (value.empty()) std::erase_if(hand.lines, [&](const auto& line) { return line.first == name; });
  return hand;
}

HttpRequest dated(WallTime time) { return relined(plain_get(), "date", to_http_date(time)).request(); }

HttpRequest post(const std::string& digest) { return plain_post(digest).request(); }

HandMessage hand_query() {
  HandMessage hand;
  hand.target = "/tag/cats?foo=42";
  return hand;
}

// --- Mastodon, spec/requests/signature_verification_spec ---------------------------------------------------

TEST(MastodonCases, Cavage) {
  const HttpRequest get = plain_get().request();
  const HttpRequest query = signed_get("https://tags.example.org/tag/cats?foo=42");
  const HttpRequest good_post = post(digest_of(kBody));
  check({
      {"without signature", without(get, "Signature"), "request is not signed"},
      {"GET", get, kGenuine},
      {"GET with a query", query, kGenuine},
      {"GET with a query that was not signed", with_target(get, "/tag/cats?foo=42"), kGenuine},
      {"mismatching query", with_target(query, "/tag/cats?foo=43"), kNotGenuine},
      {"mismatching path", with_target(get, "/tag/dogs"), kNotGenuine},
      {"mismatching method", with_method(get, "DELETE"), kNotGenuine},
      {"unparsable date", relined(plain_get(), "date", "wrong date").request(), "IMF-fixdate"},
      {"two days old", dated(kNow - hours(48)), "too old"},
      {"POST with digest", good_post, kGenuine},
      {"POST without the digest signed", relined(plain_post("x"), "digest", "").request(),
       "digest of the body"},
      {"tampered body", with_body(good_post, R"({"type":"Delete"})"), "Digest does not fit"},
      {"tampered path", with_target(good_post, "/tag/cats/inbox"), kNotGenuine},
  });
}

// Mastodon takes such a keyId; finding its key would take a WebFinger look-up, and nobody sends it.
TEST(MastodonCases, AcctKeyIdIsRefusedHere) {
  EXPECT_EQ(outcome(edited(plain_get().request(), kKeyId, "acct:bob@peer.example")),
            "keyId is not an http(s) URL");
}

TEST(MastodonCases, Rfc9421) {
  const HttpRequest get = HandMessage{}.request();
  const HttpRequest query = hand_query().request();
  const HttpRequest good_post = hand_post(make_content_digest(kBody)).request();
  std::string upper_case = make_content_digest(kBody);
  upper_case.replace(0, 7, "SHA-256");
  check({
      {"GET", get, kGenuine},
      {"GET with a query", query, kGenuine},
      {"mismatching query", with_target(query, "/tag/cats?foo=43"), kNotGenuine},
      {"query that was not signed", with_target(get, "/tag/cats?foo=42"), kNotGenuine},
      {"mismatching path", with_target(get, "/tag/dogs"), kNotGenuine},
      {"mismatching method", with_method(get, "DELETE"), kNotGenuine},
      {"created two days ago", with_parameters(key_parameters(kSeconds - 48 * 3600)).request(), "too old"},
      {"POST with content-digest", good_post, kGenuine},
      {"POST without it covered",
       hand_post(make_content_digest(kBody), R"(("@method" "@target-uri"))").request(),
       "content-digest of the body"},
      {"tampered body", with_body(good_post, R"({"type":"Delete"})"), "Content-Digest does not fit"},
      {"tampered path", with_target(good_post, "/tag/cats/inbox"), kNotGenuine},
      {"upper-case algorithm", hand_post(upper_case).request(), "Content-Digest is no dictionary (RFC 8941)"},
  });
  check({{"GET, Ed25519", HandMessage{}.request(ed25519_key()), kGenuine}}, ed25519_key().public_key());
}

// spec/lib/signature_parser_spec: the odd spelling is Cavage.HeaderMayHaveSpacesTokensAndCommasInQuotes.
TEST(MastodonCases, Parser) {
  const HttpRequest get = plain_get().request();
  check({
      {"malformed", with_signature(get, "hello this is malformed!"), "not a list"},
      {"duplicate", with_signature(get, *get.headers.find("Signature") + ",keyId=\"x\""), "twice"},
  });
}

// --- tootik, httpsig/verify_test.go ------------------------------------------------------------------------

// tootik's window is 5 minutes to both sides, ours 1 hour back (as Mastodon's).
TEST(TootikCases, TimeAndHost) {
  const HttpRequest get = plain_get().request();
  check({
      {"valid", get, kGenuine},
      {"too old", dated(kNow - minutes(61)), "too old"},
      {"too new", dated(kNow + minutes(6)), "future"},
      {"invalid date", relined(plain_get(), "date", "a").request(), "IMF-fixdate"},
      {"no date", without(get, "Date"), "signed header date is missing"},
      {"wrong host", relined(plain_get(), "host", "other.example").request(), "Host is not a name"},
      {"empty host", with_header(get, "host", ""), "Host is not a name"},
      {"no host", without(get, "host"), "signed header host is missing"},
  });
}

TEST(TootikCases, SignatureHeader) {
  const HttpRequest get = plain_get().request();
  const std::string header = *get.headers.find("Signature");
  check({
      {"no signature", without(get, "Signature"), "not signed"},
      {"two headers", changed(get, [&](HttpRequest& r) { r.headers.add("Signature", header); }),
       "two Signature"},
      {"two keyId", with_signature(get, header + ",keyId=\"x\""), "twice"},
      {"two headers=", with_signature(get, header + ",headers=\"x\""), "twice"},
      {"two signature=", with_signature(get, header + ",signature=\"x\""), "twice"},
      {"unknown attribute, which tootik refuses", with_signature(get, header + ",a=\"b\""), kGenuine},
      {"no keyId", edited(get, "keyId", "a"), "lacks keyId"},
      {"empty keyId", edited(get, kKeyId, ""), "lacks keyId"},
      {"no headers=", edited(get, "headers=", "a="), "lacks headers"},
      {"no signature=", edited(get, "signature=", "a="), "lacks signature"},
      {"empty signature",
       with_signature(get, header.substr(0, header.rfind("signature=")) + "signature=\"\""),
       "lacks signature"},
      {"bad base64", edited(get, "signature=\"", "signature=\"%"), "not base64"},
      {"no algorithm", edited(get, ",algorithm=\"rsa-sha256\"", ""), kGenuine},
      {"hs2019", edited(get, "rsa-sha256", "hs2019"), kGenuine},
      {"unknown algorithm", edited(get, "rsa-sha256", "rsa-sha512"), "algorithm is none of"},
  });
}

TEST(TootikCases, ListOfHeaders) {
  const HttpRequest get = plain_get().request();
  constexpr std::string_view kList = "(request-target) host date";
  check({
      {"duplicate", edited(get, kList, "(request-target) host host date"), "covers host twice"},
      {"blanks only", edited(get, kList, "   "), "covers nothing"},
      {"leading blank", edited(get, kList, " (request-target) host date"), kGenuine},
      {"trailing blank", edited(get, kList, "(request-target) host date "), kGenuine},
      {"inner blanks", edited(get, kList, "(request-target)  host\tdate"), kGenuine},
      {"target not signed", relined(plain_get(), "(request-target)", "").request(),
       "does not cover (request-target)"},
      {"host not signed",
       changed(relined(plain_get(), "host", "").request(),
               [](HttpRequest& r) { r.headers.add("Host", "tags.example.org"); }),
       "does not cover host"},
      {"date not signed", relined(plain_get(), "date", "").request(), "neither date nor (created)"},
      {"signed header that is missing", edited(get, kList, "(request-target) host date a"),
       "header a is missing"},
  });
}

TEST(TootikCases, Digest) {
  const HttpRequest good = post(digest_of(kBody));
  check({
      {"valid", good, kGenuine},
      {"missing", without(good, "digest"), "signed header digest is missing"},
      {"not signed",
       changed(relined(plain_post("x"), "digest", "").request(),
               [](HttpRequest& r) { r.headers.add("Digest", digest_of(kBody)); }),
       "digest of the body"},
      {"short", post("SHA-256="), "no base64 of 32 bytes"},
      {"no algorithm", post("SHA"), "not a list"},
      {"wrong algorithm", post(digest_of(kBody, "SHA-512")), "no SHA-256"},
      {"bad base64", post("SHA-256=%"), "no base64 of 32 bytes"},
      {"wrong size", post("SHA-256=YQ=="), "no base64 of 32 bytes"},
      {"mismatch", post(digest_of("a")), "does not fit"},
  });
}

TEST(TootikCases, ChangedOnTheWay) {
  const HttpRequest good = signed_post();
  check({
      {"method", with_method(good, "PUT"), kNotGenuine},
      {"host", with_header(good, "Host", "tags.example.org:8443"), kNotGenuine},
      {"date", with_header(good, "Date", to_http_date(kNow + std::chrono::seconds(1))), kNotGenuine},
      {"content-type", with_header(good, "Content-Type", "a/b"), kNotGenuine},
  });
}

TEST(TootikCases, Keys) {
  const crypto::PrivateKey other = crypto::PrivateKey::generate(crypto::KeyType::kRsa2048);
  EXPECT_EQ(outcome(signed_post(), other.public_key()), kNotGenuine);
  EXPECT_EQ(outcome(signed_post(), ed25519_key().public_key()), kNotGenuine);
  EXPECT_EQ(outcome(signed_post(ed25519_key()), rsa_key().public_key()), kNotGenuine);
  // A small key is no key: Rsa.* of tests/crypto.
}

// httpsig/rfc9421_test.go, what is not above.
TEST(TootikCases, Rfc9421) {
  const auto with = [](std::string_view rest) {
    return with_parameters(key_parameters(kSeconds, rest)).request();
  };
  check({
      {"too old", with_parameters(key_parameters(kSeconds - 3601)).request(), "too old"},
      {"too new", with_parameters(key_parameters(kSeconds + 301)).request(), "future"},
      {"expired", with(fmt::format(";expires={}", kSeconds - 301)), "expired"},
      {"expires later", with(fmt::format(";expires={}", kSeconds + 60)), kGenuine},
      {"alg of another key", with(R"(;alg="ed25519")"), kNotGenuine},
      {"unknown alg", with(R"(;alg="ecdsa-p256-sha256")"), "alg is none of"},
      {"as tootik signs a query",
       [] {
         HandMessage hand = hand_query();
         hand.covered = R"(("@method" "@target-uri" "@query"))";
         return hand.request();
       }(),
       kGenuine},
  });
}

// --- Fedify, packages/fedify/src/sig/http.test.ts ----------------------------------------------------------

TEST(FedifyCases, AsFedifySigns) {
  HandMessage hand = hand_post(make_content_digest(kBody),
                               R"(("@method" "@target-uri" "@authority" "host" "date" "content-digest"))");
  hand.parameters = fmt::format(R"(;alg="rsa-v1_5-sha256";keyid="{}";created={})", kKeyId, kSeconds);
  hand.headers.add("Date", to_http_date(kNow));
  EXPECT_EQ(outcome(hand.request()), kGenuine);
}

TEST(FedifyCases, OneValidOfTwo) {
  HttpRequest request = HandMessage{}.request();
  const std::string input = *request.headers.find("Signature-Input");
  const std::string signature = *request.headers.find("Signature");
  const std::string bad = R"(sig2=("@method" "@target-uri");created=)" + std::to_string(kSeconds) +
                          R"(;keyid="https://peer.example/invalid-key";alg="rsa-v1_5-sha256")";
  check({
      {"the bad one last",
       with_header(with_header(request, "Signature-Input", input + "," + bad), "Signature",
                   signature + ",sig2=:AAAAAA==:"),
       kGenuine},
      {"the bad one first",
       with_header(with_header(request, "Signature-Input", bad + "," + input), "Signature",
                   "sig2=:AAAAAA==:," + signature),
       kGenuine},
      {"two bad ones",
       with_header(with_header(request, "Signature-Input", bad), "Signature", "sig2=:AAAAAA==:"),
       kNotGenuine},
  });
}

TEST(FedifyCases, ErrorsAndEdges) {
  const HttpRequest get = HandMessage{}.request();
  check({
      {"created in the future", with_parameters(key_parameters(kSeconds + 7200)).request(), "future"},
      {"created in the past", with_parameters(key_parameters(kSeconds - 7200)).request(), "too old"},
      {"no Signature-Input", without(get, "Signature-Input"), "lacks keyId"},
      {"no Signature", without(get, "Signature"), "not signed"},
      {"malformed Signature-Input", with_header(get, "Signature-Input", "!"),
       "Signature-Input is no dictionary"},
      {"malformed Signature", with_header(get, "Signature", "sig1=?"), "Signature is no dictionary"},
      {"no keyid", with_parameters(fmt::format(";created={}", kSeconds)).request(), "keyid is not"},
      {"no created", with_parameters(fmt::format(R"(;keyid="{}")", kKeyId)).request(), "neither created nor"},
  });
}

// Fedify takes both of the first; see the comment on coverage in docs/protocol.md.
TEST(FedifyCases, WhatFedifyLetsPassUncoveredIsRefusedHere) {
  HandMessage dated_only = covering(R"(("date"))");
  dated_only.headers.add("Date", to_http_date(kNow));
  check({
      {"content-digest not covered",
       hand_post(make_content_digest(kBody), R"(("@method" "@target-uri"))").request(),
       "content-digest of the body"},
      {"only the date", dated_only.request(), "does not cover @method"},
      {"@path and @query, which Fedify refuses",
       covering(R"(("@method" "@path" "@query" "@authority"))", "/tag/cats?foo=42").request(), kGenuine},
  });
}

// --- Unfathomably, signature_test.exs ----------------------------------------------------------------------

TEST(UnfathomablyCases, All) {
  const HttpRequest get = plain_get().request();
  check({
      {"duplicate parameters", with_signature(get, *get.headers.find("Signature") + ",algorithm=\"x\""),
       "twice"},
      {"no time signed", relined(plain_get(), "date", "").request(), "neither date nor (created)"},
      {"stale, before any key is asked for", dated(kNow - hours(13)), "too old"},
      {"body without its digest signed", relined(plain_post("x"), "digest", "").request(),
       "digest of the body"},
  });
  const HttpRequest ed25519 = signed_post(ed25519_key());
  EXPECT_THAT(*ed25519.headers.find("Signature"), HasSubstr("hs2019"));
  EXPECT_EQ(outcome(ed25519, ed25519_key().public_key()), kGenuine);
}

}  // namespace
}  // namespace tagring::signatures
