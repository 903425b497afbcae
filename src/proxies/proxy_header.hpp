// What a forwarder of TCP connections writes in front of them: the PROXY protocol, versions 1 and 2
// (https://www.haproxy.org/download/2.6/doc/proxy-protocol.txt).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "http/ip.hpp"

namespace tagring::proxies {

struct ProxyHeader {
  // Both versions have at least so many bytes; so many must be there to tell them apart.
  static constexpr std::size_t kLeast = 12;
  static constexpr std::size_t kMostOfVersion1 = 107;
  static constexpr std::size_t kMostOfVersion2 = 16 + 2048;  // with what forwarders like to add

  enum class State : std::uint8_t { kBad, kIncomplete, kWhole };
  State state = State::kBad;
  std::size_t wanted = 0;  // kIncomplete: read on until there are so many bytes, at least one more than given
  std::optional<IpAddress> client;  // kWhole; none for health checks, and for connections that are not TCP
};

// Of the first bytes of a connection, none beyond the header.
[[nodiscard]] ProxyHeader parse_proxy_header(std::string_view bytes);

}  // namespace tagring::proxies
