#include "app/run.hpp"

#include <memory>

#include "app/daemon.hpp"
#include "cli/exit.hpp"
#include "config/config.hpp"

namespace tagring::app {
namespace {

struct Options {
  std::string config = cli::default_config();
  bool json = false;
};

int run_daemon(const Options& options) {
  Result<config::Config> config = config::Config::load(options.config);
  if (!config) return cli::report(config.error());
  Daemon daemon(std::move(*config), options.config, options.json);
  const Result<void> result = daemon.run();
  return result ? cli::kExitOk : cli::report(result.error());
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Run a node until it is told to stop");
  command->add_option("--config", options->config, "Configuration file (TOML); docs/config.md explains it")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print {\"ready\": true, …} when the node serves");
  command->footer("Example:\n  tagring run --config /etc/tagring/tagring.toml");
  command->callback([options, &status] { status = run_daemon(*options); });
}

}  // namespace tagring::app
