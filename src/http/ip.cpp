#include "http/ip.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <span>

namespace tagring {
namespace {
constexpr std::array<std::uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.contains('\0')) return std::nullopt;  // where inet_pton would end
  const std::string terminated(text);
  IpAddress address;
  if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) return address;
  std::array<std::uint8_t, 4> v4{};
  if (inet_pton(AF_INET, terminated.c_str(), v4.data()) == 1) return from_v4(v4);
  return std::nullopt;
}

IpAddress IpAddress::from_v4(std::array<std::uint8_t, 4> v4) {
  IpAddress address;
  std::ranges::copy(kMappedPrefix, address.bytes.begin());
  std::ranges::copy(v4, address.bytes.begin() + 12);
  return address;
}

bool IpAddress::is_v4() const { return std::ranges::equal(kMappedPrefix, std::span(bytes).first<12>()); }

bool IpAddress::is_here() const {
  IpAddress loopback;
  loopback.bytes.back() = 1;
  return *this == IpAddress() || *this == loopback || *this == from_v4({127, 0, 0, 1});
}

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  if (is_v4()) {
    inet_ntop(AF_INET, bytes.data() + 12, buffer.data(), buffer.size());
  } else {
    inet_ntop(AF_INET6, bytes.data(), buffer.data(), buffer.size());
  }
  return buffer.data();
}

Prefix64 IpAddress::prefix64() const {
  Prefix64 prefix{};
  if (is_v4()) {
    prefix = {0x20, 0x02, bytes[12], bytes[13], bytes[14], bytes[15], 0, 0};
  } else {
    std::copy_n(bytes.begin(), prefix.size(), prefix.begin());
  }
  return prefix;
}

}  // namespace tagring
