#include "crypto/key.hpp"

#include <gtest/gtest.h>

#include "base/bytes.hpp"

namespace tagring::crypto {
namespace {

// One key in both forms of PEM, and a signature made with it by the openssl command.
constexpr std::string_view kRsaSpki =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAvNw+gGOUFi4H3Vigmsmh\n"
    "oZI6sqjjjSdtsD1qZquY6M0maggopLPjEoFaN1QjHb8kl4xzALcNu8UfHYRTfM50\n"
    "UdFqDEzn8whGrBBVSdBO9FE0ODM6MwZDfPZgUmswloj5cET6hR4j08Hv/LThlWmg\n"
    "4+jI9Afg9OQZomGa4cs5KpBqMDL+fPYUss1ATeuxgQpC0hccPguFf5UQdTv3KZtY\n"
    "AKSNOvYQzYlcZmQhavNokm6ioDAfgdIX2XT2Gem7Fu19GwCRKrhAHcCf8EiMX2dV\n"
    "2kT5fhm1QZPIuNMVzT7K+N6UwuoUDg+vMM7NDlCY+ffYf/bUPzyhV2oqWxjE578a\n"
    "5QIDAQAB\n"
    "-----END PUBLIC KEY-----\n";
constexpr std::string_view kRsaPkcs1 =
    "-----BEGIN RSA PUBLIC KEY-----\n"
    "MIIBCgKCAQEAvNw+gGOUFi4H3VigmsmhoZI6sqjjjSdtsD1qZquY6M0maggopLPj\n"
    "EoFaN1QjHb8kl4xzALcNu8UfHYRTfM50UdFqDEzn8whGrBBVSdBO9FE0ODM6MwZD\n"
    "fPZgUmswloj5cET6hR4j08Hv/LThlWmg4+jI9Afg9OQZomGa4cs5KpBqMDL+fPYU\n"
    "ss1ATeuxgQpC0hccPguFf5UQdTv3KZtYAKSNOvYQzYlcZmQhavNokm6ioDAfgdIX\n"
    "2XT2Gem7Fu19GwCRKrhAHcCf8EiMX2dV2kT5fhm1QZPIuNMVzT7K+N6UwuoUDg+v\n"
    "MM7NDlCY+ffYf/bUPzyhV2oqWxjE578a5QIDAQAB\n"
    "-----END RSA PUBLIC KEY-----\n";
constexpr std::string_view kRsaSigned = "hello ring";
constexpr std::string_view kRsaSignature =
    "qUKGcO/4q/rgOdFas9WNrRnuGoHK0+qA0oWJbyWGBtTV/U3Y3KAs4yegSsVE8cQIhH5S/2Q0D2/WZvgBR3VBb00m"
    "vY2F4SpXMr9qntlEK0rWCIM+tWr93ccN8bsMQ49EAAHjIWAUMkhjaThuO02JOHeABitkEidObtePDS/fdxUrgDKX"
    "xrjZawX0H9i/3yLZb2lC2TaHSgG9YNzDZLKh2EzQpgpCWkW0cvVJyLEv39o59Fe+tRISKgRdB8MaqLNwwFoaYojT"
    "ylAK4YAtdkB9RIIkU+yWXgC93uuY/1ihioctwja4qfFRHVp8Puv6XzImnAjpO5XEke2GATpLn2jwag==";
constexpr std::string_view kRsa1024 =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDF5wDUxRbZAEhJQJpO1H2sqKKJ\n"
    "C1VBkKjw6quIUmFJpGsKw/2Fym1zCu470UBA5MGmH7pTaEL1mffEHqkxsSP7UDDn\n"
    "lMBauGmPTeAFwVuBRjd+BVwz5bb0RCKf/qWFuzJVOA7KsWa3ZluMQLojai07OMfb\n"
    "2CAaoe6EgC0cLkZkcwIDAQAB\n"
    "-----END PUBLIC KEY-----\n";
constexpr std::string_view kP256 =
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZyIHgpvc3j0BOV2MPVzOqAblsBSa\n"
    "fkmLRad5vjErL3gOs/xh/wkP7zqc0BejhgfYjl7FfTlm3zNoeoyw00HkIQ==\n"
    "-----END PUBLIC KEY-----\n";

// One key as PEM and as both forms of multibase (made with Python), and an RSA-PSS signature by the openssl
// command.
constexpr std::string_view kPssSpki =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA4YCxWFITXRbrHEylzNXr\n"
    "PdsoxjM3DxOGtpUnymr3xkR6RzihFHoY2yZlmuljkUylg08kb/WClnjnDbMH1e+r\n"
    "KgFuCp/IEtwdco8Gpo0H48h3jp8CHaZ6DnVqfES2x48wQf9alHAr6aioh1mrGQw3\n"
    "w7jmpuxSZMm39fZIyn1L+oQ4zZUvxmMrLdArd64xZT7Lsqe7X7VbfoyWMG/IeqiO\n"
    "sF1Skj2qyb4qQ8Uf0wXMneYu5H/Ltxwia2lyqPLQdWm1tcwsRVU9wuqWnEinqcSO\n"
    "48a48t6lWR1oB9ZvQ+GzFFbz0SyYFJil9/EweaQXaU8ChCXV08oLzQAl+NJE60ye\n"
    "YQIDAQAB\n"
    "-----END PUBLIC KEY-----\n";
constexpr std::string_view kPssBase58 =
    "z4MXj1wBzi9jUstyQTEM5NiJWdGTapvLbFPLF18jSLcbjouhQhRXKbYPmJaqMnVySKzvsH7Kx4YW1ZJpu1WWrbPu6B6Y"
    "c2rY84YWBSWW3GzbfLS5AcmQja2SxMGkmFSgP2HkopNEb4CL9NZC4p7kD1u1XjUw9c1byZxvNxiBJ22Ab4NT5VWhE19a"
    "2oWiX69rLdVFS73AS5F4JvhWXt6nxM1ws1fPzn6av2Bbo5oCfLgZv4GLXuFEpchMiRmc9FzNDPhxFUqntPXsGx3tcUC6"
    "jtyMZ7PcMz4ZtF7oxo2vdsnwJGHSgPNrfTR4g3bwWcZXbSUY6rAFQMN6cCCsAb96nkUndGdJydphpT3d9BC72yUf6DzX"
    "QYWH6";
constexpr std::string_view kPssBase64 =
    "uhSQwggEKAoIBAQDhgLFYUhNdFuscTKXM1es92yjGMzcPE4a2lSfKavfGRHpHOKEUehjbJmWa6WORTKWDTyRv9YKWeOc"
    "NswfV76sqAW4Kn8gS3B1yjwamjQfjyHeOnwIdpnoOdWp8RLbHjzBB_1qUcCvpqKiHWasZDDfDuOam7FJkybf19kjKfUv"
    "6hDjNlS_GYyst0Ct3rjFlPsuyp7tftVt-jJYwb8h6qI6wXVKSParJvipDxR_TBcyd5i7kf8u3HCJraXKo8tB1abW1zCx"
    "FVT3C6pacSKepxI7jxrjy3qVZHWgH1m9D4bMUVvPRLJgUmKX38TB5pBdpTwKEJdXTygvNACX40kTrTJ5hAgMBAAE";
constexpr std::string_view kPssSignature =
    "37K2b6wWfqu4wNkZ+gq8NsuS8OoS2Gh2h4QrQCmNgX0DnjLmpx4/hNr2xbRBOpuwNc+7TlM7/GePdrFftFTgDL/ELto2"
    "sYcaNsSTUtLxYq7fAa8HAWKWe3jkztrDGbRzUJq/gLD/T5JGTlJQq2jRLr+qIeHJF0mAC1Li6wAoT6otXJOY+tGNUvl0"
    "hcPVW42/8gzbc9ArIs6lfwAg5Y8Jx4LfcUYMCCweqXrK5q2F88BkNmVbWdOYp0AOh6EtUt89wXZW0Qir6kKW4cPTjgNS"
    "5ntql88GftV+Zzfufveq8Ecto5SimEfbP51jfH5dL9RCe91mFLRNcjn67V8kqmcS6g==";

std::string bytes_of_hex(std::string_view hex) { return from_hex(hex).value(); }
std::string bytes_of_base64(std::string_view text) { return from_base64(text).value(); }

// RFC 8032 §7.1, tests 1 to 3.
TEST(Ed25519, SignsAsRfc8032Says) {
  struct {
    const char* seed;
    const char* message;
    const char* signature;
  } const cases[] = {
      {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "",
       "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
       "d25bf5f0595bbe24655141438e7a100b"},
      {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb", "72",
       "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
       "387b2eaeb4302aeeb00d291612bb0c00"},
      {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7", "af82",
       "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
       "4a7c15e9716ed28dc027beceea1ec40a"},
  };
  for (const auto& c : cases) {
    const PrivateKey key = PrivateKey::ed25519_from_seed(bytes_of_hex(c.seed));
    const std::string message = bytes_of_hex(c.message);
    EXPECT_EQ(to_hex(key.sign(message)), c.signature);
    EXPECT_TRUE(key.public_key().verify(message, bytes_of_hex(c.signature)));
    EXPECT_FALSE(key.public_key().verify(message + "x", bytes_of_hex(c.signature)));
  }
}

TEST(PublicKey, AcceptsBothFormsOfRsaPem) {
  for (const std::string_view pem : {kRsaSpki, kRsaPkcs1}) {
    const auto key = PublicKey::from_pem(pem);
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(key->type(), KeyType::kRsa2048);
    EXPECT_EQ(key->pem(), kRsaSpki);
    EXPECT_TRUE(key->verify(kRsaSigned, bytes_of_base64(kRsaSignature)));
  }
}

TEST(PublicKey, RefusesASignatureOfSomethingElse) {
  const auto key = PublicKey::from_pem(kRsaSpki);
  ASSERT_TRUE(key);
  std::string signature = bytes_of_base64(kRsaSignature);
  EXPECT_FALSE(key->verify("hello rinh", signature));
  EXPECT_FALSE(key->verify(kRsaSigned, ""));
  EXPECT_FALSE(key->verify(kRsaSigned, signature.substr(1)));
  EXPECT_FALSE(key->verify(kRsaSigned, signature + "x"));
  signature[17] ^= 1;
  EXPECT_FALSE(key->verify(kRsaSigned, signature));
}

TEST(PublicKey, RefusesShortRsaKeysAndOtherKeyTypes) {
  EXPECT_FALSE(PublicKey::from_pem(kRsa1024));
  EXPECT_FALSE(PublicKey::from_pem(kP256));
}

TEST(PublicKey, RefusesGarbage) {
  std::string broken(kRsaSpki);
  broken[60] = '!';
  const std::string cut(kRsaSpki.substr(0, 200));
  const std::string empty = "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n";
  const std::string trailing =
      "-----BEGIN PUBLIC KEY-----\n" +
      to_base64(bytes_of_hex("302a300506032b6570032100d75a980182b10ab7d54bfed3c964073a"
                             "0ee172f3daa62325af021a68f707511a") +
                "x") +
      "\n-----END PUBLIC KEY-----\n";
  for (const std::string& pem : {std::string(), std::string("hello"), std::string(100'000, '-'), broken, cut,
                                 empty, trailing, PrivateKey::generate(KeyType::kEd25519).pem()}) {
    const auto key = PublicKey::from_pem(pem);
    ASSERT_FALSE(key) << pem;
    EXPECT_EQ(key.error().code, ErrorCode::kInvalid);
  }
}

TEST(PublicKey, OnlyTheSignersKeyVerifies) {
  for (const KeyType type : {KeyType::kRsa2048, KeyType::kEd25519}) {
    const PrivateKey key = PrivateKey::generate(type);
    const std::string signature = key.sign("a post");
    EXPECT_TRUE(key.public_key().verify("a post", signature));
    EXPECT_FALSE(key.public_key().verify("a pest", signature));
    EXPECT_FALSE(PrivateKey::generate(type).public_key().verify("a post", signature));
  }
}

TEST(PrivateKey, SurvivesItsPem) {
  for (const KeyType type : {KeyType::kRsa2048, KeyType::kEd25519}) {
    const PrivateKey key = PrivateKey::generate(type);
    EXPECT_EQ(key.type(), type);
    EXPECT_TRUE(key.pem().starts_with("-----BEGIN PRIVATE KEY-----\n"));
    const auto again = PrivateKey::from_pem(key.pem());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->type(), type);
    EXPECT_EQ(again->public_key().pem(), key.public_key().pem());
    const auto public_again = PublicKey::from_pem(key.public_key().pem());
    ASSERT_TRUE(public_again);
    EXPECT_TRUE(public_again->verify("x", again->sign("x")));
  }
}

TEST(PrivateKey, RefusesPublicKeysAndGarbage) {
  EXPECT_FALSE(PrivateKey::from_pem(kRsaSpki));
  EXPECT_FALSE(PrivateKey::from_pem(""));
  EXPECT_FALSE(PrivateKey::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"));
}

TEST(RandomBytes, AreOfTheSizeAskedForAndDiffer) {
  EXPECT_EQ(random_bytes(0).size(), 0U);
  EXPECT_EQ(random_bytes(16).size(), 16U);
  EXPECT_NE(random_bytes(16), random_bytes(16));
}

TEST(Rsa, VerifiesPssWithSha512OnlyWhereItIsNamed) {
  const PublicKey key = PublicKey::from_pem(kPssSpki).value();
  const std::string signature = bytes_of_base64(kPssSignature);
  EXPECT_TRUE(key.verify(kRsaSigned, signature, Algorithm::kRsaPssSha512));
  EXPECT_FALSE(key.verify(kRsaSigned, signature));
  EXPECT_FALSE(key.verify("hello rings", signature, Algorithm::kRsaPssSha512));
  const PublicKey other = PublicKey::from_pem(kRsaSpki).value();
  EXPECT_FALSE(other.verify(kRsaSigned, bytes_of_base64(kRsaSignature), Algorithm::kRsaPssSha512));
  EXPECT_TRUE(other.verify(kRsaSigned, bytes_of_base64(kRsaSignature), Algorithm::kRsaSha256));
}

TEST(PublicKey, VerifiesNothingByAnAlgorithmOfAnotherType) {
  const PrivateKey key = PrivateKey::ed25519_from_seed(std::string(32, 's'));
  const std::string signature = key.sign("text");
  EXPECT_TRUE(key.public_key().verify("text", signature, Algorithm::kEd25519));
  EXPECT_FALSE(key.public_key().verify("text", signature, Algorithm::kRsaSha256));
  EXPECT_FALSE(key.public_key().verify("text", signature, Algorithm::kRsaPssSha512));
  const PublicKey rsa = PublicKey::from_pem(kRsaSpki).value();
  EXPECT_FALSE(rsa.verify(kRsaSigned, bytes_of_base64(kRsaSignature), Algorithm::kEd25519));
}

TEST(PublicKey, IsReadFromMultibase) {
  EXPECT_EQ(PublicKey::from_multibase(kPssBase58)->pem(), kPssSpki);
  EXPECT_EQ(PublicKey::from_multibase(kPssBase64)->pem(), kPssSpki);
  // Of FEP-521a and the Multikey specification.
  const Result<PublicKey> ed25519 =
      PublicKey::from_multibase("z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK");
  ASSERT_TRUE(ed25519) << ed25519.error().message;
  EXPECT_EQ(ed25519->type(), KeyType::kEd25519);
}

TEST(PublicKey, RefusesMultibaseThatIsNoKey) {
  const auto refusal = [](std::string_view text) {
    const Result<PublicKey> key = PublicKey::from_multibase(text);
    return key ? "accepted" : key.error().message;
  };
  const std::string tail(kPssBase64.substr(1));
  EXPECT_EQ(refusal(""), "key is no multibase of ordinary size");
  EXPECT_EQ(refusal("u" + std::string(3000, 'A')), "key is no multibase of ordinary size");
  EXPECT_EQ(refusal("m" + tail), "key is neither base58-btc nor base64url");
  EXPECT_EQ(refusal("u" + tail + "="), "key is neither base58-btc nor base64url");
  EXPECT_EQ(refusal("z0OIl"), "key is neither base58-btc nor base64url");
  EXPECT_EQ(refusal("u7QE"), "multikey is neither RSA nor Ed25519") << "no bytes of the key";
  EXPECT_EQ(refusal("ukCQ" + std::string(1700, 'A')), "multikey is neither RSA nor Ed25519") << "ML-DSA-44";
  EXPECT_EQ(refusal("uhSQ"), "key is malformed");
  EXPECT_EQ(refusal(std::string(kPssBase64) + "AAAA"), "bytes after the key");
}

}  // namespace
}  // namespace tagring::crypto
