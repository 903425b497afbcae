// Public keys of strangers: those that are taken are of a kind and size that can be worked with.
#include "crypto/key.hpp"

#include "fuzz/target.hpp"

namespace tagring::fuzzing {
namespace {

void check(const Result<crypto::PublicKey>& key, std::string_view text) {
  if (!key) {
    TR_ASSERT(key.error().code == ErrorCode::kInvalid);
    return;
  }
  for (const crypto::Algorithm algorithm :
       {crypto::Algorithm::kRsaSha256, crypto::Algorithm::kRsaPssSha512, crypto::Algorithm::kEd25519}) {
    TR_ASSERT(!key->verify("message", "", algorithm));
    TR_ASSERT(!key->verify("message", text, algorithm));
  }
  const Result<crypto::PublicKey> again = crypto::PublicKey::from_pem(key->pem());
  TR_ASSERT(again);
  TR_ASSERT(again->type() == key->type() && again->pem() == key->pem());
}

}  // namespace

void fuzz(std::string_view text) {
  check(crypto::PublicKey::from_pem(text), text);
  check(crypto::PublicKey::from_multibase(text), text);
}

}  // namespace tagring::fuzzing
