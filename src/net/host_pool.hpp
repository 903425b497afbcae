// The connections to one scheme, host and port. Internal to net/.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/message.hpp"
#include "net/exchange.hpp"
#include "net/http_client_options.hpp"
#include "net/resolver.hpp"
#include "net/tls.hpp"

namespace tagring::net {

// A socket with or without TLS, the address it is connected to, and what was read ahead.
class Connection {
 public:
  using Tcp = boost::beast::tcp_stream;
  using Tls = boost::asio::ssl::stream<Tcp>;
  using Time = std::chrono::steady_clock::time_point;

  // `tls` empty: plain.
  Connection(const Executor& executor, IpAddress address, const TlsContext& tls);

  [[nodiscard]] const IpAddress& address() const { return address_; }
  [[nodiscard]] Tcp& lowest() { return tls_ ? tls_->next_layer() : *plain_; }
  [[nodiscard]] Tls* tls() { return tls_.get(); }
  // Whether the other side has neither closed nor said anything unasked.
  [[nodiscard]] bool is_quiet();

  // `self` keeps the connection while the task runs.
  static Task<Exchange> run(std::shared_ptr<Connection> self, std::shared_ptr<const OutgoingMessage> message,
                            ExchangeLimits limits);

  Time idle_since;

 private:
  IpAddress address_;
  std::optional<Tcp> plain_;
  std::unique_ptr<Tls> tls_;
  boost::beast::flat_buffer buffer_;
};

// Has a socket come from that address of this machine; kUnavailable if it is none.
Result<void> come_from(const IpAddress& source, boost::asio::ip::tcp::socket& socket);

// Everything runs on the pool's own strand, so there are no locks; different hosts use different threads.
// Calls and the timer of the idle connections keep the pool alive; it goes when nothing of it is left.
class HostPool : public std::enable_shared_from_this<HostPool> {
 public:
  using Time = Connection::Time;

  HostPool(std::shared_ptr<const HttpClientOptions> options, const Executor& io, Resolver& resolver,
           TlsContext tls, const Url& url);
  ~HostPool();
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  [[nodiscard]] const Executor& executor() const { return strand_; }
  // To be run on executor().
  static Task<Result<HttpResponse>> send(std::shared_ptr<HostPool> self, HttpCall call);
  // Drops idle connections now, and from then on keeps none. From any thread.
  void shut_down();

 private:
  class Turn;
  using SharedConnection = std::shared_ptr<Connection>;
  // HttpCall::required_prefix and exact_address.
  struct Where {
    std::optional<Prefix64> prefix;
    std::optional<IpAddress> exact;
  };

  [[nodiscard]] SharedConnection take_idle(const Where& where);
  void keep(SharedConnection connection);
  void drop_old();
  void watch_idle();
  [[nodiscard]] Result<std::vector<IpAddress>> admit(const std::vector<IpAddress>& addresses,
                                                     const Where& where) const;
  Task<Result<SharedConnection>> connect(Where where, NameUse use, Instant deadline);
  Task<Result<SharedConnection>> connect_to(IpAddress address, Time until);
  Task<Result<void>> shake_hands(SharedConnection connection);
  void remember_session(Connection& connection);

  const std::shared_ptr<const HttpClientOptions> options_;
  Resolver& resolver_;
  const TlsContext tls_;  // empty for http
  const std::string host_;
  const std::uint16_t port_;
  const Executor strand_;

  std::size_t active_ = 0;
  std::deque<Turn*> waiting_;
  std::vector<SharedConnection> idle_;  // longest idle first
  boost::asio::steady_timer idle_timer_;
  bool is_watching_ = false;
  bool is_shut_down_ = false;
  std::shared_ptr<void> session_;  // SSL_SESSION of the last exchange
};

}  // namespace tagring::net
