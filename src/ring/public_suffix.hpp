// Host names and the public suffix list, which says where a registered domain begins.
//
// The list is compiled in, never taken from the system: node IDs depend on it, so its version is a parameter
// of the network (data/public_suffix_list).
//
// Only its ICANN section counts. The private section lists hosters ("github.io") whose customers get a name
// for nothing; an ID shall cost the registration of a domain (paper §5.2, §8.4), so all customers of a hoster
// share the hoster's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tagring::ring {

// The host name in lower case and Punycode, without a final dot: "BÜCHER.example." → "xn--bcher-kva.example".
// kInvalid for addresses and for what is no host name (RFC 1123: letters, digits, hyphens, 63 bytes per
// label, 253 in all).
Result<std::string> ascii_host(std::string_view host);

// The registered domain `host` is in. `host` comes from ascii_host. kInvalid if it is a public suffix itself.
// Names under an unknown top-level domain count as registered under it.
Result<std::string> registered_domain(const std::string& host);

}  // namespace tagring::ring
