// Real certificates, threads and servers on loopback addresses.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/hop.hpp"
#include "net/http_client.hpp"
#include "net/resolver.hpp"
#include "net/system_clock.hpp"
#include "server/http_server.hpp"

namespace tagring::net {

// Files made once per process: ca.pem; <name>.pem and <name>.key for a.test, b.test, old.test (expired), and
// for rogue.test (named a.test, but of another CA).
const std::filesystem::path& certificates();

// Runs `task` on an own loop in this thread, as a node does, and returns its value.
template <class T>
T run(boost::asio::io_context& loop, Task<T> task) {
  std::optional<T> value;
  std::exception_ptr thrown;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, T result) {
    thrown = error;
    if (!error) value.emplace(std::move(result));
    loop.stop();
  });
  loop.restart();
  loop.run();
  if (thrown) std::rethrow_exception(thrown);
  return std::move(*value);
}

class NetTest : public testing::Test {
 protected:
  NetTest();
  ~NetTest() override;

  // On 127.0.0.1, with the certificate of a.test unless `options` say otherwise.
  server::HttpServer& serve(server::HttpServerOptions options, HttpHandler handler);
  server::HttpServer& serve(HttpHandler handler) { return serve(server_options(), std::move(handler)); }
  static server::HttpServerOptions server_options(const std::string& certificate = "a.test");
  static HttpClientOptions client_options();
  std::unique_ptr<BeastHttpClient> make_client(HttpClientOptions options);

  // https://<host>:<port of the server><target>, in ten seconds.
  [[nodiscard]] HttpCall call(std::string method, const std::string& target,
                              const std::string& host = "a.test", const std::string& scheme = "https") const;
  Result<HttpResponse> send(HttpCall call);
  void stop();

  boost::asio::thread_pool io{2};
  boost::asio::io_context loop{1};
  std::unique_ptr<Resolver> resolver;
  std::unique_ptr<BeastHttpClient> client;
  std::unique_ptr<server::HttpServer> server;
};

// "METHOD target body-size", whoever asks.
Task<HttpResponse> echo(HttpRequest request);

// A plain blocking TCP connection to the server, for what no HTTP library would send.
class RawPeer {
 public:
  // From 127.0.0.`last`.
  explicit RawPeer(std::uint16_t port, std::uint8_t last = 1);
  ~RawPeer();
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;
  void say(const std::string& text) const;
  // Sends one byte, unless the other side has closed.
  [[nodiscard]] bool drip() const;
  // All until the other side closes.
  [[nodiscard]] std::string hear_all() const;
  // Until `end` was received (or the connection closed).
  [[nodiscard]] std::string hear_until(const std::string& end) const;

 private:
  int socket_ = -1;
};

}  // namespace tagring::net
