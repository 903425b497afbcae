// For the subcommands that ask a running node: a request on its control socket.
#pragma once

#include <functional>
#include <string>

#include "base/json.hpp"
#include "base/time.hpp"
#include "cli/exit.hpp"
#include "client/commands.hpp"

namespace tagring::client {

using cli::kExitFailed;
using cli::kExitOk;
using cli::report;

// Options that all of them have.
struct ControlOptions {
  std::string config = cli::default_config();
  bool json = false;
};
// Adds --config and --json.
void add_control_options(CLI::App& command, ControlOptions& options);

inline constexpr Duration kAnswerTimeout = std::chrono::minutes(10);
// Where much is moved: it takes as long as it takes.
inline constexpr Duration kLongTimeout = std::chrono::hours(24);

// The node's answer; its error if the status is not 200. kUnavailable if no node runs, saying how to start
// it, or that what runs here is a front, and where to ask. kTimedOut if one does, and has not answered.
Result<json::object> ask_node(const ControlOptions& options, std::string method, std::string target,
                              const json::object& body = {}, Duration timeout = kAnswerTimeout);

// Prints that answer: as JSON if that is wanted, else by `print`, or the line. The exit code.
int tell(const ControlOptions& options, const Result<json::object>& answer,
         const std::function<void(const json::object&)>& print);
int tell(const ControlOptions& options, const Result<json::object>& answer, std::string_view line);

// Whether that member is a list with something in it.
bool has_items(const json::object& answer, std::string_view key);

// A member of a JSON object for printing; 0 if absent.
std::int64_t number_of(const json::object& o, std::string_view key);

}  // namespace tagring::client
