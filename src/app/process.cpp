#include "app/process.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <csignal>
#include <fmt/format.h>
#include <sys/resource.h>

#include "crypto/key.hpp"
#include "federation/checked_signature.hpp"
#include "http/http_error.hpp"
#include "machine/systemd.hpp"

namespace tagring::app {
namespace {
// Connections. A front that fetches from slow servers has one for each of these.
constexpr std::size_t kToOneProcess = 512;

// A shell allows 1,024 files unless who asks wants more: fewer than there may be connections.
void allow_all_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &files));
}

Task<void> serve_into(Task<Result<void>> serve, TaskGroup* tasks, boost::asio::io_context* loop,
                      Result<void>* result) {
  *result = co_await std::move(serve);
  tasks->cancel();
  co_await tasks->join();
  loop->stop();
}

}  // namespace

Result<void> run_process(boost::asio::io_context& loop, boost::asio::thread_pool& pool, TaskGroup& tasks,
                         Task<Result<void>> serve) {
  static_cast<void>(std::signal(SIGHUP, SIG_IGN));
  allow_all_files();
  Result<void> result;
  boost::asio::co_spawn(loop, serve_into(std::move(serve), &tasks, &loop, &result),
                        [](std::exception_ptr error) {
                          if (error) std::rethrow_exception(error);
                        });
  const auto keep_running = boost::asio::make_work_guard(loop);
  loop.run();
  pool.stop();
  pool.join();
  return result;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  const std::string bytes = crypto::random_bytes(sizeof seed);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&seed));
  return seed;
}

net::ResolverOptions resolver_options(const config::Config& config, budget::Manager& budget) {
  net::ResolverOptions options;
  options.hosts = config.hosts;
  options.allow_ip_literals = config.allow_private_addresses;
  options.budget = &budget;
  return options;
}

net::HttpClientOptions client_options(const config::Config& config) {
  net::HttpClientOptions client;
  client.ca_file = config.ca_file;
  client.allow_private_addresses = config.allow_private_addresses;
  client.source = config.source;
  client.user_agent = fmt::format("tagring/{} (+{})", TAGRING_VERSION, config.origin());
  return client;
}

Result<std::unique_ptr<InsideClient>> InsideClient::make(Executor io) {
  std::unique_ptr<InsideClient> made(new InsideClient(io));
  net::HttpClientOptions options;
  options.allow_private_addresses = true;
  options.connections_per_host_max = kToOneProcess;
  options.connect_timeout = std::chrono::seconds(2);
  options.user_agent = "";
  TRY(made->client_, net::BeastHttpClient::make(options, io, made->resolver_));
  TRY(made->news_, net::BeastHttpClient::make(std::move(options), std::move(io), made->resolver_));
  return made;
}

Task<HttpResponse> answer_outside(HttpHandler node, HttpRequest request) {
  if (request.headers.find(federation::kCheckedField))
    co_return error_response({ErrorCode::kInvalid, "a field that is for this node's own processes"});
  co_return co_await node(std::move(request));
}

Task<void> please_watchdog(Clock& clock) {
  const std::optional<Duration> interval = machine::watchdog_interval();
  if (interval)
    machine::notify_systemd(fmt::format("WATCHDOG_USEC={}", std::chrono::microseconds(*interval).count()));
  while (interval) {
    machine::notify_systemd("WATCHDOG=1");
    const Instant next = clock.now() + *interval / 3;
    co_await clock.sleep_until(next);
  }
}

}  // namespace tagring::app
