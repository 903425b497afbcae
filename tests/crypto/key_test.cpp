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

}  // namespace
}  // namespace tagring::crypto
