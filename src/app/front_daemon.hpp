// A front as a program (cluster/front.hpp): its listeners, and what comes from the system.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "app/doors.hpp"
#include "app/process.hpp"
#include "base/workers.hpp"
#include "budget/manager.hpp"
#include "cluster/channel.hpp"
#include "cluster/front.hpp"
#include "config/config.hpp"
#include "federation/identity.hpp"
#include "net/http_client.hpp"
#include "net/resolver.hpp"
#include "net/system_clock.hpp"

namespace tagring::app {

// Members die in reverse order.
class FrontDaemon {
 public:
  // `config`: of the node, with database.postgres. `inside`: where it listens for the core.
  FrontDaemon(config::Config config, std::filesystem::path config_file, bool json, cluster::Place inside);

  // Serves until a signal ends it. Blocks. kInvalid: there is no node in that database yet.
  Result<void> run();

 private:
  Task<Result<void>> serve();
  Task<Result<void>> open();
  Task<Result<std::string>> remembered(std::string name);
  Result<void> listen();
  Task<void> wait_for_the_end();
  Result<void> reload();
  void say_ready();

  config::Config config_;
  const std::filesystem::path config_file_;
  const bool json_;
  const cluster::Place inside_;
  boost::asio::io_context loop_{1};
  boost::asio::thread_pool pool_;
  boost::asio::thread_pool look_pool_{1};  // for the database, which may take its time
  Workers workers_;
  Workers look_workers_;
  net::SystemClock clock_;
  Log log_;
  budget::Manager budget_;
  Doors doors_;
  net::Resolver resolver_;
  std::unique_ptr<net::BeastHttpClient> http_;
  std::unique_ptr<InsideClient> inside_http_;
  std::optional<federation::Identity> identity_;
  std::unique_ptr<cluster::Front> front_;
  TaskGroup tasks_{loop_.get_executor()};
};

}  // namespace tagring::app
