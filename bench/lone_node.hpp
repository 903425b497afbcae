// A whole node, the only one of its network, in this process: with its database on the disk and its workers,
// but with nobody outside. What it sends is answered in memory.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "db/stores.hpp"
#include "figures.hpp"
#include "net/system_clock.hpp"
#include "node/node.hpp"
#include "signed_posts.hpp"

namespace tagring::bench {

inline constexpr const char* kNodeHost = "tags.bench.example";
inline constexpr const char* kInstance = "bench.example";

[[noreturn]] inline void give_up(const std::string& why) {
  fmt::print(stderr, "{}\n", why);
  std::exit(1);
}

// The rest of the internet.
class MemoryHttp final : public HttpClient {
 public:
  std::function<HttpResponse(const HttpCall&)> answer;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;

  Task<Result<HttpResponse>> send(HttpCall call) override {
    ++calls;
    bytes += call.body.size();
    co_return answer(call);
  }
};

// How often a second all cores together do `work`.
inline double rate_on_all_cores(const std::function<void()>& work) {
  constexpr double kSeconds = 1.5;
  std::vector<std::uint64_t> counts(cores());
  const Stopwatch watch;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t& count : counts) {
      threads.emplace_back([&work, &watch, &count] {
        std::uint64_t done = 0;
        for (; watch.seconds() < kSeconds; ++done) work();
        count = done;
      });
    }
  }
  std::uint64_t total = 0;
  for (const std::uint64_t count : counts) total += count;
  return static_cast<double>(total) / watch.seconds();
}

struct LoneNode {
  // An empty database in `directory`.
  LoneNode(const std::filesystem::path& directory, crypto::PrivateKey node_key)
      : key(std::move(node_key)), pool(cores()), workers(pool.get_executor()), clock(loop.get_executor()) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    auto opened = db::open_stores(
        {.path = (directory / "tagring.db").string(), .vfs = {}, .mode = sql::Mode::kThread}, clock);
    if (!opened) give_up(opened.error().message);
    stores = std::move(*opened);
    config::Config config;
    config.host = kNodeHost;
    config.address = *IpAddress::parse("2001:db8::1");
    config.create = true;
    config.instances = {kInstance};
    config.balance = false;
    config.posts_an_hour = 1'000'000;
    config.deliveries_per_second = 1'000'000'000;  // what it can do is to be measured, not kept to
    node::Environment environment{clock, loop.get_executor(), http, workers, node::stores_of(*stores), log,
                                  1};
    node = std::make_unique<node::Node>(std::move(config), key, 1, environment);
  }
  ~LoneNode() {
    node.reset();
    pool.join();
  }
  LoneNode(const LoneNode&) = delete;
  LoneNode& operator=(const LoneNode&) = delete;

  // Starts the node, runs `work` when it serves its ring, and stops it.
  void run(Task<void> work) {
    boost::asio::co_spawn(loop, start_and(std::move(work)), [](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
    });
    loop.run();
  }
  Task<void> wait_for(std::function<bool()> condition) {
    while (!condition()) co_await clock.sleep_until(clock.now() + Duration(2));
  }

  crypto::PrivateKey key;
  boost::asio::io_context loop{1};
  boost::asio::thread_pool pool;
  Workers workers;
  net::SystemClock clock;
  Log log = Log::off();
  MemoryHttp http;
  std::unique_ptr<db::Stores> stores;
  std::unique_ptr<node::Node> node;

 private:
  Task<void> start_and(Task<void> work) {
    const Result<void> started = co_await node->start();
    if (!started) give_up(started.error().message);
    co_await wait_for([this] {
      for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
        for (const auto& vserver : node->rings().of(ring).vservers()) {
          if (!vserver->serving() || vserver->missing()) return false;
        }
      }
      return true;
    });
    co_await std::move(work);
    co_await node->stop();
  }
};

}  // namespace tagring::bench
