#include <array>
#include <exception>
#include <string>

#include "app/run.hpp"
#include "cli/commands.hpp"
#include "cli/exit.hpp"
#include "client/commands.hpp"
#include "studies/sim.hpp"

namespace tagring::app {
namespace {

// In the order of --help.
constexpr std::array kCommands = {add_run,
                                  client::add_status,
                                  client::add_show,
                                  client::add_login,
                                  client::add_query,
                                  client::add_subscribe,
                                  client::add_unsubscribe,
                                  client::add_instance,
                                  client::add_block,
                                  client::add_fasp,
                                  client::add_feed,
                                  client::add_ring,
                                  client::add_owners,
                                  client::add_audit,
                                  client::add_takedown,
                                  client::add_leave,
                                  cli::add_key,
                                  cli::add_id,
                                  cli::add_followers_digest,
                                  client::add_followers_check,
                                  client::add_followers_verify,
                                  studies::add_sim};

int run(int argc, char** argv) {
  CLI::App app("Hashtags that reach the whole fediverse: a node of the tagring network and its tools.",
               "tagring");
  app.set_version_flag("--version", "tagring " TAGRING_VERSION);
  app.require_subcommand(1);
  app.footer("\"tagring COMMAND --help\" explains a command, with an example.");
  int status = cli::kExitOk;
  for (const auto add : kCommands) add(app, status);
  const auto is_named = [argv](const CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_named).empty()) {
    const std::string message = std::string("no command \"") + argv[1] + "\"; see tagring --help";
    return cli::report(Error(ErrorCode::kInvalid, message));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // Also thrown by --help and --version, with code 0.
    return app.exit(e) == 0 ? cli::kExitOk : cli::kExitBadInput;
  }
  return status;
}

}  // namespace
}  // namespace tagring::app

int main(int argc, char** argv) {
  using namespace tagring;
  try {
    return app::run(argc, argv);
  } catch (const std::exception& e) {
    // Out of memory, or a mistake in the table of options.
    return cli::report(Error(ErrorCode::kCorrupt, e.what()));
  }
}
