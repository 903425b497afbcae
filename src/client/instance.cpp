// tagring instance: the servers that use a node as a relay, and the hashtags they get.
#include <fmt/core.h>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/printable.hpp"
#include "cli/terminal.hpp"
#include "client/ask.hpp"
#include "client/instance_replay.hpp"
#include "client/table.hpp"

namespace tagring::client {
namespace {

struct InstanceOptions {
  ControlOptions control;
  std::string host;
  std::vector<std::string> tags;
  std::string group;
  std::string tag;
  bool publish = false;
  bool receive = false;
};

std::string_view yes_no(const json::object& o, std::string_view key) {
  return json::get_flag(o, key) ? "yes" : "no";
}

// "mastodon, mastodon by /relay, mastodon #cats, person https://b.example/@bob (waits for them to accept),
// blocked"
std::string links_of(const json::object& item) {
  std::string all;
  const auto add = [&](const std::string& text) { all += (all.empty() ? "" : ", ") + text; };
  if (yes_no(item, "blocked") == "yes") add("blocked");
  json::for_each(json::find(item, "links"), [&](const json::value& value) {
    const json::object& o = value.get_object();
    std::string text = json::text_of(o, "style");
    const std::string relay = json::text_of(o, "relay");
    if (text == "group") text = "followed: " + json::text_of(o, "actor") + " by";
    if (const std::size_t tag = relay.find("/tag/"); tag != std::string::npos)
      text += " #" + relay.substr(tag + 5);
    if (relay.ends_with("/relay")) text += " by /relay";
    const std::string actor = json::text_of(o, "actor");
    // Whole: it ends in a number, or in random letters, with newer Mastodon and Misskey.
    if (json::text_of(o, "style") == "person") text += " " + actor;
    if (yes_no(o, "accepted") == "no") text += " (waits for \"tagring instance allow\")";
    const std::string back = json::text_of(o, "followed_back");
    if (yes_no(o, "accepted") == "yes" && back == "waits") text += " (waits for them to accept)";
    if (yes_no(o, "accepted") == "yes" && back == "rejected") text += " (does not let this node follow)";
    if (const std::optional<std::string> untaken = json::get_string(o, "untaken"))
      text += untaken->empty() ? " (is being told so)" : " (has not taken the Accept: " + *untaken + ")";
    add(text);
  });
  if (const std::int64_t follows = number_of(item, "follows"); follows > 0)
    add(fmt::format("{}{} follows of hashtags", all.empty() ? "no, " : "", follows));
  if (yes_no(item, "refuses") == "yes") add("refuses what this node sends");
  if (const std::string fails = json::text_of(item, "fails"); !fails.empty())
    add("takes nothing now: " + fails);
  return all;
}

json::object row_of_instance(const json::object& item) {
  const std::string links = links_of(item);
  return {{"instance", json::text_of(item, "host")},
          {"publishes", yes_no(item, "publishes")},
          {"receives", yes_no(item, "receives")},
          {"hashtags", number_of(item, "hashtags")},
          {"relay added", links.empty() ? "no" : links}};
}

int list(const InstanceOptions& options) {
  return tell(options.control, ask_node(options.control, "GET", "/instances"),
              [&](const json::object& answer) {
                if (!has_items(answer, "instances")) fmt::print("no instance uses this node as a relay\n");
                json::array rows;
                json::for_each(json::find(answer, "instances"), [&rows](const json::value& element) {
                  rows.push_back(row_of_instance(element.get_object()));
                });
                print_table(rows);
                if (const std::string moved_to = json::text_of(answer, "moved_to"); !moved_to.empty())
                  print_remarks(
                      {fmt::format("This node has moved to {}: whoever has added the relay has to add the "
                                   "new one, and \"tagring move\" says which.",
                                   moved_to)});
              });
}

int permit(const InstanceOptions& options, bool publishes, bool receives) {
  const json::object body = {{"host", options.host}, {"publishes", publishes}, {"receives", receives}};
  const std::string text = fmt::format("{}: publishes {}, receives {}", options.host,
                                       publishes ? "yes" : "no", receives ? "yes" : "no");
  return tell(options.control, ask_node(options.control, "POST", "/instances/permit", body),
              [&](const json::object& answer) {
                fmt::print("{}\n", text);
                if (json::get_flag(answer, "suffix"))
                  fmt::print("note: every server of this ending falls under it: {}\n",
                             json::text_of(answer, "host"));
                if ((publishes || receives) && yes_no(answer, "added") == "no")
                  fmt::print(
                      "It does not use this node as a relay now: its administrator adds the relay, "
                      "again if that was refused before.\n");
              });
}

int change(const InstanceOptions& options, const std::string& verb) {
  const json::object body = {{"host", options.host},
                             {"tags", json::array(options.tags.begin(), options.tags.end())}};
  return tell(options.control, ask_node(options.control, "POST", "/instances/" + verb, body),
              [&](const json::object& answer) {
                json::for_each(json::find(answer, verb + "d"), [&](const json::value& tag) {
                  fmt::print("{}: {}d #{}\n", options.host, verb, std::string_view(tag.get_string()));
                });
                json::for_each(json::find(answer, "unknown"), [&](const json::value& tag) {
                  fmt::print("{}: #{} was not subscribed\n", options.host,
                             std::string_view(tag.get_string()));
                });
              });
}

int follow(const InstanceOptions& options) {
  json::object body = {{"group", options.group}};
  if (!options.tag.empty()) body["tag"] = options.tag;
  return tell(options.control, ask_node(options.control, "POST", "/instances/follow", body),
              [](const json::object& answer) {
                fmt::print(
                    "{} asks to follow {}: \"tagring instance list\" shows whether that was accepted\n",
                    json::text_of(answer, "by"), json::text_of(answer, "group"));
              });
}

int unfollow(const InstanceOptions& options) {
  return tell(options.control,
              ask_node(options.control, "POST", "/instances/unfollow", {{"group", options.group}}),
              options.group + ": not followed any more");
}

int hashtags(const InstanceOptions& options) {
  return tell(
      options.control,
      ask_node(options.control, "GET", "/instances/hashtags?host=" + percent_encode(options.host)),
      [&](const json::object& answer) {
        const json::object* reasons = json::get_object(answer, "reasons");
        if (!has_items(answer, "hashtags")) fmt::print("no hashtags\n");
        json::array rows;
        json::for_each(json::find(answer, "hashtags"), [&](const json::value& tag) {
          const std::string name(tag.get_string());
          std::string from;
          if (reasons != nullptr) {
            json::for_each(json::find(*reasons, name), [&](const json::value& source) {
              from += (from.empty() ? "" : ", ") + std::string(source.get_string());
            });
          }
          rows.push_back({{"hashtag", "#" + name}, {"wanted by", from}});
        });
        print_table(rows, Heading::kOnTerminals);
        json::for_each(json::find(answer, "sources"), [](const json::value& element) {
          const json::object& source = element.get_object();
          if (const std::string note = json::text_of(source, "note"); !note.empty())
            fmt::print("{}\n",
                       cli::wrapped(printable(fmt::format("({}: {})", json::text_of(source, "source"), note)),
                                    0, cli::terminal_width()));
        });
      });
}

CLI::App* add(CLI::App& parent, const std::shared_ptr<InstanceOptions>& options, const std::string& name,
              const std::string& what, bool with_host, bool with_tags) {
  CLI::App* command = parent.add_subcommand(name, what);
  if (with_host) command->add_option("host", options->host, "Host name of the instance")->required();
  if (with_tags) command->add_option("tags", options->tags, "Hashtags, with or without #")->required();
  add_control_options(*command, options->control);
  command->footer(fmt::format("Example:\n  tagring instance {}{}{}", name, with_host ? " social.example" : "",
                              with_tags ? " caturday photography" : ""));
  return command;
}

void add_groups(CLI::App& instance, const std::shared_ptr<InstanceOptions>& options, int& status) {
  const auto add_one = [&](const char* name, const char* what) {
    CLI::App* command = add(instance, options, name, what, false, false);
    command->add_option("group", options->group, "URL of the group")->required();
    command->footer(fmt::format("Example:\n  tagring instance {} https://lemmy.example/c/birds", name));
    return command;
  };
  CLI::App* following = add_one(
      "follow", "Have what is posted to a group (of Lemmy, PieFed, NodeBB and others) published here");
  following->add_option("hashtag", options->tag, "Whose actor follows it (the last word of the URL)");
  following->callback([options, &status] { status = follow(*options); });
  add_one("unfollow", "Follow a group no more")->callback([options, &status] {
    status = unfollow(*options);
  });
}

}  // namespace

void add_instance(CLI::App& app, int& status) {
  auto options = std::make_shared<InstanceOptions>();
  CLI::App* instance =
      app.add_subcommand("instance", "Manage the servers that use this node as a relay, and what they get");
  instance->require_subcommand(1);
  instance->footer(
      "An instance adds https://HOST/inbox as a relay (Mastodon, Misskey) or follows https://HOST/actor\n"
      "(Pleroma, Akkoma). Then it publishes through this node, and gets the hashtags subscribed for it.\n"
      "Example:\n  tagring instance allow social.example\n"
      "  tagring instance subscribe social.example caturday photography");
  add(*instance, options, "list", "Who uses this node as a relay", false, false)
      ->callback([options, &status] { status = list(*options); });
  CLI::App* allow = add(*instance, options, "allow", "Let an instance publish and receive", true, false);
  allow->add_flag("--publish", options->publish, "Only publish, unless --receive is given too");
  allow->add_flag("--receive", options->receive, "Only receive, unless --publish is given too");
  allow->callback([options, &status] {
    const bool both = options->publish == options->receive;
    status = permit(*options, both || options->publish, both || options->receive);
  });
  add(*instance, options, "deny", "Take no posts of an instance, and send it none", true, false)
      ->callback([options, &status] { status = permit(*options, false, false); });
  add(*instance, options, "subscribe", "Send an instance every new post under hashtags", true, true)
      ->callback([options, &status] { status = change(*options, "subscribe"); });
  add(*instance, options, "unsubscribe", "Stop sending an instance posts under hashtags", true, true)
      ->callback([options, &status] { status = change(*options, "unsubscribe"); });
  add(*instance, options, "hashtags", "What an instance gets, and who wants it", true, false)
      ->callback([options, &status] { status = hashtags(*options); });
  add_groups(*instance, options, status);
  add_instance_replay(*instance, status);
}

}  // namespace tagring::client
