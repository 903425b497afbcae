#include "client/instance_replay.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>
#include <cstdio>
#include <fmt/core.h>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/number.hpp"
#include "client/ask.hpp"
#include "client/table.hpp"

namespace tagring::client {
namespace {

constexpr std::int64_t kNumberMax = 1'000'000'000;  // the node has limits of its own

struct InstanceReplayOptions {
  ControlOptions control;
  std::string host;
  std::string tag;
  bool oldest_first = false;
  bool newest_first = false;
  std::string max_age;
  std::int64_t max_posts = 0;
  std::int64_t per_minute = 0;
  std::optional<std::int64_t> authors_per_day;
  bool may_trend = false;
};

// Seconds in "90d", "12h", "2w"; 0 for ever.
std::optional<std::int64_t> seconds_in(const std::string& text) {
  if (text == "forever") return 0;
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end + 1 != text.data() + text.size() || count <= 0 || count > 100'000)
    return std::nullopt;
  switch (*end) {
    case 'h':
      return count * 3600;
    case 'd':
      return count * 86'400;
    case 'w':
      return count * 7 * 86'400;
    default:
      return std::nullopt;
  }
}

std::string authors_line(std::int64_t authors) {
  return fmt::format("posts of {} authors a day: from five on Mastodon takes a hashtag for trending\n",
                     authors == 0 ? std::string("any number of") : std::to_string(authors));
}

constexpr std::int64_t kAuthorsOfATrend = 5;

// Before anything is sent. Where nobody is there to ask, the node asks for the flag.
bool is_agreed(const InstanceReplayOptions& options) {
  const std::int64_t authors = options.authors_per_day.value_or(1);
  if (options.may_trend) return true;
  if ((authors > 0 && authors < kAuthorsOfATrend) || isatty(STDIN_FILENO) == 0) return false;
  fmt::print(
      "Mastodon counts these posts as of the day on which they come. With {} authors a day it shows that day "
      "as "
      "the busiest of #{}, may take the hashtag for trending, and writes to its moderators, who need not "
      "approve "
      "it.\nSend them all the same? [y/N] ",
      authors == 0 ? std::string("any number of") : std::to_string(authors), options.tag);
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

// Empty where nobody is there to ask: the node asks for the option.
std::string age_of(const InstanceReplayOptions& options) {
  if (!options.max_age.empty() || isatty(STDIN_FILENO) == 0) return options.max_age;
  fmt::print(
      "How long does {} keep posts of others (Mastodon: Administration > Server settings > Content "
      "retention)?\nOlder ones it would let go at once. [14d, 12w, forever] ",
      options.host);
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer;
}

int begin(const InstanceReplayOptions& options) {
  json::object body = {{"host", options.host},
                       {"tag", options.tag},
                       {"order", options.oldest_first ? "oldest_first" : "newest_first"}};
  if (const std::string age = age_of(options); !age.empty()) {
    const auto seconds = seconds_in(age);
    if (!seconds) {
      return report(
          {ErrorCode::kInvalid, "--max-age is a number of hours, days or weeks, or forever: 96h, 14d, 2w"});
    }
    body["max_age_s"] = *seconds;
  }
  if (options.max_posts > 0) body["max_posts"] = options.max_posts;
  if (options.per_minute > 0) body["per_minute"] = options.per_minute;
  if (options.authors_per_day) body["authors_per_day"] = *options.authors_per_day;
  body["may_trend"] = is_agreed(options);
  return tell(options.control, ask_node(options.control, "POST", "/instances/replay", body),
              [&](const json::object& answer) {
                fmt::print(
                    "sends #{} back to {} to {}, {} posts at most, {} a minute: \"tagring instance replays\" "
                    "shows how far it is\n",
                    json::text_of(answer, "tag"), json::text_of(answer, "not_before"), options.host,
                    number_of(answer, "max_posts"), number_of(answer, "per_minute"));
                fmt::print("{}", authors_line(number_of(answer, "authors_per_day")));
                if (const std::string why = json::text_of(answer, "waits_for"); !why.empty())
                  fmt::print("{}\n", why);
                else
                  fmt::print("the first ones go at {}\n", json::text_of(answer, "begins"));
              });
}

json::object row_of_replay(const json::object& item) {
  return {{"instance", json::text_of(item, "host")},
          {"hashtag", "#" + json::text_of(item, "tag")},
          {"state", json::text_of(item, "state")},
          {"sent/about", fmt::format("{}/{}", number_of(item, "sent"), number_of(item, "estimated"))},
          {"skipped", number_of(item, "skipped")},
          {"per min", number_of(item, "per_minute")},
          {"oldest, newest", fmt::format("{} {}", json::text_of(item, "oldest").substr(0, 10),
                                         json::text_of(item, "newest").substr(0, 10))}};
}

// Why it does not go on; empty if it does.
std::string remark_on_replay(const json::object& item) {
  std::string note = json::text_of(item, "reason");
  if (const std::string until = json::text_of(item, "waits_until"); !until.empty()) {
    const std::string why = json::text_of(item, "waits_for");
    note = fmt::format("waits until {}{}{}{}{}", until, why.empty() ? "" : ": ", why,
                       note.empty() ? "" : "; ", note);
  }
  if (const std::string since = json::text_of(item, "failing_since"); !since.empty())
    note = fmt::format("fails since {}{}{}", since, note.empty() ? "" : ", ", note);
  if (note.empty()) return {};
  return fmt::format("{} #{}: {}", json::text_of(item, "host"), json::text_of(item, "tag"), note);
}

int list(const InstanceReplayOptions& options) {
  return tell(options.control, ask_node(options.control, "GET", "/instances/replays"),
              [](const json::object& answer) {
                if (!has_items(answer, "replays")) return fmt::print("no replay is under way\n");
                json::array rows;
                std::vector<std::string> remarks;
                json::for_each(json::find(answer, "replays"), [&](const json::value& item) {
                  rows.push_back(row_of_replay(item.get_object()));
                  if (std::string remark = remark_on_replay(item.get_object()); !remark.empty())
                    remarks.push_back(std::move(remark));
                });
                print_table(rows);
                print_remarks(remarks);
              });
}

int cancel(const InstanceReplayOptions& options) {
  const json::object body = {{"host", options.host}, {"tag", options.tag}};
  return tell(options.control, ask_node(options.control, "POST", "/instances/cancel-replay", body),
              fmt::format("{}: no more of the history of {}", options.host, options.tag));
}

CLI::App* add(CLI::App& instance, const std::shared_ptr<InstanceReplayOptions>& options,
              const std::string& name, const std::string& what, bool with_tag) {
  CLI::App* command = instance.add_subcommand(name, what);
  if (with_tag) {
    command->add_option("host", options->host, "Host name of the instance")->required();
    command->add_option("tag", options->tag, "A hashtag that it is subscribed to")->required();
  }
  add_control_options(*command, options->control);
  command->footer(
      fmt::format("Example:\n  tagring instance {}{}", name, with_tag ? " social.example caturday" : ""));
  return command;
}

}  // namespace

void add_instance_replay(CLI::App& instance, int& status) {
  auto options = std::make_shared<InstanceReplayOptions>();
  CLI::App* replay =
      add(instance, options, "replay",
          "Send an instance the posts that a hashtag had before (if several nodes serve it, from one)", true);
  auto* oldest = replay->add_flag("--oldest-first", options->oldest_first, "From the oldest post on");
  replay
      ->add_flag("--newest-first", options->newest_first, "From the newest post back, unless told otherwise")
      ->excludes(oldest);
  replay->add_option(
      "--max-age", options->max_age,
      "How long the instance keeps posts of others, such as 14d, or forever: older ones it would "
      "let go at once. Mastodon: Administration > Server settings > Content retention. No "
      "further back than publish.replay_max_age_days. On a terminal it is asked for");
  replay
      ->add_option("--max-posts", options->max_posts,
                   "How many, the newest ones (publish.replay_max_posts, if it is not given)")
      ->check(cli::whole_number(1, kNumberMax));
  replay->add_option("--per-minute", options->per_minute, "How many posts a minute (60, if it is not given)")
      ->check(cli::whole_number(1, kNumberMax));
  replay
      ->add_option(
          "--authors-per-day", options->authors_per_day,
          "Posts of how many authors a day (4, if it is not given; 0: any number), with those who come by "
          "themselves. Mastodon counts a post under a hashtag on the day on which it comes: from five "
          "authors a day on, it takes the hashtag for trending, draws that day as its busiest, and "
          "writes to its moderators. Up to four go from 18:00 UTC on, first on the second day after")
      ->check(cli::whole_number(0, kNumberMax));
  replay->add_flag(
      "--may-trend", options->may_trend,
      "With five authors a day or more: that may make a trend, and is wanted. On a terminal it is "
      "asked for");
  replay->footer("Example:\n  tagring instance replay social.example caturday --oldest-first --max-age 30d");
  replay->callback([options, &status] { status = begin(*options); });
  add(instance, options, "replays", "How far the replays are", false)->callback([options, &status] {
    status = list(*options);
  });
  add(instance, options, "cancel-replay", "End a replay", true)->callback([options, &status] {
    status = cancel(*options);
  });
}

}  // namespace tagring::client
