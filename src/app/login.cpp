// tagring login: opens the administrator's page for who may use the control socket.
#include <fmt/core.h>
#include <memory>

#include "app/control_client.hpp"

namespace tagring::app {
namespace {

struct Options {
  ControlOptions control;
  bool end = false;
};

int log_in(const Options& options) {
  const Result<json::object> answer = ask_node(options.control, "POST", options.end ? "/logout" : "/login");
  if (!answer) return report(answer.error());
  if (options.control.json) {
    fmt::print("{}\n", json::serialize(*answer));
  } else if (options.end) {
    fmt::print("nobody is logged in any more\n");
  } else {
    fmt::print("{}\nFor {} hours, or until the node is stopped. Who has this address has the node.\n",
               text_of(*answer, "url"), number_of(*answer, "seconds") / 3600);
  }
  return kExitOk;
}

}  // namespace

void add_login(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("login", "Print an address that opens the administrator's page");
  command->add_flag("--end", options->end, "Instead, end all sessions that are open");
  add_control_options(*command, options->control);
  command->footer("Example:\n  tagring login --config /etc/tagring/tagring.toml");
  command->callback([options, &status] { status = log_in(*options); });
}

}  // namespace tagring::app
