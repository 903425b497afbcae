#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iostream>
#include <string>
#include <vector>

#include "app/run.hpp"
#include "base/suggest.hpp"
#include "cli/commands.hpp"
#include "cli/exit.hpp"
#include "client/commands.hpp"
#include "operation/commands.hpp"
#include "studies/sim.hpp"

namespace tagring::app {
namespace {

// In the order of --help.
constexpr std::array kCommands = {add_run,
                                  operation::add_setup,
                                  operation::add_doctor,
                                  operation::add_reload,
                                  operation::add_backup,
                                  operation::add_restore,
                                  operation::add_upgrade,
                                  operation::add_migrate_database,
                                  client::add_status,
                                  client::add_show,
                                  client::add_login,
                                  client::add_query,
                                  client::add_subscribe,
                                  client::add_unsubscribe,
                                  client::add_instance,
                                  client::add_block,
                                  client::add_report,
                                  client::add_fasp,
                                  client::add_feed,
                                  client::add_ring,
                                  client::add_owners,
                                  client::add_audit,
                                  client::add_takedown,
                                  client::add_move,
                                  client::add_leave,
                                  cli::add_key,
                                  cli::add_id,
                                  cli::add_followers_digest,
                                  client::add_followers_check,
                                  client::add_followers_verify,
                                  studies::add_sim};

// Commands come first, and those that have commands of their own need one of them. What is wrong with that;
// empty if nothing is.
std::string wrong_command(CLI::App& app, int argc, char** argv) {
  CLI::App* at = &app;
  for (int i = 1;; ++i) {
    std::vector<std::string> names;
    for (const CLI::App* command : at->get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(command->get_name());
    if (names.empty() || (i < argc && argv[i][0] == '-')) return {};
    const std::string path = at == &app ? "tagring" : fmt::format("tagring {}", at->get_name());
    if (i >= argc) return fmt::format("{} needs a command: {}", path, fmt::join(names, ", "));
    const std::string word = argv[i];
    const auto named =
        at->get_subcommands([&word](const CLI::App* command) { return command->check_name(word); });
    if (named.empty())
      return fmt::format("no command \"{}\"{}; see {} --help", word, did_you_mean(word, names), path);
    at = named.front();
  }
}

// What was typed for an option that the command does not have, with what may have been meant.
std::string wrong_option(CLI::App& app, int argc, char** argv) {
  CLI::App* at = &app;
  std::string path = "tagring";
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += " " + at->get_name();
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : at->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  for (int i = 1; i < argc; ++i) {
    const std::string_view typed = argv[i];
    const std::string word(typed.substr(0, typed.find('=')));
    // "-" is a file, and "-1" a number.
    const bool is_option =
        word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0;
    if (!is_option || std::ranges::find(names, word) != names.end()) continue;
    std::string meant = word.starts_with("--") ? "" : did_you_mean("-" + word, names);
    if (meant.empty()) meant = did_you_mean(word, names);
    return fmt::format("no option \"{}\"{}; see {} --help", word, meant, path);
  }
  return {};
}

// As the help writes words that are not options: "WHAT".
std::string upper(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return name;
}

// A variable that is not set leaves an empty word, which counts as none where a word may be left out, and
// then something else is done than was meant.
struct EmptyWord {
  std::string what;
};

// Has what is empty end the parsing, in all commands below; but for reasons, which may be.
void refuse_empty_words(CLI::App& command, const std::string& path) {
  for (CLI::Option* option : command.get_options()) {
    const bool is_positional = option->get_lnames().empty();
    const std::string name = is_positional ? upper(option->get_name()) : option->get_name();
    if (option->get_items_expected_min() == 0 || name == "--reason") continue;
    const auto check = [what =
                            fmt::format("{} is empty; see {} --help", name, path)](const std::string& word) {
      if (word.empty()) throw EmptyWord{what};
      return std::string();
    };
    option->check(check);
  }
  for (CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
    refuse_empty_words(*below, path + " " + below->get_name());
}

// An option of the command that begins the next word, where a value had to be: "--name --config x"; or
// nothing behind the sign: "--name= x".
std::string missing_value(CLI::App& app, int argc, char** argv) {
  CLI::App* at = &app;
  std::string path = "tagring";
  int i = 1;
  for (; i < argc; ++i) {
    const std::string word = argv[i];
    const auto named =
        at->get_subcommands([&word](const CLI::App* command) { return command->check_name(word); });
    if (named.empty()) break;
    at = named.front();
    path += " " + word;
  }
  for (; i < argc; ++i) {
    std::string word = argv[i];
    const bool has_sign = word.ends_with('=');
    if (has_sign) word.pop_back();
    const CLI::Option* option = at->get_option_no_throw(word);
    const bool takes_one =
        word.starts_with("--") && option != nullptr && option->get_items_expected_min() > 0;
    const bool is_option_next = i + 1 < argc && std::string_view(argv[i + 1]).starts_with("--") &&
                                at->get_option_no_throw(argv[i + 1]) != nullptr;
    if (takes_one && (has_sign || is_option_next))
      return fmt::format("{} needs a value; see {} --help", word, path);
  }
  return {};
}

// What the command cannot do without, and was not given; empty if there is no such thing.
std::string missing_option(CLI::App& app) {
  CLI::App* at = &app;
  std::string path = "tagring";
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += " " + at->get_name();
  }
  for (const CLI::Option* option : at->get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    const std::string name = option->get_lnames().empty() ? upper(option->get_name()) : option->get_name();
    return fmt::format("{} needs {} ({}); see {} --help", path, name, option->get_description(), path);
  }
  return {};
}

int run(int argc, char** argv) {
  CLI::App app("Hashtags that reach the whole fediverse: a node of the tagring network and its tools.",
               "tagring");
  app.set_version_flag("--version", "tagring " TAGRING_VERSION);
  app.require_subcommand(1);
  app.footer("\"tagring COMMAND --help\" explains a command, with an example.");
  int status = cli::kExitOk;
  for (const auto add : kCommands) add(app, status);
  refuse_empty_words(app, app.get_name());
  if (argc <= 1) {
    fmt::print(stderr, "{}", app.help());
    return cli::kExitBadInput;
  }
  if (const std::string wrong = wrong_command(app, argc, argv); !wrong.empty())
    return cli::report(Error(ErrorCode::kInvalid, wrong));
  if (const std::string wrong = missing_value(app, argc, argv); !wrong.empty())
    return cli::report(Error(ErrorCode::kInvalid, wrong));
  try {
    app.parse(argc, argv);
  } catch (const EmptyWord& e) {
    return cli::report(Error(ErrorCode::kInvalid, e.what));
  } catch (const CLI::ExtrasError& e) {
    const std::string wrong = wrong_option(app, argc, argv);
    return cli::report(Error(ErrorCode::kInvalid, wrong.empty() ? e.what() : wrong));
  } catch (const CLI::RequiredError& e) {  // of a command, where there is an option
    std::string wrong = wrong_option(app, argc, argv);
    if (wrong.empty()) wrong = missing_option(app);
    return cli::report(Error(ErrorCode::kInvalid, wrong.empty() ? e.what() : wrong));
  } catch (const CLI::ParseError& e) {
    // Also thrown by --help and --version, with code 0.
    status = app.exit(e) == 0 ? cli::kExitOk : cli::kExitBadInput;
  }
  std::cout.flush();
  const bool is_out = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (status == cli::kExitOk && !is_out)
    return cli::report(
        Error(ErrorCode::kUnavailable, fmt::format("cannot write the output: {}", std::strerror(errno))));
  return status;
}

}  // namespace
}  // namespace tagring::app

int main(int argc, char** argv) {
  using namespace tagring;
  try {
    return app::run(argc, argv);
  } catch (const std::exception& e) {
    // Out of memory, or a mistake in the table of options.
    return cli::report(Error(ErrorCode::kCorrupt, e.what()));
  }
}
