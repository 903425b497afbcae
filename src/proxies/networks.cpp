#include "proxies/networks.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace tagring::proxies {
namespace {
constexpr unsigned kMapped = 96;  // bits before the IPv4 address
}

std::optional<Network> Network::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<IpAddress> address = IpAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  Network network{*address, 128};
  if (slash == std::string_view::npos) return network;
  const std::string_view length = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
  const unsigned most = address->is_v4() ? 32 : 128;
  if (error != std::errc() || end != length.data() + length.size() || bits > most) return std::nullopt;
  network.bits = address->is_v4() ? kMapped + bits : bits;
  return network;
}

bool Network::contains(const IpAddress& other) const {
  const unsigned whole = bits / 8;
  if (!std::equal(address.bytes.begin(), address.bytes.begin() + whole, other.bytes.begin())) return false;
  const unsigned rest = bits % 8;
  if (rest == 0) return true;
  const unsigned shift = 8 - rest;
  return address.bytes[whole] >> shift == other.bytes[whole] >> shift;
}

std::string Network::text() const {
  const unsigned most = address.is_v4() ? 32 : 128;
  const unsigned length = address.is_v4() ? bits - kMapped : bits;
  return length == most ? address.text() : fmt::format("{}/{}", address.text(), length);
}

bool is_in(const Networks& networks, const IpAddress& address) {
  return std::ranges::any_of(networks, [&](const Network& network) { return network.contains(address); });
}

bool is_private(const IpAddress& address) {
  static const Networks kPrivate = [] {
    Networks networks;
    for (const char* text : {"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
                             "169.254.0.0/16", "::1", "fc00::/7", "fe80::/10"})
      networks.push_back(*Network::parse(text));
    return networks;
  }();
  return is_in(kPrivate, address);
}

}  // namespace tagring::proxies
