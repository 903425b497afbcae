// What a request's signature claims, in either scheme, and what is asked of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "crypto/key.hpp"

namespace tagring::signatures {

// What a request's signature must satisfy apart from being genuine.
struct SignaturePolicy {
  // Names under which this node is reached, "host" or "host:port" in lower case. A Host that lacks only the
  // port is right too: Mastodon sends it so.
  std::vector<std::string> authorities;
  std::string scheme = "https";  // the rest of the origin; RFC 9421 signs it
  Duration age_max = std::chrono::hours(1);
  Duration ahead_max = std::chrono::minutes(5);  // clocks differ
  // Requests dated earlier are refused. With the start of the process here, nothing that a ReplayCache has
  // forgotten by a restart gets in again.
  std::optional<WallTime> not_before;
  // Key ids are names that two servers have agreed on, and no URLs (fasp_signature.hpp).
  bool agreed_key_ids = false;
};

// A signature that was read, and whose request fits it, but whose key has not been tried: see verify().
struct SignatureClaim {
  std::string key_id;  // a URL, fragment included
  // Set if the signature names one. "hs2019" is none; then the type of the key decides.
  std::optional<crypto::Algorithm> algorithm;
  // As the scheme names them, lower case, in order: "(request-target)", "host", …; "@method", "@target-uri",
  // …
  std::vector<std::string> covered;
  // The texts that may have been signed. In draft-cavage: the request as it is and, since many servers leave
  // the query out of the request target, without its query. In RFC 9421: with and without the port.
  std::vector<std::string> signing_strings;
  std::string signature;  // bytes
  WallTime signed_at;     // Date, or (created)

  // True if the header `name` (lower case) is signed, in either scheme.
  [[nodiscard]] bool covers(std::string_view name) const;
};

}  // namespace tagring::signatures
