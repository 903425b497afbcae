// How an HttpServer is to listen, and what it allows.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.hpp"
#include "budget/manager.hpp"
#include "http/ip.hpp"
#include "proxies/networks.hpp"

namespace tagring::server {

struct HttpServerOptions {
  IpAddress bind_address;   // "::" takes IPv4 too
  std::uint16_t port = 0;   // 0: any free one
  std::string socket_path;  // not empty: a Unix socket instead of TCP
  unsigned socket_mode = 0600;
  int inherited = -1;            // a listening socket that somebody else has bound (systemd), of either kind
  std::string certificate_file;  // PEM chain; both empty: no TLS
  std::string key_file;
  std::size_t body_size_max = 1U << 20U;  // answered by 413
  Duration request_timeout{
      30'000};                      // from the first byte of a request to its last; the same for the response
  Duration idle_timeout{60'000};    // between requests
  Duration stream_timeout{10'000};  // for a reader of a stream to take a piece of it, or be cut off
  std::size_t message_size_max = 4096;  // bytes of a message of a WebSocket that comes in
  // Of connections and of bytes that are read or answered. Where strangers have all connections that they may
  // have, those of the heaviest group of addresses make room; so do, of bytes, bodies that have not come
  // whole, and answers that have not been taken. Outlives the server; null: no limits.
  budget::Manager* budget = nullptr;
  // Among those of `budget`. Else they are of fronts, and what is for nobody else does not count either.
  bool counts_connections = true;
  // Proxies that are believed whose request they bring, and whose connections count as those of somebody
  // known.
  proxies::Networks trusted_proxies = {};
  // Connections of theirs begin with a PROXY header (proxies/proxy_header.hpp), or are closed.
  bool proxy_protocol = false;
  // Where this machine does not have `bind_address`, as behind translation of addresses: all of that family.
  bool or_any = false;
};

}  // namespace tagring::server
