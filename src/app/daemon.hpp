// The node as a program: everything that it stands on, its listeners, and what comes from the system: signals
// and the supervisor.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/database_watch.hpp"
#include "app/doors.hpp"
#include "app/process.hpp"
#include "budget/manager.hpp"
#include "cluster/channel.hpp"
#include "cluster/fronts.hpp"
#include "config/config.hpp"
#include "crypto/certificate.hpp"
#include "crypto/key.hpp"
#include "db/stores.hpp"
#include "health/machine.hpp"
#include "net/http_client.hpp"
#include "net/resolver.hpp"
#include "net/system_clock.hpp"
#include "node/node.hpp"

namespace tagring::app {

// Members die in reverse order.
class Daemon final : public health::Machine {
 public:
  // `inside`: where it listens for the fronts of the node, as their core; without it there are none.
  Daemon(config::Config config, std::filesystem::path config_file, bool json,
         std::optional<cluster::Place> inside);

  // Serves until a signal ends it. Blocks.
  Result<void> run();

  // --- health::Machine ---
  [[nodiscard]] Task<health::Checks> look() override;
  [[nodiscard]] Task<std::vector<IpAddress>> addresses() override;
  [[nodiscard]] Task<Result<void>> try_to_write() override;
  [[nodiscard]] bool can_write() const override { return database_watch_.can_write(); }
  [[nodiscard]] std::optional<health::Disk> disk() const override;
  [[nodiscard]] std::optional<std::int64_t> room() const override;
  [[nodiscard]] std::optional<WallTime> certificate_until() const override {
    const auto& shown = certificate();
    return shown ? std::optional(shown->until) : std::nullopt;
  }
  [[nodiscard]] std::optional<WallTime> certificate_late_from() const override {
    const auto& shown = certificate();
    return shown ? std::optional(shown->late_from()) : std::nullopt;
  }
  [[nodiscard]] std::optional<json::array> fronts() const override {
    return fronts_ ? std::optional(fronts_->status()) : std::nullopt;
  }
  [[nodiscard]] std::map<std::string, std::int64_t> inbox_refused_by_fronts() const override {
    return fronts_ ? fronts_->inbox_refused() : std::map<std::string, std::int64_t>();
  }
  [[nodiscard]] Task<Result<json::object>> reload() override;
  [[nodiscard]] Task<Result<json::object>> back_up() override;

 private:
  Task<Result<void>> serve();
  Task<Result<void>> open();
  Task<Result<std::filesystem::path>> keep_former();
  Task<Result<void>> take_name();
  Task<Result<crypto::PrivateKey>> key(bool has_file);
  Task<Result<void>> remember(node::Environment* environment);
  Task<Result<void>> take_fronts(const crypto::PrivateKey& own_key);
  Task<Result<void>> say_where_core_is();
  Result<void> listen();
  Result<void> open_metrics(HttpHandler handler);
  using Answer = Task<HttpResponse> (node::Node::*)(HttpRequest);
  [[nodiscard]] const std::optional<crypto::CertificateFacts>& certificate() const {
    return config_.is_plain() ? proxys_certificate_ : doors_.certificate();
  }
  Task<Result<HttpResponse>> ask_as_others_do();
  health::Check judge_proxys_certificate(const Result<HttpResponse>& answer);
  Task<health::Check> look_at_standby();
  Task<void> remove_copy_later(std::filesystem::path file, std::uint64_t number);
  Task<void> wait_for_the_end();
  Task<void> look_again();
  Task<void> stop();
  void say_ready();
  [[nodiscard]] std::string listens_at() const;

  config::Config config_;
  const std::filesystem::path config_file_;
  const bool json_;
  const std::optional<cluster::Place> inside_;
  boost::asio::io_context loop_{1};
  boost::asio::thread_pool pool_;
  Workers workers_;
  net::SystemClock clock_;
  Log log_;
  DatabaseWatch database_watch_;
  budget::Manager budget_;
  Doors doors_;
  net::Resolver resolver_;
  std::size_t copies_ = 0;  // that are being written; at most one
  std::uint64_t copies_made_ = 0;
  std::optional<crypto::CertificateFacts> proxys_certificate_;  // as it was seen last
  std::string metrics_closed_;                                  // why a core has none; empty: it has
  std::unique_ptr<db::Stores> stores_;
  std::unique_ptr<net::BeastHttpClient> http_;
  std::unique_ptr<InsideClient> inside_http_;
  std::unique_ptr<cluster::Fronts> fronts_;
  std::unique_ptr<node::Node> node_;
  TaskGroup tasks_{loop_.get_executor()};
};

}  // namespace tagring::app
