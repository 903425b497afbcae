#include "server/tls_transport.hpp"

#include <array>
#include <boost/asio/compose.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <limits>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <optional>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "net/exchange.hpp"

namespace tagring::server {
namespace asio = boost::asio;
namespace {

using boost::system::error_code;

constexpr std::size_t kTogether = 8192;  // bytes of several parts that are copied to be one record

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

bool may_come_later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// Outlives the transport for as long as an operation is under way.
class Connection {
 public:
  explicit Connection(TcpSocket&& taken) : socket(std::move(taken)), timer(socket.get_executor()) {}

  void close() {
    error_code ignored;
    timer.cancel();
    socket.close(ignored);
  }
  // As read(2), but nothing of a record before all of it is there: OpenSSL would have 17 KiB for it
  // meanwhile, and what the system has for the socket it has in any case.
  ssize_t receive(void* data, std::size_t size);
  // Around a wait for something to read: it goes on when as much is there as was missed, or the other side
  // ends.
  void before_wait() {
    if (wanted_ > 1) wake_at(wanted_);
  }
  void after_wait() {
    if (wanted_ > 1) wake_at(1);
    is_late_ = wanted_ > 1 && there() < wanted_;
    wanted_ = 1;
  }

  TcpSocket socket;
  asio::steady_timer timer;
  std::unique_ptr<SSL, FreeSsl> ssl;  // from the handshake on

 private:
  // Sets left_, if a record is there; else what receive() is to return.
  ssize_t find_record();
  [[nodiscard]] int there() {
    int bytes = 0;
    return ::ioctl(socket.native_handle(), FIONREAD, &bytes) == 0 ? bytes : 0;
  }
  void wake_at(int bytes) {
    ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
  }

  std::size_t left_ = 0;  // of a record that OpenSSL has begun to read
  int wanted_ = 1;        // bytes that have to be there before it may
  bool is_late_ = false;  // this was waited for, and there will be no more
};

ssize_t Connection::find_record() {
  std::array<unsigned char, SSL3_RT_HEADER_LENGTH> header{};
  const auto seen = ::recv(socket.native_handle(), header.data(), header.size(), MSG_PEEK);
  if (seen <= 0) return seen;
  std::size_t size = header.size();
  if (static_cast<std::size_t>(seen) == header.size()) size += (header[3] << 8U) + header[4];
  const bool is_of_tls = header[0] >= SSL3_RT_CHANGE_CIPHER_SPEC && header[0] <= SSL3_RT_APPLICATION_DATA &&
                         size <= SSL3_RT_MAX_PACKET_SIZE;
  if (std::exchange(is_late_, false) || !is_of_tls || static_cast<std::size_t>(there()) >= size) {
    // Of half a header nobody knows where the record ends: OpenSSL takes what there is from then on.
    left_ = static_cast<std::size_t>(seen) < header.size() ? std::numeric_limits<std::size_t>::max() : size;
    return seen;
  }
  wanted_ = static_cast<int>(size);
  errno = EAGAIN;
  return -1;
}

ssize_t Connection::receive(void* data, std::size_t size) {
  if (left_ == 0) {
    const ssize_t found = find_record();
    if (left_ == 0) return found;
  }
  const auto received = ::recv(socket.native_handle(), data, std::min(size, left_), 0);
  left_ -= received > 0 ? static_cast<std::size_t>(received) : 0;
  return received;
}

// --- by which OpenSSL reads and writes -------------------------------------------------------------------
// Its own way gets the process a signal where the other side is gone.

Connection* connection_of(BIO* bio) { return static_cast<Connection*>(BIO_get_data(bio)); }

int send_by(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const int socket = connection_of(bio)->socket.native_handle();
  const auto sent = ::send(socket, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && may_come_later()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int receive_by(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto received = connection_of(bio)->receive(data, static_cast<std::size_t>(size));
  if (received < 0 && may_come_later()) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO* make_bio(Connection* connection) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write(made, send_by);
    BIO_meth_set_read(made, receive_by);
    BIO_meth_set_ctrl(made, control);
    return made;
  }();
  BIO* bio = BIO_new(method);
  BIO_set_data(bio, connection);
  BIO_set_init(bio, 1);
  return bio;
}

// --- the transport ---------------------------------------------------------------------------------------

error_code to_error(int reason) {
  if (reason == SSL_ERROR_NONE) return {};
  if (reason == SSL_ERROR_ZERO_RETURN) return asio::error::eof;
  const unsigned long error = ERR_get_error();
  if (error == 0) return asio::ssl::error::stream_truncated;
  return {static_cast<int>(error), asio::error::get_ssl_category()};
}

// Asks OpenSSL by `call` (int(SSL*, std::size_t*), with an outcome as SSL_get_error() takes it) again and
// again, until it does not want to wait for the socket. `Size`: nothing, or what a size is told as.
template <class Call, class... Size>
class Operation {
 public:
  Operation(std::shared_ptr<Connection> connection, Call call)
      : connection_(std::move(connection)), call_(std::move(call)) {}

  template <class Self>
  void operator()(Self& self, error_code error = {}) {
    if (outcome_) return self.complete(*outcome_, static_cast<Size>(size_)...);
    const std::shared_ptr<Connection> connection = connection_;  // `self` is handed on below, with this
    const bool is_cancelled = self.cancelled() != asio::cancellation_type::none;  // since it waited
    if (!error && (is_cancelled || !connection->socket.is_open())) error = asio::error::operation_aborted;
    if (waits_to_read_) connection->after_wait();
    if (!error) {
      ERR_clear_error();
      SSL* const ssl = connection->ssl.get();
      const int result = call_(ssl, &size_);
      const int reason = result > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl, result);
      if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) {
        has_waited_ = true;
        waits_to_read_ = reason == SSL_ERROR_WANT_READ;
        if (waits_to_read_) connection->before_wait();
        const auto what = waits_to_read_ ? TcpSocket::wait_read : TcpSocket::wait_write;
        connection->socket.async_wait(what, std::move(self));
        return;
      }
      error = to_error(reason);
    }
    if (has_waited_) return self.complete(error, static_cast<Size>(size_)...);
    outcome_ = error;  // nobody is called back before who asked has gone on
    asio::post(connection->socket.get_executor(), std::move(self));
  }

 private:
  std::shared_ptr<Connection> connection_;
  Call call_;
  bool has_waited_ = false;
  bool waits_to_read_ = false;
  std::optional<error_code> outcome_;
  std::size_t size_ = 0;
};

int say_goodbye_to(SSL* ssl, std::size_t* /*size*/) {
  const int result = SSL_shutdown(ssl);
  return result == 0 ? SSL_shutdown(ssl) : result;  // said; now hear the other side's
}

class TlsTransport final : public Transport {
 public:
  TlsTransport(TcpSocket socket, net::TlsContext tls)
      : connection_(std::make_shared<Connection>(std::move(socket))), tls_(std::move(tls)) {}

  executor_type get_executor() override { return socket().get_executor(); }
  Task<error_code> wait_for_client() override {
    const auto [error] = co_await socket().async_wait(TcpSocket::wait_read, net::kTuple);
    co_return error;
  }
  Task<error_code> handshake() override;
  void expires_after(std::chrono::steady_clock::duration time) override;
  void expires_never() override { connection_->timer.expires_at(asio::steady_timer::time_point::max()); }
  void close() override { connection_->close(); }
  Task<void> say_goodbye(std::size_t unread) override;
  void tear_down(boost::beast::role_type role, Completion<> done) override;

 private:
  TcpSocket& socket() { return connection_->socket; }
  template <class... Size, class Call, class Token>
  auto operate(Call call, Token&& token) {
    return asio::async_compose<Token, void(error_code, Size...)>(
        Operation<Call, Size...>(connection_, std::move(call)), token, socket());
  }
  void read(ReadParts parts, Completion<std::size_t> done) override;
  void write(WriteParts parts, Completion<std::size_t> done) override;

  const std::shared_ptr<Connection> connection_;
  const net::TlsContext tls_;
};

Task<error_code> TlsTransport::handshake() {
  error_code error;
  socket().native_non_blocking(true, error);
  if (error) co_return error;
  // An urgent byte would be counted, and never come with the others.
  socket().set_option(asio::socket_base::out_of_band_inline(true), error);
  if (error) co_return error;
  SSL* const ssl = SSL_new(tls_->native_handle());
  if (ssl == nullptr) co_return asio::error::no_memory;
  connection_->ssl.reset(ssl);
  SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_set_read_ahead(ssl, 1);
  BIO* const bio = make_bio(connection_.get());
  SSL_set_bio(ssl, bio, bio);
  const auto [failed] =
      co_await operate([](SSL* with, std::size_t*) { return SSL_accept(with); }, net::kTuple);
  co_return failed;
}

void TlsTransport::expires_after(std::chrono::steady_clock::duration time) {
  connection_->timer.expires_after(time);
  connection_->timer.async_wait([weak = std::weak_ptr(connection_)](const error_code& error) {
    const auto connection = error ? nullptr : weak.lock();
    if (connection && connection->socket.is_open() &&
        connection->timer.expiry() <= std::chrono::steady_clock::now())
      connection->close();
  });
}

void TlsTransport::read(ReadParts parts, Completion<std::size_t> done) {
  const asio::mutable_buffer into = parts.front();
  const auto call = [into](SSL* ssl, std::size_t* size) {
    return into.size() == 0 ? 1 : SSL_read_ex(ssl, into.data(), into.size(), size);
  };
  operate<std::size_t>(call, std::move(done));
}

void TlsTransport::write(WriteParts parts, Completion<std::size_t> done) {
  const auto call = [parts](SSL* ssl, std::size_t* size) {
    std::array<char, kTogether> together;
    asio::const_buffer first = parts.front();
    if (first.size() < together.size() && parts[1].size() > 0)
      first = asio::buffer(together, asio::buffer_copy(asio::buffer(together), parts));
    return first.size() == 0 ? 1 : SSL_write_ex(ssl, first.data(), first.size(), size);
  };
  operate<std::size_t>(call, std::move(done));
}

Task<void> TlsTransport::say_goodbye(std::size_t unread) {
  if (!socket().is_open()) co_return;
  expires_after(kGoodbyeTimeout);
  // Before all else, or the answer could have been cut short by anybody (RFC 9112, 9.8).
  co_await operate(say_goodbye_to, net::kTuple);
  if (unread == 0) co_return;
  error_code ignored;
  socket().shutdown(asio::socket_base::shutdown_send, ignored);
  co_await read_rest(&socket(), unread);
}

void TlsTransport::tear_down(boost::beast::role_type /*role*/, Completion<> done) {
  operate(say_goodbye_to, std::move(done));  // and then the socket is closed by who asked for it
}

}  // namespace

std::unique_ptr<Transport> make_tls_transport(TcpSocket socket, net::TlsContext tls) {
  return std::make_unique<TlsTransport>(std::move(socket), std::move(tls));
}

}  // namespace tagring::server
