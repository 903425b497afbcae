// tagring query: the history of a hashtag (paper §5.5).
#include <fmt/core.h>
#include <memory>

#include "base/bytes.hpp"
#include "base/time.hpp"
#include "cli/number.hpp"
#include "client/ask.hpp"

namespace tagring::client {
namespace {

struct QueryOptions {
  ControlOptions control;
  std::string tag;
  std::string before;
  unsigned limit = 20;
};

int query(const QueryOptions& options) {
  std::string target = fmt::format("/history?tag={}&limit={}", percent_encode(options.tag), options.limit);
  if (!options.before.empty()) target += "&before=" + percent_encode(options.before);
  return tell(options.control, ask_node(options.control, "GET", target), [&](const json::object& answer) {
    std::size_t count = 0;
    json::for_each(json::find(answer, "entries"), [&](const json::value& element) {
      const json::object& entry = element.get_object();
      fmt::print("{:<24}  {}\n", to_rfc3339(WallTime(Duration(number_of(entry, "published")))),
                 json::text_of(entry, "uri"));
      ++count;
    });
    const std::string next = json::text_of(answer, "before");
    if (count == 0) fmt::print("no posts under #{}\n", json::text_of(answer, "tag"));
    if (const std::int64_t disputed = number_of(answer, "disputed"); disputed > 0)
      fmt::print("owners do not all say the same of {} posts, so these were looked at\n", disputed);
    if (!next.empty()) fmt::print("older ones: --before '{}'\n", next);
  });
}

}  // namespace

void add_query(CLI::App& app, int& status) {
  auto options = std::make_shared<QueryOptions>();
  CLI::App* command = app.add_subcommand("query", "Show the posts under a hashtag, newest first");
  command->add_option("tag", options->tag, "The hashtag, with or without #")->required();
  command->add_option("--limit", options->limit, "How many")
      ->check(cli::whole_number(1, 200))
      ->capture_default_str();
  command->add_option("--before", options->before, "Cursor from an earlier answer: go on there");
  add_control_options(*command, options->control);
  command->footer("Example:\n  tagring query '#caturday' --limit 40");
  command->callback([options, &status] { status = query(*options); });
}

}  // namespace tagring::client
