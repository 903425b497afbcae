// tagring status, ring, feed, owners, leave: what a running node does, and its place in the network.
#include <fmt/core.h>
#include <memory>

#include "base/bytes.hpp"
#include "client/ask.hpp"

namespace tagring::client {
namespace {

void print_value(std::string_view name, const json::value& value, int depth) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  if (value.is_object()) {
    fmt::print("{}{}\n", indent, name);
    for (const auto& [key, inner] : value.get_object()) print_value(key, inner, depth + 1);
  } else {
    const std::string text = value.is_string()   ? std::string(value.get_string())
                             : value.is_double() ? fmt::format("{:.4g}", value.get_double())
                                                 : json::serialize(value);
    fmt::print("{}{:<{}}  {}\n", indent, name, 24 - 2 * depth, text);
  }
}

int show_status(const ControlOptions& options) {
  return tell(options, ask_node(options, "GET", "/status"), [&](const json::object& answer) {
    for (const auto& [name, value] : answer) print_value(name, value, 0);
  });
}

std::string place(const json::value* contact) {
  if (contact == nullptr || !contact->is_object()) return "nobody";
  const json::object& o = contact->get_object();
  return fmt::format("{} {}/{}", text_of(o, "id").substr(0, 8), text_of(o, "host"), number_of(o, "vserver"));
}

int show_ring(const ControlOptions& options) {
  return tell(options, ask_node(options, "GET", "/ring"), [&](const json::object& answer) {
    for (const auto& [ring, vservers] : answer) {
      fmt::print("{} ring\n", std::string_view(ring));
      json::for_each(&vservers, [](const json::value& element) {
        const json::object& vserver = element.get_object();
        const json::object* serving = json::get_object(vserver, "serving");
        fmt::print("  {}\n    after     {}\n", place(json::find(vserver, "self")),
                   place(json::find(vserver, "predecessor")));
        fmt::print("    serves    {}\n", serving == nullptr ? "nothing yet"
                                                            : text_of(*serving, "from").substr(0, 8) + " … " +
                                                                  text_of(*serving, "to").substr(0, 8));
        std::size_t count = 0;
        json::for_each(json::find(vserver, "successors"), [&](const json::value& successor) {
          if (++count <= 3) fmt::print("    {}    {}\n", count == 1 ? "before" : "      ", place(&successor));
        });
        if (count > 3) fmt::print("              and {} more\n", count - 3);
      });
    }
  });
}

int show_owners(const ControlOptions& options, const std::string& tag) {
  return tell(options, ask_node(options, "GET", "/owners?tag=" + percent_encode(tag)),
              [&](const json::object& answer) {
                fmt::print("#{}  key {}\n", text_of(answer, "tag"), text_of(answer, "key"));
                for (const char* ring : {"relay", "storage"}) {
                  json::for_each(json::find(answer, ring), [&](const json::value& owner) {
                    fmt::print("  {:<8} {}\n", ring, place(&owner));
                  });
                }
              });
}

int show_feed(const ControlOptions& options, std::uint64_t after, unsigned limit) {
  return tell(options, ask_node(options, "GET", fmt::format("/feed?after={}&limit={}", after, limit)),
              [&](const json::object& answer) {
                json::for_each(json::find(answer, "entries"), [](const json::value& element) {
                  const json::object& entry = element.get_object();
                  fmt::print("{:>8}  {} #{:<20}  {}\n", number_of(entry, "seq"),
                             text_of(entry, "op") == "add" ? '+' : '-', text_of(entry, "tag"),
                             text_of(entry, "uri"));
                });
              });
}

int leave(const ControlOptions& options) {
  return tell(options, ask_node(options, "POST", "/leave"),
              "left both rings; what this node owned is with its successors. Stop it now.");
}

}  // namespace

void add_status(CLI::App& app, int& status) {
  auto options = std::make_shared<ControlOptions>();
  CLI::App* command = app.add_subcommand("status", "Show what a running node does, in numbers");
  add_control_options(*command, *options);
  command->callback([options, &status] { status = show_status(*options); });
}

void add_ring(CLI::App& app, int& status) {
  auto options = std::make_shared<ControlOptions>();
  CLI::App* command = app.add_subcommand("ring", "Show a running node's place on both rings");
  add_control_options(*command, *options);
  command->callback([options, &status] { status = show_ring(*options); });
}

void add_owners(CLI::App& app, int& status) {
  auto options = std::make_shared<ControlOptions>();
  auto tag = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("owners", "Look up who relays and who stores a hashtag");
  command->add_option("tag", *tag, "The hashtag, with or without #")->required();
  add_control_options(*command, *options);
  command->callback([options, tag, &status] { status = show_owners(*options, *tag); });
}

void add_feed(CLI::App& app, int& status) {
  struct Range {
    std::uint64_t after = 0;
    unsigned limit = 100;
  };
  auto options = std::make_shared<ControlOptions>();
  auto range = std::make_shared<Range>();
  CLI::App* command =
      app.add_subcommand("feed", "Show what a running node has received and announced, oldest first");
  command->add_option("--after", range->after, "Only entries with a greater number");
  command->add_option("--limit", range->limit, "How many")
      ->check(CLI::Range(1U, 10'000U))
      ->capture_default_str();
  add_control_options(*command, *options);
  command->callback([options, range, &status] { status = show_feed(*options, range->after, range->limit); });
}

void add_leave(CLI::App& app, int& status) {
  auto options = std::make_shared<ControlOptions>();
  CLI::App* command = app.add_subcommand("leave", "Hand over what a node owns and leave both rings");
  add_control_options(*command, *options);
  command->footer("Stop the node afterwards. Started again, it joins as a new member.");
  command->callback([options, &status] { status = leave(*options); });
}

}  // namespace tagring::client
