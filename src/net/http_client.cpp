#include "net/http_client.hpp"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <fmt/format.h>
#include <mutex>
#include <unordered_map>

#include "net/hop.hpp"
#include "net/host_pool.hpp"
#include "net/tls.hpp"

namespace tagring::net {
namespace {
// Pools that ended are swept from the map when it has doubled since the last sweep.
constexpr std::size_t kSweepMin = 256;
}  // namespace

struct BeastHttpClient::Impl {
  Impl(HttpClientOptions given, Executor executor, Resolver& names, TlsContext context)
      : options(std::make_shared<const HttpClientOptions>(std::move(given))),
        io(std::move(executor)),
        resolver(names),
        tls(std::move(context)) {}

  [[nodiscard]] Result<void> check(const Url& url) const {
    if (url.scheme != "https" && !options->allow_private_addresses) {
      return fail(ErrorCode::kDenied, "only https is allowed");
    }
    const std::vector<std::uint16_t>& ports = options->ports;
    const bool is_allowed = ports.empty() ? options->allow_private_addresses || url.port == 443
                                          : std::ranges::find(ports, url.port) != ports.end();
    if (!is_allowed) return fail(ErrorCode::kDenied, fmt::format("port {} is not allowed", url.port));
    return {};
  }

  [[nodiscard]] std::shared_ptr<HostPool> pool(const Url& url) {
    const std::string key = fmt::format("{}://{}:{}", url.scheme, url.host, url.port);
    const std::scoped_lock lock(mutex);
    if (pools.size() >= sweep_at) {
      std::erase_if(pools, [](const auto& entry) { return entry.second.expired(); });
      sweep_at = std::max(kSweepMin, pools.size() * 2);
    }
    std::weak_ptr<HostPool>& entry = pools[key];
    if (auto known = entry.lock()) return known;
    auto made = std::make_shared<HostPool>(options, io, resolver, url.scheme == "https" ? tls : nullptr, url);
    entry = made;
    return made;
  }

  void shut_down() {
    const std::scoped_lock lock(mutex);
    for (const auto& [key, entry] : pools) {
      if (const auto known = entry.lock()) known->shut_down();
    }
  }

  const std::shared_ptr<const HttpClientOptions> options;
  const Executor io;
  Resolver& resolver;
  const TlsContext tls;

  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<HostPool>> pools;
  std::size_t sweep_at = kSweepMin;
};

Result<std::unique_ptr<BeastHttpClient>> BeastHttpClient::make(HttpClientOptions options, Executor io,
                                                               Resolver& resolver) {
  TRY(TlsContext tls, make_client_tls(options.ca_file));
  if (options.source) {
    boost::asio::ip::tcp::socket trial(io);
    if (const auto bound = come_from(*options.source, trial); !bound)
      return fail(ErrorCode::kInvalid,
                  bound.error().message + ": network.source must be an address of this machine");
  }
  auto impl = std::make_shared<Impl>(std::move(options), std::move(io), resolver, std::move(tls));
  return std::unique_ptr<BeastHttpClient>(new BeastHttpClient(std::move(impl)));
}

BeastHttpClient::BeastHttpClient(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

BeastHttpClient::~BeastHttpClient() { impl_->shut_down(); }

Task<Result<HttpResponse>> BeastHttpClient::send(HttpCall call) {
  CO_TRY_VOID(impl_->check(call.url));
  auto pool = impl_->pool(call.url);
  Executor strand = pool->executor();
  co_return co_await run_on(std::move(strand), HostPool::send(std::move(pool), std::move(call)));
}

}  // namespace tagring::net
