#include "net/wire.hpp"

#include <algorithm>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/status.hpp>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "net/system_clock.hpp"

namespace tagring::net {
namespace http = boost::beast::http;
namespace {

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

bool is_value(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7F; });
}

bool is_target(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
}

// Fields that say how the message is sent, which is decided here.
bool is_framing(std::string_view name) {
  constexpr std::string_view kNames[] = {"Host", "Content-Length", "Connection", "Transfer-Encoding",
                                         "Keep-Alive"};
  return std::ranges::any_of(kNames, [&](std::string_view framing) { return ascii_iequals(framing, name); });
}

void add_field(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

int checked_status(int status) { return status >= 200 && status <= 999 ? status : 500; }

std::string begin_head(int status, const Headers& headers, std::size_t body_size) {
  std::string head;
  head.reserve(512 + body_size);
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  head.append(fmt::format("HTTP/1.1 {} ", status)).append(reason.data(), reason.size()).append("\r\n");
  add_field(head, "Date", to_http_date(system_wall_now()));
  for (const auto& [name, value] : headers) {
    if (!is_token(name) || !is_value(value) || is_framing(name) || ascii_iequals(name, "Date")) continue;
    add_field(head, name, value);
  }
  return head;
}

OutgoingMessage join(std::string head, std::string body) {
  if (body.size() > kJoinSize) return {.head = std::move(head), .body = std::move(body)};
  head += body;
  return {.head = std::move(head), .body = {}};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_host_field(std::string_view value) {
  constexpr std::string_view kMarks = "-._~%!$&'()*+,;=";
  const std::size_t close = value.starts_with('[') ? value.find(']') : std::string_view::npos;
  const std::size_t colon = value.find(':', close == std::string_view::npos ? 0 : close);
  const std::string_view host = value.substr(0, colon);
  if (colon != std::string_view::npos && !std::ranges::all_of(value.substr(colon + 1), is_digit))
    return false;
  if (host.starts_with('['))
    return host.ends_with(']') && IpAddress::parse(host.substr(1, host.size() - 2)).has_value();
  return !host.empty() && std::ranges::all_of(host, [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || kMarks.contains(c);
  });
}

bool to_origin_form(HttpRequest& request) {
  // CONNECT names a host and a port; whoever answers it refuses the method.
  if (request.target.starts_with('/') || request.target == "*" || request.method == "CONNECT") return true;
  Result<Url> url = Url::parse(request.target);
  if (!url) return false;
  request.headers.set("Host", url->authority());
  request.target = std::move(url->target);
  return true;
}

int check_request_line(std::span<char> line) {
  constexpr std::string_view kName = " HTTP/";
  constexpr std::size_t kVersionSize = kName.size() + 3;
  if (line.size() <= kVersionSize) return 400;
  const std::span<char> version = line.last(kVersionSize);
  const bool well_formed = std::string_view(version.data(), kName.size()) == kName && is_digit(version[6]) &&
                           version[7] == '.' && is_digit(version[8]);
  if (!well_formed) return 400;
  if (version[6] == '2' || version[6] == '3') return 505;
  if (version[6] != '1') return 400;
  if (version[8] > '1') version[8] = '1';
  return 0;
}

Result<OutgoingMessage> write_request(std::string_view authority, HttpRequest request) {
  if (!is_token(request.method)) return fail(ErrorCode::kInvalid, "not an HTTP method");
  if (!is_target(request.target) || !is_target(authority))
    return fail(ErrorCode::kInvalid, "not a request target");
  std::string head;
  head.reserve(512 + std::min(request.body.size(), kJoinSize));
  head.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
  add_field(head, "Host", authority);
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name) || !is_value(value)) return fail(ErrorCode::kInvalid, "not a header field");
    if (!is_framing(name)) add_field(head, name, value);
  }
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD")) {
    add_field(head, "Content-Length", fmt::to_string(request.body.size()));
  }
  // Another protocol is asked of the connection (RFC 9110, 7.8).
  add_field(head, "Connection", request.headers.find("Upgrade") ? "Upgrade" : "keep-alive");
  head.append("\r\n");
  return join(std::move(head), std::move(request.body));
}

OutgoingMessage write_response(HttpResponse response, Version version, Keep keep, bool to_head) {
  const int status = checked_status(response.status);
  const bool may_have_body = status != 204 && status != 304;
  std::string head = begin_head(status, response.headers, std::min(response.body.size(), kJoinSize));
  // How long a stream will be nobody knows.
  if (may_have_body && !response.stream)
    add_field(head, "Content-Length", fmt::to_string(response.body.size()));
  if (keep == Keep::kClose) {
    add_field(head, "Connection", "close");
  } else if (version == Version::kHttp10) {
    add_field(head, "Connection", "keep-alive");
  }
  head.append("\r\n");
  if (to_head || !may_have_body) response.body.clear();
  return join(std::move(head), std::move(response.body));
}

std::string write_stream_head(const HttpResponse& response, Version version) {
  std::string head = begin_head(checked_status(response.status), response.headers, 0);
  if (version == Version::kHttp11) add_field(head, "Transfer-Encoding", "chunked");
  add_field(head, "Connection", "close");
  return head + "\r\n";
}

std::string write_chunk(std::string piece, Version version) {
  if (version == Version::kHttp10) return piece;
  return fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
}

std::string write_tunnel_head(const Headers& headers) {
  std::string head = begin_head(101, headers, 0);
  add_field(head, "Connection", "Upgrade");
  add_field(head, "Upgrade", "websocket");
  return head + "\r\n";
}

Headers to_headers(const http::fields& fields) {
  Headers headers;
  for (const auto& field : fields) headers.add(std::string(field.name_string()), std::string(field.value()));
  return headers;
}

std::unexpected<Error> fail_with(const boost::system::error_code& error, std::string_view what) {
  const std::string message = fmt::format("{}: {}", what, error.message());
  if (error == boost::beast::error::timeout) return fail(ErrorCode::kTimedOut, message);
  if (error == http::error::body_limit || error == http::error::header_limit ||
      error == http::error::buffer_overflow) {
    return fail(ErrorCode::kTooLarge, message);
  }
  const bool is_cut = error == http::error::end_of_stream || error == http::error::partial_message;
  if (error.category() == http::make_error_code(http::error::bad_version).category() && !is_cut) {
    return fail(ErrorCode::kInvalid, message);
  }
  return fail(ErrorCode::kUnavailable, message);
}

}  // namespace tagring::net
