// What a front of a node has found out about the signature of a request, for the core, which acts on it and
// need not find out again (docs/scaling.md).
#pragma once

#include <string>
#include <string_view>

#include "crypto/key.hpp"
#include "signatures/claim.hpp"

namespace tagring::federation {

// A header field of what fronts bring. From outside it would mean nothing; so who listens there refuses it.
inline constexpr std::string_view kCheckedField = "Tagring-Checked";

// Says that this key made that signature of that request. Hexadecimal.
[[nodiscard]] std::string checked_text(const signatures::SignatureClaim& claim, const crypto::PublicKey& key);

}  // namespace tagring::federation
