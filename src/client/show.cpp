// tagring show: the lists of the administrator's page (admin/overview.hpp).
#include <fmt/core.h>
#include <memory>

#include "client/ask.hpp"

namespace tagring::client {
namespace {

std::string cell(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

void print_rows(const json::array& rows) {
  for (const json::value& row : rows) {
    std::string line;
    if (row.is_object()) {
      for (const auto& [name, value] : row.get_object())
        line += fmt::format("{}{}={}", line.empty() ? "" : "  ", std::string_view(name), cell(value));
    }
    fmt::print("{}\n", line);
  }
}

int show(const ControlOptions& options, const std::string& what) {
  return tell(options, ask_node(options, "GET", "/" + what), [&](const json::object& answer) {
    for (const auto& [name, value] : answer) {
      if (value.is_array()) {
        print_rows(value.get_array());
      } else {
        fmt::print("{}: {}\n", std::string_view(name), cell(value));
      }
    }
  });
}

}  // namespace

void add_show(CLI::App& app, int& status) {
  auto options = std::make_shared<ControlOptions>();
  auto what = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "show", "Show what the administrator's page does: subscriptions, queues, storage, …");
  command->add_option("what", *what, "Which list")
      ->required()
      ->check(CLI::IsMember(
          {"subscriptions", "followers", "queues", "storage", "receipts", "settings", "takedowns"}));
  add_control_options(*command, *options);
  command->footer("Example:\n  tagring show queues");
  command->callback([options, what, &status] { status = show(*options, *what); });
}

}  // namespace tagring::client
