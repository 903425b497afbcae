// IP addresses as values. IPv4 is kept as ::ffff:a.b.c.d, so there is one representation.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tagring {

// The first 64 bits of an IPv6 address, big endian: what one operator controls (paper §5.2).
using Prefix64 = std::array<std::uint8_t, 8>;

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // network byte order

  // Textual IPv4 or IPv6, without brackets, zone or port.
  static std::optional<IpAddress> parse(std::string_view text);
  static IpAddress from_v4(std::array<std::uint8_t, 4> v4);

  [[nodiscard]] bool is_v4() const;
  // Somebody at this machine, or whoever a proxy there does not name: 127.0.0.1, ::1, or none at all.
  [[nodiscard]] bool is_here() const;
  // "192.0.2.1" or RFC 5952 text.
  [[nodiscard]] std::string text() const;
  // The address's /64; for IPv4 its 6to4 prefix 2002:V4::/64.
  [[nodiscard]] Prefix64 prefix64() const;

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

}  // namespace tagring
