#include "net/host_pool.hpp"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <cerrno>
#include <fmt/format.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "net/address_guard.hpp"
#include "net/hop.hpp"
#include "net/system_clock.hpp"

namespace tagring::net {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace {

constexpr std::size_t kAddressesTriedMax = 4;
constexpr std::size_t kWaitingMax = 4096;

asio::ip::address to_asio(const IpAddress& address) {
  if (!address.is_v4()) return asio::ip::address_v6(address.bytes);
  asio::ip::address_v4::bytes_type v4{};
  std::copy_n(address.bytes.begin() + 12, v4.size(), v4.begin());
  return asio::ip::address_v4(v4);
}

}  // namespace

Result<void> come_from(const IpAddress& source, asio::ip::tcp::socket& socket) {
  const asio::ip::tcp::endpoint endpoint(to_asio(source), 0);
  boost::system::error_code error;
  socket.open(endpoint.protocol(), error);
  if (!error) socket.bind(endpoint, error);
  if (error) return fail_with(error, fmt::format("connecting from {}", source.text()));
  return {};
}

Connection::Connection(const Executor& executor, IpAddress address, const TlsContext& tls)
    : address_(address) {
  if (tls) {
    tls_ = std::make_unique<Tls>(Tcp(executor), *tls);
  } else {
    plain_.emplace(executor);
  }
  buffer_.max_size(kUnparsedMax);
  buffer_.reserve(kReadSize);
}

bool Connection::is_quiet() {
  // What came is first in the socket, then in OpenSSL, as it is and then decrypted.
  if (tls_ &&
      (SSL_pending(tls_->native_handle()) > 0 || BIO_ctrl_pending(SSL_get_rbio(tls_->native_handle())) > 0))
    return false;
  char byte = 0;
  const auto got = ::recv(lowest().socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

Task<Exchange> Connection::run(std::shared_ptr<Connection> self,
                               std::shared_ptr<const OutgoingMessage> message, ExchangeLimits limits) {
  if (self->tls_) {
    Exchange done = co_await exchange(self->tls_.get(), &self->buffer_, std::move(message), limits);
    if (done.response) done.response->certificate = lifetime_of_peer(self->tls_->native_handle());
    co_return done;
  }
  co_return co_await exchange(&*self->plain_, &self->buffer_, std::move(message), limits);
}

// The right to use one of the host's connections. First come, first served.
class HostPool::Turn {
 public:
  explicit Turn(std::shared_ptr<HostPool> pool) : pool_(std::move(pool)), wake_(pool_->strand_) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  // Also runs when the call is cancelled while it waits.
  ~Turn() {
    if (!is_granted_) {
      std::erase(pool_->waiting_, this);
      return;
    }
    --pool_->active_;
    if (pool_->waiting_.empty()) return;
    Turn* next = pool_->waiting_.front();
    pool_->waiting_.pop_front();
    next->grant();
    next->wake_.cancel();
  }

  Task<Result<void>> wait(Time until) {
    if (pool_->active_ < pool_->options_->connections_per_host_max) {
      grant();
      co_return Result<void>();
    }
    if (pool_->waiting_.size() >= kWaitingMax) {
      co_return fail(ErrorCode::kTimedOut, pool_->host_ + ": too many requests wait");  // says nothing of it
    }
    pool_->waiting_.push_back(this);
    wake_.expires_at(until);
    co_await wake_.async_wait(kTuple);
    if (is_granted_) co_return Result<void>();
    co_return fail(ErrorCode::kTimedOut, pool_->host_ + ": no connection became free");
  }

 private:
  void grant() {
    is_granted_ = true;
    ++pool_->active_;
  }

  std::shared_ptr<HostPool> pool_;
  asio::steady_timer wake_;
  bool is_granted_ = false;
};

HostPool::HostPool(std::shared_ptr<const HttpClientOptions> options, const Executor& io, Resolver& resolver,
                   TlsContext tls, const Url& url)
    : options_(std::move(options)),
      resolver_(resolver),
      tls_(std::move(tls)),
      host_(url.host),
      port_(url.port),
      strand_(asio::make_strand(io)),
      idle_timer_(strand_) {}

HostPool::~HostPool() = default;

Task<Result<HttpResponse>> HostPool::send(std::shared_ptr<HostPool> self, HttpCall call) {
  const Time until = to_steady(call.deadline);
  const ExchangeLimits limits(until, call.response_size_max, call.method == "HEAD");
  const Where where{call.required_prefix, call.exact_address};
  const NameUse use = where.prefix && !call.is_for_stranger ? NameUse::kRing : NameUse::kOthers;
  const Instant deadline = call.deadline;
  const std::string authority = call.url.authority();
  HttpRequest request{.method = std::move(call.method),
                      .target = std::move(call.url.target),
                      .headers = std::move(call.headers),
                      .body = std::move(call.body),
                      .peer = {}};
  if (!self->options_->user_agent.empty() && !request.headers.find("User-Agent")) {
    request.headers.add("User-Agent", self->options_->user_agent);
  }
  CO_TRY(OutgoingMessage written, write_request(authority, std::move(request)));
  const auto message = std::make_shared<const OutgoingMessage>(std::move(written));

  Turn turn(self);
  CO_TRY_VOID(co_await turn.wait(until));
  if (SharedConnection kept = self->take_idle(where)) {
    Exchange done = co_await Connection::run(kept, message, limits);
    if (done.keep_alive) self->keep(std::move(kept));
    if (!done.is_stale) co_return std::move(done.response);
  }
  CO_TRY(SharedConnection fresh, co_await self->connect(where, use, deadline));
  Exchange done = co_await Connection::run(fresh, message, limits);
  self->remember_session(*fresh);
  if (done.keep_alive) self->keep(std::move(fresh));
  co_return std::move(done.response);
}

void HostPool::shut_down() {
  asio::post(strand_, [self = shared_from_this()] {
    self->is_shut_down_ = true;
    self->idle_.clear();
    self->idle_timer_.cancel();
  });
}

HostPool::SharedConnection HostPool::take_idle(const Where& where) {
  drop_old();
  // The one used last is the least likely to be closed by now, and lets the others grow old.
  for (std::size_t i = idle_.size(); i-- > 0;) {
    const IpAddress& there = idle_[i]->address();
    if (where.prefix && there.prefix64() != *where.prefix) continue;
    if (where.exact && there != *where.exact) continue;
    SharedConnection connection = std::move(idle_[i]);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    if (connection->is_quiet()) return connection;
  }
  return nullptr;
}

void HostPool::keep(SharedConnection connection) {
  if (is_shut_down_) return;
  if (idle_.size() >= options_->connections_per_host_max) idle_.erase(idle_.begin());
  connection->idle_since = std::chrono::steady_clock::now();
  connection->lowest().expires_never();
  idle_.push_back(std::move(connection));
  if (!is_watching_) watch_idle();
}

void HostPool::drop_old() {
  const Time oldest = std::chrono::steady_clock::now() - options_->idle_timeout;
  std::erase_if(idle_,
                [oldest](const SharedConnection& connection) { return connection->idle_since <= oldest; });
}

void HostPool::watch_idle() {
  is_watching_ = true;
  idle_timer_.expires_after(options_->idle_timeout);
  idle_timer_.async_wait([self = shared_from_this()](const boost::system::error_code&) {
    self->is_watching_ = false;
    self->drop_old();
    if (!self->idle_.empty()) self->watch_idle();
  });
}

Result<std::vector<IpAddress>> HostPool::admit(const std::vector<IpAddress>& addresses,
                                               const Where& where) const {
  const bool has_exact = where.exact && std::ranges::find(addresses, *where.exact) != addresses.end();
  std::vector<IpAddress> admitted;
  for (const IpAddress& address : addresses) {
    if (!options_->allow_private_addresses && !is_public(address)) continue;
    if (where.prefix && address.prefix64() != *where.prefix) continue;
    if (has_exact && address != *where.exact) continue;
    if (admitted.size() < kAddressesTriedMax) admitted.push_back(address);
  }
  if (!admitted.empty()) return admitted;
  return fail(ErrorCode::kDenied, fmt::format("{}: no address that {}", host_,
                                              where.prefix ? "has the required prefix" : "is public"));
}

Task<Result<HostPool::SharedConnection>> HostPool::connect(Where where, NameUse use, Instant deadline) {
  CO_TRY(const std::vector<IpAddress> found, co_await resolver_.resolve(host_, deadline, use));
  CO_TRY(const std::vector<IpAddress> addresses, admit(found, where));
  const Time until = to_steady(deadline);
  Result<SharedConnection> connection = fail(ErrorCode::kUnavailable, host_ + ": no address");
  for (const IpAddress& address : addresses) {
    connection = co_await connect_to(address, until);
    if (connection) break;
    if (connection.error().code == ErrorCode::kDenied || std::chrono::steady_clock::now() >= until) break;
  }
  co_return connection;
}

Task<Result<HostPool::SharedConnection>> HostPool::connect_to(IpAddress address, Time until) {
  auto connection = std::make_shared<Connection>(strand_, address, tls_);
  beast::tcp_stream& stream = connection->lowest();
  stream.expires_at(std::min(until, std::chrono::steady_clock::now() + options_->connect_timeout));
  const asio::ip::tcp::endpoint endpoint(to_asio(address), port_);
  if (options_->source && options_->source->is_v4() == address.is_v4()) {
    CO_TRY_VOID(come_from(*options_->source, stream.socket()));
  }
  const auto [error] = co_await stream.async_connect(endpoint, kTuple);
  if (error) co_return fail_with(error, fmt::format("connecting to {} ({})", host_, address.text()));
  boost::system::error_code ignored;
  stream.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  if (tls_) {
    CO_TRY_VOID(co_await shake_hands(connection));
  }
  co_return connection;
}

Task<Result<void>> HostPool::shake_hands(SharedConnection connection) {
  SSL* ssl = connection->tls()->native_handle();
  if (!expect_host(ssl, host_)) co_return fail(ErrorCode::kInvalid, host_ + ": no name for a certificate");
  // A resumed session is one whose certificate was checked for this very host.
  if (session_) SSL_set_session(ssl, static_cast<SSL_SESSION*>(session_.get()));
  const auto [error] = co_await connection->tls()->async_handshake(asio::ssl::stream_base::client, kTuple);
  if (!error) co_return Result<void>();
  session_.reset();
  const long verdict = SSL_get_verify_result(ssl);
  if (verdict != X509_V_OK) {
    co_return fail(ErrorCode::kDenied,
                   fmt::format("certificate of {}: {}", host_, X509_verify_cert_error_string(verdict)));
  }
  co_return fail_with(error, fmt::format("TLS handshake with {}", host_));
}

void HostPool::remember_session(Connection& connection) {
  if (connection.tls() == nullptr) return;
  SSL_SESSION* session = SSL_get1_session(connection.tls()->native_handle());
  if (session == nullptr) return;
  session_ = std::shared_ptr<void>(session, [](void* s) { SSL_SESSION_free(static_cast<SSL_SESSION*>(s)); });
  if (SSL_SESSION_is_resumable(session) != 1) session_.reset();
}

}  // namespace tagring::net
