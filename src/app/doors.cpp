#include "app/doors.hpp"

#include <fmt/format.h>

#include "machine/checks.hpp"
#include "machine/listening.hpp"
#include "machine/systemd.hpp"
#include "proxies/networks.hpp"

namespace tagring::app {
namespace {

constexpr Duration kGrace = std::chrono::seconds(5);
constexpr Duration kCertificateEvery = std::chrono::seconds(20);
constexpr unsigned kForProxies = 0660;  // the mode of listen.socket

// What the supervisor holds of that kind; -1 if there is nothing.
std::vector<int> inherited_of(bool is_unix) {
  std::vector<int> taken;
  for (const machine::InheritedSocket& socket : machine::inherited_sockets())
    if (socket.path.empty() != is_unix) taken.push_back(socket.number);
  if (taken.empty()) taken.push_back(-1);
  return taken;
}

}  // namespace

Result<void> Doors::check(bool shows_certificate) {
  if (shows_certificate) {
    TRY_VOID(check_certificate());
  }
  return check_inherited();
}

Result<void> Doors::check_certificate() {
  taken_ = certificate_times();  // before it is read: what is written from here on is newer
  TRY(certificate_, facts_of(config_));
  return {};
}

Result<std::optional<crypto::CertificateFacts>> Doors::facts_of(const config::Config& config) const {
  if (config.is_plain()) return std::nullopt;
  Result<crypto::CertificateFacts> facts = machine::certificate_of(config, clock_.wall_now());
  if (!facts) {
    const ErrorCode code =
        facts.error().code == ErrorCode::kDenied ? ErrorCode::kInvalid : facts.error().code;
    return fail(code, fmt::format("{}: {}", config_file_.string(), facts.error().message));
  }
  return *std::move(facts);
}

Result<void> Doors::check_inherited() const {
  const auto wrong = machine::unfit(config_, config_file_, machine::inherited_sockets());
  if (!wrong) return {};
  return fail(ErrorCode::kInvalid, fmt::format("{}: {}", wrong->detail, wrong->what_to_do));
}

Result<void> Doors::listen_at(server::HttpServerOptions options, HttpHandler handler) {
  TRY(auto server,
      server::HttpServer::open(std::move(options), executors_.io, executors_.node, std::move(handler)));
  servers_.push_back(std::move(server));
  return {};
}

Result<void> Doors::open(server::HttpServerOptions options, HttpHandler handler) {
  TRY_VOID(listen_at(std::move(options), std::move(handler)));
  servers_.back()->accept();
  return {};
}

Result<void> Doors::open_outside(const HttpHandler& handler) {
  server::HttpServerOptions outside;
  outside.trusted_proxies = config_.trusted_proxies;
  outside.budget = &budget_;
  if (!config_.listen_socket.empty()) {
    server::HttpServerOptions socket = outside;
    socket.socket_path = config_.listen_socket;
    socket.socket_mode = kForProxies;
    for (const int inherited : inherited_of(true)) {
      socket.inherited = inherited;
      TRY_VOID(listen_at(socket, handler));
    }
  }
  if (!config_.is_plain() || config_.listen_socket.empty()) {
    outside.bind_address = config_.listen_address.value_or(config_.address);
    outside.or_any = !config_.listen_address;
    outside.port = config_.listen_port;
    outside.certificate_file = config_.certificate;
    outside.key_file = config_.key;
    outside.proxy_protocol = config_.proxy_protocol;
    for (const int inherited : inherited_of(false)) {
      outside.inherited = inherited;
      TRY_VOID(listen_at(outside, handler));
    }
  }
  outside_ = servers_.size();
  return {};
}

std::optional<IpAddress> Doors::bound() const {
  for (std::size_t i = 0; i < outside_; ++i)
    if (servers_[i]->port() != 0) return servers_[i]->address();
  return std::nullopt;
}

void Doors::accept() {
  for (std::size_t i = 0; i < outside_; ++i) servers_[i]->accept();
}

Result<void> Doors::open_metrics(std::uint16_t port, HttpHandler handler) {
  if (port == 0) return {};
  server::HttpServerOptions metrics;
  metrics.bind_address = config_.metrics_address;
  metrics.port = port;
  return open(std::move(metrics), std::move(handler));
}

// The core's own work is nobody's to pay.
Result<void> Doors::open_inside(const cluster::Place& place, HttpHandler handler) {
  server::HttpServerOptions inside;
  inside.bind_address = place.address;
  inside.port = place.port;
  return open(std::move(inside), std::move(handler));
}

// Whom they name has a share of the budgets, as who comes from outside; of connections they had theirs at the
// front.
Result<void> Doors::open_for_fronts(const cluster::Place& place, HttpHandler handler) {
  server::HttpServerOptions inside;
  inside.bind_address = place.address;
  inside.port = place.port;
  inside.budget = &budget_;
  inside.counts_connections = false;
  inside.trusted_proxies = {{.address = {}, .bits = 0}};
  return open(std::move(inside), std::move(handler));
}

void Doors::trust(const proxies::Networks& proxies) {
  for (std::size_t i = 0; i < outside_; ++i) servers_[i]->trust(proxies);
}

// Another name counts with the next start: until then, others would refuse the certificate of that one.
Result<void> Doors::take_certificate(const config::Config& config) {
  config::Config for_now = config;
  for_now.host = config_.host;
  Result<std::optional<crypto::CertificateFacts>> facts = facts_of(for_now);
  if (!facts && config.host != config_.host) {
    return fail(facts.error().code,
                fmt::format("{}. node.host is changed to {}: restart the node, which then has that name",
                            facts.error().message, config.host));
  }
  TRY_VOID(facts);
  for (std::size_t i = 0; i < outside_; ++i) {
    TRY_VOID(servers_[i]->take_certificate(config.certificate, config.key));
  }
  certificate_ = *std::move(facts);
  return {};
}

Doors::Times Doors::certificate_times() const {
  Times times;
  for (const std::filesystem::path& file : {config_.certificate, config_.key}) {
    std::error_code error;
    times.push_back(std::filesystem::last_write_time(file, error));
  }
  return times;
}

// Whoever renews it writes two files, one after the other: what does not fit together yet is tried again. The
// start may have taken hours since check_certificate().
Task<void> Doors::watch_certificate(Log& log, std::function<Task<void>()> after) {
  std::string reason;
  for (Instant next = clock_.now(); !config_.is_plain(); next = clock_.now() + kCertificateEvery) {
    co_await clock_.sleep_until(next);
    Times now = certificate_times();
    if (now == taken_) continue;
    const Result<void> done = take_certificate(config_);
    if (done) {
      taken_ = std::move(now);
      reason.clear();
      log.info("certificate_renewed", {{"until", to_rfc3339(certificate_->until)}});
    } else if (reason != done.error().message) {
      reason = done.error().message;
      log.error("certificate_refused", {{"because", reason}, {"until_then", "the one before is used"}});
    } else {
      continue;
    }
    co_await after();
  }
}

Task<void> Doors::stop() {
  for (const auto& server : servers_) co_await server->stop(kGrace);
}

}  // namespace tagring::app
