#include "signatures/message_signature.hpp"

#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>

#include "signatures/digest.hpp"
#include "signatures/signature_fixture.hpp"

namespace tagring::signatures {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HttpRequest message_post(const crypto::PrivateKey& key = rsa_key(), WallTime when = kNow) {
  HttpCall call = make_call("POST", "https://tags.example.org/inbox", std::string(kBody));
  sign_call(call, key, kKeyId, when, SignatureForm::kMessage);
  return received(call);
}

HttpRequest message_get(std::string_view url = "https://tags.example.org/tag/cats") {
  HttpCall call = make_call("GET", url, "");
  sign_call(call, rsa_key(), kKeyId, kNow, SignatureForm::kMessage);
  return received(call);
}

// --- signing -------------------------------------------------------------------------------------------

TEST(MessageSignature, EmitsTheFormThatEveryKnownServerReads) {
  HttpCall call = make_call("POST", "https://tags.example.org:8443/inbox", std::string(kBody));
  call.headers.add("Collection-Synchronization", R"(collectionId="c", url="u", digest="d")");
  sign_call(call, rsa_key(), kKeyId, kNow, SignatureForm::kMessage);
  EXPECT_EQ(call.headers.find("Date"), "Sat, 21 Nov 2026 10:00:00 GMT");
  EXPECT_EQ(call.headers.find("Content-Digest"), "sha-256=:GYwYnH3BiO6aICFt0ThC5bUIJ4byvqdpWtR8m5fNkww=:");
  EXPECT_FALSE(call.headers.find("Digest"));
  EXPECT_EQ(call.headers.find("Signature-Input"),
            R"(sig1=("@method" "@target-uri" "content-digest" "content-type" "collection-synchronization"))"
            R"(;created=1795255200;keyid="https://peer.example/users/bob#main-key";alg="rsa-v1_5-sha256")");
  EXPECT_TRUE(accepted(received(call)));
}

TEST(MessageSignature, OfAGetCoversMethodAndTarget) {
  const HttpRequest request = message_get("https://tags.example.org/tag/cats?x=1");
  EXPECT_THAT(*request.headers.find("Signature-Input"),
              HasSubstr(R"(sig1=("@method" "@target-uri");created=)"));
  EXPECT_FALSE(request.headers.find("Content-Digest"));
  EXPECT_TRUE(accepted(request));
}

TEST(MessageSignature, OfEd25519NamesIt) {
  const HttpRequest request = message_post(ed25519_key());
  EXPECT_THAT(*request.headers.find("Signature-Input"), HasSubstr(R"(;alg="ed25519")"));
  EXPECT_TRUE(accepted(request, ed25519_key().public_key()));
}

// RFC 9421, Appendix B.2.6.
TEST(MessageSignature, OfTheRfcIsVerified) {
  const std::string input =
      R"(sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;)"
      R"(keyid="test-key-ed25519")";
  const sf::Dictionary dictionary = sf::parse_dictionary(input).value();
  const Headers headers = {{"Date", "Tue, 20 Apr 2021 02:07:55 GMT"},
                           {"Content-Type", "application/json"},
                           {"Content-Length", "18"}};
  const std::string base =
      signature_base(std::get<sf::InnerList>(dictionary[0].value),
                     {"POST", "https", "example.com", "/foo?param=Value&Pet=dog", headers})
          .value();
  const crypto::PublicKey key = crypto::PublicKey::from_pem(
                                    "-----BEGIN PUBLIC KEY-----\n"
                                    "MCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=\n"
                                    "-----END PUBLIC KEY-----\n")
                                    .value();
  EXPECT_TRUE(key.verify(
      base, *from_base64(
                "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==")));
}

// --- genuine or not ------------------------------------------------------------------------------------

TEST(MessageSignature, ClaimTellsKeyTimeAndCoverage) {
  HttpCall call = make_call("POST", "https://tags.example.org/inbox", std::string(kBody));
  call.headers.add("Collection-Synchronization", "c");
  sign_call(call, rsa_key(), kKeyId, kNow, SignatureForm::kMessage);
  const SignatureClaim claim = read_signatures(received(call), kNow, policy()).value().front();
  EXPECT_EQ(claim.key_id, kKeyId);
  EXPECT_EQ(claim.signed_at, kNow);
  EXPECT_EQ(claim.algorithm, crypto::Algorithm::kRsaSha256);
  EXPECT_TRUE(claim.covers("collection-synchronization"));
  EXPECT_FALSE(claim.covers("date"));
}

TEST(MessageSignature, FailsWhenMethodTargetOrHeaderChanged) {
  const std::vector<std::function<void(HttpRequest&)>> changes = {
      [](HttpRequest& r) { r.method = "PUT"; },
      [](HttpRequest& r) { r.target = "/tag/cats/inbox"; },
      [](HttpRequest& r) { r.target = "/inbox?x=1"; },
      [](HttpRequest& r) { r.headers.set("Content-Type", "application/json"); },
      [](HttpRequest& r) { r.headers.set("Host", "tags.example.org:8443"); },
      [](HttpRequest& r) {
        std::string input = *r.headers.find("Signature-Input");
        r.headers.set("Signature-Input", input.replace(input.find(";alg"), 4, ";tag=\"x\";alg"));
      },
  };
  EXPECT_TRUE(accepted(message_post()));
  for (const auto& change : changes) {
    HttpRequest request = message_post();
    change(request);
    EXPECT_FALSE(accepted(request));
  }
}

TEST(MessageSignature, HasNoLeewayForTheQuery) {
  HttpRequest path_only = message_get();
  path_only.target += "?x=1";
  EXPECT_FALSE(accepted(path_only));
}

TEST(MessageSignature, HostMayLackThePortThatWasSigned) {
  HandMessage hand;
  hand.authority = "tags.example.org:8443";
  SignaturePolicy with_port;
  with_port.authorities = {"tags.example.org:8443"};
  const SignatureClaim claim = read_signatures(hand.request(), kNow, with_port).value().front();
  EXPECT_TRUE(verify(claim, rsa_key().public_key()));
  EXPECT_FALSE(accepted(hand.request())) << "the node has two names here, and this is not the one in Host";
}

TEST(MessageSignature, HostMustBeAName) {
  HandMessage hand;
  hand.headers.set("Host", "other.example");
  hand.authority = "other.example";
  EXPECT_EQ(refusal(hand.request()), "Host is not a name of this node");
  hand.headers = {};
  EXPECT_EQ(refusal(hand.request()), "signed header host is missing");
}

TEST(MessageSignature, AlgorithmMustFitTheTypeOfTheKey) {
  const auto with_alg = [](std::string_view alg) {
    return with_parameters(key_parameters(kSeconds, fmt::format(R"(;alg="{}")", alg)));
  };
  EXPECT_TRUE(accepted(with_parameters(key_parameters(kSeconds)).request()));
  EXPECT_TRUE(
      accepted(with_parameters(key_parameters(kSeconds)).request(ed25519_key()), ed25519_key().public_key()));
  EXPECT_TRUE(accepted(with_alg("rsa-v1_5-sha256").request()));
  EXPECT_FALSE(accepted(with_alg("rsa-pss-sha512").request()));
  EXPECT_FALSE(accepted(with_alg("ed25519").request()));
  EXPECT_FALSE(accepted(with_alg("rsa-v1_5-sha256").request(ed25519_key()), ed25519_key().public_key()));
  EXPECT_THAT(refusal(with_alg("hmac-sha256").request()), HasSubstr("alg is none of"));
  EXPECT_THAT(refusal(with_parameters(key_parameters(kSeconds, ";alg=ed25519")).request()),
              HasSubstr("alg is none of"));
}

// --- coverage ------------------------------------------------------------------------------------------

TEST(MessageSignature, MustCoverMethodAndTheWholeTarget) {
  const auto outcome = [](std::string covered, std::string target = "/tag/cats?x=1") {
    const HttpRequest request = covering("(" + std::move(covered) + ")", std::move(target)).request();
    const std::string result = refusal(request);
    return result == "accepted" && !accepted(request) ? "not genuine" : result;
  };
  EXPECT_EQ(outcome(R"("@method" "@target-uri")"), "accepted");
  EXPECT_EQ(outcome(R"("@method" "@request-target" "@authority")"), "accepted");
  EXPECT_EQ(outcome(R"("@method" "@path" "@query" "@authority" "@scheme")"), "accepted");
  EXPECT_EQ(outcome(R"("@method" "@path" "@query" "host")"), "accepted");
  EXPECT_EQ(outcome(R"("@method" "@path" "@authority")", "/tag/cats"), "accepted");
  EXPECT_EQ(outcome(R"("@method" "@path" "@query" "@authority")", "/tag/cats"), "accepted");
  const std::string no_target = "signature does not cover @target-uri";
  EXPECT_EQ(outcome(R"("@method" "@path" "@authority")"), no_target);
  EXPECT_EQ(outcome(R"("@method" "@query" "@authority")"), no_target);
  EXPECT_EQ(outcome(R"("@method" "@request-target")"), no_target);
  EXPECT_EQ(outcome(R"("@method" "@authority")"), no_target);
  EXPECT_EQ(outcome(R"("@method")"), no_target);
  EXPECT_EQ(outcome(R"("@target-uri")"), "signature does not cover @method");
  EXPECT_EQ(outcome(""), "signature covers nothing");
}

TEST(MessageSignature, RefusesComponentsItDoesNotUnderstand) {
  const auto outcome = [](std::string more) {
    return refusal(covering(R"(("@method" "@target-uri" )" + std::move(more) + ")").request());
  };
  EXPECT_EQ(outcome(R"("@status")"), "signature covers @status, which is not known here");
  EXPECT_EQ(outcome(R"("@signature-params")"), "signature covers @signature-params, which is not known here");
  EXPECT_EQ(outcome(R"("@query-param";name="x")"),
            "signature covers @query-param with parameters, which are not known here");
  EXPECT_EQ(outcome(R"("host";bs)"), "signature covers host with parameters, which are not known here");
  EXPECT_EQ(outcome(R"("Host")"), "signature names a header in upper case");
  EXPECT_EQ(outcome(R"("x-missing")"), "signed header x-missing is missing");
  EXPECT_EQ(outcome(R"("@method")"), "signature covers @method twice");
  EXPECT_EQ(outcome("host"), "signature covers something that is no string");
}

TEST(MessageSignature, CoversAHeaderThatOccursTwiceJoined) {
  HandMessage hand = covering(R"(("@method" "@target-uri" "accept"))");
  hand.headers.add("Accept", "a");
  hand.headers.add("accept", "b");
  HttpRequest request = hand.request();
  EXPECT_TRUE(accepted(request));
  request.headers.set("Accept", "a, b");
  EXPECT_TRUE(accepted(request));
}

// --- digest --------------------------------------------------------------------------------------------

TEST(MessageSignature, OfABodyMustCoverItsDigest) {
  EXPECT_TRUE(accepted(hand_post(make_content_digest(kBody)).request()));
  EXPECT_EQ(refusal(hand_post(make_content_digest(kBody), R"(("@method" "@target-uri"))").request()),
            "signature does not cover the content-digest of the body");
  HttpRequest tampered = message_post();
  tampered.body += ' ';
  EXPECT_EQ(refusal(tampered), "Content-Digest does not fit the body");
  HttpRequest removed = message_post();
  removed.body.clear();
  EXPECT_EQ(refusal(removed), "Content-Digest does not fit the body");
  HttpRequest twice = message_post();
  twice.headers.add("content-digest", make_content_digest(kBody));
  EXPECT_EQ(refusal(twice), "header content-digest occurs twice");
}

TEST(MessageSignature, ContentDigestIsSha256OrSha512OrBoth) {
  const crypto::Hash512 hash = crypto::sha512(kBody);
  const std::string sha512 =
      "sha-512=:" + to_base64(std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size())) +
      ":";
  const std::string sha256 = make_content_digest(kBody);
  EXPECT_TRUE(accepted(hand_post(sha512).request()));
  EXPECT_TRUE(accepted(hand_post(sha512 + ", " + sha256).request()));
  EXPECT_TRUE(accepted(hand_post("md5=:AAAA:, " + sha256).request()));
  EXPECT_EQ(refusal(hand_post(sha256 + ", sha-512=:AAAA:").request()),
            "Content-Digest does not fit the body");
  EXPECT_EQ(refusal(hand_post(make_content_digest("other") + ", " + sha512).request()),
            "Content-Digest does not fit the body");
  EXPECT_EQ(refusal(hand_post("md5=:AAAA:").request()), "Content-Digest has neither sha-256 nor sha-512");
  EXPECT_EQ(refusal(hand_post("sha-256=\"AAAA\"").request()),
            "Content-Digest has a value that is no byte sequence");
  EXPECT_EQ(refusal(hand_post("").request()), "Content-Digest has neither sha-256 nor sha-512");
}

// --- time ----------------------------------------------------------------------------------------------

TEST(MessageSignature, CreatedMustBeWithinTheWindow) {
  EXPECT_EQ(refusal(with_parameters(key_parameters(kSeconds - 3600)).request()), "accepted");
  EXPECT_THAT(refusal(with_parameters(key_parameters(kSeconds - 3601)).request()), HasSubstr("too old"));
  EXPECT_EQ(refusal(with_parameters(key_parameters(kSeconds + 300)).request()), "accepted");
  EXPECT_THAT(refusal(with_parameters(key_parameters(kSeconds + 301)).request()), HasSubstr("future"));
  EXPECT_EQ(refusal(with_parameters(key_parameters(-1)).request()), "signature parameter created is no time");
  EXPECT_EQ(refusal(with_parameters(key_parameters(999'999'999'999'999)).request()),
            "signature parameter created is no time");
  EXPECT_EQ(refusal(with_parameters(fmt::format(R"(;created="{}";keyid="{}")", kSeconds, kKeyId)).request()),
            "signature parameter created is no time");
}

TEST(MessageSignature, ExpiresIsHeeded) {
  const auto outcome = [](std::int64_t expires) {
    return refusal(
        with_parameters(key_parameters(kSeconds - 600, fmt::format(";expires={}", expires))).request());
  };
  EXPECT_EQ(outcome(kSeconds + 1), "accepted");
  EXPECT_EQ(outcome(kSeconds - 300), "accepted");
  EXPECT_EQ(outcome(kSeconds - 301), "signature has expired");
}

TEST(MessageSignature, DateStandsInForCreated) {
  HandMessage hand = covering(R"(("@method" "@target-uri" "date"))");
  hand.parameters = fmt::format(R"(;keyid="{}")", kKeyId);
  hand.headers.add("Date", to_http_date(kNow - std::chrono::minutes(2)));
  EXPECT_TRUE(accepted(hand.request()));
  EXPECT_EQ(read_signatures(hand.request(), kNow, policy())->front().signed_at,
            kNow - std::chrono::minutes(2));
  hand.headers.set("Date", to_http_date(kNow - std::chrono::minutes(61)));
  EXPECT_THAT(refusal(hand.request()), HasSubstr("too old"));
  hand.parameters = key_parameters(kSeconds);
  EXPECT_THAT(refusal(hand.request()), HasSubstr("too old")) << "every covered time must be right";
  EXPECT_EQ(refusal(with_parameters(fmt::format(R"(;keyid="{}")", kKeyId)).request()),
            "signature has neither created nor covers date");
}

TEST(MessageSignature, AsksForWhatWasSignedBeforeTheStartAgain) {
  SignaturePolicy p = policy();
  p.not_before = kNow - std::chrono::minutes(10);
  EXPECT_THAT(refusal(message_post(rsa_key(), kNow - std::chrono::minutes(11)), p, ErrorCode::kBusy),
              HasSubstr("before this node started"));
  EXPECT_EQ(refusal(message_post(rsa_key(), kNow - std::chrono::minutes(9)), p), "accepted");
}

// --- headers -------------------------------------------------------------------------------------------

HttpRequest with_headers(std::string input, std::string signature) {
  HttpRequest request;
  request.target = "/tag/cats";
  request.headers = {{"Host", "tags.example.org"},
                     {"Signature-Input", std::move(input)},
                     {"Signature", std::move(signature)}};
  return request;
}

TEST(MessageSignature, RefusesMalformedHeaders) {
  const std::string input = R"(sig1=("@method" "@target-uri"))" + key_parameters(kSeconds);
  EXPECT_EQ(refusal(with_headers(input, "sig1=:AAAA:")), "accepted");
  EXPECT_THAT(refusal(with_headers("sig1=(\"@method\"", "sig1=:AAAA:")),
              HasSubstr("Signature-Input is no dictionary"));
  EXPECT_THAT(refusal(with_headers("", "sig1=:AAAA:")), HasSubstr("Signature-Input is empty"));
  EXPECT_THAT(refusal(with_headers(input, "sig1=:AAAA")), HasSubstr("Signature is no dictionary"));
  EXPECT_THAT(refusal(with_headers("sig1=1", "sig1=:AAAA:")), HasSubstr("no list"));
  EXPECT_EQ(refusal(with_headers(input, "sig2=:AAAA:")), "Signature has no byte sequence sig1");
  EXPECT_EQ(refusal(with_headers(input, "sig1=\"AAAA\"")), "Signature has no byte sequence sig1");
  EXPECT_EQ(refusal(with_headers(R"(sig1=("@method" "@target-uri");created=1)", "sig1=:AAAA:")),
            "keyid is not an http(s) URL");
  EXPECT_EQ(
      refusal(with_headers(R"(sig1=("@method" "@target-uri");created=1;keyid="acct:a@b.c")", "sig1=:AAAA:")),
      "keyid is not an http(s) URL");
  HttpRequest absolute = with_headers(input, "sig1=:AAAA:");
  absolute.target = "https://tags.example.org/tag/cats";
  EXPECT_EQ(refusal(absolute), "request target is no path");
  HttpRequest no_signature;
  no_signature.headers.add("Signature-Input", input);
  EXPECT_EQ(refusal(no_signature), "request is not signed");
}

TEST(MessageSignature, RefusesManySignatures) {
  std::string input;
  std::string signature;
  for (int i = 0; i < 5; ++i) {
    input +=
        fmt::format(R"({}s{}=("@method" "@target-uri"){})", i == 0 ? "" : ", ", i, key_parameters(kSeconds));
    signature += fmt::format("{}s{}=:AAAA:", i == 0 ? "" : ", ", i);
  }
  EXPECT_EQ(refusal(with_headers(input, signature)), "request has too many signatures");
}

TEST(MessageSignature, OfSeveralAllThatFitTheRequestAreTried) {
  HttpRequest request = covering(R"(("@method"))").request();
  HandMessage{.label = "second"}.sign(request, ed25519_key());
  HandMessage{.parameters = key_parameters(kSeconds, ";nonce=\"n\""), .label = "third"}.sign(request);
  const std::vector<SignatureClaim> claims = read_signatures(request, kNow, policy()).value();
  ASSERT_EQ(claims.size(), 2U) << "the first covers too little";
  EXPECT_FALSE(verify(claims[0], rsa_key().public_key()));
  EXPECT_TRUE(verify(claims[1], rsa_key().public_key()));
}

TEST(MessageSignature, ComesBeforeCavageAndCavageStandsInForIt) {
  HttpRequest both = message_post();
  const std::string message = *both.headers.find("Signature");
  const HttpRequest cavage = received([] {
    HttpCall call = make_call("POST", "https://tags.example.org/inbox", std::string(kBody));
    sign_call(call, ed25519_key(), kKeyId, kNow);
    return call;
  }());
  both.headers.add("Digest", *cavage.headers.find("Digest"));
  both.headers.add("Signature", *cavage.headers.find("Signature"));
  const std::vector<SignatureClaim> claims = read_signatures(both, kNow, policy()).value();
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_TRUE(claims[0].covers("@method"));
  EXPECT_TRUE(claims[1].covers("(request-target)"));
  EXPECT_TRUE(verify(claims[0], rsa_key().public_key()));
  EXPECT_TRUE(verify(claims[1], ed25519_key().public_key()));

  both.headers.set("Signature-Input", "broken");
  EXPECT_EQ(read_signatures(both, kNow, policy())->size(), 1U);
  EXPECT_TRUE(accepted(both, ed25519_key().public_key()));
}

}  // namespace
}  // namespace tagring::signatures
