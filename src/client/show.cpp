// tagring show: the lists of the administrator's page (admin/overview.hpp).
#include <algorithm>
#include <fmt/core.h>
#include <memory>
#include <optional>

#include "base/printable.hpp"
#include "cli/one_of.hpp"
#include "cli/terminal.hpp"
#include "client/ask.hpp"
#include "client/table.hpp"

namespace tagring::client {
namespace {

std::string cell(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

// A figure, or several of one thing: in words for people, as JSON for programs.
std::string figures(const json::value& value, bool is_for_people) {
  if (!value.is_object() || !is_for_people) return cell(value);
  std::string all;
  for (const auto& [name, member] : value.get_object())
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", std::string_view(name), cell(member));
  return all;
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

constexpr std::size_t kIndent = 6;

// In lines that fit, or each member of a long value on its own. On one line where no width is given.
void print_setting(const std::string& key, const json::value& value, std::optional<std::size_t> width) {
  const auto print_line = [width](std::size_t indent, std::string_view text) {
    fmt::print("{:{}}{}\n", "", indent, cli::wrapped(text, indent, width));
  };
  const std::string line = fmt::format("{} = {}", key, json::serialize(value));
  if (!width || cli::columns_of(line) <= *width || !(value.is_object() || value.is_array()))
    return print_line(0, line);
  print_line(0, key + " =");
  if (value.is_array())
    for (const json::value& element : value.get_array()) print_line(4, json::serialize(element));
  if (value.is_object())
    for (const auto& [name, member] : value.get_object())
      print_line(4, fmt::format("{} = {}", std::string_view(name), json::serialize(member)));
}

void print_settings(const json::object& answer) {
  const std::optional<std::size_t> width = cli::terminal_width();
  json::for_each(json::find(answer, "settings"), [width](const json::value& element) {
    const json::object& setting = element.get_object();
    print_setting(json::text_of(setting, "key"), setting.at("value"), width);
    const std::string text = plain(fmt::format(
        "{}, default {}. {}{}", json::text_of(setting, "type"), json::text_of(setting, "default"),
        json::text_of(setting, "meaning"), setting.at("at_once").get_bool() ? "" : " Needs a restart."));
    fmt::print("{:{}}{}\n", "", kIndent, cli::wrapped(text, kIndent, width));
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
        if (rows.empty()) fmt::print("{}: none\n", std::string_view(name));
        print_table(rows);
      } else {
        const std::optional<std::size_t> width = cli::terminal_width();
        const std::string line =
            fmt::format("{}: {}", std::string_view(name), figures(value, width.has_value()));
        fmt::print("{}\n", cli::wrapped(printable(line), 0, width));
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
