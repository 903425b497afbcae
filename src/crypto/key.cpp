#include "crypto/key.hpp"

#include <climits>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace tagring::crypto {
namespace {

constexpr std::size_t kPemSizeMax = 16 * 1024;
constexpr int kRsaBitsMin = 2048;
constexpr int kRsaBitsMax = 8192;
// Real exponents are 65537; one as long as the modulus would make each verification hundreds of times slower.
constexpr int kRsaExponentBitsMax = 64;
constexpr std::size_t kEd25519SeedSize = 32;
constexpr std::size_t kEd25519Size = 32;
// An RSA key of kRsaBitsMax has about 1420 digits.
constexpr std::size_t kMultibaseSizeMax = 2048;
// Multicodec prefixes: the numbers 0xed and 0x1205, seven bits a byte.
constexpr std::string_view kEd25519Codec = "\xed\x01";
constexpr std::string_view kRsaCodec = "\x85\x24";

template <auto kFree>
struct Deleter {
  template <class T>
  void operator()(T* p) const {
    kFree(p);
  }
};
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using BigNumber = std::unique_ptr<BIGNUM, Deleter<BN_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Deleter<EVP_MD_CTX_free>>;
using Key = std::shared_ptr<EVP_PKEY>;

Key own(EVP_PKEY* key) { return Key(key, EVP_PKEY_free); }

const unsigned char* data_of(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Bio reader(std::string_view bytes) {
  Bio bio(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
  TR_ASSERT(bio != nullptr);
  return bio;
}

std::string contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

// Also empties OpenSSL's error queue of the thread, which the next TLS operation would otherwise report.
std::unexpected<Error> refuse(const char* why) {
  ERR_clear_error();
  return fail(ErrorCode::kInvalid, why);
}

struct PemBlock {
  std::string name;  // "PUBLIC KEY"
  std::string der;
};

// The first PEM block of the text.
Result<PemBlock> read_pem(std::string_view pem) {
  if (pem.size() > kPemSizeMax) return refuse("key is larger than 16 KiB");
  const Bio bio = reader(pem);
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  if (PEM_read_bio(bio.get(), &name, &header, &data, &size) != 1) return refuse("key is not PEM");
  const bool plain = *header == '\0';
  PemBlock block{.name = name,
                 .der = std::string(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size))};
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_clear_free(data, static_cast<std::size_t>(size));
  if (!plain) return refuse("key is encrypted");
  return block;
}

Result<void> check_rsa(const EVP_PKEY* key) {
  const int bits = EVP_PKEY_get_bits(key);
  if (bits < kRsaBitsMin || bits > kRsaBitsMax) return refuse("RSA key is not of 2048 to 8192 bits");
  BIGNUM* exponent = nullptr;
  const bool found = EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent) == 1;
  const BigNumber owner(exponent);
  if (!found || BN_num_bits(exponent) > kRsaExponentBitsMax)
    return refuse("RSA key has a monstrous public exponent");
  return {};
}

Result<Key> check_key(Key key) {
  if (key == nullptr) return refuse("key is malformed");
  const int type = EVP_PKEY_get_base_id(key.get());
  if (type == EVP_PKEY_ED25519) return key;
  if (type != EVP_PKEY_RSA) return refuse("key is neither RSA nor Ed25519");
  TRY_VOID(check_rsa(key.get()));
  return key;
}

KeyType type_of(const EVP_PKEY* key) {
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 ? KeyType::kEd25519 : KeyType::kRsa2048;
}

// Ed25519 hashes by itself.
const EVP_MD* digest_of(const EVP_PKEY* key) {
  return type_of(key) == KeyType::kEd25519 ? nullptr : EVP_sha256();
}

std::string public_pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  TR_ASSERT(bio != nullptr);
  TR_ASSERT(PEM_write_bio_PUBKEY(bio.get(), key) == 1);
  return contents(bio.get());
}

}  // namespace

Result<PublicKey> PublicKey::from_pem(std::string_view pem) {
  TRY(const PemBlock block, read_pem(pem));
  const unsigned char* at = data_of(block.der);
  const unsigned char* const end = at + block.der.size();
  const auto size = static_cast<long>(block.der.size());
  Key key;
  if (block.name == PEM_STRING_PUBLIC) {
    key = own(d2i_PUBKEY(nullptr, &at, size));
  } else if (block.name == PEM_STRING_RSA_PUBLIC) {
    key = own(d2i_PublicKey(EVP_PKEY_RSA, nullptr, &at, size));
  } else {
    return refuse("PEM block is not a public key");
  }
  if (key != nullptr && at != end) return refuse("bytes after the key");
  TRY(Key checked, check_key(std::move(key)));
  return PublicKey(std::move(checked));
}

Result<PublicKey> PublicKey::from_multibase(std::string_view text) {
  if (text.size() < 2 || text.size() > kMultibaseSizeMax)
    return refuse("key is no multibase of ordinary size");
  std::optional<std::string> decoded;
  if (text.front() == 'z') decoded = from_base58(text.substr(1));
  if (text.front() == 'u') decoded = from_base64url(text.substr(1));
  if (!decoded) return refuse("key is neither base58-btc nor base64url");
  const std::string_view codec = std::string_view(*decoded).substr(0, kRsaCodec.size());
  const std::string_view raw = std::string_view(*decoded).substr(codec.size());
  Key key;
  if (codec == kEd25519Codec && raw.size() == kEd25519Size) {
    key = own(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, data_of(raw), raw.size()));
  } else if (codec == kRsaCodec) {
    const unsigned char* at = data_of(raw);
    key = own(d2i_PublicKey(EVP_PKEY_RSA, nullptr, &at, static_cast<long>(raw.size())));
    if (key != nullptr && at != data_of(raw) + raw.size()) return refuse("bytes after the key");
  } else {
    return refuse("multikey is neither RSA nor Ed25519");
  }
  TRY(Key checked, check_key(std::move(key)));
  return PublicKey(std::move(checked));
}

Result<PublicKey> PublicKey::from_ed25519(std::string_view raw) {
  if (raw.size() != kEd25519Size) return refuse("an Ed25519 key has 32 bytes");
  TRY(Key key,
      check_key(own(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, data_of(raw), raw.size()))));
  return PublicKey(std::move(key));
}

std::string PublicKey::ed25519() const {
  std::string raw(kEd25519Size, '\0');
  std::size_t size = raw.size();
  const int done =
      EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(raw.data()), &size);
  TR_ASSERT(done == 1 && size == raw.size());
  return raw;
}

KeyType PublicKey::type() const { return type_of(key_.get()); }

std::string PublicKey::pem() const { return public_pem(key_.get()); }

bool PublicKey::verify(std::string_view message, std::string_view signature, Algorithm algorithm) const {
  if ((algorithm == Algorithm::kEd25519) != (type() == KeyType::kEd25519)) return false;
  const bool pss = algorithm == Algorithm::kRsaPssSha512;
  const DigestContext context(EVP_MD_CTX_new());
  TR_ASSERT(context != nullptr);
  EVP_PKEY_CTX* options = nullptr;  // the context's own
  const EVP_MD* digest = pss ? EVP_sha512() : digest_of(key_.get());
  bool valid = EVP_DigestVerifyInit(context.get(), &options, digest, nullptr, key_.get()) == 1;
  if (pss) {
    valid = valid && EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1 &&
            EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_AUTO) == 1;
  }
  valid = valid && EVP_DigestVerify(context.get(), data_of(signature), signature.size(), data_of(message),
                                    message.size()) == 1;
  if (!valid) ERR_clear_error();
  return valid;
}

PrivateKey PrivateKey::generate(KeyType type) {
  Key key = own(type == KeyType::kEd25519 ? EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")
                                          : EVP_RSA_gen(kRsaBitsMin));
  TR_ASSERT(key != nullptr);
  return PrivateKey(std::move(key));
}

PrivateKey PrivateKey::ed25519_from_seed(std::string_view seed) {
  TR_ASSERT(seed.size() == kEd25519SeedSize);
  Key key = own(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, data_of(seed), seed.size()));
  TR_ASSERT(key != nullptr);
  return PrivateKey(std::move(key));
}

Result<PrivateKey> PrivateKey::from_pem(std::string_view pem) {
  TRY(PemBlock block, read_pem(pem));
  if (block.name != PEM_STRING_PKCS8INF) return refuse("PEM block is not an unencrypted PKCS #8 private key");
  const unsigned char* at = data_of(block.der);
  Key key = own(d2i_AutoPrivateKey(nullptr, &at, static_cast<long>(block.der.size())));
  OPENSSL_cleanse(block.der.data(), block.der.size());
  TRY(Key checked, check_key(std::move(key)));
  return PrivateKey(std::move(checked));
}

KeyType PrivateKey::type() const { return type_of(key_.get()); }

std::string PrivateKey::pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  TR_ASSERT(bio != nullptr);
  TR_ASSERT(PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return contents(bio.get());
}

PublicKey PrivateKey::public_key() const {
  // By way of its text, so that what holds a public key cannot sign.
  Result<PublicKey> key = PublicKey::from_pem(public_pem(key_.get()));
  TR_ASSERT(key.has_value());
  return *std::move(key);
}

std::string PrivateKey::sign(std::string_view message) const {
  const DigestContext context(EVP_MD_CTX_new());
  TR_ASSERT(context != nullptr);
  TR_ASSERT(EVP_DigestSignInit(context.get(), nullptr, digest_of(key_.get()), nullptr, key_.get()) == 1);
  std::size_t size = 0;
  TR_ASSERT(EVP_DigestSign(context.get(), nullptr, &size, data_of(message), message.size()) == 1);
  std::string signature(size, '\0');
  auto* out = reinterpret_cast<unsigned char*>(signature.data());
  TR_ASSERT(EVP_DigestSign(context.get(), out, &size, data_of(message), message.size()) == 1);
  signature.resize(size);
  return signature;
}

std::string random_bytes(std::size_t count) {
  TR_ASSERT(count <= INT_MAX);
  std::string bytes(count, '\0');
  TR_ASSERT(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) == 1);
  return bytes;
}

}  // namespace tagring::crypto
