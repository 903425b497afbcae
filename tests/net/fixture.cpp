#include "net/fixture.hpp"

#include <arpa/inet.h>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sys/socket.h>
#include <unistd.h>

namespace tagring::net {
namespace {

void shell(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT: no input from outside
}

void make_ca(const std::filesystem::path& folder, const std::string& name) {
  shell(
      fmt::format("cd {} && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
                  "-subj '/CN=Test CA {}' -addext basicConstraints=critical,CA:TRUE "
                  "-keyout {}.key -out {}.pem 2>/dev/null",
                  folder.string(), name, name, name));
}

void make_certificate(const std::filesystem::path& folder, const std::string& file, const std::string& host,
                      const std::string& ca, int days) {
  const std::string extensions = (folder / (file + ".ext")).string();
  std::ofstream(extensions) << "subjectAltName=DNS:" << host
                            << ",IP:127.0.0.9\nextendedKeyUsage=serverAuth\n";
  shell(fmt::format(
      "cd {} && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={} "
      "-keyout {}.key -out {}.csr 2>/dev/null && openssl x509 -req -in {}.csr -CA {}.pem -CAkey {}.key "
      "-CAcreateserial -days {} -extfile {} -out {}.pem 2>/dev/null",
      folder.string(), host, file, file, file, ca, ca, days, extensions, file));
}

// Removed at the end of the process.
struct Folder {
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tagring-net-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
    make_ca(path, "ca");
    make_ca(path, "other_ca");
    make_certificate(path, "a.test", "a.test", "ca", 1);
    make_certificate(path, "b.test", "b.test", "ca", 1);
    make_certificate(path, "old.test", "a.test", "ca", -1);
    make_certificate(path, "rogue.test", "a.test", "other_ca", 1);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

IpAddress loopback(std::uint8_t last) { return IpAddress::from_v4({127, 0, 0, last}); }

}  // namespace

const std::filesystem::path& certificates() {
  static const Folder folder;
  return folder.path;
}

NetTest::NetTest() {
  ResolverOptions options;
  options.hosts = {
      {"a.test", {loopback(1)}}, {"b.test", {loopback(1)}}, {"two.test", {loopback(2), loopback(1)}}};
  options.allow_ip_literals = true;
  resolver = std::make_unique<Resolver>(std::move(options));
  client = make_client(client_options());
}

NetTest::~NetTest() {
  stop();
  client.reset();
  io.join();
}

server::HttpServerOptions NetTest::server_options(const std::string& certificate) {
  server::HttpServerOptions options;
  options.bind_address = loopback(1);
  options.certificate_file = (certificates() / (certificate + ".pem")).string();
  options.key_file = (certificates() / (certificate + ".key")).string();
  return options;
}

HttpClientOptions NetTest::client_options() {
  HttpClientOptions options;
  options.ca_file = (certificates() / "ca.pem").string();
  options.allow_private_addresses = true;
  return options;
}

std::unique_ptr<BeastHttpClient> NetTest::make_client(HttpClientOptions options) {
  auto made = BeastHttpClient::make(std::move(options), io.get_executor(), *resolver);
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

server::HttpServer& NetTest::serve(server::HttpServerOptions options, HttpHandler handler) {
  auto started = server::HttpServer::start(std::move(options), io.get_executor(), loop.get_executor(),
                                           std::move(handler));
  EXPECT_TRUE(started) << started.error().message;
  server = std::move(*started);
  return *server;
}

HttpCall NetTest::call(std::string method, const std::string& target, const std::string& host,
                       const std::string& scheme) const {
  const auto url = Url::parse(fmt::format("{}://{}:{}{}", scheme, host, server ? server->port() : 1, target));
  EXPECT_TRUE(url);
  return {std::move(method), *url, steady_now() + std::chrono::seconds(10)};
}

Result<HttpResponse> NetTest::send(HttpCall call) { return run(loop, client->send(std::move(call))); }

namespace {
Task<bool> stop_server(server::HttpServer* server) {
  co_await server->stop(std::chrono::seconds(5));
  co_return true;
}
}  // namespace

void NetTest::stop() {
  if (!server) return;
  run(loop, stop_server(server.get()));
  server.reset();
}

Task<HttpResponse> echo(HttpRequest request) {
  co_return HttpResponse{
      .status = 200,
      .headers = {{"X-Peer", request.peer.text()}, {"Content-Type", "text/plain"}},
      .body = fmt::format("{} {} {}", request.method, request.target, request.body.size())};
}

RawPeer::RawPeer(std::uint16_t port, std::uint8_t last) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xFFU) | last);
  EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
}

RawPeer::~RawPeer() { ::close(socket_); }

void RawPeer::say(const std::string& text) const {
  EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

bool RawPeer::drip() const {
  char byte = 0;
  if (::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) return false;
  return ::send(socket_, "a", 1, MSG_NOSIGNAL) == 1;
}

std::string RawPeer::hear_all() const { return hear_until({}); }

std::string RawPeer::hear_until(const std::string& end) const {
  std::string all;
  std::array<char, 4096> part{};
  while (end.empty() || all.find(end) == std::string::npos) {
    const ssize_t size = ::recv(socket_, part.data(), part.size(), 0);
    if (size <= 0) break;
    all.append(part.data(), static_cast<std::size_t>(size));
  }
  return all;
}

}  // namespace tagring::net
