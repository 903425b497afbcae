#include "net/resolver.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <functional>
#include <mutex>
#include <netdb.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <utility>

#include "base/counted.hpp"
#include "http/url.hpp"
#include "net/system_clock.hpp"

namespace tagring::net {
namespace asio = boost::asio;
namespace {

using Addresses = std::vector<IpAddress>;

constexpr std::size_t kNameSizeMax = 253;
constexpr std::size_t kPendingMax = 512;
constexpr std::size_t kPendingOfDomainMax = 128;
constexpr std::chrono::seconds kFailureLifetime{30};
constexpr std::chrono::seconds kUnknownLifetime{60};  // of what is in the hosts file, say
constexpr std::chrono::hours kOldLifetime{24};
constexpr std::chrono::milliseconds kForNewer{300};  // a call on the rings has 3 s in all

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

std::unexpected<Error> too_many() { return fail(ErrorCode::kUnavailable, "too many name look-ups at once"); }

// Waits on its own executor for what a look-up thread posts there.
template <class T>
struct Waiter {
  explicit Waiter(const Executor& executor)
      : timer(executor), working(asio::prefer(executor, asio::execution::outstanding_work.tracked)) {}
  asio::steady_timer timer;
  Executor working;
  std::optional<Result<T>> answer;
};

// A question that is being asked, or waits to be, and who waits for the answer.
template <class T>
struct Flight {
  std::vector<std::shared_ptr<Waiter<T>>> waiters;
  bool is_for_later = false;  // wanted, although nobody waits any more

  void land(const Result<T>& answer) {
    for (const auto& waiter : std::exchange(waiters, {})) {
      const Executor executor = std::move(waiter->working);
      asio::post(executor, [waiter, answer] {
        waiter->answer = answer;
        waiter->timer.cancel();
      });
    }
  }
};

using Time = std::chrono::steady_clock::time_point;

struct Kept {
  Result<Addresses> answer;
  Time until;
  Time good_for_rings_until;
};

// Blocks. How long the answer of the system may be kept is asked for on its own: getaddrinfo does not say.
Result<HostAddresses> ask_system(const std::string& host, const std::optional<NameServer>& server) {
  if (server) return ask_addresses(host, server);
  TRY(Addresses addresses, ask_system(host));
  if (!host.contains('.')) return HostAddresses{std::move(addresses), kUnknownLifetime};  // "localhost"
  const Result<HostAddresses> records = ask_addresses(host, server);
  return HostAddresses{std::move(addresses), records ? records->lifetime : kUnknownLifetime};
}

}  // namespace

struct Resolver::Impl {
  // Threads for one use, and what waits for them.
  struct Lane {
    Lane(budget::Resource names, unsigned count)
        : resource(names), room(std::max(1U, count)), threads(room) {}
    struct Job {
      std::string name;
      budget::Spender domain;
      std::function<bool()> is_wanted;  // somebody still waits
      std::function<void()> run;
      std::function<void()> give_way;  // instead
    };
    const budget::Resource resource;
    unsigned room;                 // idle threads
    Shares<std::deque<Job>> jobs;  // by domain
    std::string last;              // whose turn it was
    asio::thread_pool threads;
  };
  using Answers = std::map<std::string, Kept>;  // by name

  explicit Impl(ResolverOptions given)
      : options(std::move(given)),
        others(budget::Resource::kNames, options.threads),
        ring(budget::Resource::kRingNames, options.ring_threads) {}

  Lane& lane(NameUse use) { return use == NameUse::kRing ? ring : others; }
  [[nodiscard]] budget::Spender domain_of(const std::string& host) const {
    return options.budget == nullptr ? budget::Spender() : options.budget->who(host);
  }
  void start_jobs(Lane& lane);
  void start(Lane& lane, Lane::Job job);
  void drop_unwanted(Lane& lane);
  Result<void> add_job(Lane& lane, Lane::Job job);
  void keep(const std::string& host, NameUse use, const Result<HostAddresses>& found);
  std::optional<Result<Addresses>> kept_answer(const std::string& host, NameUse use, bool even_if_old);
  Result<std::shared_ptr<Flight<Addresses>>> join(const std::string& host, NameUse use,
                                                  const std::shared_ptr<Waiter<Addresses>>& waiter);
  template <class T>
  Task<Result<T>> wait(std::shared_ptr<Flight<T>> flight, std::shared_ptr<Waiter<T>> waiter, std::string name,
                       Time until);

  const ResolverOptions options;
  std::mutex mutex;                         // of all below
  std::map<NameUse, Shares<Answers>> kept;  // by domain
  std::map<std::pair<NameUse, std::string>, std::shared_ptr<Flight<Addresses>>> flights;
  Lane others;
  Lane ring;
};

Resolver::Resolver(ResolverOptions options) : impl_(std::make_shared<Impl>(std::move(options))) {}

Resolver::~Resolver() {
  for (Impl::Lane* lane : {&impl_->others, &impl_->ring}) {
    lane->threads.stop();
    lane->threads.join();
  }
  const std::lock_guard lock(impl_->mutex);
  for (Impl::Lane* lane : {&impl_->others, &impl_->ring})
    lane->jobs.change_all([](auto& its) { its.clear(); });
  impl_->flights.clear();
}

// --- threads -----------------------------------------------------------------------------------------------

// With the mutex, as all below. Domains take turns; those that have their share of threads are passed over.
void Resolver::Impl::start_jobs(Lane& lane) {
  drop_unwanted(lane);
  for (std::size_t in_vain = 0; lane.room > 0 && in_vain < lane.jobs.holders();) {
    lane.last = lane.jobs.next_after(lane.last);
    const budget::Spender domain = lane.jobs.find(lane.last)->front().domain;
    if (options.budget != nullptr && options.budget->take(lane.resource, domain) > Duration::zero()) {
      ++in_vain;
      continue;
    }
    in_vain = 0;
    start(lane, lane.jobs.change(lane.last, [](std::deque<Lane::Job>& its) {
      Lane::Job first = std::move(its.front());
      its.pop_front();
      return first;
    }));
  }
}

void Resolver::Impl::start(Lane& lane, Lane::Job job) {
  --lane.room;
  asio::post(lane.threads, [this, &lane, run = std::move(job.run), domain = std::move(job.domain)] {
    run();
    const std::lock_guard lock(mutex);
    ++lane.room;
    if (options.budget != nullptr) options.budget->give_back(lane.resource, domain);
    start_jobs(lane);
  });
}

void Resolver::Impl::drop_unwanted(Lane& lane) {
  const NameUse use = &lane == &ring ? NameUse::kRing : NameUse::kOthers;
  lane.jobs.change_all([&](std::deque<Lane::Job>& its) {
    std::erase_if(its, [&](const Lane::Job& job) {
      const bool unwanted = !job.is_wanted();
      if (unwanted) flights.erase({use, job.name});
      return unwanted;
    });
  });
}

// Where no more may wait, the newest of the domain that has most gives way.
Result<void> Resolver::Impl::add_job(Lane& lane, Lane::Job job) {
  drop_unwanted(lane);
  const std::string domain = job.domain.whole();
  const bool crowded = options.budget != nullptr && lane.jobs.of(domain) >= kPendingOfDomainMax;
  const auto drop_newest = [](std::deque<Lane::Job>& its) {
    its.back().give_way();
    its.pop_back();
  };
  if (crowded || !lane.jobs.make_room(domain, kPendingMax, drop_newest)) return too_many();
  lane.jobs.change(domain, [&](std::deque<Lane::Job>& its) { its.push_back(std::move(job)); });
  start_jobs(lane);
  return {};
}

template <class T>
Task<Result<T>> Resolver::Impl::wait(std::shared_ptr<Flight<T>> flight, std::shared_ptr<Waiter<T>> waiter,
                                     std::string name, Time until) {
  waiter->timer.expires_at(until);
  co_await waiter->timer.async_wait(asio::as_tuple(asio::use_awaitable));
  if (waiter->answer) co_return std::move(*waiter->answer);
  const std::lock_guard lock(mutex);
  std::erase(flight->waiters, waiter);
  co_return fail(ErrorCode::kTimedOut, name + ": name look-up took too long");
}

// --- what is known -----------------------------------------------------------------------------------------

// Where no more are kept, all go that are good for nothing any more; else one of the domain that has most,
// which is good for the shortest time.
void Resolver::Impl::keep(const std::string& host, NameUse use, const Result<HostAddresses>& found) {
  const Time now = std::chrono::steady_clock::now();
  const Time until = now + (found ? found->lifetime : kFailureLifetime);
  const std::string domain = domain_of(host).whole();
  Shares<Answers>& all = kept[use];
  const auto shortest = [](const Answers& its) {
    return std::ranges::min_element(its, {}, [](const auto& entry) { return entry.second.until; });
  };
  const auto is_shorter = [&](const Answers& one, const Answers& other) {
    return shortest(one)->second.until < shortest(other)->second.until;
  };
  const Answers* of_domain = all.find(domain);
  const bool is_new = of_domain == nullptr || !of_domain->contains(host);
  const auto is_over = [&](const auto& entry) {
    return now >= (use == NameUse::kRing ? entry.second.good_for_rings_until : entry.second.until);
  };
  if (is_new && all.size() >= options.kept_max)
    all.change_all([&](Answers& its) { std::erase_if(its, is_over); });
  if (is_new && all.size() >= options.kept_max)
    all.change(all.gives_way_to(domain, is_shorter), [&](Answers& its) { its.erase(shortest(its)); });
  all.change(domain, [&](Answers& its) {
    const auto known = its.find(host);
    const bool is_old_good = use == NameUse::kRing && known != its.end() && known->second.answer &&
                             now < known->second.good_for_rings_until;
    if (!found && is_old_good) {
      known->second.until = until;
      return;
    }
    Result<Addresses> answer = found ? Result<Addresses>(found->addresses) : std::unexpected(found.error());
    its.insert_or_assign(host, Kept{std::move(answer), until, found ? now + kOldLifetime : until});
  });
}

std::optional<Result<Addresses>> Resolver::Impl::kept_answer(const std::string& host, NameUse use,
                                                             bool even_if_old) {
  const Answers* of_domain = kept[use].find(domain_of(host).whole());
  if (of_domain == nullptr) return std::nullopt;
  const auto known = of_domain->find(host);
  if (known == of_domain->end()) return std::nullopt;
  const Time until = even_if_old ? known->second.good_for_rings_until : known->second.until;
  if (std::chrono::steady_clock::now() >= until) return std::nullopt;
  return known->second.answer;
}

// The flight that brings the addresses of a host.
Result<std::shared_ptr<Flight<Addresses>>> Resolver::Impl::join(
    const std::string& host, NameUse use, const std::shared_ptr<Waiter<Addresses>>& waiter) {
  if (const auto found = flights.find({use, host}); found != flights.end()) {
    found->second->waiters.push_back(waiter);
    return found->second;
  }
  auto flight = std::make_shared<Flight<Addresses>>();
  flight->waiters.push_back(waiter);
  const auto is_wanted = [flight] { return flight->is_for_later || !flight->waiters.empty(); };
  const auto run = [this, flight, host, use] {
    const Result<HostAddresses> found = ask_system(host, options.name_server);
    const std::lock_guard lock(mutex);
    keep(host, use, found);
    flights.erase({use, host});
    flight->land(found ? Result<Addresses>(found->addresses) : std::unexpected(found.error()));
  };
  const auto give_way = [this, flight, host, use] {
    flights.erase({use, host});
    flight->land(too_many());
  };
  flights[{use, host}] = flight;
  if (auto added = add_job(lane(use), {host, domain_of(host), is_wanted, run, give_way}); !added) {
    flights.erase({use, host});
    return std::unexpected(added.error());
  }
  return flight;
}

Task<Result<Addresses>> Resolver::resolve(std::string host, Instant deadline, NameUse use) {
  const std::shared_ptr<Impl> impl = impl_;
  if (const auto known = impl->options.hosts.find(host); known != impl->options.hosts.end()) {
    if (known->second.empty()) co_return fail(ErrorCode::kUnavailable, host + ": no address configured");
    co_return known->second;
  }
  if (const auto literal = parse_literal(host)) {
    if (impl->options.allow_ip_literals) co_return Addresses{*literal};
    co_return fail(ErrorCode::kDenied, host + ": an address instead of a host name");
  }
  if (!is_host_name(host)) co_return fail(ErrorCode::kInvalid, "not a host name");
  const Executor executor = co_await asio::this_coro::executor;
  auto waiter = std::make_shared<Waiter<Addresses>>(executor);
  Result<std::shared_ptr<Flight<Addresses>>> flight;
  std::optional<Result<Addresses>> old;
  {
    const std::lock_guard lock(impl->mutex);
    if (auto answer = impl->kept_answer(host, use, /*even_if_old=*/false)) co_return *std::move(answer);
    if (use == NameUse::kRing) old = impl->kept_answer(host, use, /*even_if_old=*/true);
    flight = impl->join(host, use, waiter);
    if (old && flight) (*flight)->is_for_later = true;
  }
  if (!flight) co_return old.value_or(std::unexpected(flight.error()));
  // What is being looked up comes in time for the next who asks.
  Time until = to_steady(deadline);
  if (old) until = std::min(until, std::chrono::steady_clock::now() + kForNewer);
  Result<Addresses> answer = co_await impl->wait(*flight, waiter, host, until);
  co_return !answer && old ? *std::move(old) : std::move(answer);
}

Task<Result<std::vector<ServiceHost>>> Resolver::find_service(std::string name, Instant deadline) {
  using Hosts = std::vector<ServiceHost>;
  const std::shared_ptr<Impl> impl = impl_;
  const std::size_t dot = name.find("._tcp.");
  if (!name.starts_with('_') || dot == std::string::npos || name.size() > kNameSizeMax ||
      !is_host_name(name.substr(dot + 6))) {
    co_return fail(ErrorCode::kInvalid, name + ": not the name of a service");
  }
  const Executor executor = co_await asio::this_coro::executor;
  auto waiter = std::make_shared<Waiter<Hosts>>(executor);
  auto flight = std::make_shared<Flight<Hosts>>();
  flight->waiters.push_back(waiter);
  {
    const std::lock_guard lock(impl->mutex);
    const auto is_wanted = [flight] { return flight->is_for_later || !flight->waiters.empty(); };
    const auto run = [impl = impl.get(), name, flight] {
      const Result<Hosts> found = ask_srv(name, impl->options.name_server);
      const std::lock_guard lock(impl->mutex);
      flight->land(found);
    };
    const auto give_way = [flight] { flight->land(too_many()); };
    const budget::Spender domain = impl->domain_of(name.substr(dot + 6));
    CO_TRY_VOID(impl->add_job(impl->ring, {name, domain, is_wanted, run, give_way}));
  }
  co_return co_await impl->wait(flight, waiter, name, to_steady(deadline));
}

}  // namespace tagring::net
