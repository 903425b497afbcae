// tagring block: what a node keeps away.
#include <fmt/core.h>
#include <memory>

#include "cli/one_of.hpp"
#include "cli/terminal.hpp"
#include "client/ask.hpp"
#include "client/table.hpp"
#include "config/file.hpp"

namespace tagring::client {
namespace {

constexpr std::size_t kListMax = 4U << 20U;  // bytes

struct BlockOptions {
  ControlOptions control;
  std::string kind;
  std::string what;
  std::string reason;
  std::string file;
  std::string source;
  std::string host;
  std::string other;
  std::string direction;
  bool preview = false;
  bool lift = false;
};

int print_effect(const BlockOptions& options, const Result<json::object>& answer, const std::string& did) {
  return tell(options.control, answer, [&](const json::object& effect) {
    fmt::print("{}", did);
    if (did.ends_with(':'))
      fmt::print(" {} new, {} already there", number_of(effect, "fresh"), number_of(effect, "known"));
    fmt::print("\n");
    const auto print_all = [&](const char* key, const char* text) {
      json::for_each(json::find(effect, key), [&](const json::value& item) {
        if (item.is_string()) fmt::print("  {} {}\n", text, std::string_view(item.get_string()));
      });
    };
    print_all("lifted", options.preview ? "would lift the block of" : "lifted the block of");
    print_all("followers", options.preview ? "would lose the follower" : "lost the follower");
    print_all("instances", options.preview ? "would drop the instance" : "dropped the instance");
    print_all("skipped", "passed over");
    print_all("suffixes", "note: every server of this ending falls under it:");
    print_all("own", "WARNING:");
    if (has_items(effect, "lifted"))
      fmt::print(
          "Whoever such a block had turned away was told so, and comes back by asking again:\n"
          "instances add the relay, people follow the hashtag.\n");
  });
}

int list(const BlockOptions& options) {
  return tell(options.control, ask_node(options.control, "GET", "/blocks"), [&](const json::object& answer) {
    if (!has_items(answer, "blocks") && !has_items(answer, "separations")) fmt::print("nothing is blocked\n");
    json::array blocks;
    json::for_each(json::find(answer, "blocks"), [&blocks](const json::value& value) {
      const json::object& block = value.get_object();
      json::object row;
      for (const char* name : {"kind", "what", "source", "reason"}) row[name] = json::text_of(block, name);
      blocks.push_back(std::move(row));
    });
    print_table(blocks, Heading::kOnTerminals);
    json::for_each(json::find(answer, "separations"), [](const json::value& value) {
      const json::object& one = value.get_object();
      const bool receive = json::text_of(one, "direction") == "receive";
      const std::string text =
          fmt::format("{} never {} {}", json::text_of(one, "host"),
                      receive ? "gets posts of" : "sends posts to", json::text_of(one, "other"));
      fmt::print("{}\n", cli::wrapped(text, 0, cli::terminal_width()));
    });
  });
}

int import(const BlockOptions& options) {
  const Result<std::string> text =
      config::read_file(options.file == "-" ? "/dev/stdin" : options.file, kListMax);
  if (!text) return report(text.error());
  const json::object body = {{"source", options.source}, {"text", *text}, {"preview", options.preview}};
  return print_effect(options, ask_node(options.control, "POST", "/blocks/import", body),
                      options.preview ? "preview:" : "imported:");
}

CLI::App* add_change(CLI::App& parent, const std::shared_ptr<BlockOptions>& options, const char* name,
                     const char* what) {
  CLI::App* command = parent.add_subcommand(name, what);
  command->add_option("kind", options->kind, "domain (with all below it), author or tag")
      ->required()
      ->check(cli::one_of({"domain", "author", "tag"}));
  command->add_option("what", options->what, "Host name, URL of the actor, or hashtag")->required();
  add_control_options(*command, options->control);
  command->footer(fmt::format(
      "Examples:\n  tagring block {0} domain spam.example\n  tagring block {0} tag somebrand", name));
  return command;
}

void add_import(CLI::App& parent, const std::shared_ptr<BlockOptions>& options, int& status) {
  CLI::App* command = parent.add_subcommand(
      "import", "Block the domains of a list; what an earlier list of that name had beyond it is lifted");
  command->add_option("file", options->file, "Mastodon's CSV, JSON, or a domain a line; - reads from stdin")
      ->required();
  command->add_option("--source", options->source, "Name of the list")->required();
  command->add_flag("--preview", options->preview, "Say what it would do, and change nothing");
  add_control_options(*command, options->control);
  command->footer("Example:\n  tagring block import domain_blocks.csv --source tier0 --preview");
  command->callback([options, &status] { status = import(*options); });
}

void add_separate(CLI::App& parent, const std::shared_ptr<BlockOptions>& options, int& status) {
  CLI::App* command = parent.add_subcommand(
      "separate", "Keep two instances apart: HOST never receives posts of OTHER, or never sends it its own");
  command->add_option("host", options->host, "The instance that wants it so")->required();
  command->add_option("direction", options->direction, "receive or send")
      ->required()
      ->check(cli::one_of({"receive", "send"}));
  command->add_option("other", options->other, "The other one")->required();
  command->add_flag("--lift", options->lift, "End it");
  add_control_options(*command, options->control);
  command->footer("Example:\n  tagring block separate example.org receive social.example");
  command->callback([options, &status] {
    const json::object body = {
        {"host", options->host}, {"other", options->other}, {"direction", options->direction}};
    const char* path = options->lift ? "/separations/remove" : "/separations/add";
    status = tell(options->control, ask_node(options->control, "POST", path, body),
                  options->lift ? "lifted" : "done");
  });
}

}  // namespace

void add_block(CLI::App& app, int& status) {
  auto options = std::make_shared<BlockOptions>();
  CLI::App* block = app.add_subcommand("block", "Keep domains, authors and hashtags away");
  block->require_subcommand(1);
  block->footer(
      "Examples:\n"
      "  tagring block add domain spam.example --reason 'advertising'\n"
      "  tagring block add tag somebrand --reason 'asked for by its owner'\n"
      "  tagring block import domain_blocks.csv --source tier0 --preview");
  CLI::App* all = block->add_subcommand("list", "Show what is blocked, why, and from where");
  add_control_options(*all, options->control);
  all->footer("Example:\n  tagring block list");
  all->callback([options, &status] { status = list(*options); });
  CLI::App* add = add_change(*block, options, "add", "Block a domain, an author or a hashtag");
  add->add_option("--reason", options->reason, "Why; shown to who asks");
  add->callback([options, &status] {
    const json::object body = {{"kind", options->kind}, {"what", options->what}, {"reason", options->reason}};
    status = print_effect(*options, ask_node(options->control, "POST", "/blocks/add", body), "blocked:");
  });
  add_change(*block, options, "remove", "Lift a block")->callback([options, &status] {
    const json::object body = {{"kind", options->kind}, {"what", options->what}};
    status =
        tell(options->control, ask_node(options->control, "POST", "/blocks/remove", body),
             "lifted; whom the block had turned away was told so, and comes back by asking again: instances "
             "add the relay, people follow the hashtag; who has the relay gets a hashtag again");
  });
  add_import(*block, options, status);
  CLI::App* lift = block->add_subcommand("lift", "Lift all blocks of a list; those of other lists stay");
  lift->add_option("source", options->source, "Name of the list")->required();
  add_control_options(*lift, options->control);
  lift->footer("Example:\n  tagring block lift tier0");
  lift->callback([options, &status] {
    const json::object body = {{"source", options->source}};
    status = print_effect(*options, ask_node(options->control, "POST", "/blocks/lift", body),
                          "lifted " + options->source);
  });
  add_separate(*block, options, status);
}

}  // namespace tagring::client
