// tagring doctor: is all well with a node, and if not, what to do.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <fmt/ranges.h>
#include <grp.h>
#include <memory>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exit.hpp"
#include "cli/terminal.hpp"
#include "client/ask.hpp"
#include "config/config.hpp"
#include "health/check.hpp"
#include "machine/checks.hpp"
#include "machine/listening.hpp"
#include "machine/owner.hpp"
#include "machine/processes.hpp"
#include "net/resolver.hpp"
#include "net/system_clock.hpp"
#include "operation/commands.hpp"
#include "sql/postgres_session.hpp"

namespace tagring::operation {
namespace {

namespace asio = boost::asio;
using health::Checks;

// Files that the node's user may not read, if that is not who asks: root may read all. Nobody else may read
// those with tokens, or the node does not start.
std::optional<health::Check> unreadable(const config::Config& config, const std::string& file) {
  std::vector<std::string> files = {file};
  if (!config.is_plain()) files.insert(files.end(), {config.certificate, config.key});
  if (!config.ca_file.empty()) files.push_back(config.ca_file);
  const std::vector<std::string> tokens = {config.admin_token_file, config.followed_tags_tokens};
  for (const std::string& path : tokens)
    if (!path.empty()) files.push_back(path);
  const std::optional<machine::Owner> user = machine::node_user(config.data, file);
  if (::geteuid() != 0 || !user || user->user == 0 || user->name.empty()) return std::nullopt;
  std::vector<std::string> found;
  std::vector<std::string> mends;
  bool is_shared = false;
  for (const std::string& path : files) {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool became = ::initgroups(user->name.c_str(), user->group) == 0 && ::setgid(user->group) == 0 &&
                          ::setuid(user->user) == 0;
      ::_exit(became && ::access(path.c_str(), R_OK) != 0 && errno == EACCES ? 1 : 0);
    }
    int status = 0;
    const bool may_not =
        child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1;
    if (!may_not) continue;
    found.push_back(fmt::format("{} may not read {}", user->name, path));
    const bool is_secret = std::ranges::find(tokens, path) != tokens.end();
    if (is_secret) mends.push_back(fmt::format("chown {} {}", user->name, path));
    is_shared = is_shared || !is_secret;
  }
  if (is_shared)
    mends.emplace_back(
        "chgrp to the node's group and chmod 640, the folders above too; for certbot's files there is "
        "/usr/share/tagring/certbot-hook (docs/proxy.md)");
  if (found.empty()) return std::nullopt;
  return health::bad("readable", fmt::format("{}", fmt::join(found, "; ")),
                     fmt::format("{}", fmt::join(mends, "; ")));
}

// What can be seen without the node.
Checks look_without_node(const config::Config& config, const std::string& file) {
  asio::io_context loop(1);
  net::SystemClock clock(loop.get_executor());
  net::Resolver resolver(net::ResolverOptions{config.hosts, config.allow_private_addresses});
  Checks checks;
  asio::co_spawn(loop, machine::look_at_machine(config, file, &resolver, &clock),
                 [&checks](std::exception_ptr error, Checks found) {
                   if (error) std::rethrow_exception(error);
                   checks = std::move(found);
                 });
  loop.run();
  return checks;
}

// Where nobody answers. The node may be on another machine, and a process here stand by for it.
Checks look_for_node(const config::Config& config, const std::string& what_to_do) {
  const health::Check silent = health::bad("node", "it could not be asked", what_to_do);
  if (!config.standby) return {silent};
  const health::Check standby = machine::judge(sql::tenure_of(config.postgres));
  if (!standby.ok) return {standby, silent};
  return {standby, {"node", true, "another process is the node", "ask on its machine how the node is"}};
}

json::object examine(const client::ControlOptions& options) {
  const Result<config::Config> config = config::Config::load(options.config);
  if (!config) {
    const bool is_denied = config.error().code == ErrorCode::kDenied;
    return health::to_json(
        {health::bad("configuration", config.error().message,
                     is_denied ? "ask as root, or as the node's user"
                               : "correct it; docs/config.md has every key, tagring setup writes a file")});
  }
  Checks checks = {health::well("configuration", options.config)};
  const std::vector<machine::InheritedSocket> held = machine::sockets_of_unit(options.config);
  const Result<json::object> answer = client::ask_node(options, "GET", "/doctor");
  if (!answer) {
    const std::optional<machine::FrontHere> front = machine::find_front(*config);
    Checks found = look_without_node(*config, options.config);
    if (front) std::erase_if(found, [](const health::Check& check) { return check.name == "disk"; });
    if (!front) found.push_back(machine::look_at_listening(*config, options.config, held));
    checks.insert(checks.end(), found.begin(), found.end());
    if (const auto files = unreadable(*config, options.config)) checks.push_back(*files);
    const Checks of_others =
        front ? Checks{machine::judge(*front)} : look_for_node(*config, answer.error().message);
    checks.insert(checks.end(), of_others.begin(), of_others.end());
    return health::to_json(checks);
  }
  json::object all = health::to_json(checks);
  json::array& list = all["checks"].get_array();
  json::for_each(json::find(*answer, "checks"), [&](const json::value& check) { list.push_back(check); });
  const bool is_well =
      json::find(*answer, "ok") != nullptr && *json::find(*answer, "ok") == json::value(true);
  // The node looks at what it was started with, or read last, and has open what it may not open again.
  Checks next;
  const health::Check now = machine::look_at_certificate(*config, net::system_wall_now());
  if (!now.ok && is_well) next.push_back(health::bad("next start", now.detail, now.what_to_do));
  const std::optional<health::Check> listen = machine::unfit(*config, options.config, held);
  if (listen) next.push_back(health::bad("next start", listen->detail, listen->what_to_do));
  if (const auto files = unreadable(*config, options.config)) next.push_back(*files);
  const json::object of_next = health::to_json(next);
  json::for_each(json::find(of_next, "checks"), [&](const json::value& check) { list.push_back(check); });
  all["ok"] = is_well && next.empty();
  return all;
}

void print(const json::object& all) {
  json::for_each(json::find(all, "checks"), [&](const json::value& element) {
    const json::object& check = element.get_object();
    const bool ok = check.at("ok").get_bool();
    const std::string what_to_do = json::text_of(check, "what_to_do");
    const std::string verdict =
        cli::painted(ok ? cli::Colour::kGreen : cli::Colour::kRed, ok ? "ok " : "BAD");
    constexpr std::size_t kBefore = 20;  // columns of verdict and name
    constexpr std::size_t kName = 14;
    const auto in_lines = [](const std::string& text, std::size_t indent) {
      return cli::wrapped(text, indent, cli::terminal_width());
    };
    const std::string name = json::text_of(check, "name");
    const std::string detail = json::text_of(check, "detail");
    // A long name takes its room from the first line.
    const std::string what = cli::columns_of(name) > kName
                                 ? in_lines(name + " " + detail, kBefore)
                                 : fmt::format("{:<{}} {}", name, kName, in_lines(detail, kBefore));
    fmt::print("{}  {}\n", verdict, what);
    if (!what_to_do.empty()) fmt::print("{:{}}→ {}\n", "", kBefore, in_lines(what_to_do, kBefore + 2));
  });
}

int doctor(const client::ControlOptions& options) {
  const json::object all = examine(options);
  if (options.json) {
    fmt::print("{}\n", json::serialize(all));
  } else {
    print(all);
  }
  return all.at("ok").get_bool() ? cli::kExitOk : cli::kExitFailed;
}

}  // namespace

void add_doctor(CLI::App& app, int& status) {
  auto options = std::make_shared<client::ControlOptions>();
  CLI::App* command =
      app.add_subcommand("doctor", "See whether all is well with a node, and what to do if not");
  client::add_control_options(*command, *options);
  command->footer(
      "Looks at the configuration, certificate, DNS, disk and permissions; if the node runs, also at the "
      "rings,\n"
      "the way in from outside, the clock, proxies, the database, the instances, and the node's other\n"
      "processes. Where a front runs, or one that stands by, it looks at that.\n"
      "Exit code 0: all is well.\n"
      "Example:\n  tagring doctor --config /etc/tagring/tagring.toml");
  command->callback([options, &status] { status = doctor(*options); });
}

void add_reload(CLI::App& app, int& status) {
  auto options = std::make_shared<client::ControlOptions>();
  CLI::App* command =
      app.add_subcommand("reload", "Have a running node read its configuration and certificate again");
  client::add_control_options(*command, *options);
  command->footer(
      "Says what has changed, and what needs a restart. SIGHUP does the same.\nExample:\n  tagring reload");
  command->callback([options, &status] {
    status =
        client::tell(*options, client::ask_node(*options, "POST", "/reload"), [](const json::object& answer) {
          json::for_each(json::find(answer, "changed"), [](const json::value& key) {
            fmt::print("changed          {}\n", std::string_view(key.get_string()));
          });
          json::for_each(json::find(answer, "restart"), [](const json::value& key) {
            fmt::print("needs a restart  {}\n", std::string_view(key.get_string()));
          });
          fmt::print("the configuration and the certificate were read again\n");
        });
  });
}

}  // namespace tagring::operation
