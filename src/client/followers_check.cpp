// tagring followers-check, followers-verify: whether a node's followers are what others, and it itself,
// believe.
#include <fmt/core.h>
#include <memory>
#include <string>

#include "cli/exit.hpp"
#include "client/ask.hpp"

namespace tagring::client {
namespace {

struct FollowersCheckOptions {
  ControlOptions control;
  std::string actor;
  std::string tag;
  std::string server;
  bool apply = false;
};

void print_ids(const json::object& report, std::string_view key, std::string_view what) {
  json::for_each(json::find(report, key), [&](const json::value& id) {
    if (id.is_string()) fmt::print("  {:<14} {}\n", what, std::string_view(id.get_string()));
  });
}

// What this node believes of who follows its own actors, and the server's part in it.
void print_own(const json::object& report) {
  fmt::print("{}, for {}\n", json::text_of(report, "actor"), json::text_of(report, "server"));
  fmt::print("  {:<14} {}, digest {}\n", "followers", number_of(report, "count"),
             json::text_of(report, "digest"));
  print_ids(report, "followers", "");
  if (const json::object* header = json::get_object(report, "header")) {
    const std::string problem = json::text_of(*header, "problem");
    fmt::print("  {:<14} {}, {}, digest {}\n", "last header", json::text_of(*header, "at"),
               problem.empty() ? "taken" : problem, json::text_of(*header, "digest"));
    if (json::text_of(*header, "digest") != json::text_of(report, "digest") && number_of(report, "count") > 0)
      fmt::print("  {:<14} they have changed since; the next post brings another header\n", "");
  } else {
    fmt::print("  {:<14} none since the node started\n", "last header");
  }
  if (const json::object* fetch = json::get_object(report, "fetch")) {
    fmt::print("  {:<14} {}, answered with {}\n", "last fetch", json::text_of(*fetch, "at"),
               number_of(*fetch, "status"));
  } else {
    fmt::print("  {:<14} none since the node started\n", "last fetch");
  }
  print_ids(report, "problems", "problem");
  const json::value* problems = json::find(report, "problems");
  if (problems != nullptr && problems->is_array() && problems->get_array().empty())
    fmt::print("{}\n", json::get_flag(report, "unknown")
                           ? "Nothing is remembered of an exchange: whether the two sides agree is not known."
                           : "Nothing says that the two sides differ.");
}

std::string_view verdict(const json::object& report, bool apply) {
  if (json::get_flag(report, "agree")) return "Both sides agree.";
  if (json::get_flag(report, "repaired")) return "They differed; repaired.";
  if (json::get_flag(report, "applied")) return "They differed; repaired in part.";
  return apply ? "They differ; nothing could be repaired now."
               : "They differ; nothing was changed. --apply repairs.";
}

void print_report(const json::object& report, bool apply) {
  fmt::print("{}\n", json::text_of(report, "actor"));
  fmt::print("  {:<14} {}\n", "list", json::text_of(report, "url"));
  if (const json::object* header = json::get_object(report, "header")) {
    const std::string ignored = json::text_of(*header, "ignored");
    fmt::print("  {:<14} {}, {}\n", "last header", json::text_of(*header, "at"),
               ignored.empty() ? "in order" : "ignored: " + ignored);
  } else {
    fmt::print("  {:<14} none since the node started\n", "last header");
  }
  if (const json::object* known = json::get_object(report, "known")) {
    fmt::print("  {:<14} {} accepted, {} pending, digest {}\n", "known here", number_of(*known, "accepted"),
               number_of(*known, "pending"), json::text_of(*known, "digest"));
  }
  if (const json::object* listed = json::get_object(report, "listed")) {
    const std::string digest = json::text_of(*listed, "digest");
    fmt::print("  {:<14} {}, digest {}\n", "listed there", number_of(*listed, "count"), digest);
    const std::string said = json::text_of(report, "digest_of_header");
    if (!said.empty() && said != digest)
      fmt::print("  {:<14} {}: the last header was not about this list\n", "digest signed", said);
  }
  if (const std::string problem = json::text_of(report, "problem"); !problem.empty()) {
    fmt::print("  {:<14} {}\n", "problem", problem);
    return;
  }
  print_ids(report, "remove", "forget");
  print_ids(report, "accept", "accept");
  print_ids(report, "undo", "undo");
  if (number_of(report, "too_young") > 0)
    fmt::print("  {:<14} {}: not listed, but made a moment ago\n", "wait", number_of(report, "too_young"));
  if (const std::string doubt = json::text_of(report, "doubt"); !doubt.empty())
    fmt::print("  {:<14} nothing is forgotten on the word of this list: {}\n", "doubt", doubt);
  fmt::print("{}\n", verdict(report, apply));
}

int check_own(const FollowersCheckOptions& options) {
  if (!options.actor.empty() || options.apply)
    return cli::report(
        {ErrorCode::kInvalid, "--server asks who follows here: it takes no ACTOR and no --apply"});
  json::object body = {{"server", options.server}};
  if (!options.tag.empty()) body["tag"] = options.tag;
  const Result<json::object> report = ask_node(options.control, "POST", "/followers/check", body);
  const int status = tell(options.control, report, print_own);
  return status == kExitOk && !json::find(*report, "problems")->as_array().empty() ? kExitFailed : status;
}

int check(const FollowersCheckOptions& options) {
  if (!options.server.empty()) return check_own(options);
  if (options.actor.empty() || !options.tag.empty())
    return cli::report({ErrorCode::kInvalid, "either ACTOR or --server, and --tag only with --server"});
  const json::object body = {{"actor", options.actor}, {"apply", options.apply}};
  const Result<json::object> report = ask_node(options.control, "POST", "/followers/check", body);
  if (!report) return cli::report(report.error());
  if (options.control.json) {
    fmt::print("{}\n", json::serialize(*report));
  } else {
    print_report(*report, options.apply);
  }
  return json::get_flag(*report, "agree") || json::get_flag(*report, "repaired") ? kExitOk : kExitFailed;
}

int verify(const FollowersCheckOptions& options) {
  return tell(options.control, ask_node(options.control, "POST", "/followers/verify"),
              [&](const json::object& answer) {
                std::size_t repaired = 0;
                json::for_each(json::find(answer, "repaired"), [&](const json::value& element) {
                  ++repaired;
                  if (!element.is_object()) return;
                  const std::string tag = json::text_of(element.get_object(), "tag");
                  fmt::print("repaired: {} at {}\n", tag.empty() ? "nodes" : "#" + tag,
                             json::text_of(element.get_object(), "server"));
                });
                fmt::print("{} followers, {} wrong digests\n", number_of(answer, "followers"), repaired);
              });
}

}  // namespace

void add_followers_check(CLI::App& app, int& status) {
  auto options = std::make_shared<FollowersCheckOptions>();
  CLI::App* command = app.add_subcommand(
      "followers-check", "Whether this node and another server agree on who follows whom (FEP-8fcf)");
  command->add_option("actor", options->actor, "Who of this node follows that actor: its URL");
  command->add_option("--server", options->server, "Who of that server follows here: its host name");
  command->add_option("--tag", options->tag, "With --server: the hashtag (without it, the node's own actor)");
  command->add_flag("--apply", options->apply, "Repair what differs, at once");
  add_control_options(*command, options->control);
  command->footer(
      "ACTOR: fetches, as the node, the list of this node's actors that the other server takes for "
      "followers,\n"
      "and says what differs, what would be done about it, and whether the last header from there was in\n"
      "order. Changes nothing without --apply.\n\n"
      "--server: shows who of that server follows the hashtag here, the digest of that, the last header "
      "that\n"
      "was sent there and what became of it, and the last fetch of the list by that server, which looks\n"
      "whether both agree, or knew of other followers.\n\n"
      "Exit code 1 if the two sides differ and that was not repaired, or, of an ACTOR, it cannot be found "
      "out;\n"
      "with --server, if anything says that they differ.\n\n"
      "Examples:\n"
      "  tagring followers-check --tag cats --server social.example\n"
      "  tagring followers-check https://tags.example.net/actor");
  command->callback([options, &status] { status = check(*options); });
}

void add_followers_verify(CLI::App& app, int& status) {
  auto options = std::make_shared<FollowersCheckOptions>();
  CLI::App* command =
      app.add_subcommand("followers-verify", "Compute the digests of this node's followers anew (FEP-8fcf)");
  add_control_options(*command, options->control);
  command->footer(
      "Those on disk, by which it knows when the last follower of a server has left; those that it sends "
      "are\n"
      "made anew whenever it starts. The node does this at every start, too, and repairs and logs what is\n"
      "wrong. It writes nothing else meanwhile: about three seconds for a million followers.\n\n"
      "Example:\n"
      "  tagring followers-verify");
  command->callback([options, &status] { status = verify(*options); });
}

}  // namespace tagring::client
