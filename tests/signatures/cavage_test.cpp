#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "signatures/signature_fixture.hpp"

namespace tagring::signatures {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// --- signing -------------------------------------------------------------------------------------------

TEST(Cavage, EmitsTheFormThatEveryKnownServerReads) {
  HttpCall call = make_call("POST", "https://tags.example.org:8443/inbox", std::string(kBody));
  call.headers.add("Collection-Synchronization", R"(collectionId="c", url="u", digest="d")");
  sign_call(call, rsa_key(), kKeyId, kNow);
  EXPECT_EQ(call.headers.find("Date"), "Sat, 21 Nov 2026 10:00:00 GMT");
  EXPECT_EQ(call.headers.find("Digest"), digest_of(kBody));
  EXPECT_THAT(
      *call.headers.find("Signature"),
      StartsWith(R"(keyId="https://peer.example/users/bob#main-key",algorithm="rsa-sha256",)"
                 R"(headers="(request-target) host date digest content-type collection-synchronization",)"
                 R"(signature=")"));
  EXPECT_TRUE(accepted(received(call)));
}

TEST(Cavage, OfAGetCoversTargetHostAndDateOnly) {
  const HttpRequest request = signed_get();
  EXPECT_THAT(*request.headers.find("Signature"), HasSubstr(R"(headers="(request-target) host date",)"));
  EXPECT_FALSE(request.headers.find("Digest"));
  EXPECT_TRUE(accepted(request));
}

TEST(Cavage, OfEd25519IsNamedHs2019) {
  const HttpRequest request = signed_post(ed25519_key());
  EXPECT_THAT(*request.headers.find("Signature"), HasSubstr(R"(algorithm="hs2019")"));
  EXPECT_TRUE(accepted(request, ed25519_key().public_key()));
}

TEST(Cavage, SigningAgainReplacesTheFirstSignature) {
  HttpCall call = make_call("POST", "https://tags.example.org/inbox", std::string(kBody));
  sign_call(call, rsa_key(), kKeyId, kNow - std::chrono::hours(5));
  sign_call(call, rsa_key(), kKeyId, kNow);
  EXPECT_EQ(call.headers.count("Signature"), 1U);
  EXPECT_TRUE(accepted(received(call)));
}

// Made with hashlib and `openssl pkeyutl -sign -rawin`, so that an error made alike in signing and in reading
// shows.
TEST(Cavage, IsWhatOpensslMakesOfTheSameText) {
  HttpCall call = make_call("POST", "https://tags.example.org:8443/inbox?x=1", std::string(kBody));
  sign_call(call, ed25519_key(), kKeyId, kNow);
  EXPECT_EQ(call.headers.find("Digest"), "SHA-256=GYwYnH3BiO6aICFt0ThC5bUIJ4byvqdpWtR8m5fNkww=");
  EXPECT_EQ(
      *call.headers.find("Signature"),
      R"(keyId="https://peer.example/users/bob#main-key",algorithm="hs2019",)"
      R"(headers="(request-target) host date digest content-type",)"
      R"(signature="3FYQIRUY5Ogon0xseNLVmY4Q6KxD9YDLpIKrAXr8AkauRmlMjLfQO9Vi9HmpN10D0lWbUi6cLbPODYPQ4M30Dw==")");
}

// --- genuine or not ------------------------------------------------------------------------------------

TEST(Cavage, ClaimTellsKeyTimeAndCoverage) {
  const Result<std::vector<SignatureClaim>> claims = read_signatures(signed_post(), kNow, policy());
  ASSERT_TRUE(claims);
  ASSERT_EQ(claims->size(), 1U);
  const SignatureClaim& claim = claims->front();
  EXPECT_EQ(claim.key_id, kKeyId);
  EXPECT_EQ(claim.signed_at, kNow);
  EXPECT_TRUE(claim.covers("digest"));
  EXPECT_FALSE(claim.covers("collection-synchronization"));
}

TEST(Cavage, IsNotVerifiedByAnotherKey) {
  const crypto::PrivateKey other = crypto::PrivateKey::generate(crypto::KeyType::kRsa2048);
  EXPECT_FALSE(accepted(signed_post(), other.public_key()));
}

TEST(Cavage, AlgorithmMustFitTheTypeOfTheKey) {
  const HttpRequest rsa = signed_post();
  EXPECT_FALSE(accepted(edited(rsa, "rsa-sha256", "ed25519")));
  EXPECT_TRUE(accepted(edited(rsa, "rsa-sha256", "hs2019")));  // as GoToSocial sends it
  EXPECT_TRUE(accepted(edited(rsa, R"(algorithm="rsa-sha256",)", "")));
  const HttpRequest ed25519 = edited(signed_post(ed25519_key()), "hs2019", "rsa-sha256");
  EXPECT_FALSE(accepted(ed25519, ed25519_key().public_key()));
  EXPECT_THAT(refusal(edited(rsa, "rsa-sha256", "rsa-sha1")), HasSubstr("algorithm is none of"));
}

TEST(Cavage, FailsWhenMethodPathHostOrDateChanged) {
  const std::vector<std::function<void(HttpRequest&)>> changes = {
      [](HttpRequest& r) { r.method = "PUT"; },
      [](HttpRequest& r) { r.target = "/tag/cats/inbox"; },
      [](HttpRequest& r) { r.headers.set("Host", "tags.example.org:8443"); },
      [](HttpRequest& r) { r.headers.set("Date", to_http_date(kNow + std::chrono::seconds(1))); },
      [](HttpRequest& r) { r.headers.set("Content-Type", "application/json"); },
  };
  for (const auto& change : changes) {
    HttpRequest request = signed_post();
    change(request);
    EXPECT_FALSE(accepted(request));
  }
}

TEST(Cavage, OfAQueryIsAcceptedWithItAndWithoutIt) {
  EXPECT_TRUE(accepted(signed_get("https://tags.example.org/tag/cats?foo=42")));
  HttpRequest path_only = signed_get("https://tags.example.org/tag/cats");
  path_only.target = "/tag/cats?foo=42";
  EXPECT_TRUE(accepted(path_only));
  HttpRequest other_query = signed_get("https://tags.example.org/tag/cats?foo=42");
  other_query.target = "/tag/cats?foo=43";
  EXPECT_FALSE(accepted(other_query));
}

// --- spelling of the header ----------------------------------------------------------------------------

TEST(Cavage, HeaderMayHaveSpacesTokensAndCommasInQuotes) {
  HttpRequest request = signed_get();
  request = edited(
      std::move(request),
      "keyId=\"https://peer.example/users/bob#main-key\",algorithm=\"rsa-sha256\",headers=",
      "keyId = \"https://peer.example/users/bob#main-key,\",algorithm=  rsa-sha256 ,  unknown=1 , headers=");
  const Result<std::vector<SignatureClaim>> claims = read_signatures(request, kNow, policy());
  ASSERT_TRUE(claims) << claims.error().message;
  EXPECT_EQ(claims->front().key_id, "https://peer.example/users/bob#main-key,");
  EXPECT_TRUE(verify(claims->front(), rsa_key().public_key()));
}

TEST(Cavage, ListOfHeadersMayHaveSpareSpaces) {
  EXPECT_TRUE(
      accepted(edited(signed_get(), "\"(request-target) host date\"", "\"  (request-target)  host date \"")));
}

TEST(Cavage, RefusesMalformedHeaders) {
  const HttpRequest get = signed_get();
  EXPECT_THAT(refusal(with_signature(get, "hello this is malformed!")), HasSubstr("not a list"));
  EXPECT_THAT(refusal(with_signature(get, "")), HasSubstr("not a list"));
  EXPECT_THAT(refusal(with_signature(get, "keyId=\"a")), HasSubstr("without end"));
  EXPECT_THAT(refusal(with_signature(get, "keyId=\"a\" algorithm=\"b\"")), HasSubstr("comma"));
  EXPECT_THAT(refusal(with_signature(get, "keyId=\"a\",")), HasSubstr("not a list"));
  EXPECT_THAT(refusal(with_signature(get, std::string(9000, 'a'))), HasSubstr("too long"));
  for (const std::string name : {"keyId", "headers", "signature", "algorithm"}) {
    EXPECT_THAT(refusal(with_signature(get, *get.headers.find("Signature") + "," + name + "=\"x\"")),
                HasSubstr("twice"))
        << name;
  }
}

TEST(Cavage, RefusesMissingParts) {
  const HttpRequest get = signed_get();
  EXPECT_EQ(refusal(HttpRequest()), "request is not signed");
  EXPECT_EQ(refusal(edited(get, "keyId=\"https://peer.example/users/bob#main-key\",", "")),
            "Signature header lacks keyId");
  EXPECT_EQ(refusal(edited(get, ",headers=\"(request-target) host date\"", "")),
            "Signature header lacks headers");
  EXPECT_EQ(refusal(edited(get, "signature=", "sig=")), "Signature header lacks signature");
  EXPECT_EQ(refusal(edited(get, "signature=\"", "signature=\"!")), "signature is not base64");
  EXPECT_EQ(refusal(edited(get, "(request-target) host date", " ")), "signature covers nothing");
  EXPECT_EQ(refusal(edited(get, "host date", "host date date")), "signature covers date twice");
  EXPECT_EQ(refusal(edited(get, "host date", "host date x-missing")), "signed header x-missing is missing");
  EXPECT_EQ(refusal(edited(get, "https://peer.example/users/bob#main-key", "acct:bob@peer.example")),
            "keyId is not an http(s) URL");
}

TEST(Cavage, RefusesTwoSignatures) {
  HttpRequest twice = signed_get();
  twice.headers.add("signature", *twice.headers.find("Signature"));
  EXPECT_EQ(refusal(twice), "request has two Signature headers");
}

TEST(Cavage, RefusesTooManyCoveredHeaders) {
  std::string many = "(request-target) host date";
  for (int i = 0; i < 100; ++i) many += " x-" + std::to_string(i);
  EXPECT_EQ(refusal(edited(signed_get(), "(request-target) host date", many)),
            "signature covers too many headers");
}

// --- coverage ------------------------------------------------------------------------------------------

TEST(Cavage, MustCoverTargetHostTimeAndDigest) {
  for (const std::string name : {"(request-target)", "host"}) {
    HandSigned hand = plain_get();
    std::erase_if(hand.lines, [&](const auto& line) { return line.first == name; });
    EXPECT_EQ(refusal(hand.request()), "signature does not cover " + name);
  }
  HandSigned undated = plain_get();
  undated.lines.pop_back();
  EXPECT_EQ(refusal(undated.request()), "signature covers neither date nor (created)");
  HandSigned no_digest = plain_post("");
  no_digest.lines.pop_back();
  HttpRequest request = no_digest.request();
  request.headers.add("Digest", digest_of(kBody));
  EXPECT_EQ(refusal(request), "signature does not cover the digest of the body");
}

TEST(Cavage, CoversAHeaderThatOccursTwiceJoined) {
  HandSigned hand = plain_get();
  hand.lines.emplace_back("accept", "a, b");
  HttpRequest request = hand.request();
  request.headers.set("accept", "a");
  request.headers.add("Accept", "b");
  EXPECT_TRUE(accepted(request));
}

TEST(Cavage, RefusesHeadersThatMustBeUnique) {
  HttpRequest hosts = signed_get();
  hosts.headers.add("host", "tags.example.org");
  EXPECT_EQ(refusal(hosts), "header host occurs twice");
  HttpRequest dates = signed_get();
  dates.headers.add("date", to_http_date(kNow));
  EXPECT_EQ(refusal(dates), "header date occurs twice");
  HttpRequest digests = signed_post();
  digests.headers.add("digest", digest_of(kBody));
  EXPECT_EQ(refusal(digests), "header digest occurs twice");
}

TEST(Cavage, HostMustBeAName) {
  EXPECT_EQ(refusal(signed_get("https://other.example/tag/cats")), "Host is not a name of this node");
  EXPECT_EQ(refusal(signed_get("https://tags.example.org:9/tag/cats")), "Host is not a name of this node");
  EXPECT_TRUE(accepted(signed_get("https://tags.example.org:8443/tag/cats")));
  SignaturePolicy with_port;
  with_port.authorities = {"tags.example.org:8443"};
  EXPECT_EQ(refusal(signed_get(), with_port), "accepted") << "Mastodon leaves the port out of Host";
  SignaturePolicy ipv6;
  ipv6.authorities = {"[2001:db8::1]"};
  EXPECT_EQ(refusal(signed_get("https://[2001:db8::1]/tag/cats"), ipv6), "accepted");
}

// --- digest --------------------------------------------------------------------------------------------

TEST(Cavage, DigestMayBeAnySpellingOfSha256InAList) {
  EXPECT_TRUE(accepted(plain_post(digest_of(kBody, "sha-256")).request()));
  EXPECT_TRUE(accepted(plain_post("SHA-512=AAAA," + digest_of(kBody)).request()));
  EXPECT_TRUE(accepted(plain_post(digest_of(kBody) + " , md5=AAAA").request()));
}

TEST(Cavage, RefusesADigestThatIsNotOfTheBody) {
  HttpRequest tampered = signed_post();
  tampered.body += ' ';
  EXPECT_EQ(refusal(tampered), "Digest does not fit the body");
  EXPECT_EQ(refusal(plain_post(digest_of("other")).request()), "Digest does not fit the body");
  EXPECT_EQ(refusal(plain_post(digest_of(kBody) + "," + digest_of("other")).request()),
            "Digest does not fit the body");
  EXPECT_EQ(refusal(plain_post(digest_of(kBody, "SHA-512")).request()), "Digest has no SHA-256");
  EXPECT_THAT(refusal(plain_post("SHA-256=AAAA").request()), HasSubstr("32 bytes"));
  EXPECT_THAT(refusal(plain_post("SHA-256=!!!!").request()), HasSubstr("32 bytes"));
  EXPECT_THAT(refusal(plain_post("SHA-256").request()), HasSubstr("not a list"));
  HttpRequest missing = signed_post();
  missing.headers = Headers();
  for (const auto& [name, value] : signed_post().headers) {
    if (name != "Digest") missing.headers.add(name, value);
  }
  EXPECT_EQ(refusal(missing), "signed header digest is missing");
}

TEST(Cavage, RefusesABodyThatWasRemoved) {
  HttpRequest request = signed_post();
  request.body.clear();
  EXPECT_EQ(refusal(request), "Digest does not fit the body");
}

// --- time ----------------------------------------------------------------------------------------------

TEST(Cavage, DateMustBeWithinTheWindow) {
  using std::chrono::minutes;
  using std::chrono::seconds;
  EXPECT_TRUE(accepted(signed_post(rsa_key(), kNow - minutes(60))));
  EXPECT_THAT(refusal(signed_post(rsa_key(), kNow - minutes(60) - seconds(1))), HasSubstr("too old"));
  EXPECT_TRUE(accepted(signed_post(rsa_key(), kNow + minutes(5))));
  EXPECT_THAT(refusal(signed_post(rsa_key(), kNow + minutes(5) + seconds(1))), HasSubstr("future"));
  HandSigned garbage = plain_get();
  garbage.lines.back().second = "yesterday";
  EXPECT_THAT(refusal(garbage.request()), HasSubstr("IMF-fixdate"));
}

TEST(Cavage, AsksForWhatWasSignedBeforeTheStartAgain) {
  SignaturePolicy p = policy();
  p.not_before = kNow - std::chrono::minutes(10);
  EXPECT_THAT(refusal(signed_post(rsa_key(), kNow - std::chrono::minutes(11)), p, ErrorCode::kBusy),
              HasSubstr("before this node started"));
  EXPECT_EQ(refusal(signed_post(rsa_key(), kNow - std::chrono::minutes(9)), p), "accepted");
}

HandSigned created_get(std::int64_t created, std::int64_t expires) {
  HandSigned hand;
  hand.lines = {{"(request-target)", "get /tag/cats"},
                {"(created)", std::to_string(created)},
                {"(expires)", std::to_string(expires)},
                {"host", "tags.example.org"}};
  hand.parameters = R"(keyId="https://peer.example/users/bob#main-key",algorithm="hs2019",created=)" +
                    std::to_string(created) + ",expires=" + std::to_string(expires);
  return hand;
}

TEST(Cavage, CreatedAndExpiresReplaceTheDate) {
  const std::int64_t now = kNow.time_since_epoch() / std::chrono::seconds(1);
  EXPECT_TRUE(accepted(created_get(now - 60, now + 3600).request()));
  EXPECT_THAT(refusal(created_get(now - 7200, now + 3600).request()), HasSubstr("too old"));
  EXPECT_THAT(refusal(created_get(now + 600, now + 3600).request()), HasSubstr("future"));
  EXPECT_THAT(refusal(created_get(now - 1800, now - 900).request()), HasSubstr("expired"));
  EXPECT_THAT(refusal(created_get(-1, now).request()), HasSubstr("no time"));
  EXPECT_THAT(refusal(created_get(now, INT64_MAX).request()), HasSubstr("no time"));
  HttpRequest tampered = edited(created_get(now - 60, now + 60).request(),
                                "expires=" + std::to_string(now + 60), "expires=" + std::to_string(now + 61));
  EXPECT_FALSE(accepted(tampered));
  EXPECT_THAT(refusal(edited(created_get(now, now).request(), "hs2019", "rsa-sha256")),
              HasSubstr("use hs2019"));
  EXPECT_THAT(refusal(edited(created_get(now, now).request(), "created=", "crated=")),
              HasSubstr("lacks created"));
}

TEST(Cavage, EveryCoveredTimeMustBeRight) {
  const std::int64_t now = kNow.time_since_epoch() / std::chrono::seconds(1);
  HandSigned hand = created_get(now - 7200, now + 60);
  hand.lines.emplace_back("date", to_http_date(kNow));
  EXPECT_THAT(refusal(hand.request()), HasSubstr("too old"));
}

}  // namespace
}  // namespace tagring::signatures
