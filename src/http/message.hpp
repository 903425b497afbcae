// HTTP messages as values, and the two ports through which they travel. net/ and server/ implement them on
// TLS sockets, sim/ on a virtual network.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "http/ip.hpp"
#include "http/url.hpp"

namespace tagring {

// Header fields in order. Names compare without regard to case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}

  // The first field of that name.
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const;
  // All fields of that name joined by ", " (RFC 9110 §5.3).
  [[nodiscard]] std::optional<std::string> joined(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;
  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  // Replaces all fields of that name by one.
  void set(std::string_view name, std::string value);
  // The answer depends on that field of the request, which caches must know of every answer that could have
  // been another, whichever it is (RFC 9110, 12.5.5).
  void add_vary(std::string_view field);

  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }
  [[nodiscard]] std::size_t size() const { return fields_.size(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";  // path and query as on the wire
  Headers headers;           // received: as on the wire, with Host. To send: without Host and Content-Length
  std::string body;
  IpAddress peer;  // received only: who sent it
};

// A body that is written as it comes to be, the node's side of a WebSocket, or that of a tunnel. Used on the
// node's executor.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  // The next piece of the body, message of the WebSocket or bytes of the tunnel; nothing at the end. Throws
  // operation_aborted if the reader's connection is cut off by the server.
  [[nodiscard]] virtual Task<std::optional<std::string>> next() = 0;
  // A text message of the WebSocket came, or bytes through the tunnel. No more are read before it returns.
  [[nodiscard]] virtual Task<void> receive(std::string /*message*/) { co_return; }
  // The reader has gone, was too slow, or must go: next() ends soon.
  virtual void close() = 0;
};

struct HttpResponse {
  int status = 200;
  Headers headers;
  std::string body;
  // Instead of `body`. With status 101, in answer to a request for a WebSocket, its pieces are messages.
  std::shared_ptr<HttpStream> stream = nullptr;
  // With status 101: whoever is behind `stream` speaks the protocol, and has answered with `headers`. What
  // follows is passed on as it is, both ways.
  bool is_tunnel = false;
  // Received over TLS: from when and until when the certificate of the other side is good.
  struct Lifetime {
    WallTime from;
    WallTime until;
  };
  std::optional<Lifetime> certificate = std::nullopt;
};

// It may be taken another time: 429, and what the server is to blame for.
inline bool is_refused_for_now(const HttpResponse& response) {
  return response.status == 429 || response.status >= 500;
}

inline HttpResponse no_content() {
  HttpResponse response;
  response.status = 204;
  return response;
}

inline HttpResponse redirect(int status, std::string target) {
  HttpResponse response;
  response.status = status;
  response.headers.add("Location", std::move(target));
  return response;
}

// A request to make.
struct HttpCall {
  HttpCall(std::string call_method, Url call_url, Instant call_deadline)
      : method(std::move(call_method)), url(std::move(call_url)), deadline(call_deadline) {}

  std::string method;
  Url url;
  Headers headers;  // Host, Content-Length and Connection are added
  std::string body;
  Instant deadline;                           // for everything, from name look-up to the last byte
  std::size_t response_size_max = 1U << 20U;  // bytes of the body
  // Only connect to an address with this /64; kDenied if the name has none (paper §5.2, verify_node_id).
  std::optional<Prefix64> required_prefix;
  // Only to this one of these, if the name has it.
  std::optional<IpAddress> exact_address;
  // A stranger has it made: required_prefix does not make it a call of the rings.
  bool is_for_stranger = false;
};

// Makes requests. TLS certificates are always checked against the host name of the URL. Redirects are
// answers like others: who follows them must sign and check again.
//
// Errors: kUnavailable (no address, refused, reset), kTimedOut, kDenied (certificate, forbidden address,
// required_prefix), kTooLarge (body), kInvalid (not HTTP). Any HTTP status is a value.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  [[nodiscard]] virtual Task<Result<HttpResponse>> send(HttpCall call) = 0;
};

// Answers one request, on the node's own executor.
using HttpHandler = std::function<Task<HttpResponse>(HttpRequest)>;

}  // namespace tagring
