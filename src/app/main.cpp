#include <exception>
#include <string>

#include "app/commands.hpp"
#include "base/result.hpp"

namespace {

int run(int argc, char** argv) {
  CLI::App app("Hashtags that reach the whole fediverse: a node of the tagring network and its tools.",
               "tagring");
  app.set_version_flag("--version", "tagring " TAGRING_VERSION);
  app.require_subcommand(1);
  app.footer("\"tagring COMMAND --help\" explains a command, with an example.");
  int status = tagring::app::kExitOk;
#define TR_ADD(name) tagring::app::add_##name(app, status);
  TR_COMMANDS(TR_ADD)
#undef TR_ADD
  const auto is_named = [argv](const CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_named).empty()) {
    const std::string message = std::string("no command \"") + argv[1] + "\"; see tagring --help";
    return tagring::app::report(tagring::Error(tagring::ErrorCode::kInvalid, message));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // Also thrown by --help and --version, with code 0.
    return app.exit(e) == 0 ? tagring::app::kExitOk : tagring::app::kExitBadInput;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    // Out of memory, or a mistake in the table of options.
    return tagring::app::report(tagring::Error(tagring::ErrorCode::kCorrupt, e.what()));
  }
}
