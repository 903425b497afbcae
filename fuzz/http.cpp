// A request, read as the server reads it, and passed on as the client writes it: the other side reads the
// same, and no field breaks out of its place.
#include <algorithm>
#include <boost/beast/http/parser.hpp>

#include "base/bytes.hpp"
#include "fuzz/target.hpp"
#include "net/wire.hpp"
#include "server/growing_body.hpp"

namespace tagring::fuzzing {
namespace {

namespace http = boost::beast::http;
using Parser = http::request_parser<server::GrowingBody>;
constexpr std::string_view kAuthority = "example.net";
constexpr std::uint64_t kBodyMax = 1U << 20U;

// False where it has as much room as it may have.
bool let_grow(Parser& parser, std::uint64_t first) {
  server::GrowingBody::value_type& body = parser.get().body();
  const std::uint64_t length = std::min(parser.content_length().value_or(kBodyMax), kBodyMax);
  const std::uint64_t size = body.next_room(first, length);
  if (size <= body.room) return false;
  body.give_room(size);
  return true;
}

// `first`: bytes for which the body has room at first.
std::optional<HttpRequest> read(std::string_view text, std::uint64_t first) {
  Parser parser;
  parser.header_limit(net::kHeaderSizeMax);
  parser.body_limit(kBodyMax);
  parser.eager(true);
  boost::system::error_code error;
  while (!error && !parser.is_done() && !text.empty()) {
    const std::size_t used = parser.put(boost::asio::buffer(text.data(), text.size()), error);
    const server::GrowingBody::value_type& body = parser.get().body();
    TR_ASSERT(body.text.size() <= body.room);
    text.remove_prefix(used);
    const bool grows = error == http::error::need_buffer && let_grow(parser, first);
    if (grows) error = {};
    if (used == 0 && !grows) break;
  }
  if (error || !parser.is_done()) return std::nullopt;
  HttpRequest request;
  request.method = std::string(parser.get().method_string());
  request.target = std::string(parser.get().target());
  request.headers = net::to_headers(parser.get());
  request.body = parser.get().body().text;
  return request;
}

bool is_framing(const std::string& name) {
  for (const char* framing : {"Host", "Content-Length", "Connection", "Transfer-Encoding", "Keep-Alive"}) {
    if (ascii_iequals(name, framing)) return true;
  }
  return false;
}

// Growing as it comes, from the first byte on.
std::optional<HttpRequest> read(std::string_view text) { return read(text, 1); }

void check_passed_on(const HttpRequest& request) {
  const Result<net::OutgoingMessage> written = net::write_request(kAuthority, request);
  if (!written) return;
  const std::optional<HttpRequest> again = read(written->head + written->body);
  TR_ASSERT(again);
  TR_ASSERT(again->method == request.method && again->target == request.target &&
            again->body == request.body);
  TR_ASSERT(again->headers.find("Host") == kAuthority);
  TR_ASSERT(again->headers.count("Host") == 1);
  const auto fields = [](const Headers& headers) {
    std::vector<std::pair<std::string, std::string>> kept;
    for (const auto& [name, value] : headers) {
      if (!is_framing(name)) kept.emplace_back(name, value);
    }
    return kept;
  };
  TR_ASSERT(fields(again->headers) == fields(request.headers));
}

}  // namespace

void fuzz(std::string_view text) {
  const std::optional<HttpRequest> request_read = read(text);
  const std::optional<HttpRequest> at_once = read(text, kBodyMax);
  TR_ASSERT(request_read.has_value() == at_once.has_value());
  TR_ASSERT(!at_once || request_read->body == at_once->body);
  if (request_read) check_passed_on(*request_read);
  // Texts of our own making have no server's checks behind them: method, target, name, value, body.
  HttpRequest request;
  request.method = take_until(text, '\0');
  request.target = take_until(text, '\0');
  const std::string name(take_until(text, '\0'));
  const std::string value(take_until(text, '\0'));
  request.headers.add(name, value);
  request.body = text;
  const Result<net::OutgoingMessage> written = net::write_request(kAuthority, request);
  if (!written) return;
  const std::optional<HttpRequest> again = read(written->head + written->body);
  TR_ASSERT(!again || again->headers.size() <= 4);
}

}  // namespace tagring::fuzzing
