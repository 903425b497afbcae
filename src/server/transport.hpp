// The server's end of a connection: TCP, TLS and local sockets as one type, so that what is spoken over them
// is compiled once and not for each. Internal to net/.
#pragma once

#include <algorithm>
#include <array>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/role.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "base/task.hpp"
#include "net/exchange.hpp"

namespace tagring::server {

using TcpSocket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;
using LocalSocket = boost::asio::basic_stream_socket<boost::asio::local::stream_protocol, Executor>;

// What is called when an operation has ended, whatever it is.
template <class... Results>
class Completion {
 public:
  using executor_type = Executor;                                 // NOLINT: the names Asio looks for
  using cancellation_slot_type = boost::asio::cancellation_slot;  // NOLINT

  template <class Handler>
  Completion(Handler handler, const Executor& otherwise)
      : executor_(boost::asio::get_associated_executor(handler, otherwise)),
        slot_(boost::asio::get_associated_cancellation_slot(handler)),
        call_(std::move(handler)) {}

  [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }
  [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept { return slot_; }
  void operator()(boost::system::error_code error, Results... results) { call_(error, results...); }

 private:
  Executor executor_;
  boost::asio::cancellation_slot slot_;
  std::move_only_function<void(boost::system::error_code, Results...)> call_;
};

// Asio's AsyncReadStream and AsyncWriteStream, and Beast's timeouts.
class Transport {
 public:
  using executor_type = Executor;  // NOLINT: the name Asio looks for
  // A longer sequence of buffers is read or written in part, as any may be.
  using ReadParts = std::array<boost::asio::mutable_buffer, 4>;
  using WriteParts = std::array<boost::asio::const_buffer, 4>;

  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual executor_type get_executor() = 0;
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        [this](auto handler, ReadParts parts) { read(parts, {std::move(handler), get_executor()}); }, token,
        first_of<ReadParts>(buffers));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        [this](auto handler, WriteParts parts) { write(parts, {std::move(handler), get_executor()}); }, token,
        first_of<WriteParts>(buffers));
  }

  // Of TLS, the first two things to do: until the client has said something there is nothing but a socket.
  virtual Task<boost::system::error_code> wait_for_client() { co_return boost::system::error_code(); }
  virtual Task<boost::system::error_code> handshake() { co_return boost::system::error_code(); }
  virtual void expires_after(std::chrono::steady_clock::duration time) = 0;
  virtual void expires_never() = 0;
  virtual void close() = 0;
  // Closing a socket with unread input resets the transport, and the peer may lose the answer: so this first
  // reads what still comes, up to `unread`, if that is not 0.
  virtual Task<void> say_goodbye(std::size_t unread) = 0;
  // The end of a WebSocket.
  virtual void tear_down(boost::beast::role_type role, Completion<> done) = 0;

 private:
  virtual void read(ReadParts parts, Completion<std::size_t> done) = 0;
  virtual void write(WriteParts parts, Completion<std::size_t> done) = 0;

  template <class Parts, class Buffers>
  static Parts first_of(const Buffers& buffers) {
    Parts parts;
    auto part = parts.begin();
    const auto end = boost::asio::buffer_sequence_end(buffers);
    for (auto it = boost::asio::buffer_sequence_begin(buffers); it != end && part != parts.end(); ++it) {
      const typename Parts::value_type one = *it;
      if (one.size() > 0) *part++ = one;
    }
    return parts;
  }
};

// However who uses it ends, by cancellation too. On its strand.
struct CloseAtEnd {
  Transport& transport;
  explicit CloseAtEnd(Transport& of) : transport(of) {}
  CloseAtEnd(const CloseAtEnd&) = delete;
  CloseAtEnd& operator=(const CloseAtEnd&) = delete;
  ~CloseAtEnd() { transport.close(); }
};

inline constexpr std::chrono::seconds kGoodbyeTimeout{2};

// Until the other side ends, or there were `unread` bytes.
template <class Stream>
Task<void> read_rest(Stream* stream, std::size_t unread) {
  std::array<char, 4096> rest;
  while (unread > 0) {
    const auto [error, size] = co_await stream->async_read_some(boost::asio::buffer(rest), net::kTuple);
    if (error) break;
    unread -= std::min(unread, size);
  }
}

// Beast's WebSockets look for these.
inline void beast_close_socket(Transport& transport) { transport.close(); }
template <class Handler>
void async_teardown(boost::beast::role_type role, Transport& transport, Handler&& handler) {
  transport.tear_down(role, {std::forward<Handler>(handler), transport.get_executor()});
}

// Plain; see tls_transport.hpp for the other.
std::unique_ptr<Transport> make_transport(TcpSocket socket);
std::unique_ptr<Transport> make_transport(LocalSocket socket);

}  // namespace tagring::server
