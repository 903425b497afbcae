// SRV records (RFC 2782) of the DNS, asked with the system's resolver and its configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.hpp"
#include "base/services.hpp"

namespace tagring::net {

// A name server to be asked instead of those of the system.
struct NameServer {
  IpAddress address;  // IPv4
  std::uint16_t port = 53;
};

// The hosts in the answer section of a DNS message, ordered and bounded as ServiceFinder says. Targets that
// are no host names, "." and port 0 are passed over. kInvalid if the message is malformed, kNotFound if no
// host remains.
Result<std::vector<ServiceHost>> parse_srv(std::string_view message);

// Blocks, about 10 s at most for each name server of the system.
Result<std::vector<ServiceHost>> ask_srv(const std::string& name, const std::optional<NameServer>& server);

}  // namespace tagring::net
