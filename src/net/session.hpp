// One connection of the server. Internal to net/.
#pragma once

#include <atomic>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <memory>

#include "base/http.hpp"
#include "base/ip.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "net/tls.hpp"

namespace tagring::net {

// Of each connection; as HttpServerOptions.
struct SessionOptions {
  std::size_t body_size_max;
  Duration request_timeout;
  Duration idle_timeout;
  Duration stream_timeout;
  std::size_t message_size_max;
};

// What all connections of a server read.
struct Service {
  Service(SessionOptions given, Executor executor, HttpHandler answer)
      : options(given), node(std::move(executor)), handler(std::move(answer)) {}

  const SessionOptions options;
  const Executor node;
  const HttpHandler handler;
  std::atomic<bool> is_stopping = false;   // no request is read any more
  std::atomic<bool> is_abandoned = false;  // the handler's owner is gone
};

// Belongs to its own strand; the server only posts to it.
class Session {
 public:
  Session(Executor strand, std::shared_ptr<Service> service, IpAddress peer)
      : strand_(std::move(strand)), service_(std::move(service)), peer_(peer) {}
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const Executor& strand() const { return strand_; }
  [[nodiscard]] const IpAddress& peer() const { return peer_; }
  [[nodiscard]] boost::asio::cancellation_slot slot() { return signal_.slot(); }

  // Serves requests until either side ends the connection.
  virtual Task<void> run(std::shared_ptr<Session> self) = 0;
  // On the strand, as the next two: closes unless a request is being read or answered. A stream is told to
  // end.
  virtual void close_if_idle() = 0;
  // Ends run() wherever it is.
  void abort() {
    if (!has_ended_) signal_.emit(boost::asio::cancellation_type::terminal);
  }
  void set_ended() { has_ended_ = true; }

 protected:
  const Executor strand_;
  const std::shared_ptr<Service> service_;
  const IpAddress peer_;

 private:
  boost::asio::cancellation_signal signal_;
  bool has_ended_ = false;
};

using TcpSocket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;
using LocalSocket = boost::asio::basic_stream_socket<boost::asio::local::stream_protocol, Executor>;

// `tls` empty: plain.
std::shared_ptr<Session> make_session(TcpSocket socket, const TlsContext& tls,
                                      std::shared_ptr<Service> service, IpAddress peer);
std::shared_ptr<Session> make_session(LocalSocket socket, std::shared_ptr<Service> service);

}  // namespace tagring::net
