#include "net/resolver.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>

#include "base/url.hpp"
#include "net/system_clock.hpp"

namespace tagring::net {
namespace asio = boost::asio;
namespace {

using Addresses = std::vector<IpAddress>;

constexpr std::size_t kNameSizeMax = 253;
constexpr std::size_t kAddressesMax = 32;
constexpr int kPendingMax = 512;

std::optional<IpAddress> parse_literal(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return IpAddress::parse(host);
}

std::optional<IpAddress> to_address(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof(v4));
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
    return IpAddress::from_v4(bytes);
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof(v6));
    IpAddress result;
    std::memcpy(result.bytes.data(), &v6.sin6_addr, result.bytes.size());
    return result;
  }
  return std::nullopt;
}

// Blocks.
Result<Addresses> ask_system(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return fail(ErrorCode::kUnavailable, fmt::format("{}: {}", host, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  Addresses addresses;
  for (const addrinfo* entry = list; entry != nullptr && addresses.size() < kAddressesMax;
       entry = entry->ai_next) {
    const auto address = to_address(entry->ai_addr);
    if (address && std::ranges::find(addresses, *address) == addresses.end()) addresses.push_back(*address);
  }
  if (addresses.empty()) return fail(ErrorCode::kUnavailable, fmt::format("{}: no address", host));
  return addresses;
}

// Waits on the caller's executor for what a look-up thread posts there.
template <class T>
struct LookUp {
  explicit LookUp(const Executor& executor) : timer(executor) {}
  asio::steady_timer timer;
  std::optional<Result<T>> answer;
};

}  // namespace

struct Resolver::Impl {
  explicit Impl(ResolverOptions given) : options(std::move(given)), threads(std::max(1U, options.threads)) {}

  const ResolverOptions options;
  std::atomic<int> pending = 0;
  asio::thread_pool threads;
};

Resolver::Resolver(ResolverOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Resolver::~Resolver() {
  impl_->threads.stop();
  impl_->threads.join();
}

Task<Result<Addresses>> Resolver::resolve(std::string host, Instant deadline) {
  if (const auto known = impl_->options.hosts.find(host); known != impl_->options.hosts.end()) {
    if (known->second.empty()) co_return fail(ErrorCode::kUnavailable, host + ": no address configured");
    co_return known->second;
  }
  if (const auto literal = parse_literal(host)) {
    if (impl_->options.allow_ip_literals) co_return Addresses{*literal};
    co_return fail(ErrorCode::kDenied, host + ": an address instead of a host name");
  }
  if (!is_host_name(host)) co_return fail(ErrorCode::kInvalid, "not a host name");
  co_return co_await ask_in_thread<Addresses>(host, deadline, [host] { return ask_system(host); });
}

Task<Result<std::vector<ServiceHost>>> Resolver::find_service(std::string name, Instant deadline) {
  const std::size_t dot = name.find("._tcp.");
  if (!name.starts_with('_') || dot == std::string::npos || name.size() > kNameSizeMax ||
      !is_host_name(name.substr(dot + 6))) {
    co_return fail(ErrorCode::kInvalid, name + ": not the name of a service");
  }
  co_return co_await ask_in_thread<std::vector<ServiceHost>>(
      name, deadline, [name, server = impl_->options.name_server] { return ask_srv(name, server); });
}

// Lets one of the threads call `ask`, which blocks, and waits no longer than `deadline`.
template <class T, class Ask>
Task<Result<T>> Resolver::ask_in_thread(std::string name, Instant deadline, Ask ask) {
  if (impl_->pending.fetch_add(1) >= kPendingMax) {
    impl_->pending.fetch_sub(1);
    co_return fail(ErrorCode::kUnavailable, "too many name look-ups at once");
  }
  const Executor executor = co_await asio::this_coro::executor;
  auto look_up = std::make_shared<LookUp<T>>(executor);
  look_up->timer.expires_at(to_steady(deadline));
  const Executor working = asio::prefer(executor, asio::execution::outstanding_work.tracked);
  asio::post(impl_->threads, [ask, look_up, working, pending = &impl_->pending]() mutable {
    auto answer = std::make_shared<Result<T>>(ask());
    pending->fetch_sub(1);
    asio::post(working, [look_up = std::move(look_up), answer = std::move(answer)] {
      look_up->answer = std::move(*answer);
      look_up->timer.cancel();
    });
  });
  co_await look_up->timer.async_wait(asio::as_tuple(asio::use_awaitable));
  if (look_up->answer) co_return std::move(*look_up->answer);
  co_return fail(ErrorCode::kTimedOut, name + ": name look-up took too long");
}

}  // namespace tagring::net
