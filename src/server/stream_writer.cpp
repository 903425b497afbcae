#include "server/stream_writer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <utility>

#include "net/exchange.hpp"
#include "net/hop.hpp"

namespace tagring::server {
namespace websocket = boost::beast::websocket;

void close_stream(const Executor& node, std::shared_ptr<HttpStream> stream) {
  boost::asio::post(node, [stream = std::move(stream)] { stream->close(); });
}

std::shared_ptr<HttpStream> ending_on(Executor node, std::shared_ptr<HttpStream> stream) {
  if (!stream) return nullptr;
  HttpStream* const same = stream.get();
  return {same, [node = std::move(node), stream = std::move(stream)](HttpStream*) mutable {
            close_stream(node, std::move(stream));
          }};
}

namespace {

constexpr std::size_t kBytesRead = 4096;           // of a tunnel, at once
constexpr std::chrono::seconds kTimeComesBack{1};  // before who had no time left is tried again

// The next piece, asked for on the node's executor. Keeps the stream alive for as long as that takes.
Task<std::optional<std::string>> next_piece(std::shared_ptr<HttpStream> stream) {
  std::optional<std::string> piece = co_await stream->next();
  co_return piece;
}

Task<bool> deliver(std::shared_ptr<HttpStream> stream, std::string text,
                   std::shared_ptr<budget::Meter> meter) {
  if (meter && !meter->has_time()) co_return false;
  co_await stream->receive(std::move(text));
  if (meter) meter->charge_loop();
  co_return true;
}

// False if the reader has no time of the loop left, and the stream has not heard it.
Task<bool> hand_on(StreamReader reader, std::string text) {
  Executor node = reader.meter ? Executor(budget::Metered(reader.node, reader.meter)) : reader.node;
  auto delivered = deliver(reader.stream, std::move(text), reader.meter);
  const bool is_heard = co_await net::run_on(std::move(node), std::move(delivered));
  co_return is_heard;
}

struct WebSocket {
  explicit WebSocket(Transport& transport) : stream(transport) {}
  websocket::stream<Transport&, false> stream;                   // without compression, which is not offered
  websocket::close_code reason = websocket::close_code::normal;  // why it is closed
};

// Hands on what comes, until the connection ends; then the stream is closed, which ends the writing. Pings
// and their answers are Beast's, which also ends a connection that answers none.
Task<void> read_messages(std::shared_ptr<void> /*owner*/, std::shared_ptr<WebSocket> socket,
                         StreamReader reader) {
  boost::beast::flat_buffer buffer;
  for (;;) {
    const auto [error, size] = co_await socket->stream.async_read(buffer, net::kTuple);
    if (error) break;
    std::string text(static_cast<const char*>(buffer.data().data()), buffer.size());
    buffer.clear();
    // The next is read when this one is dealt with: what a busy node has not got to stays with the sender.
    const bool is_heard = co_await hand_on(reader, std::move(text));
    if (is_heard) continue;
    socket->reason = websocket::close_code::try_again_later;
    break;
  }
  close_stream(reader.node, reader.stream);
}

// The same, of bytes as they come. They may be the answer to a ping, of a reader who says nothing, and
// whoever is behind closes what is to be closed: so who has no time left is not cut off, but waits until
// there is some. `tunnel`: for as long as it is there.
Task<void> read_bytes(std::shared_ptr<void> /*owner*/, Transport* transport, StreamReader reader,
                      std::weak_ptr<void> tunnel) {
  boost::asio::steady_timer pause(transport->get_executor());
  for (std::string room(kBytesRead, '\0');;) {
    const auto [error, size] = co_await transport->async_read_some(boost::asio::buffer(room), net::kTuple);
    if (error) break;
    bool is_heard = co_await hand_on(reader, room.substr(0, size));
    while (!is_heard) {
      pause.expires_after(kTimeComesBack);
      co_await pause.async_wait(net::kTuple);
      if (tunnel.expired()) break;  // and the connection closed
      is_heard = co_await hand_on(reader, room.substr(0, size));
    }
  }
  close_stream(reader.node, reader.stream);
}

// Closes the connection unless what is written meanwhile is taken in time: Beast's own timeouts are of
// silence, and who reads nothing may go on talking.
class WriteLimit {
 public:
  WriteLimit(const Executor& executor, Duration time, Transport* transport, std::shared_ptr<void> owner)
      : timer_(executor, time) {
    timer_.async_wait([transport, owner = std::move(owner)](const boost::system::error_code& error) {
      if (!error) transport->close();
    });
  }

 private:
  boost::asio::steady_timer timer_;
};

}  // namespace

Task<void> write_stream(Transport* transport, std::string head, net::Version version, StreamReader reader) {
  for (bool more = true; more;) {
    transport->expires_after(reader.timeout);
    auto message = std::make_shared<const net::OutgoingMessage>(std::exchange(head, {}), "");
    const boost::system::error_code error = co_await net::write_message(transport, std::move(message));
    if (error) {
      transport->close();
      co_return;
    }
    transport->expires_never();
    std::optional<std::string> piece = co_await net::run_on(reader.node, next_piece(reader.stream));
    more = piece.has_value();
    if (piece && piece->empty()) continue;
    head = net::write_chunk(std::move(piece).value_or(""), version);
    if (!more && !head.empty()) {
      transport->expires_after(reader.timeout);
      auto last = std::make_shared<const net::OutgoingMessage>(std::move(head), "");
      co_await net::write_message(transport, std::move(last));
    }
  }
}

Task<void> write_websocket(std::shared_ptr<void> owner, Transport* transport, Upgrade upgrade,
                           StreamReader reader) {
  const CloseAtEnd at_end(*transport);  // reading must end as well
  transport->expires_never();           // the WebSocket has timeouts of its own
  auto socket = std::make_shared<WebSocket>(*transport);
  auto timeout = websocket::stream_base::timeout::suggested(boost::beast::role_type::server);
  timeout.handshake_timeout = reader.timeout;
  timeout.idle_timeout = std::chrono::seconds(60);
  timeout.keep_alive_pings = true;
  socket->stream.set_option(timeout);
  socket->stream.read_message_max(reader.message_size_max);
  socket->stream.text(true);
  // Clients that offer a protocol insist on an answer. Mastodon's put their token there.
  const auto offered = (*upgrade)[boost::beast::http::field::sec_websocket_protocol];
  const std::string protocol(offered.substr(0, offered.find(',')));
  socket->stream.set_option(websocket::stream_base::decorator([protocol](websocket::response_type& response) {
    if (!protocol.empty()) response.set(boost::beast::http::field::sec_websocket_protocol, protocol);
  }));
  const auto [refused] = co_await socket->stream.async_accept(
      boost::beast::http::request<boost::beast::http::empty_body>(*upgrade), net::kTuple);
  if (refused) co_return;
  const auto executor = co_await boost::asio::this_coro::executor;
  boost::asio::co_spawn(executor, read_messages(owner, socket, reader), boost::asio::detached);
  for (;;) {
    std::optional<std::string> piece = co_await net::run_on(reader.node, next_piece(reader.stream));
    if (!piece) break;
    const auto text = std::make_shared<const std::string>(*std::move(piece));
    const WriteLimit limit(executor, reader.timeout, transport, owner);
    const auto [error, size] = co_await socket->stream.async_write(boost::asio::buffer(*text), net::kTuple);
    if (error) break;
  }
  const WriteLimit limit(executor, reader.timeout, transport, owner);
  co_await socket->stream.async_close(socket->reason, net::kTuple);
}

// Silence is no end here: whoever is behind the stream pings the reader.
Task<void> write_tunnel(std::shared_ptr<void> owner, Transport* transport, std::string head,
                        StreamReader reader) {
  const CloseAtEnd at_end(*transport);
  transport->expires_never();
  const auto executor = co_await boost::asio::this_coro::executor;
  const auto tunnel = std::make_shared<bool>();
  boost::asio::co_spawn(executor, read_bytes(std::move(owner), transport, reader, tunnel),
                        boost::asio::detached);
  co_await write_stream(transport, std::move(head), net::Version::kHttp10, std::move(reader));
}

}  // namespace tagring::server
