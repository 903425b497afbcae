#include "proxies/client_address.hpp"

namespace tagring::proxies {
namespace {

constexpr std::size_t kHopsMax = 16;

std::string_view trim(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t") + 1 - start);
}

// "192.0.2.1", "192.0.2.1:8080", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:8080".
std::optional<IpAddress> parse_hop(std::string_view hop) {
  if (hop.starts_with('[')) return IpAddress::parse(hop.substr(1, hop.find(']') - 1));
  if (const std::size_t colon = hop.find(':'); colon != std::string_view::npos && colon == hop.rfind(':'))
    hop = hop.substr(0, colon);
  return IpAddress::parse(hop);
}

}  // namespace

IpAddress client_of(const IpAddress& peer, const Headers& headers, const Networks& trusted) {
  if (peer != IpAddress{} && !is_in(trusted, peer)) return peer;
  const std::string field = headers.joined("X-Forwarded-For").value_or("");
  IpAddress client = peer;
  std::string_view rest = field;
  for (std::size_t hops = 0; hops < kHopsMax && !rest.empty(); ++hops) {
    const std::size_t comma = rest.rfind(',');
    const std::optional<IpAddress> hop =
        parse_hop(trim(comma == std::string_view::npos ? rest : rest.substr(comma + 1)));
    if (!hop) break;
    client = *hop;
    if (!is_in(trusted, client) || comma == std::string_view::npos) break;
    rest = rest.substr(0, comma);
  }
  return client;
}

}  // namespace tagring::proxies
