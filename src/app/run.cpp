#include "app/run.hpp"

#include <memory>
#include <optional>

#include "app/daemon.hpp"
#include "app/front_daemon.hpp"
#include "cli/exit.hpp"
#include "cli/one_of.hpp"
#include "cluster/channel.hpp"
#include "config/config.hpp"
#include "machine/owner.hpp"

namespace tagring::app {
namespace {

struct Options {
  std::string config = cli::default_config();
  std::string role = "all";
  std::string inside;
  bool json = false;
};

// Where it listens for the other processes of the node, if there are any.
Result<std::optional<cluster::Place>> inside_of(const Options& options, const config::Config& config) {
  const bool is_alone = options.role == "all";
  if (is_alone && options.inside.empty()) return std::nullopt;
  if (is_alone)
    return fail(ErrorCode::kInvalid,
                "--inside is for --role core and --role front: a node in one process is alone");
  if (options.inside.empty())
    return fail(
        ErrorCode::kInvalid,
        "--inside is missing: the address and port, in a network of your own, at which the processes of "
        "the node reach each other, such as 10.0.0.5:7946");
  if (config.postgres.empty())
    return fail(
        ErrorCode::kInvalid,
        "database.postgres is missing: a node of several processes has its data there (docs/scaling.md)");
  TRY(const cluster::Place place, cluster::Place::parse(options.inside));
  return place;
}

Result<void> run_as(const Options& options) {
  TRY(config::Config config, config::Config::load(options.config));
  TRY(const std::optional<cluster::Place> inside, inside_of(options, config));
  // node.address is that of what stands in front of all fronts, and of no machine that these run on.
  if (inside && !config.listen_address) config.listen_address = IpAddress{};
  // A front keeps nothing there.
  if (options.role != "front") {
    TRY_VOID(machine::check_runner(config.data, options.config));
  }
  if (options.role == "front")
    return FrontDaemon(std::move(config), options.config, options.json, *inside).run();
  return Daemon(std::move(config), options.config, options.json, inside).run();
}

int run_daemon(const Options& options) {
  const Result<void> result = run_as(options);
  return result ? cli::kExitOk : cli::report(result.error());
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Run a node until it is told to stop");
  command->add_option("--config", options->config, "Configuration file (TOML); docs/config.md explains it")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print {\"ready\": true, …} when the node serves");
  command
      ->add_option(
          "--role", options->role,
          "all: the whole node; or one of several processes that are one node (docs/scaling.md): core, "
          "which stands on the rings and has the data, or front, which speaks with the world for it")
      ->check(cli::one_of({"all", "core", "front"}))
      ->capture_default_str();
  command->add_option(
      "--inside", options->inside,
      "Of a core or front: address and port, in a network of your own, at which the others of the "
      "node reach it");
  command->footer(
      "Examples:\n  tagring run --config /etc/tagring/tagring.toml\n"
      "  tagring run --role core --inside 10.0.0.5:7946\n"
      "  tagring run --role front --inside 10.0.0.6:7946");
  command->callback([options, &status] { status = run_daemon(*options); });
}

}  // namespace tagring::app
