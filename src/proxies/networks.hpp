// Blocks of addresses, as configurations name them: "192.0.2.0/24", "2001:db8::/32", or one address.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "http/ip.hpp"

namespace tagring::proxies {

struct Network {
  IpAddress address;
  unsigned bits = 128;  // of IpAddress::bytes that count: IPv4 is below ::ffff:0:0/96

  static std::optional<Network> parse(std::string_view text);
  [[nodiscard]] bool contains(const IpAddress& other) const;
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Network&, const Network&) = default;
};
using Networks = std::vector<Network>;

[[nodiscard]] bool is_in(const Networks& networks, const IpAddress& address);
// Of this machine, or of a network that is not part of the Internet: 127/8, 10/8, 172.16/12, 192.168/16,
// 100.64/10, 169.254/16, ::1, fc00::/7, fe80::/10.
[[nodiscard]] bool is_private(const IpAddress& address);

}  // namespace tagring::proxies
