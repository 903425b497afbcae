// tagring followers-check, followers-verify: whether a node's followers are what others, and it itself,
// believe.
#include <fmt/core.h>
#include <memory>
#include <string>

#include "cli/exit.hpp"
#include "client/ask.hpp"

namespace tagring::client {
namespace {

struct Options {
  ControlOptions control;
  std::string actor;
  bool apply = false;
};

void print_ids(const json::object& report, std::string_view key, std::string_view what) {
  json::for_each(json::find(report, key), [&](const json::value& id) {
    if (id.is_string()) fmt::print("  {:<14} {}\n", what, std::string_view(id.get_string()));
  });
}

void print_report(const json::object& report) {
  fmt::print("{}\n", text_of(report, "actor"));
  fmt::print("  {:<14} {}\n", "list", text_of(report, "url"));
  if (const json::object* header = json::get_object(report, "header")) {
    const std::string ignored = text_of(*header, "ignored");
    fmt::print("  {:<14} {}, {}\n", "last header", text_of(*header, "at"),
               ignored.empty() ? "in order" : "ignored: " + ignored);
  } else {
    fmt::print("  {:<14} none since the node started\n", "last header");
  }
  if (const json::object* known = json::get_object(report, "known")) {
    fmt::print("  {:<14} {} accepted, {} pending, digest {}\n", "known here", number_of(*known, "accepted"),
               number_of(*known, "pending"), text_of(*known, "digest"));
  }
  if (const json::object* listed = json::get_object(report, "listed")) {
    fmt::print("  {:<14} {}, digest {}\n", "listed there", number_of(*listed, "count"),
               text_of(*listed, "digest"));
  }
  if (const std::string problem = text_of(report, "problem"); !problem.empty()) {
    fmt::print("  {:<14} {}\n", "problem", problem);
    return;
  }
  print_ids(report, "remove", "forget");
  print_ids(report, "accept", "accept");
  print_ids(report, "undo", "undo");
  if (number_of(report, "too_young") > 0)
    fmt::print("  {:<14} {}: not listed, but made a moment ago\n", "wait", number_of(report, "too_young"));
  if (const std::string doubt = text_of(report, "doubt"); !doubt.empty())
    fmt::print("  {:<14} nothing is forgotten on the word of this list: {}\n", "doubt", doubt);
  const json::value* agree = json::find(report, "agree");
  const json::value* applied = json::find(report, "applied");
  const bool is_applied = applied != nullptr && applied->is_bool() && applied->get_bool();
  const bool agrees = agree != nullptr && agree->is_bool() && agree->get_bool();
  fmt::print("{}\n", agrees       ? "Both sides agree."
                     : is_applied ? "They differed; repaired."
                                  : "They differ; nothing was changed. --apply repairs.");
}

int check(const Options& options) {
  const json::object body = {{"actor", options.actor}, {"apply", options.apply}};
  const Result<json::object> report = ask_node(options.control, "POST", "/followers/check", body);
  if (!report) return cli::report(report.error());
  if (options.control.json) {
    fmt::print("{}\n", json::serialize(*report));
  } else {
    print_report(*report);
  }
  return text_of(*report, "problem").empty() ? kExitOk : kExitFailed;
}

int verify(const Options& options) {
  return tell(options.control, ask_node(options.control, "POST", "/followers/verify"),
              [&](const json::object& answer) {
                std::size_t repaired = 0;
                json::for_each(json::find(answer, "repaired"), [&](const json::value& element) {
                  ++repaired;
                  if (!element.is_object()) return;
                  const std::string tag = text_of(element.get_object(), "tag");
                  fmt::print("repaired: {} at {}\n", tag.empty() ? "nodes" : "#" + tag,
                             text_of(element.get_object(), "server"));
                });
                fmt::print("{} followers, {} wrong digests\n", number_of(answer, "followers"), repaired);
              });
}

}  // namespace

void add_followers_check(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "followers-check", "Compare with an actor's server who of this node follows that actor (FEP-8fcf)");
  command->add_option("actor", options->actor, "URL of the actor, such as that of another node")->required();
  command->add_flag("--apply", options->apply, "Repair what differs, at once");
  add_control_options(*command, options->control);
  command->footer(
      "Fetches, as the node, the list of its actors that the other server takes for followers, and says "
      "what\n"
      "differs, what would be done about it, and whether the last header from there was in order. Changes\n"
      "nothing without --apply.\n\n"
      "Example:\n"
      "  tagring followers-check https://tags.example.net/actor");
  command->callback([options, &status] { status = check(*options); });
}

void add_followers_verify(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("followers-verify", "Compute the digests of this node's followers anew (FEP-8fcf)");
  add_control_options(*command, options->control);
  command->footer(
      "The node does so at every start, and repairs and logs what is wrong. It writes nothing else "
      "meanwhile:\n"
      "about three seconds for a million followers.\n\n"
      "Example:\n"
      "  tagring followers-verify");
  command->callback([options, &status] { status = verify(*options); });
}

}  // namespace tagring::client
