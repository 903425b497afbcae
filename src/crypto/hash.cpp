#include "crypto/hash.hpp"

#include <fmt/format.h>
#include <memory>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/assert.hpp"

namespace tagring::crypto {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// Looking an algorithm up costs more than hashing a hashtag, so each is looked up once and kept for good.
const EVP_MD* fetch(const char* name) {
  const EVP_MD* algorithm = EVP_MD_fetch(nullptr, name, nullptr);
  TR_ASSERT(algorithm != nullptr);
  return algorithm;
}

template <class Hash>
Hash digest(const EVP_MD* algorithm, std::string_view bytes) {
  Hash out;
  unsigned size = 0;
  TR_ASSERT(EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, algorithm, nullptr) == 1);
  TR_ASSERT(size == out.size());
  return out;
}

}  // namespace

Hash256 sha256(std::string_view bytes) {
  static const EVP_MD* const algorithm = fetch("SHA2-256");
  return digest<Hash256>(algorithm, bytes);
}

Hash256 hmac_sha256(std::string_view key, std::string_view bytes) {
  Hash256 out;
  unsigned size = 0;
  const auto* const text = reinterpret_cast<const unsigned char*>(bytes.data());
  TR_ASSERT(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text, bytes.size(), out.data(),
                 &size) != nullptr);
  TR_ASSERT(size == out.size());
  return out;
}

Hash512 sha512(std::string_view bytes) {
  static const EVP_MD* const algorithm = fetch("SHA2-512");
  return digest<Hash512>(algorithm, bytes);
}

Hash256 sha3_256(std::string_view bytes) {
  static const EVP_MD* const algorithm = fetch("SHA3-256");
  return digest<Hash256>(algorithm, bytes);
}

Hash128 shake128_128(std::string_view bytes) {
  static const EVP_MD* const algorithm = fetch("SHAKE128");
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  TR_ASSERT(context != nullptr);
  Hash128 out;
  TR_ASSERT(EVP_DigestInit_ex2(context.get(), algorithm, nullptr) == 1);
  TR_ASSERT(EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1);
  TR_ASSERT(EVP_DigestFinalXOF(context.get(), out.data(), out.size()) == 1);
  return out;
}

std::uint64_t hash64(std::string_view bytes) {
  const Hash256 hash = sha256(bytes);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value = value << 8U | hash[i];
  return value;
}

std::string public_draw(Rng& rng) {
  return fmt::format("{:016x}", hash64(fmt::format("{:016x}", rng.next())));
}

}  // namespace tagring::crypto
