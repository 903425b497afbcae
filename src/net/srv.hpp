// Records of the DNS: SRV (RFC 2782), A and AAAA, asked with the system's resolver and its configuration.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/ip.hpp"
#include "http/services.hpp"

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

inline constexpr std::size_t kAddressesMax = 32;
struct HostAddresses {
  std::vector<IpAddress> addresses;  // at most kAddressesMax
  std::chrono::seconds lifetime{0};  // the least of their records, as the DNS has them
};
// Those of IPv6 first. Blocks as above, once for each kind; without `server` a second for each, for it is
// asked after the system has answered. kNotFound if there are none.
Result<HostAddresses> ask_addresses(const std::string& host, const std::optional<NameServer>& server);

}  // namespace tagring::net
