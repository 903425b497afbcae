// What others will say of a certificate: a server's chain held against a name and a time, as a client does
// before it speaks to that server (RFC 5280, RFC 9525).
#pragma once

#include <string>
#include <string_view>
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

// kUnavailable: whoever asks may not read it, and what is to be done. kNotFound. `what` it is, such as
// "private key".
[[nodiscard]] Result<void> check_pem_file(std::string_view what, const std::string& file);

// Files of PEM: `chain` has the own certificate first, `authorities` (may be empty) those that are trusted
// besides the system's. kNotFound, kInvalid: unreadable. kUnavailable: it may not be read. kDenied: clients
// refuse it for `host`: it is for other names, expired or not valid yet, of an unknown authority, or
// certificates between it and the authority's are missing. The message of both says why and what to do.
[[nodiscard]] Result<CertificateFacts> check_certificate(const std::string& chain,
                                                         const std::string& authorities,
                                                         const std::string& host, WallTime now);

}  // namespace tagring::crypto
