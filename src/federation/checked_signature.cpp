#include "federation/checked_signature.hpp"

#include "base/bytes.hpp"
#include "crypto/hash.hpp"

namespace tagring::federation {

std::string checked_text(const signatures::SignatureClaim& claim, const crypto::PublicKey& key) {
  std::string all = key.pem();
  for (const std::string& text : claim.signing_strings) all += to_hex(crypto::sha256(text));
  all += claim.signature;
  return to_hex(crypto::sha256(all));
}

}  // namespace tagring::federation
