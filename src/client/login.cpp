// tagring login: opens the administrator's page for who may use the control socket.
#include <fmt/core.h>
#include <memory>

#include "cli/suggest.hpp"
#include "client/ask.hpp"

namespace tagring::client {
namespace {

struct LoginOptions {
  ControlOptions control;
  std::string name;
  std::string role = "all";
  bool end = false;
};

void print_login(const json::object& answer) {
  const std::string role = json::text_of(answer, "role");
  const std::string_view may = role == "look"       ? "Who has this address sees what administrators see."
                               : role == "moderate" ? "Who has this address may moderate here."
                                                    : "Who has this address has the node.";
  fmt::print("{}\nFor {} hours, or until the node is stopped. {}\n", json::text_of(answer, "url"),
             number_of(answer, "seconds") / 3600, may);
}

int log_in(const LoginOptions& options) {
  json::object body;
  if (!options.name.empty()) body["name"] = options.name;
  if (options.end) {
    return tell(
        options.control, ask_node(options.control, "POST", "/logout", body),
        [&](const json::object& answer) { fmt::print("{} sessions ended\n", number_of(answer, "closed")); });
  }
  body["role"] = options.role;
  return tell(options.control, ask_node(options.control, "POST", "/login", body), print_login);
}

}  // namespace

void add_login(CLI::App& app, int& status) {
  auto options = std::make_shared<LoginOptions>();
  CLI::App* command = app.add_subcommand("login", "Print an address that opens the administrator's page");
  command->add_option("--name", options->name, "For whom: the name that their changes are noted with");
  command->add_option("--role", options->role, "What they may do")
      ->check(cli::one_of({"look", "moderate", "all"}))
      ->capture_default_str();
  command->add_flag("--end", options->end, "Instead, end the sessions of that name, or all of them");
  add_control_options(*command, options->control);
  command->footer("Example:\n  tagring login --name anna --role moderate");
  command->callback([options, &status] { status = log_in(*options); });
}

}  // namespace tagring::client
