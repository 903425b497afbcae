// tagring report: what people of other servers complained of.
#include <fmt/core.h>
#include <memory>

#include "base/printable.hpp"
#include "cli/number.hpp"
#include "cli/terminal.hpp"
#include "client/ask.hpp"

namespace tagring::client {
namespace {

struct ReportsOptions {
  ControlOptions control;
  std::int64_t id = 0;
  std::string uri;
  bool all = false;
};

void print_uris(const json::object& report, const char* key, const char* text) {
  json::for_each(json::find(report, key),
                 [&](const json::value& uri) { fmt::print("     {} {}\n", text, json::id_of(uri)); });
}

int list(const ReportsOptions& options) {
  return tell(options.control, ask_node(options.control, "GET", "/reports"), [&](const json::object& answer) {
    std::size_t shown = 0;
    json::for_each(json::find(answer, "reports"), [&](const json::value& value) {
      const json::object& report = value.get_object();
      const bool open = json::find(report, "open")->as_bool();
      if (!open && !options.all) return;
      ++shown;
      fmt::print("{:>4} {} {}{}\n", number_of(report, "id"), json::text_of(report, "at"),
                 json::text_of(report, "from"), open ? "" : " (closed)");
      if (const std::string comment = json::text_of(report, "comment"); !comment.empty())
        fmt::print("     {}\n",
                   cli::wrapped(printable(fmt::format("\"{}\"", comment)), 5, cli::terminal_width()));
      print_uris(report, "about", "about");
      print_uris(report, "forwarded", "forwarded to its server:");
    });
    if (shown == 0) fmt::print("there are no {}reports\n", options.all ? "" : "open ");
  });
}

CLI::App* add_one(CLI::App& parent, const std::shared_ptr<ReportsOptions>& options, const char* name,
                  const char* what) {
  CLI::App* command = parent.add_subcommand(name, what);
  command->add_option("id", options->id, "Its number")->required()->check(cli::whole_number(0, INT64_MAX));
  add_control_options(*command, options->control);
  command->footer(fmt::format("Example:\n  tagring report {} 7", name));
  return command;
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  auto options = std::make_shared<ReportsOptions>();
  CLI::App* report = app.add_subcommand("report", "What people of other servers complained of");
  report->require_subcommand(1);
  report->footer(
      "Examples:\n"
      "  tagring report list\n"
      "  tagring takedown '#caturday' https://example.org/p/1 --reason 'report 7'\n"
      "  tagring report forward 7 https://example.org/p/1\n"
      "  tagring report close 7");
  CLI::App* all = report->add_subcommand("list", "Show the reports that are open");
  all->add_flag("--all", options->all, "Those that are closed as well");
  add_control_options(*all, options->control);
  all->footer("Example:\n  tagring report list --all");
  all->callback([options, &status] { status = list(*options); });
  CLI::App* forward =
      add_one(*report, options, "forward", "Tell the author's server, without saying who complained");
  forward->add_option("uri", options->uri,
                      "Of which post, or of whom; without it, of all that the report names");
  forward->callback([options, &status] {
    json::object body = {{"id", options->id}};
    if (!options->uri.empty()) body["uri"] = options->uri;
    status = tell(options->control, ask_node(options->control, "POST", "/reports/forward", body),
                  [](const json::object& answer) { print_uris(answer, "forwarded", "told the server of"); });
  });
  add_one(*report, options, "close", "Put it away; what was done about it is done by other commands")
      ->callback([options, &status] {
        status = tell(options->control,
                      ask_node(options->control, "POST", "/reports/close", {{"id", options->id}}), "closed");
      });
}

}  // namespace tagring::client
