// Where a process of a node listens, and the certificate that it shows there.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/log.hpp"
#include "budget/manager.hpp"
#include "cluster/channel.hpp"
#include "config/config.hpp"
#include "crypto/certificate.hpp"
#include "http/ip.hpp"
#include "proxies/networks.hpp"
#include "server/http_server.hpp"

namespace tagring::app {

class Doors {
 public:
  // The executors of connections, and of what answers.
  struct Executors {
    Executor io;
    Executor node;
  };
  Doors(const config::Config& config, std::filesystem::path config_file, budget::Manager& budget,
        Executors executors, Clock& clock)
      : config_(config),
        config_file_(std::move(config_file)),
        budget_(budget),
        executors_(std::move(executors)),
        clock_(clock) {}

  // Before anything is touched: with a wrong certificate nobody would ever speak to this node, and a socket
  // that systemd has for another port than that of the configuration would be served for nobody.
  // `shows_certificate`: a core shows it to nobody, and does not stay away for it.
  [[nodiscard]] Result<void> check(bool shows_certificate = true);
  [[nodiscard]] Result<void> check_certificate();
  // [listen]. Who comes from outside waits until accept().
  [[nodiscard]] Result<void> open_outside(const HttpHandler& handler);
  // The address of that; none where it has no TCP of its own.
  [[nodiscard]] std::optional<IpAddress> bound() const;
  void accept();
  // Another one, which answers at once.
  [[nodiscard]] Result<void> open(server::HttpServerOptions options, HttpHandler handler);
  // At metrics.address; nothing if `port` is 0.
  [[nodiscard]] Result<void> open_metrics(std::uint16_t port, HttpHandler handler);
  // Listens for the other processes of the node, whose secret the handler asks for (cluster/channel.hpp).
  [[nodiscard]] Result<void> open_inside(const cluster::Place& place, HttpHandler handler);
  // The same for fronts, who name whom they bring.
  [[nodiscard]] Result<void> open_for_fronts(const cluster::Place& place, HttpHandler handler);

  // That of `config`, if it is one that others take. On error nothing changes.
  [[nodiscard]] Result<void> take_certificate(const config::Config& config);
  void trust(const proxies::Networks& proxies);
  // Until it is cancelled: takes the certificate again when its files have changed since check_certificate(),
  // and then runs `after`.
  [[nodiscard]] Task<void> watch_certificate(Log& log, std::function<Task<void>()> after);
  // Nothing if a proxy has it.
  [[nodiscard]] const std::optional<crypto::CertificateFacts>& certificate() const { return certificate_; }

  // Lets running requests finish.
  [[nodiscard]] Task<void> stop();

 private:
  // When a file was changed last; a link counts as what it leads to.
  using Times = std::vector<std::filesystem::file_time_type>;
  [[nodiscard]] Result<std::optional<crypto::CertificateFacts>> facts_of(const config::Config& config) const;
  [[nodiscard]] Result<void> check_inherited() const;
  [[nodiscard]] Times certificate_times() const;
  [[nodiscard]] Result<void> listen_at(server::HttpServerOptions options, HttpHandler handler);

  const config::Config& config_;
  const std::filesystem::path config_file_;
  budget::Manager& budget_;
  const Executors executors_;
  Clock& clock_;
  std::optional<crypto::CertificateFacts> certificate_;
  Times taken_;  // of the files that it is of
  std::vector<std::unique_ptr<server::HttpServer>> servers_;
  std::size_t outside_ = 0;  // the first so many of them are for everybody
};

}  // namespace tagring::app
