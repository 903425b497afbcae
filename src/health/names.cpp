#include "health/names.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "proxies/networks.hpp"

namespace tagring::health {
namespace {

constexpr std::size_t kWitnesses = 2;  // of those asked, if there are so many: one alone may be wrong, or lie

// Not every machine gets to itself through its router, or has both versions of IP; then other nodes that get
// there say whether this one is there. kConflict: it is not. Other errors: nobody has seen what is.
Task<Result<void>> try_address(IpAddress address, std::string origin, std::vector<std::string> neighbours,
                               Reach* reach) {
  const Result<void> here = co_await reach->come_back(std::move(origin), address);
  if (here || here.error().code == ErrorCode::kConflict) co_return here;
  std::size_t found_another = 0;
  for (const std::string& neighbour : neighbours) {
    const Result<IpAddress> seen = co_await reach->ask(neighbour, address);
    if (seen) co_return Result<void>();
    if (seen.error().code == ErrorCode::kConflict) ++found_another;
  }
  if (found_another == 0 || found_another < std::min(kWitnesses, neighbours.size())) co_return here;
  co_return fail(ErrorCode::kConflict,
                 fmt::format("{} other node(s) found another there in its name", found_another));
}

std::string record_of(const IpAddress& address) {
  return fmt::format("{} record {}", address.is_v4() ? "A" : "AAAA", address.text());
}

}  // namespace

std::vector<IpAddress> other_addresses(const config::Config& config, std::vector<IpAddress> found) {
  std::erase_if(found, [&](const IpAddress& one) {
    return one == config.address || (proxies::is_private(one) && !proxies::is_private(config.address));
  });
  return found;
}

Task<Check> look_at_others(Check dns, std::string own_origin, std::vector<IpAddress> others,
                           std::vector<std::string> neighbours, Reach* reach) {
  std::string wrong;
  std::string unseen;
  std::string records;   // of what is wrong
  std::string unproved;  // of what nobody has seen
  for (const IpAddress& address : others) {
    const Result<void> here = co_await try_address(address, own_origin, neighbours, reach);
    if (here) continue;
    const bool is_another = here.error().code == ErrorCode::kConflict;
    std::string& said = is_another ? wrong : unseen;
    said +=
        fmt::format("; {} {}: {}", is_another ? "not this node is at" : "nobody here could see what is at",
                    address.text(), here.error().message);
    std::string& list = is_another ? records : unproved;
    list += fmt::format("{}its {}", list.empty() ? "" : " and ", record_of(address));
  }
  dns.detail += wrong + unseen;
  if (!wrong.empty())
    co_return bad("dns", dns.detail,
                  fmt::format("remove {}, or have what is there lead to this node: whoever goes there finds "
                              "somebody else",
                              records));
  if (unseen.empty()) co_return well("dns", dns.detail + "; all lead to this node");
  co_return Check{
      "dns", true, dns.detail,
      fmt::format("see from another machine that this node answers there, or remove {}", unproved)};
}

}  // namespace tagring::health
