// tagring subscribe, tagring unsubscribe: the hashtags that a node wants (paper §5.5).
#include <fmt/core.h>
#include <memory>
#include <vector>

#include "client/ask.hpp"

namespace tagring::client {
namespace {

struct SubscribeOptions {
  ControlOptions control;
  std::vector<std::string> tags;
};

int change(const SubscribeOptions& options, const std::string& verb) {
  const json::object body = {{"tags", json::array(options.tags.begin(), options.tags.end())}};
  return tell(options.control, ask_node(options.control, "POST", "/" + verb, body),
              [&](const json::object& answer) {
                json::for_each(json::find(answer, verb + "d"), [&](const json::value& tag) {
                  fmt::print("{}d #{}\n", verb, std::string_view(tag.get_string()));
                });
                json::for_each(json::find(answer, "unknown"), [&](const json::value& tag) {
                  fmt::print("#{} was not subscribed\n", std::string_view(tag.get_string()));
                });
              });
}

void add(CLI::App& app, int& status, const std::string& verb, const std::string& what) {
  auto options = std::make_shared<SubscribeOptions>();
  CLI::App* command = app.add_subcommand(verb, what);
  command->add_option("tags", options->tags, "Hashtags, with or without #")->required();
  add_control_options(*command, options->control);
  command->footer("Example:\n  tagring " + verb + " caturday '#mastodon'");
  command->callback([options, &status, verb] { status = change(*options, verb); });
}

}  // namespace

void add_subscribe(CLI::App& app, int& status) {
  add(app, status, "subscribe", "Receive every new post under hashtags");
}
void add_unsubscribe(CLI::App& app, int& status) {
  add(app, status, "unsubscribe", "Stop receiving posts under hashtags");
}

}  // namespace tagring::client
