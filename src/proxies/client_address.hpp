// Whose request it is that a proxy brings: what X-Forwarded-For says, as far as it is to be believed.
#pragma once

#include "http/message.hpp"
#include "proxies/networks.hpp"

namespace tagring::proxies {

// The address nearest to `peer` that is not of a trusted proxy: each proxy appends whom it got the request
// from, so what stands before that is hearsay. `peer` itself if it is not trusted, or if the header says
// nothing that can be read. `peer` all zero is a Unix socket, which only proxies connect to.
[[nodiscard]] IpAddress client_of(const IpAddress& peer, const Headers& headers, const Networks& trusted);

}  // namespace tagring::proxies
