// The world around a node of several processes: cluster_bench WORLD SECONDS
//
// WORLD is a file: {"node": origin, "certificates": folder, "authors": host, "readers": [host…], "hosts":
// {host: address}, "port", "doors": [address…]}. Each of the doors is where a process of the node takes
// connections; what is asked is asked of all of them in turn, as a balancer would have it. Posts are signed
// in advance. Their authors' server is served from here, and so are the readers', each of whom follows the
// same hashtag.
//
// Reads "posts", "deliveries" or "pages", a line each, does that, for so many seconds where that is to be
// said, and prints {"value", "done"}: how much was done a second, and all in all.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "base/task.hpp"
#include "figures.hpp"
#include "net/http_client.hpp"
#include "net/resolver.hpp"
#include "net/system_clock.hpp"
#include "server/http_server.hpp"
#include "signed_posts.hpp"

namespace tagring::bench {
namespace {

constexpr std::size_t kAuthors = 8;
constexpr std::size_t kConnections = 24;    // to each door
constexpr std::size_t kMostASecond = 2500;  // so many are made in advance
constexpr std::size_t kPostsToReaders = 200;
constexpr const char* kHot = "hot";

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "{}\n", why);
  std::exit(1);
}

struct World {
  std::string node;
  std::string certificates;
  std::string authors;
  std::vector<std::string> readers;
  std::map<std::string, std::vector<IpAddress>> hosts;
  std::uint16_t port = 0;
  std::vector<IpAddress> doors;

  [[nodiscard]] std::string origin_of_host(const std::string& host) const {
    return fmt::format("https://{}:{}", host, port);
  }
};

World read_world(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const auto read = json::parse_object(text.str());
  if (!read) give_up(file + ": " + read.error().message);
  World world;
  world.node = json::text_of(*read, "node");
  world.certificates = json::text_of(*read, "certificates");
  world.authors = json::text_of(*read, "authors");
  for (const auto& reader : read->at("readers").as_array()) world.readers.emplace_back(reader.as_string());
  for (const auto& [host, address] : read->at("hosts").as_object())
    world.hosts[host] = {*IpAddress::parse(std::string(address.as_string()))};
  world.port = read->at("port").to_number<std::uint16_t>();
  for (const auto& door : read->at("doors").as_array())
    world.doors.push_back(*IpAddress::parse(std::string(door.as_string())));
  return world;
}

// A client that goes through one door only.
struct Door {
  Door(const World& world, const IpAddress& address, const Executor& io)
      : resolver({.hosts = {{Url::parse(world.node)->host, {address}}}, .threads = 1, .ring_threads = 1}) {
    net::HttpClientOptions options;
    options.ca_file = world.certificates + "/ca.pem";
    options.allow_private_addresses = true;
    options.connections_per_host_max = kConnections;
    auto made = net::BeastHttpClient::make(std::move(options), io, resolver);
    if (!made) give_up(made.error().message);
    client = *std::move(made);
  }
  net::Resolver resolver;
  std::unique_ptr<net::BeastHttpClient> client;
};

class Load {
 public:
  Load(World world, double seconds) : world_(std::move(world)), seconds_(seconds) {
    authors_ = make_authors(world_.origin_of_host(world_.authors), kAuthors);
    for (const std::string& host : world_.readers)
      readers_.push_back(make_author(world_.origin_of_host(host), "reader"));
    serve(world_.authors);
    for (const std::string& host : world_.readers) serve(host);
    for (const IpAddress& door : world_.doors)
      doors_.push_back(std::make_unique<Door>(world_, door, pool_.get_executor()));
  }
  ~Load() {
    servers_.clear();
    doors_.clear();
    pool_.stop();
    pool_.join();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void run(const std::string& part) {
    boost::asio::co_spawn(loop_, do_part(part), [this](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
      loop_.stop();
    });
    loop_.restart();  // what ended after the part before may have stopped it since
    loop_.run();
  }

 private:
  Task<void> do_part(std::string part) {
    if (part == "posts") {
      // Each process of the node fetches each author's key once.
      co_await send_now(make_posts(kAuthors * doors_.size() * 4, false), 202);
      co_await send_for_long(make_posts(planned(), false), 202);
    } else if (part == "pages") {
      co_await pages();
    } else if (part == "deliveries") {
      co_await deliveries();
    } else {
      give_up("no such part: " + part);
    }
  }

  // Of the hashtag that was delivered before: what is sent to its readers would be measured, too.
  Task<void> pages() {
    HttpCall call("GET", *Url::parse(world_.node + "/tags/" + kHot), Instant());
    call.headers.add("Accept", "text/html");
    co_await send_now(std::vector(doors_.size(), call), 200);
    co_await send_for_long(std::vector(planned(), call), 200);
  }

  // The middle half: the first deliveries wait for readers whom the node has not spoken with yet, and begin
  // spread over ten seconds; at the end only stragglers are left.
  Task<void> deliveries() {
    std::vector<HttpCall> follows;
    const std::string actor = fmt::format("{}/tag/{}", world_.node, kHot);
    for (const Author& reader : readers_)
      follows.push_back(make_signed(reader, world_.node + "/inbox",
                                    {{"@context", "https://www.w3.org/ns/activitystreams"},
                                     {"id", reader.id + "#follows/hot"},
                                     {"type", "Follow"},
                                     {"actor", reader.id},
                                     {"object", actor}},
                                    clock_.wall_now()));
    co_await send_now(std::move(follows), 202);
    co_await clock_.sleep_until(clock_.now() + std::chrono::seconds(3));
    co_await send_now(make_posts(kPostsToReaders, true), 202);
    const std::size_t expected = kPostsToReaders * readers_.size();
    const Instant latest = clock_.now() + std::chrono::minutes(5);
    while (arrived_.size() < expected && clock_.now() < latest)
      co_await clock_.sleep_until(clock_.now() + Duration(50));
    if (arrived_.size() < expected)
      give_up(fmt::format("{} of {} deliveries arrived", arrived_.size(), expected));
    const Duration took = arrived_[expected * 3 / 4] - arrived_[expected / 4];
    say(static_cast<double>(expected) / 2 / std::chrono::duration<double>(took).count(), expected);
  }

  static void say(double rate, std::size_t done) {
    fmt::print("{}\n", json::serialize(json::object{{"value", rate}, {"done", done}}));
    std::fflush(stdout);
  }

  void serve(const std::string& host) {
    server::HttpServerOptions options;
    options.bind_address = world_.hosts.at(host).front();
    options.port = world_.port;
    options.certificate_file = fmt::format("{}/{}.pem", world_.certificates, host);
    options.key_file = fmt::format("{}/{}.key", world_.certificates, host);
    auto started = server::HttpServer::start(std::move(options), pool_.get_executor(), loop_.get_executor(),
                                             [this, origin = world_.origin_of_host(host)](
                                                 HttpRequest request) { return answer(origin, request); });
    if (!started) give_up(started.error().message);
    servers_.push_back(*std::move(started));
  }

  Task<HttpResponse> answer(std::string origin, HttpRequest request) {
    if (request.method == "POST") {
      if (request.body.contains(R"("Announce")")) arrived_.push_back(clock_.now());
      HttpResponse taken;
      taken.status = 202;
      co_return taken;
    }
    HttpResponse response = serve_authors(authors_, origin + request.target);
    if (response.status == 404) response = serve_authors(readers_, origin + request.target);
    co_return response;
  }

  std::vector<HttpCall> make_posts(std::size_t count, bool hot) {
    const WallTime now = clock_.wall_now();
    const std::size_t first = std::exchange(posts_, posts_ + count);
    return make_calls(count, [&](std::size_t i) {
      const std::string tag = hot ? std::string(kHot) : fmt::format("tag{}", i % 1000);
      return make_post(authors_[i % authors_.size()], world_.node + "/inbox", first + i, {tag}, now);
    });
  }

  [[nodiscard]] std::size_t planned() const { return static_cast<std::size_t>(seconds_ * kMostASecond); }

  Task<void> send_now(std::vector<HttpCall> calls, int expected) {
    next_ = done_ = 0;
    calls_ = std::move(calls);
    co_await work(expected, Instant::max());
  }

  Task<void> send_for_long(std::vector<HttpCall> calls, int expected) {
    next_ = done_ = 0;
    calls_ = std::move(calls);
    const Instant begun = clock_.now();
    co_await work(expected, clock_.now() + Duration(static_cast<Duration::rep>(seconds_ * 1000)));
    say(static_cast<double>(done_) / std::chrono::duration<double>(clock_.now() - begun).count(), done_);
  }

  Task<void> work(int expected, Instant until) {
    TaskGroup clients(loop_.get_executor());
    for (std::size_t i = 0; i < kConnections * doors_.size(); ++i)
      clients.spawn("client", send_some(doors_[i % doors_.size()]->client.get(), expected, until));
    co_await clients.join();
  }

  Task<void> send_some(HttpClient* door, int expected, Instant until) {
    while (next_ < calls_.size() && clock_.now() < until) {
      HttpCall call = std::move(calls_[next_++]);
      call.deadline = clock_.now() + std::chrono::seconds(60);
      const Result<HttpResponse> response = co_await door->send(std::move(call));
      if (!response) give_up(response.error().message);
      if (response->status != expected)
        give_up(fmt::format("HTTP {}: {}", response->status, response->body.substr(0, 300)));
      ++done_;
    }
  }

  const World world_;
  const double seconds_;
  boost::asio::io_context loop_{1};
  boost::asio::thread_pool pool_{cores()};
  net::SystemClock clock_{loop_.get_executor()};
  std::vector<Author> authors_;
  std::vector<Author> readers_;
  std::vector<std::unique_ptr<server::HttpServer>> servers_;
  std::vector<std::unique_ptr<Door>> doors_;
  std::vector<HttpCall> calls_;
  std::size_t next_ = 0;
  std::size_t done_ = 0;
  std::size_t posts_ = 0;  // that were made
  std::vector<Instant> arrived_;
};

}  // namespace
}  // namespace tagring::bench

int main(int argc, char** argv) {
  using namespace tagring::bench;
  if (argc != 3) give_up("usage: cluster_bench WORLD SECONDS");
  Load load(read_world(argv[1]), std::strtod(argv[2], nullptr));
  for (std::string part; std::getline(std::cin, part);) load.run(part);
}
