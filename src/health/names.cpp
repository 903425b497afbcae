#include "health/names.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "proxies/networks.hpp"

namespace tagring::health {
namespace {

// Not every machine gets to itself through its router, or has both versions of IP; then the first other node
// that gets there says whether this one is there.
Task<Result<void>> try_address(IpAddress address, std::string origin, std::vector<std::string> neighbours,
                               Reach* reach) {
  Result<void> here = co_await reach->come_back(std::move(origin), address);
  for (const std::string& neighbour : neighbours) {
    if (here || here.error().code == ErrorCode::kConflict) break;
    const Result<IpAddress> seen = co_await reach->ask(neighbour, address);
    if (seen) {
      here = {};
    } else if (seen.error().code == ErrorCode::kConflict) {
      here = std::unexpected(seen.error());
    }
  }
  co_return here;
}

}  // namespace

std::vector<IpAddress> other_addresses(const config::Config& config, std::vector<IpAddress> found) {
  std::erase_if(found, [&](const IpAddress& one) {
    return one.prefix64() == config.address.prefix64() ||
           (proxies::is_private(one) && !proxies::is_private(config.address));
  });
  return found;
}

Task<Check> look_at_others(Check dns, std::string own_origin, std::vector<IpAddress> others,
                           std::vector<std::string> neighbours, Reach* reach) {
  std::string wrong;
  std::string records;
  for (const IpAddress& address : others) {
    const Result<void> here = co_await try_address(address, own_origin, neighbours, reach);
    if (here) continue;
    wrong += fmt::format("; at {} is not this node: {}", address.text(), here.error().message);
    records += fmt::format("{}its {} record {}", records.empty() ? "" : " and ",
                           address.is_v4() ? "A" : "AAAA", address.text());
  }
  if (wrong.empty()) co_return well("dns", dns.detail + "; all lead to this node");
  co_return bad("dns", dns.detail + wrong,
                fmt::format("remove {}, or have what is there lead to this node: whoever goes there finds "
                            "somebody else, or nobody",
                            records));
}

}  // namespace tagring::health
