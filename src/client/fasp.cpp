// tagring fasp: the servers that this node serves as a FASP.
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/core.h>
#include <memory>
#include <string>
#include <vector>

#include "cli/number.hpp"
#include "client/ask.hpp"
#include "client/table.hpp"

namespace tagring::client {
namespace {

struct FaspOptions {
  ControlOptions control;
  std::string server;
  std::int64_t posts = 0;
};

int enroll(const FaspOptions& options) {
  const json::object body = {{"server", options.server}};
  return tell(options.control, ask_node(options.control, "POST", "/fasp/register", body),
              [](const json::object& answer) {
                fmt::print(
                    "{} was asked to take this node as a FASP. Its administrator goes on at\n  {}\n"
                    "and accepts it if this fingerprint is shown there:\n  {}\n",
                    json::text_of(answer, "host"), json::text_of(answer, "completion_url"),
                    json::text_of(answer, "fingerprint"));
                if (json::get_flag(answer, "had_it_before"))
                  fmt::print(
                      "It has this node of before in its list still: delete that there, or it goes on "
                      "telling that one, and "
                      "others after it may hear nothing.\n");
              });
}

json::object row_of_server(const json::object& server) {
  std::string capabilities;
  json::for_each(json::find(server, "capabilities"), [&](const json::value& capability) {
    capabilities += (capabilities.empty() ? "" : ", ") + std::string(capability.get_string());
  });
  if (capabilities.empty()) capabilities = "none activated";
  if (const json::value* tags = json::find(server, "hashtags"); tags != nullptr && tags->is_array())
    capabilities += tags->get_array().empty() ? "" : fmt::format(" ({} hashtags)", tags->get_array().size());
  if (const json::object* posts = json::get_object(server, "backfill"); posts != nullptr)
    capabilities +=
        fmt::format("; {} of {} old posts", number_of(*posts, "received"), number_of(*posts, "wanted"));
  return {{"server", json::text_of(server, "host")},
          {"fingerprint of the key towards it", json::text_of(server, "fingerprint")},
          {"capabilities", capabilities}};
}

// What its administrator or this node's has to do; empty if nothing.
std::string remark_on(const json::object& server) {
  if (json::get_flag(server, "refused"))
    return "it does not know this node any more (401): \"tagring fasp remove\", then \"register\"";
  if (const json::object* untold = json::get_object(server, "untold"); untold != nullptr)
    return fmt::format("{} announcements wait since {}: {}", number_of(*untold, "waiting"),
                       json::text_of(*untold, "failing_since"), json::text_of(*untold, "reason"));
  if (has_items(server, "capabilities")) return {};
  return "its administrator goes on at " + json::text_of(server, "completion_url");
}

int list(const FaspOptions& options) {
  return tell(options.control, ask_node(options.control, "GET", "/fasp"), [](const json::object& answer) {
    if (!has_items(answer, "servers")) return fmt::print("no server uses this node as a FASP\n");
    json::array rows;
    std::vector<std::string> remarks;
    json::for_each(json::find(answer, "servers"), [&](const json::value& value) {
      const json::object& server = value.get_object();
      rows.push_back(row_of_server(server));
      if (const std::string remark = remark_on(server); !remark.empty())
        remarks.push_back(fmt::format("{}: {}", json::text_of(server, "host"), remark));
    });
    print_table(rows);
    print_remarks(remarks);
  });
}

int remove(const FaspOptions& options) {
  return tell(options.control, ask_node(options.control, "POST", "/fasp/remove", {{"host", options.server}}),
              [&](const json::object& answer) {
                fmt::print("{}: removed\n", options.server);
                if (!json::get_flag(answer, "told"))
                  fmt::print(
                      "It could not be told, and goes on sending: delete this node from the list of FASPs "
                      "there, or others "
                      "after it may hear nothing.\n");
              });
}

int backfill(const FaspOptions& options) {
  json::object body = {{"host", options.server}};
  if (options.posts > 0) body["count"] = options.posts;
  return tell(options.control, ask_node(options.control, "POST", "/fasp/backfill", body),
              [&](const json::object& answer) {
                fmt::print(
                    "{} was asked for its newest {} posts: \"tagring fasp list\" shows how many have come\n",
                    options.server, number_of(answer, "wanted"));
              });
}

CLI::App* add(CLI::App& parent, const std::shared_ptr<FaspOptions>& options, const std::string& name,
              const std::string& what) {
  CLI::App* command = parent.add_subcommand(name, what);
  add_control_options(*command, options->control);
  command->footer(
      fmt::format("Example:\n  tagring fasp {}{}", name, name == "list" ? "" : " social.example"));
  return command;
}

}  // namespace

void add_fasp(CLI::App& app, int& status) {
  auto options = std::make_shared<FaspOptions>();
  CLI::App* fasp = app.add_subcommand("fasp", "Manage the servers that use this node as a FASP");
  fasp->require_subcommand(1);
  fasp->footer(
      "A FASP (Fediverse Auxiliary Service Provider) is told by a server which posts are new, as far as "
      "their\n"
      "authors have agreed (docs/fasp.md). Register, then the server's administrator accepts.\n"
      "Example:\n  tagring fasp register social.example");
  CLI::App* enrolling = add(*fasp, options, "register", "Ask a server to take this node as a FASP");
  enrolling->add_option("server", options->server, "Host name, or base URL of its FASP interface")
      ->required();
  enrolling->callback([options, &status] { status = enroll(*options); });
  add(*fasp, options, "list", "Which servers these are, and what they have activated")
      ->callback([options, &status] { status = list(*options); });
  CLI::App* filling = add(*fasp, options, "backfill", "Ask a server for its old posts");
  filling->add_option("host", options->server, "Host name of the server")->required();
  filling->add_option("--posts", options->posts, "How many, from the newest on (1000, if it is not given)")
      ->check(cli::whole_number(1, 100'000));
  filling->callback([options, &status] { status = backfill(*options); });
  CLI::App* removing = add(*fasp, options, "remove", "End all dealings with a server");
  removing->add_option("host", options->server, "Host name of the server")->required();
  removing->callback([options, &status] { status = remove(*options); });
}

}  // namespace tagring::client
