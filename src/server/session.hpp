// One connection of the server. Internal to net/.
#pragma once

#include <atomic>
#include <boost/asio/cancellation_signal.hpp>
#include <memory>
#include <mutex>

#include "http/message.hpp"
#include "net/tls.hpp"
#include "proxies/networks.hpp"
#include "server/http_server_options.hpp"
#include "server/transport.hpp"

namespace tagring::server {

// Shared by all connections of a server.
struct Service {
  Service(HttpServerOptions given, Executor executor, HttpHandler answer)
      : options(std::move(given)),
        node(std::move(executor)),
        handler(std::move(answer)),
        trusted_(std::make_shared<const proxies::Networks>(options.trusted_proxies)) {}

  const HttpServerOptions options;
  const Executor node;
  const HttpHandler handler;
  std::atomic<bool> is_stopping = false;   // no request is read any more
  std::atomic<bool> is_abandoned = false;  // the handler's owner is gone

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

// Belongs to its own strand; the server only posts to it.
class Session {
 public:
  Session(Executor strand, std::shared_ptr<Service> service, IpAddress peer)
      : strand_(std::move(strand)), service_(std::move(service)), peer_(peer) {}
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const Executor& strand() const { return strand_; }
  [[nodiscard]] const IpAddress& peer() const { return peer_; }
  [[nodiscard]] boost::asio::cancellation_slot slot() { return signal_.slot(); }

  // Serves requests until either side ends the connection.
  virtual Task<void> run(std::shared_ptr<Session> self) = 0;
  // On the strand, as the next two: closes if it waits for a further request. One that has made none yet may
  // be about to, and counts on the answer. A stream is told to end.
  virtual void close_if_idle() = 0;
  // Ends run() wherever it is.
  void abort() {
    if (!has_ended_) signal_.emit(boost::asio::cancellation_type::terminal);
  }
  void set_ended() { has_ended_ = true; }
  // Waits for a request or has made none yet, as far as anybody can say from another strand.
  [[nodiscard]] bool is_idle() const { return is_idle_; }

 protected:
  const Executor strand_;
  const std::shared_ptr<Service> service_;
  const IpAddress peer_;
  std::atomic<bool> is_idle_ = true;

 private:
  boost::asio::cancellation_signal signal_;
  bool has_ended_ = false;
};

// `tls` empty: plain.
std::shared_ptr<Session> make_session(TcpSocket socket, const net::TlsContext& tls,
                                      std::shared_ptr<Service> service, IpAddress peer);
std::shared_ptr<Session> make_session(LocalSocket socket, std::shared_ptr<Service> service);

}  // namespace tagring::server
