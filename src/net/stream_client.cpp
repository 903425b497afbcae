#include "net/stream_client.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "net/exchange.hpp"
#include "net/hop.hpp"
#include "net/system_clock.hpp"
#include "net/wire.hpp"

namespace tagring::net {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace {

constexpr Duration kConnectTimeout{2'000};
constexpr std::chrono::seconds kGoneAfter{30};
constexpr std::chrono::seconds kProbeEvery{10};
constexpr std::size_t kPieceSize = 4096;

// A connection that an answer keeps. Used on its strand only; whoever works with it holds it.
struct Link {
  explicit Link(const Executor& strand) : stream(strand) {}

  beast::tcp_stream stream;
  beast::flat_buffer buffer{kUnparsedMax};                       // of what was read and not yet handed on
  std::optional<http::response_parser<http::buffer_body>> body;  // none: a tunnel
};
using SharedLink = std::shared_ptr<Link>;

// Who waits for what comes says nothing, and so would never see that nobody is there any more. And the other
// side is to see at once that nobody reads.
void notice_ends(int socket) {
  const auto set = [socket](int level, int name, auto value) {
    ::setsockopt(socket, level, name, &value, sizeof value);
  };
  const int every = kProbeEvery.count();
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, every);
  set(IPPROTO_TCP, TCP_KEEPINTVL, every);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<unsigned>(Duration(kGoneAfter).count()));
  set(SOL_SOCKET, SO_LINGER, linger{.l_onoff = 1, .l_linger = 0});
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

Task<std::optional<std::string>> read_tunnel(SharedLink link) {
  if (link->buffer.size() == 0) {
    const auto [error, size] =
        co_await link->stream.async_read_some(link->buffer.prepare(kPieceSize), kTuple);
    if (error) co_return std::nullopt;
    link->buffer.commit(size);
  }
  std::string piece = beast::buffers_to_string(link->buffer.data());
  link->buffer.clear();
  co_return piece;
}

Task<std::optional<std::string>> read_body(SharedLink link) {
  std::string piece(kPieceSize, '\0');
  while (!link->body->is_done()) {
    http::buffer_body::value_type& room = link->body->get().body();
    room.data = piece.data();
    room.size = piece.size();
    const auto [error, size] =
        co_await http::async_read_some(link->stream, link->buffer, *link->body, kTuple);
    if (error && error != http::error::need_buffer) break;
    if (room.size == piece.size()) continue;
    piece.resize(piece.size() - room.size);
    co_return piece;
  }
  co_return std::nullopt;
}

// That it failed is seen by who reads.
Task<bool> write_bytes(SharedLink link, std::string bytes) {
  const auto [error, size] = co_await asio::async_write(link->stream, asio::buffer(bytes), kTuple);
  co_return !error;
}

class LinkStream final : public HttpStream {
 public:
  explicit LinkStream(SharedLink link) : link_(std::move(link)) {}

  Task<std::optional<std::string>> next() override {
    auto reading = link_->body ? read_body(link_) : read_tunnel(link_);
    co_return co_await run_on(link_->stream.get_executor(), std::move(reading));
  }
  Task<void> receive(std::string bytes) override {
    if (link_->body) co_return;
    co_await run_on(link_->stream.get_executor(), write_bytes(link_, std::move(bytes)));
  }
  void close() override {
    asio::post(link_->stream.get_executor(), [link = link_] { link->stream.close(); });
  }

 private:
  const SharedLink link_;
};

Task<Result<void>> connect_link(SharedLink link, Url url) {
  std::string_view host = url.host;
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(host, error);
  if (error || url.scheme != "http") co_return fail(ErrorCode::kInvalid, "not the URL of an address");
  link->stream.expires_after(kConnectTimeout);
  const auto [refused] = co_await link->stream.async_connect({address, url.port}, kTuple);
  if (refused) co_return fail_with(refused, fmt::format("connecting to {}", url.host));
  notice_ends(link->stream.socket().native_handle());
  co_return Result<void>();
}

Task<Result<HttpResponse>> ask_on(SharedLink link, HttpCall call) {
  CO_TRY_VOID(co_await connect_link(link, call.url));
  HttpRequest request{.method = std::move(call.method),
                      .target = call.url.target,
                      .headers = std::move(call.headers),
                      .body = std::move(call.body),
                      .peer = {}};
  CO_TRY(OutgoingMessage written, write_request(call.url.authority(), std::move(request)));
  link->stream.expires_at(to_steady(call.deadline));
  const boost::system::error_code unsent =
      co_await write_message(&link->stream, std::make_shared<const OutgoingMessage>(std::move(written)));
  if (unsent) co_return fail_with(unsent, "sending the request");
  http::response_parser<http::empty_body> head;
  head.header_limit(kHeaderSizeMax);
  head.body_limit(call.response_size_max);
  const auto [error, size] = co_await http::async_read_header(link->stream, link->buffer, head, kTuple);
  if (error) co_return fail_with(error, "reading the response");
  HttpResponse response;
  response.status = static_cast<int>(head.get().result_int());
  response.headers = to_headers(head.get());
  response.is_tunnel = response.status == 101;
  if (!response.is_tunnel && (head.is_done() || head.content_length())) {
    http::response_parser<http::string_body> whole(std::move(head));
    if (!whole.is_done()) {
      const auto [cut, read] = co_await http::async_read(link->stream, link->buffer, whole, kTuple);
      if (cut) co_return fail_with(cut, "reading the response");
    }
    response.body = std::move(whole.get().body());
    co_return response;
  }
  link->stream.expires_never();
  if (!response.is_tunnel) {
    link->body.emplace(std::move(head));
    link->body->body_limit(boost::none);
  }
  response.stream = std::make_shared<LinkStream>(std::move(link));
  co_return response;
}

}  // namespace

Task<Result<HttpResponse>> StreamClient::send(HttpCall call) {
  Executor strand = asio::make_strand(io_);
  auto link = std::make_shared<Link>(strand);
  co_return co_await run_on(std::move(strand), ask_on(std::move(link), std::move(call)));
}

}  // namespace tagring::net
