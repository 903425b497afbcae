// A request, read as the server reads it, and passed on as the client writes it: the other side reads the
// same, and no field breaks out of its place.
#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/bytes.hpp"
#include "fuzz/target.hpp"
#include "net/wire.hpp"

namespace tagring::fuzzing {
namespace {

namespace http = boost::beast::http;
constexpr std::string_view kAuthority = "example.net";

std::optional<HttpRequest> read(std::string_view text) {
  http::request_parser<http::string_body> parser;
  parser.header_limit(net::kHeaderSizeMax);
  parser.body_limit(1U << 20U);
  parser.eager(true);
  boost::system::error_code error;
  while (!error && !parser.is_done() && !text.empty()) {
    const std::size_t used = parser.put(boost::asio::buffer(text.data(), text.size()), error);
    if (used == 0) break;
    text.remove_prefix(used);
  }
  if (error || !parser.is_done()) return std::nullopt;
  HttpRequest request;
  request.method = std::string(parser.get().method_string());
  request.target = std::string(parser.get().target());
  request.headers = net::to_headers(parser.get());
  request.body = parser.get().body();
  return request;
}

bool is_framing(const std::string& name) {
  for (const char* framing : {"Host", "Content-Length", "Connection", "Transfer-Encoding", "Keep-Alive"}) {
    if (ascii_iequals(name, framing)) return true;
  }
  return false;
}

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
  if (const auto request = read(text)) check_passed_on(*request);
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
