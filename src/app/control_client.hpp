// For the subcommands that ask a running node: a request on its control socket.
#pragma once

#include <string>

#include "app/commands.hpp"
#include "base/json.hpp"

namespace tagring::app {

// Options that all of them have.
struct ControlOptions {
  std::string config = "tagring.toml";
  bool json = false;
};
// Adds --config and --json.
void add_control_options(CLI::App& command, ControlOptions& options);

// The node's answer; its error if the status is not 200. kUnavailable, saying how to start it, if no node
// runs.
Result<json::object> ask_node(const ControlOptions& options, std::string method, std::string target,
                              const json::object& body = {});

// Members of JSON objects for printing; "" or 0 if absent.
std::string text_of(const json::object& o, std::string_view key);
std::int64_t number_of(const json::object& o, std::string_view key);

}  // namespace tagring::app
