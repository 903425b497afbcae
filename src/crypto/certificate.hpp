// What others will say of a certificate: a server's chain held against a name and a time, as a client does
// before it speaks to that server (RFC 5280, RFC 9525).
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

struct asn1_string_st;

namespace tagring::crypto {

// A time that OpenSSL read in a certificate.
[[nodiscard]] WallTime to_wall(const asn1_string_st* time);

struct CertificateFacts {
  WallTime from;
  WallTime until;
  std::vector<std::string> names;  // DNS names that it is for, as they stand there

  // When a sixth of its lifetime is left: certbot and Caddy have renewed it long before.
  [[nodiscard]] WallTime late_from() const { return until - (until - from) / 6; }
};

// Files of PEM: `chain` has the own certificate first, `authorities` (may be empty) those that are trusted
// besides the system's. kNotFound, kInvalid: unreadable. kDenied: clients refuse it for `host`, and the
// message says why and what to do: it is for other names, expired or not valid yet, of an unknown authority,
// or certificates between it and the authority's are missing.
[[nodiscard]] Result<CertificateFacts> check_certificate(const std::string& chain,
                                                         const std::string& authorities,
                                                         const std::string& host, WallTime now);

}  // namespace tagring::crypto
