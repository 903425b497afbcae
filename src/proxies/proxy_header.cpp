#include "proxies/proxy_header.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace tagring::proxies {
namespace {

using State = ProxyHeader::State;
using namespace std::string_view_literals;
constexpr std::string_view kSignature = "\r\n\r\n\0\r\nQUIT\n"sv;  // §2.2
constexpr std::size_t kFixed = 16;                                 // before the addresses of version 2

ProxyHeader incomplete(std::size_t wanted) { return {State::kIncomplete, wanted, {}}; }
ProxyHeader whole(std::optional<IpAddress> client) { return {State::kWhole, 0, client}; }

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size();
}

// "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n", §2.1.
ProxyHeader parse_version1(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n");
  if (end == std::string_view::npos) {
    return bytes.size() < ProxyHeader::kMostOfVersion1 ? incomplete(bytes.size() + 1) : ProxyHeader{};
  }
  if (end + 2 != bytes.size()) return {};
  std::vector<std::string_view> words;
  for (std::string_view rest = bytes.substr(0, end);;) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    words.push_back(rest.substr(0, space));
    if (space == rest.size()) break;
    rest.remove_prefix(space + 1);
  }
  if (words.size() >= 2 && words[1] == "UNKNOWN") return whole({});
  const bool is_v4 = words.size() >= 2 && words[1] == "TCP4";
  if (words.size() != 6 || (!is_v4 && words[1] != "TCP6")) return {};
  const auto from = IpAddress::parse(words[2]);
  const auto to = IpAddress::parse(words[3]);
  const bool is_v4_text = words[2].find(':') == std::string_view::npos;
  if (!from || !to || is_v4_text != is_v4 || !is_port(words[4]) || !is_port(words[5])) return {};
  return whole(from);
}

std::uint8_t byte_at(std::string_view bytes, std::size_t place) {
  return static_cast<std::uint8_t>(bytes[place]);
}

ProxyHeader parse_version2(std::string_view bytes) {
  if (bytes.size() < kFixed) return incomplete(kFixed);
  const std::size_t size = kFixed + (std::size_t{byte_at(bytes, 14)} << 8U | byte_at(bytes, 15));
  const std::uint8_t version_and_command = byte_at(bytes, 12);
  if (version_and_command >> 4U != 2 || (version_and_command & 15U) > 1 ||
      size > ProxyHeader::kMostOfVersion2)
    return {};
  if (bytes.size() < size) return incomplete(size);
  if (bytes.size() > size) return {};
  constexpr std::uint8_t kTcp4 = 0x11;
  constexpr std::uint8_t kTcp6 = 0x21;
  const std::uint8_t family = byte_at(bytes, 13);
  const bool is_local = (version_and_command & 15U) == 0;
  if (is_local || (family != kTcp4 && family != kTcp6)) return whole({});
  if (family == kTcp4) {
    if (size < kFixed + 12) return {};
    std::array<std::uint8_t, 4> v4{};
    std::copy_n(bytes.begin() + kFixed, v4.size(), v4.begin());
    return whole(IpAddress::from_v4(v4));
  }
  if (size < kFixed + 36) return {};
  IpAddress client;
  std::copy_n(bytes.begin() + kFixed, client.bytes.size(), client.bytes.begin());
  return whole(client);
}

}  // namespace

ProxyHeader parse_proxy_header(std::string_view bytes) {
  const std::string_view start = bytes.substr(0, kSignature.size());
  if (kSignature.starts_with(start))
    return start.size() < kSignature.size() ? incomplete(ProxyHeader::kLeast) : parse_version2(bytes);
  constexpr std::string_view kWord = "PROXY ";
  if (!bytes.starts_with(kWord.substr(0, bytes.size()))) return {};
  return bytes.size() < ProxyHeader::kLeast ? incomplete(ProxyHeader::kLeast) : parse_version1(bytes);
}

}  // namespace tagring::proxies
