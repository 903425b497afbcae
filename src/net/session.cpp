#include "net/session.hpp"

#include <algorithm>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <exception>
#include <optional>
#include <type_traits>

#include "base/bytes.hpp"
#include "net/exchange.hpp"
#include "net/gzip.hpp"
#include "net/hop.hpp"
#include "net/stream_writer.hpp"

namespace tagring::net {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace {

using boost::system::error_code;
using TcpStream = beast::tcp_stream;
using LocalStream = beast::basic_stream<asio::local::stream_protocol>;
using TlsStream = asio::ssl::stream<TcpStream>;

constexpr std::chrono::seconds kHandshakeTimeout{10};
constexpr std::chrono::seconds kGoodbyeTimeout{2};

// Runs on the node's executor.
Task<HttpResponse> answer(std::shared_ptr<Service> service, HttpRequest request) {
  if (service->is_abandoned) co_return HttpResponse{.status = 503, .headers = {}, .body = {}};
  std::exception_ptr thrown;
  try {
    co_return co_await service->handler(std::move(request));
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) throw;
  } catch (const std::exception&) {  // the handler's fault must not end the daemon
  }
  co_return HttpResponse{.status = 500, .headers = {}, .body = {}};
}

// A request, or the status that refuses it; nothing if the connection just ends.
struct Incoming {
  std::optional<HttpRequest> request;
  Upgrade upgrade;  // as it was read, if it asks for a WebSocket
  int refusal = 0;
  Version version = Version::kHttp11;
  bool keep_alive = false;
};

int refusal_for(const error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  const bool is_cut = error == http::error::end_of_stream || error == http::error::partial_message;
  const bool is_http = error.category() == http::make_error_code(http::error::bad_version).category();
  return is_http && !is_cut ? 400 : 0;
}

template <class Stream>
class SessionOn final : public Session {
 public:
  template <class... Args>
  SessionOn(Executor strand, std::shared_ptr<Service> service, IpAddress peer, Args&&... args)
      : Session(std::move(strand), std::move(service), peer), stream_(std::forward<Args>(args)...) {
    buffer_.max_size(kHeaderSizeMax + kReadSize);
  }

  Task<void> run(std::shared_ptr<Session> self) override;
  void close_if_idle() override {
    if (is_idle_) lowest().close();
    if (streaming_) close_stream(service_->node, streaming_);
  }

 private:
  static constexpr bool kIsTls = std::is_same_v<Stream, TlsStream>;

  auto& lowest() { return beast::get_lowest_layer(stream_); }
  Task<bool> wait_for_request();
  Task<Incoming> read_request();
  // Whether another request may follow.
  Task<bool> serve_one(std::shared_ptr<Session> self);
  Task<void> serve_stream(std::shared_ptr<Session> self, HttpResponse response, Incoming incoming);
  Task<void> say_goodbye(bool drain);

  Stream stream_;
  beast::flat_buffer buffer_;
  bool is_idle_ = true;
  bool has_unread_ = false;  // a refused request still arrives
  std::shared_ptr<HttpStream> streaming_;
};

template <class Stream>
Task<void> SessionOn<Stream>::run(std::shared_ptr<Session> self) {
  if constexpr (kIsTls) {
    lowest().expires_after(kHandshakeTimeout);
    const auto [error] = co_await stream_.async_handshake(asio::ssl::stream_base::server, kTuple);
    if (error) co_return;
  }
  for (bool more = true; more;) {
    const bool has_request = co_await wait_for_request();
    if (!has_request) break;
    more = co_await serve_one(self);
  }
  co_await say_goodbye(has_unread_);
}

template <class Stream>
Task<bool> SessionOn<Stream>::wait_for_request() {
  if (buffer_.size() > 0) co_return true;
  if (service_->is_stopping) co_return false;
  is_idle_ = true;
  lowest().expires_after(service_->options.idle_timeout);
  const auto [error, size] = co_await stream_.async_read_some(buffer_.prepare(kReadSize), kTuple);
  is_idle_ = false;
  if (error) co_return false;
  buffer_.commit(size);
  co_return true;
}

template <class Stream>
Task<Incoming> SessionOn<Stream>::read_request() {
  http::request_parser<http::string_body> parser;
  parser.header_limit(kHeaderSizeMax);
  parser.body_limit(service_->options.body_size_max);
  lowest().expires_after(service_->options.request_timeout);
  Incoming incoming;
  const auto [head_error, head_size] = co_await http::async_read_header(stream_, buffer_, parser, kTuple);
  if (head_error) {
    incoming.refusal = refusal_for(head_error);
    co_return incoming;
  }
  incoming.version = parser.get().version() == 10 ? Version::kHttp10 : Version::kHttp11;
  // Fields of a trailer are not looked at, so that they cannot pass for fields of the header.
  HttpRequest request{.method = std::string(parser.get().method_string()),
                      .target = std::string(parser.get().target()),
                      .headers = to_headers(parser.get()),
                      .body = {},
                      .peer = peer_};
  if (const std::size_t hosts = request.headers.count("Host");
      hosts > 1 || (hosts == 0 && incoming.version == Version::kHttp11)) {
    incoming.refusal = 400;
    co_return incoming;
  }
  if (!parser.is_done()) {
    if (ascii_iequals(request.headers.find("Expect").value_or(""), "100-continue") && buffer_.size() == 0) {
      auto go_on = std::make_shared<const OutgoingMessage>("HTTP/1.1 100 Continue\r\n\r\n", "");
      const error_code error = co_await write_message(&stream_, std::move(go_on));
      if (error) co_return incoming;
    }
    const auto [error, size] = co_await http::async_read(stream_, buffer_, parser, kTuple);
    if (error) {
      incoming.refusal = refusal_for(error);
      co_return incoming;
    }
  }
  incoming.keep_alive = parser.keep_alive();
  request.body = std::move(parser.get().body());
  if (beast::websocket::is_upgrade(parser.get()))
    incoming.upgrade = std::make_shared<const UpgradeRequest>(parser.get().base());
  incoming.request = std::move(request);
  co_return incoming;
}

template <class Stream>
Task<bool> SessionOn<Stream>::serve_one(std::shared_ptr<Session> self) {
  Incoming incoming = co_await read_request();
  if (!incoming.request && incoming.refusal == 0) co_return false;
  HttpResponse response{.status = incoming.refusal, .headers = {}, .body = {}};
  bool to_head = false;
  bool may_compress = false;
  if (incoming.request) {
    to_head = incoming.request->method == "HEAD";
    may_compress = accepts_gzip(incoming.request->headers.joined("Accept-Encoding").value_or(""));
    lowest().expires_never();
    response = co_await run_on(service_->node, answer(service_, std::move(*incoming.request)));
  } else {
    has_unread_ = true;
  }
  if (response.stream && !to_head) {
    co_await serve_stream(std::move(self), std::move(response), std::move(incoming));
    co_return false;
  }
  if (may_compress && is_compressible(response)) compress(response);
  const bool more = incoming.keep_alive && !service_->is_stopping;
  auto message = std::make_shared<const OutgoingMessage>(
      write_response(std::move(response), incoming.version, more ? Keep::kAlive : Keep::kClose, to_head));
  lowest().expires_after(service_->options.request_timeout);
  const error_code error = co_await write_message(&stream_, std::move(message));
  if (error) {
    lowest().close();
    co_return false;
  }
  co_return more;
}

template <class Stream>
Task<void> SessionOn<Stream>::serve_stream(std::shared_ptr<Session> self, HttpResponse response,
                                           Incoming incoming) {
  streaming_ = response.stream;
  const StreamReader reader{service_->node, response.stream, service_->options.stream_timeout,
                            service_->options.message_size_max};
  const StreamCloser closer(reader);
  if (response.status == 101 && incoming.upgrade) {
    // Nothing may follow the request before it is answered.
    if (buffer_.size() == 0) co_await write_websocket(std::move(self), &stream_, incoming.upgrade, reader);
  } else {
    std::string head = write_stream_head(response, incoming.version);
    co_await write_stream(&stream_, std::move(head), incoming.version, reader);
  }
  streaming_.reset();
}

// Closing a socket with unread input resets the connection, and the peer may lose the answer: so first read a
// bounded part of what still comes.
template <class Stream>
Task<void> SessionOn<Stream>::say_goodbye(bool drain) {
  if (!lowest().socket().is_open()) co_return;
  lowest().expires_after(kGoodbyeTimeout);
  error_code ignored;
  if (drain) {
    lowest().socket().shutdown(asio::socket_base::shutdown_send, ignored);
    std::size_t rest = 4 * service_->options.body_size_max;
    buffer_.clear();
    while (rest > 0) {
      const auto [error, size] = co_await lowest().async_read_some(buffer_.prepare(kReadSize), kTuple);
      if (error) break;
      rest -= std::min(rest, size);
    }
  } else if constexpr (kIsTls) {
    co_await stream_.async_shutdown(kTuple);
  } else {
    lowest().socket().shutdown(asio::socket_base::shutdown_both, ignored);
  }
}

}  // namespace

std::shared_ptr<Session> make_session(TcpSocket socket, const TlsContext& tls,
                                      std::shared_ptr<Service> service, IpAddress peer) {
  const Executor strand = socket.get_executor();
  if (tls) {
    return std::make_shared<SessionOn<TlsStream>>(strand, std::move(service), peer,
                                                  TcpStream(std::move(socket)), *tls);
  }
  return std::make_shared<SessionOn<TcpStream>>(strand, std::move(service), peer, std::move(socket));
}

std::shared_ptr<Session> make_session(LocalSocket socket, std::shared_ptr<Service> service) {
  const Executor strand = socket.get_executor();
  return std::make_shared<SessionOn<LocalStream>>(strand, std::move(service), IpAddress{}, std::move(socket));
}

}  // namespace tagring::net
