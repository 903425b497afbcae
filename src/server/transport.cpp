#include "server/transport.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <type_traits>

#include "net/exchange.hpp"

namespace tagring::server {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace {

using boost::system::error_code;
using TcpStream = beast::tcp_stream;
using LocalStream = beast::basic_stream<asio::local::stream_protocol>;
using TlsStream = asio::ssl::stream<TcpStream>;

constexpr std::chrono::seconds kHandshakeTimeout{10};
constexpr std::chrono::seconds kGoodbyeTimeout{2};

template <class Stream>
class TransportOn final : public Transport {
 public:
  template <class... Args>
  explicit TransportOn(Args&&... args) : stream_(std::forward<Args>(args)...) {}

  executor_type get_executor() override { return stream_.get_executor(); }
  Task<error_code> handshake() override {
    if constexpr (kIsTls) {
      lowest().expires_after(kHandshakeTimeout);
      const auto [error] = co_await stream_.async_handshake(asio::ssl::stream_base::server, net::kTuple);
      co_return error;
    }
    co_return error_code();
  }
  void expires_after(std::chrono::steady_clock::duration time) override { lowest().expires_after(time); }
  void expires_never() override { lowest().expires_never(); }
  void close() override { lowest().close(); }
  Task<void> say_goodbye(std::size_t unread) override;
  void tear_down(beast::role_type role, Completion<> done) override {
    using beast::websocket::async_teardown;
    async_teardown(role, stream_, std::move(done));
  }

 private:
  static constexpr bool kIsTls = std::is_same_v<Stream, TlsStream>;

  auto& lowest() { return beast::get_lowest_layer(stream_); }
  void read(ReadParts parts, Completion<std::size_t> done) override {
    stream_.async_read_some(parts, std::move(done));
  }
  void write(WriteParts parts, Completion<std::size_t> done) override {
    stream_.async_write_some(parts, std::move(done));
  }

  Stream stream_;
};

template <class Stream>
Task<void> TransportOn<Stream>::say_goodbye(std::size_t unread) {
  if (!lowest().socket().is_open()) co_return;
  lowest().expires_after(kGoodbyeTimeout);
  error_code ignored;
  // Before all else, or the answer could have been cut short by anybody (RFC 9112, 9.8).
  if constexpr (kIsTls) co_await stream_.async_shutdown(net::kTuple);
  if (unread > 0) {
    lowest().socket().shutdown(asio::socket_base::shutdown_send, ignored);
    std::array<char, 4096> rest;
    while (unread > 0) {
      const auto [error, size] = co_await lowest().async_read_some(asio::buffer(rest), net::kTuple);
      if (error) break;
      unread -= std::min(unread, size);
    }
  } else if constexpr (!kIsTls) {
    lowest().socket().shutdown(asio::socket_base::shutdown_both, ignored);
  }
}

}  // namespace

std::unique_ptr<Transport> make_transport(TcpSocket socket, const net::TlsContext& tls) {
  if (tls) return std::make_unique<TransportOn<TlsStream>>(TcpStream(std::move(socket)), *tls);
  return std::make_unique<TransportOn<TcpStream>>(std::move(socket));
}

std::unique_ptr<Transport> make_transport(LocalSocket socket) {
  return std::make_unique<TransportOn<LocalStream>>(std::move(socket));
}

}  // namespace tagring::server
