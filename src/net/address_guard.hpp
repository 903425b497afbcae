// Which addresses a stranger's URL may make this node connect to (server-side request forgery).
#pragma once

#include "http/ip.hpp"

namespace tagring::net {

// True for addresses of the public Internet. False for all that is private, local, documentation, benchmark,
// multicast or reserved (the IANA special-purpose registries), and for every IPv6 form that carries an IPv4
// address (compatible, NAT64, 6to4, Teredo), because a gateway may unwrap it to a private one. IPv4-mapped
// addresses count as the IPv4 address.
[[nodiscard]] bool is_public(const IpAddress& address);

}  // namespace tagring::net
