// tagring show: the lists of the administrator's page (admin/overview.hpp).
#include <algorithm>
#include <fmt/core.h>
#include <memory>

#include "cli/one_of.hpp"
#include "cli/terminal.hpp"
#include "client/ask.hpp"
#include "client/table.hpp"

namespace tagring::client {
namespace {

std::string cell(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

void print_rows(std::string_view name, const json::array& rows) {
  if (rows.empty()) return fmt::print("{}: none\n", name);
  const std::string table = table_of(rows, cli::terminal_width());
  const std::size_t heading = table.find('\n');
  fmt::print("{}{}", cli::painted(cli::Colour::kBold, table.substr(0, heading)), table.substr(heading));
}

// A page of Markdown as a terminal shows it: links by their words, no marks.
std::string plain(std::string_view markdown) {
  std::string text;
  for (std::size_t i = 0; i < markdown.size(); ++i) {
    if (markdown[i] == '`' || markdown[i] == '[' || markdown.substr(i).starts_with("**")) continue;
    if (markdown.substr(i).starts_with("](")) {
      i = std::min(markdown.find(')', i), markdown.size());
    } else if (markdown[i] != '*') {
      text += markdown[i];
    }
  }
  return text;
}

constexpr std::size_t kWidth = 92;

void print_wrapped(std::string_view text) {
  while (!text.empty()) {
    std::size_t end = text.size() <= kWidth ? text.size() : text.rfind(' ', kWidth);
    if (end == std::string_view::npos || end == 0) end = text.size();
    fmt::print("      {}\n", text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
}

// On one line, or each member of a long value on its own.
void print_setting(const std::string& key, const json::value& value) {
  const std::string text = json::serialize(value);
  if (key.size() + text.size() <= kWidth || !(value.is_object() || value.is_array())) {
    fmt::print("{} = {}\n", key, text);
    return;
  }
  fmt::print("{} =\n", key);
  if (value.is_array())
    for (const json::value& element : value.get_array()) fmt::print("    {}\n", json::serialize(element));
  if (value.is_object())
    for (const auto& [name, member] : value.get_object())
      fmt::print("    {} = {}\n", std::string_view(name), json::serialize(member));
}

void print_settings(const json::object& answer) {
  json::for_each(json::find(answer, "settings"), [](const json::value& element) {
    const json::object& setting = element.get_object();
    print_setting(json::text_of(setting, "key"), setting.at("value"));
    print_wrapped(plain(fmt::format("{}, default {}. {}{}", json::text_of(setting, "type"),
                                    json::text_of(setting, "default"), json::text_of(setting, "meaning"),
                                    setting.at("at_once").get_bool() ? "" : " Needs a restart.")));
  });
}

int show(const ControlOptions& options, const std::string& what) {
  return tell(options, ask_node(options, "GET", "/" + what), [&](const json::object& answer) {
    if (what == "settings") return print_settings(answer);
    for (const auto& [name, value] : answer) {
      if (value.is_array()) {
        json::array rows = value.get_array();
        for (json::value& row : rows) {
          if (row.is_object()) row.get_object().erase("evidence");  // for machines
        }
        print_rows(name, rows);
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
      ->check(cli::one_of({"subscriptions", "followers", "queues", "storage", "receipts", "settings",
                           "takedowns", "offenders", "changes"}));
  add_control_options(*command, *options);
  command->footer("Example:\n  tagring show queues");
  command->callback([options, what, &status] { status = show(*options, *what); });
}

}  // namespace tagring::client
