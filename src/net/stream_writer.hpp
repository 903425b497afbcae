// Bodies that are written as they come to be, and WebSockets. Internal to net/.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <memory>
#include <string>
#include <utility>

#include "net/exchange.hpp"
#include "net/hop.hpp"

namespace tagring::net {

using UpgradeRequest = boost::beast::http::request_header<>;
using Upgrade = std::shared_ptr<const UpgradeRequest>;

// Whom a stream is read for.
struct StreamReader {
  Executor node;
  std::shared_ptr<HttpStream> stream;
  Duration timeout;
  std::size_t message_size_max;
};

inline void close_stream(const Executor& node, std::shared_ptr<HttpStream> stream) {
  boost::asio::post(node, [stream = std::move(stream)] { stream->close(); });
}

// Tells the stream that its reader is gone, however that came.
struct StreamCloser {
  const StreamReader& reader;
  explicit StreamCloser(const StreamReader& stream_reader) : reader(stream_reader) {}
  StreamCloser(const StreamCloser&) = delete;
  StreamCloser& operator=(const StreamCloser&) = delete;
  ~StreamCloser() { close_stream(reader.node, reader.stream); }
};

// The next piece, asked for on the node's executor. Keeps the stream alive for as long as that takes.
inline Task<std::optional<std::string>> next_piece(std::shared_ptr<HttpStream> stream) {
  std::optional<std::string> piece = co_await stream->next();
  co_return piece;
}

// Until the stream ends or the reader takes too long.
template <class Stream>
Task<void> write_stream(Stream* stream, std::string head, Version version, StreamReader reader) {
  auto& lowest = boost::beast::get_lowest_layer(*stream);
  for (bool more = true; more;) {
    lowest.expires_after(reader.timeout);
    auto message = std::make_shared<const OutgoingMessage>(std::exchange(head, {}), "");
    const boost::system::error_code error = co_await write_message(stream, std::move(message));
    if (error) {
      lowest.close();
      co_return;
    }
    lowest.expires_never();
    std::optional<std::string> piece = co_await run_on(reader.node, next_piece(reader.stream));
    more = piece.has_value();
    if (piece && piece->empty()) continue;
    head = write_chunk(std::move(piece).value_or(""), version);
    if (!more && !head.empty()) {
      lowest.expires_after(reader.timeout);
      auto last = std::make_shared<const OutgoingMessage>(std::move(head), "");
      co_await write_message(stream, std::move(last));
    }
  }
}

namespace detail {

template <class Stream>
using WebSocket = boost::beast::websocket::stream<Stream&>;

// Hands on what comes, until the connection ends; then the stream is closed, which ends the writing. Pings
// and their answers are Beast's, which also ends a connection that answers none.
template <class Stream>
Task<void> read_messages(std::shared_ptr<void> /*owner*/, std::shared_ptr<WebSocket<Stream>> socket,
                         StreamReader reader) {
  boost::beast::flat_buffer buffer;
  for (;;) {
    const auto [error, size] = co_await socket->async_read(buffer, kTuple);
    if (error) break;
    std::string text(static_cast<const char*>(buffer.data().data()), buffer.size());
    buffer.clear();
    boost::asio::post(reader.node, [stream = reader.stream, text = std::move(text)]() mutable {
      stream->receive(std::move(text));
    });
  }
  close_stream(reader.node, reader.stream);
}

// However writing ends, by cancellation too, reading must end as well.
template <class Lowest>
struct CloseAtEnd {
  Lowest& lowest;
  explicit CloseAtEnd(Lowest& layer) : lowest(layer) {}
  CloseAtEnd(const CloseAtEnd&) = delete;
  CloseAtEnd& operator=(const CloseAtEnd&) = delete;
  ~CloseAtEnd() { lowest.close(); }
};

}  // namespace detail

// `owner` keeps `stream` alive while something is read from it, which may be a little longer than this takes.
template <class Stream>
Task<void> write_websocket(std::shared_ptr<void> owner, Stream* stream, Upgrade upgrade,
                           StreamReader reader) {
  namespace websocket = boost::beast::websocket;
  auto& lowest = boost::beast::get_lowest_layer(*stream);
  const detail::CloseAtEnd<std::remove_reference_t<decltype(lowest)>> at_end(lowest);
  lowest.expires_never();  // the WebSocket has timeouts of its own
  auto socket = std::make_shared<detail::WebSocket<Stream>>(*stream);
  auto timeout = websocket::stream_base::timeout::suggested(boost::beast::role_type::server);
  timeout.handshake_timeout = reader.timeout;
  timeout.idle_timeout = std::chrono::seconds(60);
  timeout.keep_alive_pings = true;
  socket->set_option(timeout);
  socket->read_message_max(reader.message_size_max);
  socket->text(true);
  // Clients that offer a protocol insist on an answer. Mastodon's put their token there.
  const auto offered = (*upgrade)[boost::beast::http::field::sec_websocket_protocol];
  const std::string protocol(offered.substr(0, offered.find(',')));
  socket->set_option(websocket::stream_base::decorator([protocol](websocket::response_type& response) {
    if (!protocol.empty()) response.set(boost::beast::http::field::sec_websocket_protocol, protocol);
  }));
  const auto [refused] = co_await socket->async_accept(
      boost::beast::http::request<boost::beast::http::empty_body>(*upgrade), kTuple);
  if (refused) co_return;
  const auto executor = co_await boost::asio::this_coro::executor;
  boost::asio::co_spawn(executor, detail::read_messages<Stream>(std::move(owner), socket, reader),
                        boost::asio::detached);
  for (;;) {
    std::optional<std::string> piece = co_await run_on(reader.node, next_piece(reader.stream));
    if (!piece) break;
    const auto text = std::make_shared<const std::string>(*std::move(piece));
    const auto [error, size] = co_await socket->async_write(boost::asio::buffer(*text), kTuple);
    if (error) break;
  }
  co_await socket->async_close(websocket::close_code::normal, kTuple);
}

}  // namespace tagring::net
