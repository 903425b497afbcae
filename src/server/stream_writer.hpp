// Bodies that are written as they come to be, WebSockets, and tunnels. Internal to net/.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <memory>
#include <string>

#include "budget/metered.hpp"
#include "net/wire.hpp"
#include "server/transport.hpp"

namespace tagring::server {

using UpgradeRequest = boost::beast::http::request_header<>;
using Upgrade = std::shared_ptr<const UpgradeRequest>;

// The reader of a stream, and how long it may take for a piece.
struct StreamReader {
  Executor node;
  std::shared_ptr<HttpStream> stream;
  Duration timeout;
  std::size_t message_size_max;
  // Of who opened it: what they say takes their time of the loop. When they have none left it ends a
  // WebSocket, and waits in a tunnel. What they are told is the node's own work. Null: it does not count.
  std::shared_ptr<budget::Meter> meter;
};

void close_stream(const Executor& node, std::shared_ptr<HttpStream> stream);
// The same stream, which is closed, and ends, on that executor, whoever lets go of it last.
std::shared_ptr<HttpStream> ending_on(Executor node, std::shared_ptr<HttpStream> stream);

// Tells the stream at the end of the scope that its reader is gone.
struct StreamCloser {
  const StreamReader& reader;
  explicit StreamCloser(const StreamReader& stream_reader) : reader(stream_reader) {}
  StreamCloser(const StreamCloser&) = delete;
  StreamCloser& operator=(const StreamCloser&) = delete;
  ~StreamCloser() { close_stream(reader.node, reader.stream); }
};

// Until the stream ends or the reader takes too long.
Task<void> write_stream(Transport* transport, std::string head, net::Version version, StreamReader reader);
// `owner` keeps the connection alive while it is read from, which may last a little longer than this task.
Task<void> write_websocket(std::shared_ptr<void> owner, Transport* transport, Upgrade upgrade,
                           StreamReader reader);
// The same for a tunnel, which begins with `head`. What the reader sends is the stream's to judge.
Task<void> write_tunnel(std::shared_ptr<void> owner, Transport* transport, std::string head,
                        StreamReader reader);

}  // namespace tagring::server
