#include "server/http_server.hpp"

#include <algorithm>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <netinet/tcp.h>
#include <optional>
#include <set>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "budget/manager.hpp"
#include "net/exchange.hpp"
#include "net/hop.hpp"
#include "net/tls.hpp"
#include "proxies/proxy_header.hpp"
#include "server/connections.hpp"
#include "server/session.hpp"

namespace tagring::server {
namespace asio = boost::asio;
namespace {

using Tcp = asio::ip::tcp;
using Local = asio::local::stream_protocol;
using boost::system::error_code;
template <class Protocol>
using Acceptor = asio::basic_socket_acceptor<Protocol, Executor>;

constexpr std::size_t kPathSizeMax = 107;
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::chrono::seconds kProxyHeaderTimeout{5};
constexpr std::size_t kForwardedMax = 1024;
constexpr std::chrono::milliseconds kGoneAfter{60'000};  // more than anybody may take for what is written

IpAddress from_asio(const asio::ip::address& address) {
  if (address.is_v4()) return IpAddress::from_v4(address.to_v4().to_bytes());
  return IpAddress{.bytes = address.to_v6().to_bytes()};
}

Tcp::endpoint to_endpoint(const IpAddress& address, std::uint16_t port) {
  if (!address.is_v4()) return {asio::ip::address_v6(address.bytes), port};
  asio::ip::address_v4::bytes_type v4{};
  std::copy_n(address.bytes.begin() + 12, v4.size(), v4.begin());
  return {asio::ip::address_v4(v4), port};
}

std::unexpected<Error> cannot_listen(std::string_view where, const error_code& error) {
  const bool is_taken = error == boost::system::errc::address_in_use;
  return fail(
      ErrorCode::kUnavailable,
      fmt::format("cannot listen on {}: {}{}", where, error.message(),
                  is_taken ? ": another program has it; docs/proxy.md has how two share port 443" : ""));
}

Result<void> open_tcp(Acceptor<Tcp>& acceptor, const Tcp::endpoint& endpoint, bool or_any) {
  const std::string where = fmt::format("{} port {}", endpoint.address().to_string(), endpoint.port());
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (error) return cannot_listen(where, error);
  acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
  if (endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(false), error);
  acceptor.bind(endpoint, error);
  if (or_any && error == boost::system::errc::address_not_available)
    acceptor.bind({endpoint.protocol(), endpoint.port()}, error);
  if (error) return cannot_listen(where, error);
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return cannot_listen(where, error);
  return {};
}

// That others hold it too is the point: connections that come while no node runs wait in it for the next one.
Result<void> adopt(int socket, Acceptor<Tcp>& tcp, Acceptor<Local>& local) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  error_code error;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) address.ss_family = AF_UNSPEC;
  switch (address.ss_family) {
    case AF_UNIX:
      local.assign(Local(), socket, error);
      break;
    case AF_INET:
      tcp.assign(Tcp::v4(), socket, error);
      break;
    case AF_INET6:
      tcp.assign(Tcp::v6(), socket, error);
      break;
    default:
      return fail(ErrorCode::kInvalid, "what was handed over is no socket that listens");
  }
  if (error) return cannot_listen("the socket that was handed over", error);
  return {};
}

// Removes the socket that a process left behind when it ended; anything else at that path stays.
Result<void> remove_stale(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) return fail(ErrorCode::kInvalid, path + " exists and is not a socket");
  asio::io_context context(1);
  Local::socket probe(context);
  error_code error;
  probe.connect(Local::endpoint(path), error);
  if (!error) return fail(ErrorCode::kConflict, "another process listens on " + path);
  ::unlink(path.c_str());
  return {};
}

Result<void> open_local(Acceptor<Local>& acceptor, const std::string& path, unsigned mode) {
  if (path.size() > kPathSizeMax) return fail(ErrorCode::kInvalid, "socket path longer than 107 bytes");
  TRY_VOID(remove_stale(path));
  error_code error;
  acceptor.open(Local(), error);
  if (error) return cannot_listen(path, error);
  acceptor.bind(Local::endpoint(path), error);
  if (error) return cannot_listen(path, error);
  // Nobody can connect between bind and listen, so nobody gets in before the mode is set.
  if (::chmod(path.c_str(), mode) != 0) {
    return fail(ErrorCode::kUnavailable, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return cannot_listen(path, error);
  return {};
}

// The end of a session's coroutine. See HopDone for why it carries the slot itself.
template <class F>
struct SessionDone {
  using cancellation_slot_type = asio::cancellation_slot;  // NOLINT: the name Asio looks for
  SharedSession session;
  F on_end;

  [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept { return session->slot(); }
  void operator()(const std::exception_ptr&) const {
    session->set_ended();
    on_end(session);
  }
};

}  // namespace

// Used on the strand `control` only, except for `tls`.
struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  Impl(HttpServerOptions options, Executor executor, Executor node, HttpHandler handler)
      : io(std::move(executor)),
        control(asio::make_strand(io)),
        connections(std::make_shared<Connections>(control, options.budget, options.counts_connections)),
        service(
            std::make_shared<Service>(std::move(options), std::move(node), std::move(handler), connections)),
        tcp(control),
        local(control),
        pause(control),
        drained(control) {}

  Result<void> open();
  Result<void> load_tls(const std::string& certificate_file, const std::string& key_file);
  [[nodiscard]] net::TlsContext current_tls();

  template <class Protocol>
  static Task<void> accept_all(std::shared_ptr<Impl> self, Acceptor<Protocol>* acceptor);
  void admit(TcpSocket socket);
  void admit(TcpSocket socket, const IpAddress& peer, bool is_proxy);
  static Task<void> admit_forwarded(std::shared_ptr<Impl> self, std::shared_ptr<TcpSocket> socket,
                                    IpAddress proxy);
  void admit(LocalSocket socket) { begin(make_session(std::move(socket), service), {}); }
  void begin(SharedSession session, Place place);
  void end(const SharedSession& session);
  [[nodiscard]] bool is_drained() const { return connections->all().empty() && forwarded.empty(); }
  void close_acceptors();
  void abort_all();
  static Task<bool> drain(std::shared_ptr<Impl> self, Duration grace);

  const Executor io;
  const Executor control;
  const std::shared_ptr<Connections> connections;
  const std::shared_ptr<Service> service;
  Acceptor<Tcp> tcp;
  Acceptor<Local> local;
  IpAddress address;  // of TCP, as the port
  std::uint16_t port = 0;
  asio::steady_timer pause;
  asio::steady_timer drained;
  std::set<std::shared_ptr<TcpSocket>> forwarded;  // connections whose PROXY header has not come yet
  bool is_over = false;                            // nobody else gets in

  std::mutex tls_mutex;
  net::TlsContext tls;
};

Result<void> HttpServer::Impl::open() {
  const HttpServerOptions& options = service->options;
  if (!options.socket_path.empty()) {
    if (options.inherited >= 0) return adopt(options.inherited, tcp, local);
    return open_local(local, options.socket_path, options.socket_mode);
  }
  if (!options.certificate_file.empty() || !options.key_file.empty()) {
    TRY_VOID(load_tls(options.certificate_file, options.key_file));
  }
  if (options.inherited >= 0) {
    TRY_VOID(adopt(options.inherited, tcp, local));
  } else {
    TRY_VOID(open_tcp(tcp, to_endpoint(options.bind_address, options.port), options.or_any));
  }
  error_code error;
  const Tcp::endpoint bound = tcp.local_endpoint(error);
  address = from_asio(bound.address());
  port = bound.port();
  return {};
}

Result<void> HttpServer::Impl::load_tls(const std::string& certificate_file, const std::string& key_file) {
  TRY(net::TlsContext loaded, net::make_server_tls(certificate_file, key_file));
  const std::scoped_lock lock(tls_mutex);
  tls = std::move(loaded);
  return {};
}

net::TlsContext HttpServer::Impl::current_tls() {
  const std::scoped_lock lock(tls_mutex);
  return tls;
}

template <class Protocol>
Task<void> HttpServer::Impl::accept_all(std::shared_ptr<Impl> self, Acceptor<Protocol>* acceptor) {
  while (acceptor->is_open()) {
    const Executor strand = asio::make_strand(self->io);
    auto [error, socket] = co_await acceptor->async_accept(strand, net::kTuple);
    if (!error) {
      self->admit(std::move(socket));
    } else if (acceptor->is_open()) {
      // Out of file descriptors, mostly. Try again when some connections have ended.
      self->pause.expires_after(kAcceptPause);
      co_await self->pause.async_wait(net::kTuple);
    }
  }
}

void HttpServer::Impl::admit(TcpSocket socket) {
  error_code error;
  const IpAddress peer = from_asio(socket.remote_endpoint(error).address());
  if (error) return;
  const bool is_proxy = proxies::is_in(*service->trusted(), peer);
  if (!is_proxy || !service->options.proxy_protocol) {
    admit(std::move(socket), peer, is_proxy);
  } else if (forwarded.size() < kForwardedMax && !is_over) {
    auto shared = std::make_shared<TcpSocket>(std::move(socket));
    forwarded.insert(shared);
    asio::co_spawn(control, admit_forwarded(shared_from_this(), shared, peer),
                   [self = shared_from_this(), shared](const std::exception_ptr&) {
                     self->forwarded.erase(shared);
                     if (self->is_drained()) self->drained.cancel();
                   });
  }
}

void HttpServer::Impl::admit(TcpSocket socket, const IpAddress& peer, bool is_proxy) {
  budget::Spender spender;
  budget::Manager* const manager = service->options.budget;
  if (manager != nullptr && service->options.counts_connections) {
    spender = manager->who(peer);
    spender.known = spender.known || is_proxy;
    spender.is_many = is_proxy;
    if (!peer.is_here() && manager->take(budget::Resource::kArrivals, spender) > Duration::zero()) return;
  }
  std::optional<Place> place = connections->place_for(std::move(spender));
  if (!place) return;
  error_code ignored;
  socket.set_option(Tcp::no_delay(true), ignored);
  // Whose machine is gone acknowledges nothing; the system alone would take a quarter of an hour to see it.
  const unsigned gone_after = kGoneAfter.count();
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_after, sizeof gone_after);
  begin(make_session(std::move(socket), current_tls(), service, peer), *std::move(place));
}

// Reads the PROXY header and not a byte more: what follows is TLS.
Task<void> HttpServer::Impl::admit_forwarded(std::shared_ptr<Impl> self, std::shared_ptr<TcpSocket> socket,
                                             IpAddress proxy) {
  asio::steady_timer timeout(self->control, kProxyHeaderTimeout);
  timeout.async_wait([socket](const error_code& error) {
    error_code ignored;
    if (!error) socket->close(ignored);
  });
  std::string bytes;
  proxies::ProxyHeader header = proxies::parse_proxy_header(bytes);
  while (header.state == proxies::ProxyHeader::State::kIncomplete) {
    const std::size_t had = bytes.size();
    bytes.resize(header.wanted);
    const auto [error, size] =
        co_await asio::async_read(*socket, asio::buffer(bytes.data() + had, bytes.size() - had), net::kTuple);
    if (error) co_return;
    header = proxies::parse_proxy_header(bytes);
  }
  timeout.cancel();
  if (header.state != proxies::ProxyHeader::State::kWhole || !socket->is_open()) co_return;
  // What the forwarder asks by itself (health checks) is its own.
  self->admit(std::move(*socket), header.client.value_or(proxy), !header.client);
}

void HttpServer::Impl::begin(SharedSession session, Place place) {
  if (is_over) return;
  connections->add(session, std::move(place));
  auto on_end = [self = shared_from_this()](SharedSession ended) {
    asio::post(self->control, [self, ended] { self->end(ended); });
  };
  const Executor strand = session->strand();
  auto running = session->run(session);
  asio::co_spawn(strand, std::move(running), SessionDone{std::move(session), std::move(on_end)});
}

void HttpServer::Impl::end(const SharedSession& session) {
  if (connections->remove(session) && is_drained()) drained.cancel();
}

void HttpServer::Impl::close_acceptors() {
  error_code ignored;
  if (local.is_open() && service->options.inherited < 0) ::unlink(service->options.socket_path.c_str());
  tcp.close(ignored);
  local.close(ignored);
  pause.cancel();
}

void HttpServer::Impl::abort_all() {
  is_over = true;
  error_code ignored;
  for (const auto& socket : forwarded) socket->close(ignored);
  for (const auto& [session, place] : connections->all()) {
    asio::post(session->strand(), [session] { session->abort(); });
  }
}

Task<bool> HttpServer::Impl::drain(std::shared_ptr<Impl> self, Duration grace) {
  self->close_acceptors();
  for (const auto& [session, place] : self->connections->all()) {
    asio::post(session->strand(), [session] { session->close_if_idle(); });
  }
  if (!self->is_drained()) {
    self->drained.expires_after(grace);
    co_await self->drained.async_wait(net::kTuple);
  }
  self->abort_all();
  while (!self->is_drained()) {
    self->drained.expires_at(asio::steady_timer::time_point::max());
    co_await self->drained.async_wait(net::kTuple);
  }
  co_return true;
}

Result<std::unique_ptr<HttpServer>> HttpServer::open(HttpServerOptions options, Executor io, Executor node,
                                                     HttpHandler handler) {
  auto impl = std::make_shared<Impl>(std::move(options), std::move(io), std::move(node), std::move(handler));
  TRY_VOID(impl->open());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

void HttpServer::accept() {
  const auto ignore = [](const std::exception_ptr&) {};
  if (impl_->local.is_open()) {
    asio::co_spawn(impl_->control, Impl::accept_all<Local>(impl_, &impl_->local), ignore);
  } else {
    asio::co_spawn(impl_->control, Impl::accept_all<Tcp>(impl_, &impl_->tcp), ignore);
  }
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, Executor io, Executor node,
                                                      HttpHandler handler) {
  auto opened = open(std::move(options), std::move(io), std::move(node), std::move(handler));
  if (opened) (*opened)->accept();
  return opened;
}

HttpServer::HttpServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() {
  impl_->service->is_stopping = true;
  impl_->service->is_abandoned = true;
  asio::post(impl_->control, [impl = impl_] {
    impl->close_acceptors();
    impl->abort_all();
  });
}

std::uint16_t HttpServer::port() const { return impl_->port; }

IpAddress HttpServer::address() const { return impl_->address; }

Result<void> HttpServer::take_certificate(const std::string& certificate_file, const std::string& key_file) {
  if (!impl_->current_tls()) return {};
  return impl_->load_tls(certificate_file, key_file);
}

void HttpServer::trust(proxies::Networks trusted) { impl_->service->trust(std::move(trusted)); }

Task<void> HttpServer::stop(Duration grace) {
  // At once, not on the strand of control: whatever is answered from here on tells its client to go.
  impl_->service->is_stopping = true;
  Executor control = impl_->control;
  co_await net::run_on(std::move(control), Impl::drain(impl_, grace));
}

}  // namespace tagring::server
