// Who signs calls of this node and makes them, where that is done by other processes than this one
// (cluster/fronts.hpp).
#pragma once

#include <optional>
#include <string>

#include "http/message.hpp"
#include "signatures/signature.hpp"

namespace tagring::federation {

// How a call of this node is to be signed; always with the node's key.
struct SignAs {
  std::string key_id;
  signatures::SignatureForm form = signatures::SignatureForm::kCavage;
};

class Couriers {
 public:
  virtual ~Couriers() = default;
  // `call` is not signed yet. What came of it, as HttpClient has it; nothing if it is left to whoever asks.
  [[nodiscard]] virtual Task<std::optional<Result<HttpResponse>>> send(HttpCall call, SignAs as) = 0;
};

}  // namespace tagring::federation
