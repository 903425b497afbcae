// Key pairs: RSA (PKCS #1 v1.5 with SHA-256, what the fediverse signs with) and Ed25519.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

struct evp_pkey_st;

namespace tagring::crypto {

// kRsa2048 stands for RSA of any accepted size; keys generated here have 2048 bits.
enum class KeyType : std::uint8_t { kRsa2048, kEd25519 };

// kRsaSha256 is PKCS #1 v1.5. kRsaPssSha512 is only verified, with a salt of any length: RFC 9421 wants 64
// bytes, and some libraries make it as long as the key allows.
enum class Algorithm : std::uint8_t { kRsaSha256, kRsaPssSha512, kEd25519 };

// What a key of that type signs with, unless something else is said.
constexpr Algorithm algorithm_of(KeyType type) {
  return type == KeyType::kEd25519 ? Algorithm::kEd25519 : Algorithm::kRsaSha256;
}

// Immutable and cheap to copy; may be used by several threads at once.
class PublicKey {
 public:
  // PEM, SubjectPublicKeyInfo or PKCS #1 "RSA PUBLIC KEY". kInvalid for anything else, for other key types
  // and for RSA moduli outside 2048…8192 bits or exponents over 64 bits.
  static Result<PublicKey> from_pem(std::string_view pem);

  // publicKeyMultibase of a Multikey (FEP-521a): base58-btc ("z…") or base64url ("u…") of the multicodec
  // ed25519-pub with 32 bytes or rsa-pub with PKCS #1. Errors and limits as above.
  static Result<PublicKey> from_multibase(std::string_view text);

  // The 32 bytes of an Ed25519 key. kInvalid if they are none.
  static Result<PublicKey> from_ed25519(std::string_view bytes);

  [[nodiscard]] KeyType type() const;
  [[nodiscard]] std::string pem() const;      // SubjectPublicKeyInfo
  [[nodiscard]] std::string ed25519() const;  // the 32 bytes; only of an Ed25519 key
  [[nodiscard]] bool verify(std::string_view message, std::string_view signature) const {
    return verify(message, signature, algorithm_of(type()));
  }
  // False also if the algorithm is not for such a key.
  [[nodiscard]] bool verify(std::string_view message, std::string_view signature, Algorithm algorithm) const;

 private:
  friend class PrivateKey;
  explicit PublicKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;
};

// Immutable and cheap to copy; may be used by several threads at once.
class PrivateKey {
 public:
  // From the system's random source. RSA takes about 0.1 s.
  static PrivateKey generate(KeyType type);
  // Ed25519 from a 32-byte seed: the simulator's deterministic keys.
  static PrivateKey ed25519_from_seed(std::string_view seed);
  // PKCS #8 PEM, unencrypted; the same limits as for public keys.
  static Result<PrivateKey> from_pem(std::string_view pem);

  [[nodiscard]] KeyType type() const;
  [[nodiscard]] std::string pem() const;  // PKCS #8
  [[nodiscard]] PublicKey public_key() const;
  [[nodiscard]] std::string sign(std::string_view message) const;

 private:
  explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;
};

// Bytes from the system's random source, for secrets and unique ids.
std::string random_bytes(std::size_t count);

}  // namespace tagring::crypto
