// What the processes of a node have in common: how they go out, to the world and to each other, and what the
// supervisor wants of them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "base/task.hpp"
#include "base/time.hpp"
#include "budget/manager.hpp"
#include "config/config.hpp"
#include "http/message.hpp"
#include "net/http_client.hpp"
#include "net/http_client_options.hpp"
#include "net/resolver.hpp"
#include "net/stream_client.hpp"

namespace tagring::app {

// Under which a core writes down in the database where it listens for fronts (cluster::Place::text()), and a
// node its key.
inline constexpr const char* kCoreName = "core";
inline constexpr const char* kKeyName = "key";

// Runs `serve` on the loop until it ends, and then cancels the other tasks and waits for them: until there a
// standby must hear of this process. Blocks. SIGHUP is ignored until somebody takes it: who asks for a reload
// must not end what has just been started.
Result<void> run_process(boost::asio::io_context& loop, boost::asio::thread_pool& pool, TaskGroup& tasks,
                         Task<Result<void>> serve);

[[nodiscard]] std::uint64_t random_seed();
[[nodiscard]] net::ResolverOptions resolver_options(const config::Config& config, budget::Manager& budget);
[[nodiscard]] net::HttpClientOptions client_options(const config::Config& config);

// Goes to other processes of the node, by their addresses.
class InsideClient {
 public:
  static Result<std::unique_ptr<InsideClient>> make(Executor io);
  [[nodiscard]] HttpClient& client() { return *client_; }
  [[nodiscard]] HttpClient& streams() { return streams_; }
  [[nodiscard]] HttpClient& news() { return *news_; }

 private:
  explicit InsideClient(Executor io) : streams_(std::move(io)) {}
  net::Resolver resolver_{{.hosts = {}, .allow_ip_literals = true, .threads = 2, .ring_threads = 1}};
  std::unique_ptr<net::BeastHttpClient> client_;
  std::unique_ptr<net::BeastHttpClient> news_;
  net::StreamClient streams_;
};

// What comes from outside, but for what only processes of this node may say
// (federation/checked_signature.hpp).
[[nodiscard]] Task<HttpResponse> answer_outside(HttpHandler node, HttpRequest request);

// Tells the supervisor that the process is alive, if it wants to know, until it is cancelled.
[[nodiscard]] Task<void> please_watchdog(Clock& clock);

}  // namespace tagring::app
