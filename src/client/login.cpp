// tagring login: opens the administrator's page for who may use the control socket.
#include <fmt/core.h>
#include <memory>

#include "client/ask.hpp"

namespace tagring::client {
namespace {

struct Options {
  ControlOptions control;
  bool end = false;
};

int log_in(const Options& options) {
  return tell(options.control, ask_node(options.control, "POST", options.end ? "/logout" : "/login"),
              [&](const json::object& answer) {
                if (options.end) {
                  fmt::print("nobody is logged in any more\n");
                } else {
                  fmt::print(
                      "{}\nFor {} hours, or until the node is stopped. Who has this address has the node.\n",
                      text_of(answer, "url"), number_of(answer, "seconds") / 3600);
                }
              });
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

}  // namespace tagring::client
