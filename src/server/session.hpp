// What is spoken on one connection of the server. Internal to server/.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "http/message.hpp"
#include "net/tls.hpp"
#include "proxies/networks.hpp"
#include "server/connections.hpp"
#include "server/http_server_options.hpp"
#include "server/transport.hpp"

namespace tagring::server {

// Shared by all connections of a server.
struct Service {
  Service(HttpServerOptions given, Executor executor, HttpHandler answer, std::weak_ptr<Connections> all)
      : options(std::move(given)),
        node(std::move(executor)),
        handler(std::move(answer)),
        connections(std::move(all)),
        trusted_(std::make_shared<const proxies::Networks>(options.trusted_proxies)) {}

  const HttpServerOptions options;
  const Executor node;
  const HttpHandler handler;
  const std::weak_ptr<Connections> connections;  // which have the sessions, which have this
  std::atomic<bool> is_stopping = false;         // no request is read any more
  std::atomic<bool> is_abandoned = false;        // the handler's owner is gone

  // From any thread.
  [[nodiscard]] std::shared_ptr<const proxies::Networks> trusted() const {
    const std::scoped_lock lock(mutex_);
    return trusted_;
  }
  void trust(proxies::Networks networks) {
    auto trusted = std::make_shared<const proxies::Networks>(std::move(networks));
    const std::scoped_lock lock(mutex_);
    trusted_ = std::move(trusted);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const proxies::Networks> trusted_;
};

// `tls` empty: plain.
std::shared_ptr<Session> make_session(TcpSocket socket, const net::TlsContext& tls,
                                      std::shared_ptr<Service> service, IpAddress peer);
std::shared_ptr<Session> make_session(LocalSocket socket, std::shared_ptr<Service> service);

}  // namespace tagring::server
