// HTTP/1.1 messages as bytes: what the client and the server have in common. Internal to net/.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/system/error_code.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http/message.hpp"

namespace tagring::net {

constexpr std::size_t kHeaderSizeMax = 16U * 1024U;
// One TLS record; also what a connection keeps for reading.
constexpr std::size_t kReadSize = 16U * 1024U;
// What is read and not yet parsed: a header, or the line of a chunk, has no end of its own for Beast.
constexpr std::size_t kUnparsedMax = kHeaderSizeMax + kReadSize;
// A body up to this size is sent in one piece with its header: one record and one packet train instead of
// two.
constexpr std::size_t kJoinSize = 12U * 1024U;

// Whether a Host field names a host, and a port perhaps (RFC 9112, 3.2).
[[nodiscard]] bool is_host_field(std::string_view value);

// Makes "https://tags.example.org/actor" as the target, which proxies and nobody else write, "/actor" of that
// host (RFC 9112, 3.2.2). False if it is neither this nor a path nor "*".
[[nodiscard]] bool to_origin_form(HttpRequest& request);

// The line that a request begins with, before the parser has it. Minor versions that there may be are read as
// 1.1, as RFC 9110 (2.5) has it, and written so into `line`. 0, or the status that refuses it.
[[nodiscard]] int check_request_line(std::span<char> line);

struct OutgoingMessage {
  std::string head;  // and the body, if that is short
  std::string body;
};

// kInvalid if a part would break out of its place (control characters, spaces).
[[nodiscard]] Result<OutgoingMessage> write_request(std::string_view authority, HttpRequest request);

enum class Version : std::uint8_t { kHttp10, kHttp11 };
enum class Keep : std::uint8_t { kAlive, kClose };

// Header fields that are not well-formed are left out. `to_head`: the answer to HEAD, which has no body.
[[nodiscard]] OutgoingMessage write_response(HttpResponse response, Version version, Keep keep, bool to_head);

// The beginning of a response whose body is a stream: in chunks, or for HTTP/1.0 until the connection ends.
[[nodiscard]] std::string write_stream_head(const HttpResponse& response, Version version);
// A piece of such a body as it goes over the wire. Empty: the end.
[[nodiscard]] std::string write_chunk(std::string piece, Version version);
// The answer after which a connection is one of WebSocket.
[[nodiscard]] std::string write_tunnel_head(const Headers& headers);

[[nodiscard]] Headers to_headers(const boost::beast::http::fields& fields);

// Maps errors of sockets, Beast and OpenSSL to what HttpClient promises.
[[nodiscard]] std::unexpected<Error> fail_with(const boost::system::error_code& error, std::string_view what);

}  // namespace tagring::net
