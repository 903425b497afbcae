#include "client/ask.hpp"

#include <cerrno>
#include <filesystem>
#include <fmt/core.h>
#include <optional>
#include <unistd.h>

#include "administrators/administrator.hpp"
#include "config/config.hpp"
#include "http/http_error.hpp"
#include "machine/owner.hpp"
#include "machine/processes.hpp"
#include "net/control_socket.hpp"

namespace tagring::client {
namespace {
// It may well be there.
bool may_not_use(const std::filesystem::path& folder, const std::string& socket) {
  if (::access(folder.c_str(), X_OK) != 0) return errno == EACCES;
  return ::access(socket.c_str(), W_OK) != 0 && errno == EACCES;
}

// Fronts and those that stand by have no such socket.
std::string where_else(const std::string& socket, const std::string& config_file) {
  const std::string how = machine::how_to_start(std::filesystem::path(socket).parent_path(), config_file);
  const std::string start =
      fmt::format("no node answers at {}: start it with \"{}\"{}", socket, how,
                  how.starts_with("systemctl") ? "; \"journalctl -u 'tagring*'\" says why it ended" : "");
  const Result<config::Config> config = config::Config::load(config_file);
  if (!config || config->postgres.empty()) {
    return start +
           ". If it runs, then since before node.data was changed in that file: restart it, or set node.data "
           "back";
  }
  if (const std::optional<machine::FrontHere> front = machine::find_front(*config)) {
    return fmt::format(
        "what runs here is a front, at {}: ask on the machine of its core{}{}", front->at,
        front->core.empty() ? "" : ", " + front->core,
        front->core_answers ? "" : ", which does not answer it now (\"tagring doctor\" says more)");
  }
  if (config->standby) return start + "; if it stands by here, ask on the other machine";
  // Else a front would have answered.
  if (config->metrics_port == 0) return start + "; if a front runs here, ask on the machine of its core";
  return start;
}

}  // namespace

void add_control_options(CLI::App& command, ControlOptions& options) {
  command.add_option("--config", options.config, "Configuration file of the node")->capture_default_str();
  command.add_flag("--json", options.json, "Print the node's answer as JSON");
}

Result<json::object> ask_node(const ControlOptions& options, std::string method, std::string target,
                              const json::object& body, Duration timeout) {
  TRY(const std::filesystem::path data, config::Config::data_in(options.config));
  HttpRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  if (!body.empty()) request.body = json::serialize(body);
  if (const std::string user = cli::user_name(); !user.empty())
    request.headers.add(std::string(administrators::kUserField), user);
  const std::string socket = data / "control.sock";
  const Result<HttpResponse> response = net::call_control_socket(socket, std::move(request), timeout);
  if (!response && may_not_use(data, socket)) {
    return fail(ErrorCode::kDenied,
                fmt::format("only the node's own user and root may use {}: sudo tagring …", socket));
  }
  if (!response && response.error().code == ErrorCode::kTimedOut) {
    return fail(
        ErrorCode::kTimedOut,
        fmt::format("the node at {} has not answered for {} s, and may still do it: \"tagring doctor\" "
                    "says how it is",
                    socket, std::chrono::floor<std::chrono::seconds>(timeout).count()));
  }
  if (!response) return fail(response.error().code, where_else(socket, options.config));
  if (response->status != 200) return std::unexpected(decode_error(response->status, response->body));
  return json::parse_object(response->body);
}

int tell(const ControlOptions& options, const Result<json::object>& answer,
         const std::function<void(const json::object&)>& print) {
  if (!answer) return report(answer.error());
  if (options.json) {
    fmt::print("{}\n", json::serialize(*answer));
  } else {
    print(*answer);
  }
  return kExitOk;
}

int tell(const ControlOptions& options, const Result<json::object>& answer, std::string_view line) {
  return tell(options, answer, [line](const json::object&) { fmt::print("{}\n", line); });
}

bool has_items(const json::object& answer, std::string_view key) {
  const json::value* list = json::find(answer, key);
  return list != nullptr && list->is_array() && !list->get_array().empty();
}

std::int64_t number_of(const json::object& o, std::string_view key) {
  return json::get_int(o, key).value_or(0);
}

}  // namespace tagring::client
