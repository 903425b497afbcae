// Public keys of strangers: those that are taken are of a kind and size that can be worked with.
#include "crypto/key.hpp"

#include "fuzz/target.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  const Result<crypto::PublicKey> key = crypto::PublicKey::from_pem(text);
  if (!key) {
    TR_ASSERT(key.error().code == ErrorCode::kInvalid);
    return;
  }
  TR_ASSERT(!key->verify("message", ""));
  TR_ASSERT(!key->verify("message", text));
  const Result<crypto::PublicKey> again = crypto::PublicKey::from_pem(key->pem());
  TR_ASSERT(again);
  TR_ASSERT(again->type() == key->type() && again->pem() == key->pem());
}

}  // namespace tagring::fuzzing
