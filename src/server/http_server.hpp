// HTTP/1.1 server on TCP, with or without TLS, or on a Unix domain socket.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/task.hpp"
#include "http/ip.hpp"
#include "http/message.hpp"
#include "proxies/networks.hpp"
#include "server/http_server_options.hpp"

namespace tagring::server {

// Reads requests on the threads of `io`, one connection at a time in order, and has each answered by the
// handler on the executor `node`. What is not HTTP gets 400, too large 413 or 431, without asking the
// handler; a handler that throws answers 500. HttpRequest::peer is the TCP peer (all zero on a Unix socket),
// or whom a trusted proxy names.
class HttpServer {
 public:
  // Listens from now on; whoever connects waits until accept(). kUnavailable: address in use or not ours.
  // kInvalid, kNotFound: certificate, key or path. kConflict: another process listens on socket_path. A stale
  // socket is replaced.
  static Result<std::unique_ptr<HttpServer>> open(HttpServerOptions options, Executor io, Executor node,
                                                  HttpHandler handler);
  // Once.
  void accept();
  // Both.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, Executor io, Executor node,
                                                   HttpHandler handler);
  // Closes what is open. No handler starts after this, but some may run: stop() first waits for them.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Where it listens; all zero on a Unix socket. "::" is every address, 0.0.0.0 every one of IPv4.
  [[nodiscard]] IpAddress address() const;
  [[nodiscard]] std::uint16_t port() const;
  // Uses that certificate and key, if it speaks TLS; connections that stand keep the old ones. On error
  // nothing changes.
  Result<void> take_certificate(const std::string& certificate_file, const std::string& key_file);
  // From now on these are trusted.
  void trust(proxies::Networks trusted);
  // Accepts no more, lets running requests finish for `grace`, and those that who has just connected makes,
  // then cancels them. Completes when all connections are closed. Called on `node`.
  [[nodiscard]] Task<void> stop(Duration grace);

 private:
  struct Impl;
  explicit HttpServer(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tagring::server
