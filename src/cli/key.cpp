// tagring key: where a hashtag lives on the ring.
#include <fmt/core.h>
#include <memory>

#include "base/json.hpp"
#include "cli/commands.hpp"
#include "cli/exit.hpp"
#include "hashtag/typed.hpp"

namespace tagring::cli {
namespace {

struct KeyOptions {
  std::string tag;
  bool json = false;
};

int show_key(const KeyOptions& options) {
  const Result<Tag> tag = parse_typed_tag(options.tag);
  if (!tag) return report(tag.error());
  if (options.json) {
    const json::object out{
        {"canonical", tag->canonical()}, {"key", tag->key().hex()}, {"actor", tag->actor_name()}};
    fmt::print("{}\n", json::serialize(out));
  } else {
    fmt::print("canonical  {}\nkey        {}\nactor      {}\n", tag->canonical(), tag->key().hex(),
               tag->actor_name());
  }
  return kExitOk;
}

}  // namespace

void add_key(CLI::App& app, int& status) {
  auto options = std::make_shared<KeyOptions>();
  CLI::App* command =
      app.add_subcommand("key", "Show the canonical form of a hashtag and its key on the ring");
  command->add_option("tag", options->tag, "Any spelling of the hashtag; quote a leading #")->required();
  command->add_flag("--json", options->json, "Print a JSON object: canonical, key, actor");
  command->footer(
      "Spellings with one canonical form are one hashtag. The key is the SHA3-256 of that form, and\n"
      "\"actor\" the name to follow: @actor@any-node.\n\n"
      "Example:\n  tagring key '#CaturDay'\n  tagring key Über --json");
  command->callback([options, &status] { status = show_key(*options); });
}

}  // namespace tagring::cli
