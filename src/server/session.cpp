#include "server/session.hpp"

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <exception>
#include <optional>
#include <span>

#include "base/bytes.hpp"
#include "budget/manager.hpp"
#include "budget/metered.hpp"
#include "net/exchange.hpp"
#include "net/hop.hpp"
#include "net/wire.hpp"
#include "proxies/client_address.hpp"
#include "server/growing_body.hpp"
#include "server/gzip.hpp"
#include "server/stream_writer.hpp"
#include "server/tls_transport.hpp"
#include "server/transport.hpp"

namespace tagring::server {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace {

using boost::system::error_code;
using Parser = http::request_parser<GrowingBody>;
constexpr std::chrono::seconds kHandshakeTimeout{10};      // from the beginning of a connection
constexpr const char* kStrictTransport = "max-age=86400";  // of HSTS (RFC 6797): a day
constexpr const char* kRetryAfter = "10";                  // seconds, where there is no room for a body
constexpr std::uint64_t kFirstOfBody = 16U << 10U;         // bytes; then twice as much as has come
constexpr std::size_t kSmallAnswer = 32U << 10U;           // bytes, which the socket mostly takes at once

bool only_reads(const HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

// Runs on the node's executor.
Task<HttpResponse> answer(std::shared_ptr<Service> service, HttpRequest request) {
  if (service->is_abandoned) co_return HttpResponse{.status = 503, .headers = {}, .body = {}};
  std::exception_ptr thrown;
  try {
    HttpResponse response = co_await service->handler(std::move(request));
    // A connection that is cut off meanwhile lets go of it on a thread of its own.
    response.stream = ending_on(service->node, std::move(response.stream));
    co_return response;
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) throw;
  } catch (const std::exception&) {  // the handler's fault must not end the daemon
  }
  co_return HttpResponse{.status = 500, .headers = {}, .body = {}};
}

// At its end, however that comes, whoever asked has spent what time of the node's executor it took.
class Charge {
 public:
  explicit Charge(std::shared_ptr<budget::Meter> meter) : meter_(std::move(meter)) {}
  ~Charge() { meter_->charge_loop(); }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  const std::shared_ptr<budget::Meter> meter_;
};

Task<HttpResponse> answer_for(std::shared_ptr<Service> service, HttpRequest request,
                              std::shared_ptr<budget::Meter> meter) {
  const Charge charge(std::move(meter));
  HttpResponse response = co_await answer(service, std::move(request));
  co_return response;
}

// A request, or the status that refuses it; nothing if the connection just ends.
struct Incoming {
  std::optional<HttpRequest> request;
  Upgrade upgrade;  // as it was read, if it asks for a WebSocket
  int refusal = 0;
  budget::Share share;                   // of the bytes of bodies: the request's
  std::optional<budget::Spender> asker;  // whose bytes and time it takes; none: they do not count
  bool is_metered = false;               // the time, too
  Duration wait{0};                      // with 429
  net::Version version = net::Version::kHttp11;
  bool keep_alive = false;
};

std::string seconds_up(Duration wait) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(wait).count());
}

int refusal_for(const error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  const bool is_cut = error == http::error::end_of_stream || error == http::error::partial_message;
  const bool is_http = error.category() == http::make_error_code(http::error::bad_version).category();
  return is_http && !is_cut ? 400 : 0;
}

class HttpSession final : public Session {
 public:
  HttpSession(Executor strand, std::shared_ptr<Service> service, IpAddress peer,
              std::unique_ptr<Transport> transport, bool is_tls = false)
      : Session(std::move(strand), peer),
        service_(std::move(service)),
        transport_(std::move(transport)),
        is_tls_(is_tls) {
    buffer_.max_size(net::kHeaderSizeMax);
  }

  Task<void> run(std::shared_ptr<Session> self) override;
  void close_if_idle() override {
    if (is_idle_ && has_served_) transport_->close();
    if (streaming_) close_stream(service_->node, streaming_);
  }

 private:
  // There is as much from the beginning as a head may have: a buffer that grows leaves what it was behind.
  auto room_to_read() { return buffer_.prepare(buffer_.max_size() - buffer_.size()); }
  Task<bool> shake_hands(std::shared_ptr<Session> self);
  Task<bool> wait_for_request();
  Task<int> read_request_line();
  // Whether there is room for so much, or somebody makes some.
  Task<bool> begin_answer(SharedSession self, const Incoming* incoming, std::uint64_t size);
  Task<void> end_answer(SharedSession self);
  [[nodiscard]] std::optional<budget::Spender> spender_of(const IpAddress& peer) const;
  [[nodiscard]] std::shared_ptr<budget::Meter> meter_of(const Incoming& incoming, bool may_refuse) const;
  Task<Incoming> read_request(SharedSession self);
  Task<error_code> read_body(SharedSession self, Incoming* incoming, Parser* parser);
  Task<bool> let_grow(SharedSession self, const Incoming* incoming, Parser* parser);
  Task<error_code> say_go_on(const Incoming* incoming, const Parser* parser);
  Task<HttpResponse> handle(Incoming* incoming);
  // Whether another request may follow.
  Task<bool> serve_one(std::shared_ptr<Session> self);
  Task<void> serve_stream(std::shared_ptr<Session> self, HttpResponse response, Incoming incoming);

  const std::shared_ptr<Service> service_;
  const std::unique_ptr<Transport> transport_;
  const bool is_tls_;
  beast::flat_buffer buffer_;
  bool has_served_ = false;  // a request
  bool has_unread_ = false;  // a refused request still arrives
  std::shared_ptr<HttpStream> streaming_;
};

Task<void> HttpSession::run(std::shared_ptr<Session> self) {
  const CloseAtEnd at_end(*transport_);  // here, on its strand
  if (is_tls_) {
    const bool is_done = co_await shake_hands(self);
    if (!is_done) co_return;
  }
  for (bool more = true; more;) {
    const bool has_request = co_await wait_for_request();
    if (!has_request) break;
    more = co_await serve_one(self);
    has_served_ = true;
  }
  co_await transport_->say_goodbye(has_unread_ ? 4 * service_->options.body_size_max : 0);
}

// Until the client has said something, and its turn has come, nothing is there for it but the socket.
Task<bool> HttpSession::shake_hands(std::shared_ptr<Session> self) {
  const auto until = std::chrono::steady_clock::now() + kHandshakeTimeout;
  transport_->expires_after(kHandshakeTimeout);
  const error_code nothing_came = co_await transport_->wait_for_client();
  const std::shared_ptr<Connections> connections = service_->connections.lock();
  if (nothing_came || !connections) co_return false;
  const bool has_turn =
      co_await net::run_on(connections->strand(), Connections::wait_for_turn(connections, self, until));
  if (!has_turn) co_return false;
  const error_code error = co_await transport_->handshake();
  asio::post(connections->strand(), [connections, self] { connections->end_turn(self); });
  co_return !error;
}

Task<bool> HttpSession::wait_for_request() {
  if (buffer_.size() > 0) co_return true;
  if (has_served_ && service_->is_stopping) co_return false;
  is_idle_ = true;
  transport_->expires_after(service_->options.idle_timeout);
  const auto [error, size] = co_await transport_->async_read_some(room_to_read(), net::kTuple);
  is_idle_ = false;
  if (error) co_return false;
  buffer_.commit(size);
  co_return true;
}

// Waits for it, and leaves out empty lines before it (RFC 9112, 2.2). 0, or the status that refuses the
// request; -1 if the connection ends.
Task<int> HttpSession::read_request_line() {
  for (;;) {
    const auto data = buffer_.data();
    const std::string_view text(static_cast<const char*>(data.data()), data.size());
    const std::size_t begin = std::min(text.find_first_not_of("\r\n"), text.size());
    const std::size_t end = text.find('\n', begin);
    if (end != std::string_view::npos) {
      buffer_.consume(begin);
      std::span<char> line(static_cast<char*>(buffer_.data().data()), end - begin);
      if (!line.empty() && line.back() == '\r') line = line.first(line.size() - 1);
      co_return net::check_request_line(line);
    }
    if (text.size() >= net::kHeaderSizeMax) co_return 431;
    const auto [error, size] = co_await transport_->async_read_some(room_to_read(), net::kTuple);
    if (error) co_return -1;
    buffer_.commit(size);
  }
}

// What says how long the body is must not be open to two readings (RFC 9112, 6.1 and 6.3).
int framing_refusal(const HttpRequest& request, net::Version version) {
  if (const std::size_t hosts = request.headers.count("Host");
      hosts > 1 || (hosts == 0 && version == net::Version::kHttp11))
    return 400;
  if (const auto host = request.headers.find("Host"); host && !net::is_host_field(*host)) return 400;
  // What a compressed body may grow to is the sender's choice, and nobody sends one here.
  const auto content = request.headers.joined("Content-Encoding");
  if (content && !content->empty() && !ascii_iequals(*content, "identity")) return 415;
  const auto coding = request.headers.joined("Transfer-Encoding");
  if (!coding) return 0;
  if (version == net::Version::kHttp10) return 400;
  return ascii_iequals(*coding, "chunked") ? 0 : 501;
}

// Who comes by a Unix socket, and a proxy does not say for whom, has no address. What a front says for itself
// is part of the node's own work: where strangers have used up their share, it is heard all the same.
std::optional<budget::Spender> HttpSession::spender_of(const IpAddress& peer) const {
  const bool is_of_front = !service_->options.counts_connections && peer == peer_;
  if (is_of_front || peer == IpAddress() || service_->options.budget == nullptr) return std::nullopt;
  return service_->options.budget->who(peer);
}

// Null if nobody is charged.
std::shared_ptr<budget::Meter> HttpSession::meter_of(const Incoming& incoming, bool may_refuse) const {
  if (!incoming.is_metered) return nullptr;
  return std::make_shared<budget::Meter>(*service_->options.budget, *incoming.asker, may_refuse);
}

// It makes room for others, as the body of a request that has not come, or who asks and does not read would
// leave none to anybody.
Task<bool> HttpSession::begin_answer(SharedSession self, const Incoming* incoming, std::uint64_t size) {
  const std::shared_ptr<Connections> connections = service_->connections.lock();
  if (size == 0 || !incoming->asker || !connections) co_return true;
  Task<bool> beginning =
      Connections::let_body_grow(connections, std::move(self), *incoming->asker, /*held=*/0, size);
  const bool has_room = co_await net::run_on(connections->strand(), std::move(beginning));
  co_return has_room;
}

Task<void> HttpSession::end_answer(SharedSession self) {
  const std::shared_ptr<Connections> connections = service_->connections.lock();
  if (connections)
    co_await net::run_on(connections->strand(), Connections::end_body(connections, std::move(self)));
}

// Nothing is charged, or kept free, for what only may come.
Task<bool> HttpSession::let_grow(SharedSession self, const Incoming* incoming, Parser* parser) {
  GrowingBody::value_type& body = parser->get().body();
  const std::uint64_t most = service_->options.body_size_max;
  const std::uint64_t length = std::min(parser->content_length().value_or(most), most);
  const std::uint64_t size = body.next_room(kFirstOfBody, length);
  if (size <= body.room) co_return false;
  if (incoming->asker) {
    const std::shared_ptr<Connections> connections = service_->connections.lock();
    if (!connections) co_return false;
    Task<bool> growing =
        Connections::let_body_grow(connections, std::move(self), *incoming->asker, body.room, size);
    const bool has_room = co_await net::run_on(connections->strand(), std::move(growing));
    if (!has_room) co_return false;
  }
  body.give_room(size);
  co_return true;
}

// Who waits to hear that there is room for the body.
Task<error_code> HttpSession::say_go_on(const Incoming* incoming, const Parser* parser) {
  const auto expect = parser->get()[http::field::expect];
  if (incoming->version != net::Version::kHttp11 || !ascii_iequals(expect, "100-continue") ||
      buffer_.size() > 0)
    co_return error_code();
  auto go_on = std::make_shared<const net::OutgoingMessage>("HTTP/1.1 100 Continue\r\n\r\n", "");
  const error_code error = co_await net::write_message(transport_.get(), std::move(go_on));
  co_return error;
}

// All of it is there if the parser is done; else, and without an error, there is no room for the rest.
Task<error_code> HttpSession::read_body(SharedSession self, Incoming* incoming, Parser* parser) {
  error_code error;
  for (bool is_first = true; is_first || error == http::error::need_buffer; is_first = false) {
    const bool has_room = co_await let_grow(self, incoming, parser);
    error = {};
    if (!has_room) break;
    if (is_first) error = co_await say_go_on(incoming, parser);
    if (error) break;
    const auto [failure, size] = co_await http::async_read(*transport_, buffer_, *parser, net::kTuple);
    error = failure;
  }
  incoming->share = budget::Share(nullptr, budget::Resource::kBodies, {});
  const std::shared_ptr<Connections> connections = service_->connections.lock();
  if (!incoming->asker || !connections) co_return error;
  incoming->share =
      co_await net::run_on(connections->strand(), Connections::end_body(connections, std::move(self)));
  co_return error;
}

Task<Incoming> HttpSession::read_request(SharedSession self) {
  Parser parser;
  parser.header_limit(net::kHeaderSizeMax);
  parser.body_limit(service_->options.body_size_max);
  transport_->expires_after(service_->options.request_timeout);
  Incoming incoming;
  if (const int refusal = co_await read_request_line(); refusal != 0) {
    incoming.refusal = std::max(0, refusal);
    co_return incoming;
  }
  const auto [head_error, head_size] =
      co_await http::async_read_header(*transport_, buffer_, parser, net::kTuple);
  if (head_error) {
    incoming.refusal = refusal_for(head_error);
    co_return incoming;
  }
  incoming.version = parser.get().version() == 10 ? net::Version::kHttp10 : net::Version::kHttp11;
  // Fields of a trailer are not looked at, so that they cannot pass for fields of the header.
  HttpRequest request{.method = std::string(parser.get().method_string()),
                      .target = std::string(parser.get().target()),
                      .headers = net::to_headers(parser.get()),
                      .body = {},
                      .peer = peer_};
  request.peer = proxies::client_of(peer_, request.headers, *service_->trusted());
  // A whole URL as target takes the place of the one Host that there has to be all the same.
  incoming.refusal = framing_refusal(request, incoming.version);
  if (incoming.refusal == 0 && !net::to_origin_form(request)) incoming.refusal = 400;
  if (incoming.refusal != 0) co_return incoming;
  incoming.asker = spender_of(request.peer);
  incoming.is_metered = incoming.asker && !request.peer.is_here();
  // Others make a node read at this one, for their readers: what it has to say is heard all the same.
  for (const budget::Resource time : {budget::Resource::kLoop, budget::Resource::kDatabase}) {
    if (incoming.is_metered && (only_reads(request) || time == budget::Resource::kLoop))
      incoming.wait = std::max(incoming.wait, service_->options.budget->take(time, *incoming.asker, 0));
  }
  if (incoming.wait > Duration::zero()) {
    incoming.refusal = 429;
    incoming.keep_alive = parser.is_done() && parser.keep_alive();
    co_return incoming;
  }
  if (!parser.is_done()) {
    const error_code error = co_await read_body(std::move(self), &incoming, &parser);
    if (error || !parser.is_done() || !incoming.share.is_granted()) {
      incoming.refusal = error ? refusal_for(error) : 503;
      co_return incoming;
    }
  }
  incoming.keep_alive = parser.keep_alive();
  request.body = std::move(parser.get().body().text);
  if (beast::websocket::is_upgrade(parser.get()))
    incoming.upgrade = std::make_shared<const UpgradeRequest>(parser.get().base());
  incoming.request = std::move(request);
  co_return incoming;
}

Task<HttpResponse> HttpSession::handle(Incoming* incoming) {
  Executor node = service_->node;
  Task<HttpResponse> answered = [&] {
    auto meter = meter_of(*incoming, only_reads(*incoming->request));
    if (!meter) return answer(service_, std::move(*incoming->request));
    node = budget::Metered(service_->node, meter);
    return answer_for(service_, std::move(*incoming->request), std::move(meter));
  }();
  HttpResponse response = co_await net::run_on(std::move(node), std::move(answered));
  co_return response;
}

Task<bool> HttpSession::serve_one(std::shared_ptr<Session> self) {
  Incoming incoming = co_await read_request(self);
  if (!incoming.request && incoming.refusal == 0) co_return false;
  HttpResponse response{.status = incoming.refusal, .headers = {}, .body = {}};
  bool to_head = false;
  bool may_compress = false;
  if (incoming.request) {
    to_head = incoming.request->method == "HEAD";
    may_compress = accepts_gzip(incoming.request->headers.joined("Accept-Encoding").value_or(""));
    transport_->expires_never();
    response = co_await handle(&incoming);
  } else {
    has_unread_ = !incoming.keep_alive;
    if (response.status == 415) response.headers.set("Accept-Encoding", "identity");  // RFC 9110, 15.5.16
    if (response.status == 503) response.headers.set("Retry-After", kRetryAfter);
    if (response.status == 429) response.headers.set("Retry-After", seconds_up(incoming.wait));
  }
  incoming.share.release();  // the request is no more
  const bool is_unasked = response.status == 101 && !incoming.upgrade;
  if (is_unasked) response = HttpResponse{.status = 426, .headers = {{"Upgrade", "websocket"}}, .body = {}};
  if (is_tls_) response.headers.set("Strict-Transport-Security", kStrictTransport);
  if (response.stream && !to_head) {
    co_await serve_stream(std::move(self), std::move(response), std::move(incoming));
    co_return false;
  }
  if (is_compressible(response)) {
    response.headers.add_vary("Accept-Encoding");
    if (may_compress) compress(response);
  }
  // It is kept here until it is taken, for which there is as much time as for a request. Whoever is refused
  // it may have lost it on the way as well. Of small ones there are no more than connections.
  const std::size_t size = to_head ? 0 : response.body.size();
  const std::size_t kept = size > kSmallAnswer ? size : 0;
  const bool has_room = co_await begin_answer(self, &incoming, kept);
  if (!has_room)
    response = HttpResponse{.status = 503, .headers = {{"Retry-After", kRetryAfter}}, .body = {}};
  const bool more = incoming.keep_alive && !service_->is_stopping;
  auto message = std::make_shared<const net::OutgoingMessage>(net::write_response(
      std::move(response), incoming.version, more ? net::Keep::kAlive : net::Keep::kClose, to_head));
  transport_->expires_after(service_->options.request_timeout);
  const error_code error = co_await net::write_message(transport_.get(), std::move(message));
  if (error) {
    transport_->close();
    co_return false;
  }
  if (kept > 0) co_await end_answer(std::move(self));
  co_return more;
}

Task<void> HttpSession::serve_stream(std::shared_ptr<Session> self, HttpResponse response,
                                     Incoming incoming) {
  const StreamReader reader{service_->node, response.stream, service_->options.stream_timeout,
                            service_->options.message_size_max, meter_of(incoming, /*may_refuse=*/false)};
  const StreamCloser closer(reader);
  // Nothing may follow the request for a WebSocket before it is answered.
  if (response.status == 101 && buffer_.size() > 0) co_return;
  streaming_ = response.stream;
  if (response.status != 101) {
    std::string head = net::write_stream_head(response, incoming.version);
    co_await write_stream(transport_.get(), std::move(head), incoming.version, reader);
  } else if (response.is_tunnel) {
    std::string head = net::write_tunnel_head(response.headers);
    co_await write_tunnel(std::move(self), transport_.get(), std::move(head), reader);
  } else {
    co_await write_websocket(std::move(self), transport_.get(), incoming.upgrade, reader);
  }
  streaming_.reset();
}

}  // namespace

std::shared_ptr<Session> make_session(TcpSocket socket, const net::TlsContext& tls,
                                      std::shared_ptr<Service> service, IpAddress peer) {
  const Executor strand = socket.get_executor();
  return std::make_shared<HttpSession>(
      strand, std::move(service), peer,
      tls ? make_tls_transport(std::move(socket), tls) : make_transport(std::move(socket)), tls != nullptr);
}

std::shared_ptr<Session> make_session(LocalSocket socket, std::shared_ptr<Service> service) {
  const Executor strand = socket.get_executor();
  return std::make_shared<HttpSession>(strand, std::move(service), IpAddress{},
                                       make_transport(std::move(socket)));
}

}  // namespace tagring::server
