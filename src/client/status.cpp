// tagring status, ring, feed, owners: what a running node does, and its place in the network.
#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/core.h>
#include <memory>
#include <optional>

#include "base/bytes.hpp"
#include "base/time.hpp"
#include "cli/number.hpp"
#include "cli/terminal.hpp"
#include "client/ask.hpp"

namespace tagring::client {
namespace {

using cli::Colour;
using cli::painted;

constexpr std::chrono::seconds kFollowEvery{1};
constexpr std::size_t kMargin = 11;  // columns of what a problem begins with

std::string in_lines(std::string_view text, std::size_t indent) {
  return cli::wrapped(text, indent, cli::terminal_width());
}

// What belongs to a running node's figures, in words: what is wrong comes first.
std::string amount(double bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits.at(unit));
}

double real_of(const json::object& o, std::string_view key) {
  const json::value* value = json::find(o, key);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

std::string time_of(std::int64_t seconds) {
  if (seconds >= 2 * 86'400) return fmt::format("{} days", seconds / 86'400);
  if (seconds >= 2 * 3'600) return fmt::format("{} hours", seconds / 3'600);
  return seconds >= 120 ? fmt::format("{} minutes", seconds / 60) : fmt::format("{} seconds", seconds);
}

void print_problems(const json::object& status) {
  json::for_each(json::find(status, "because"), [](const json::value& reason) {
    if (reason.is_string())
      fmt::print("{} {}\n", painted(Colour::kRed, "NOT READY:"),
                 in_lines(std::string_view(reason.get_string()), kMargin));
  });
  json::for_each(json::find(status, "problems"), [](const json::value& element) {
    if (!element.is_object()) return;
    const json::object& problem = element.get_object();
    const std::string what =
        fmt::format("{}: {}", json::text_of(problem, "name"), json::text_of(problem, "detail"));
    fmt::print("{}    {}\n{:{}}→ {}\n", painted(Colour::kRed, "PROBLEM"), in_lines(what, kMargin), "",
               kMargin, in_lines(json::text_of(problem, "what_to_do"), kMargin + 2));
  });
  json::for_each(json::find(status, "restart_for"), [](const json::value& key) {
    fmt::print("{}    {} has changed in the file and needs a restart to count\n",
               painted(Colour::kYellow, "RESTART"), std::string_view(key.get_string()));
  });
  if (!json::get_flag(status, "ready") || !json::find(status, "problems")->get_array().empty()) return;
  if (const json::value* looked = json::find(status, "looked"); looked != nullptr && !looked->get_bool()) {
    fmt::print(
        "ready; what else there is to see is looked at half a minute after the start, and by "
        "\"tagring doctor\" at once\n");
  } else {
    fmt::print("{}, as far as was looked; \"tagring doctor\" looks again\n",
               painted(Colour::kGreen, "all is well"));
  }
}

// They are counted once a minute.
std::string history_of(const json::object& kept) {
  const std::optional<std::int64_t> ago = json::get_int(kept, "counted_seconds_ago");
  if (!ago) return "not counted yet";
  return fmt::format("{} posts {} ago, about {}", number_of(kept, "posts"), time_of(*ago),
                     amount(real_of(kept, "octets")));
}

void print_moved(const json::object& moved) {
  const std::string left = json::get_flag(moved, "over")
                               ? "it can be switched off"
                               : fmt::format("leave it running until {}", json::text_of(moved, "until"));
  const std::string stays = json::get_flag(moved, "on_rings")
                                ? fmt::format("it leaves the rings after {}", json::text_of(moved, "until"))
                                : "it has left the rings; " + left;
  const std::string text =
      fmt::format("to {} on {}; {}", json::text_of(moved, "to"), json::text_of(moved, "since"), stays);
  fmt::print("{} {}\n\n", painted(Colour::kYellow, "MOVED"), in_lines(text, 6));
}

void print_ring(std::string_view name, const json::object& ring) {
  const bool is_relay = name == "relay";
  const std::string_view state = json::get_flag(ring, "leaving")   ? "is leaving the ring: leave it running"
                                 : json::get_flag(ring, "left")    ? "has left the ring"
                                 : !json::get_flag(ring, "member") ? "not on the ring yet"
                                 : !json::get_flag(ring, "serving")
                                     ? "on the ring, does not serve all it should"
                                     : "serves";
  const std::string text =
      fmt::format("{}; {:.1f} % of the ring at {} places of about {:.0f}; {}{} of {}{}", state,
                  100 * real_of(ring, "share"), number_of(ring, "vservers"),
                  real_of(ring, "estimated_vservers"), amount(real_of(ring, "load")), is_relay ? "/s" : "",
                  amount(real_of(ring, "capacity")), is_relay ? "/s" : "");
  fmt::print("  {:<10} {}\n", name, in_lines(text, 13));
}

void print_fronts(const json::value* fronts) {
  if (fronts == nullptr) return;
  fmt::print("Fronts\n");
  json::for_each(fronts, [](const json::value& value) {
    const json::object front = value.is_object() ? value.get_object() : json::object();
    const std::string text =
        fmt::format("tagring {}  has brought {} and sent {}", json::text_of(front, "version"),
                    number_of(front, "brought"), number_of(front, "sent"));
    fmt::print("  {:<22} {}\n", json::text_of(front, "at"), in_lines(text, 25));
  });
  if (!fronts->is_array() || fronts->get_array().empty()) fmt::print("  none is there\n");
}

std::string reading_of(const json::object& reading) {
  const std::string because = json::text_of(reading, "because");
  return fmt::format("is being read: {} of {}{}", number_of(reading, "read"), number_of(reading, "of"),
                     because.empty() ? "" : "; it fails, and is tried again: " + because);
}

void print_status(const json::object& status) {
  fmt::print("{}  tagring {}  up {}\n\n", json::text_of(status, "origin"), json::text_of(status, "version"),
             time_of(number_of(status, "uptime_seconds")));
  if (const json::object* moved = json::get_object(status, "moved")) print_moved(*moved);
  print_problems(status);
  fmt::print("\nRings\n");
  if (const json::object* rings = json::get_object(status, "rings")) {
    for (const auto& [name, ring] : *rings)
      if (ring.is_object()) print_ring(name, ring.get_object());
  }
  fmt::print(
      "Posts since the start\n  published  {} of its own instances\n  relayed    {} as an owner\n"
      "  stored     {} as an owner\n  received   {} as a subscriber\n",
      number_of(status, "published"), number_of(status, "relayed"), number_of(status, "archived"),
      number_of(status, "received"));
  fmt::print("Waiting\n  for owners to take       {}\n  for followers to take    {}\n",
             number_of(status, "owed"), number_of(status, "announcing"));
  if (const json::object* reading = json::get_object(status, "reading_feed"))
    fmt::print("  of before the start      {}\n", in_lines(reading_of(*reading), 27));
  fmt::print(
      "Who uses it\n  followers                {}, {} of them people\n  hashtags wanted          {}{}\n",
      number_of(status, "followers"), number_of(status, "followers_people"), number_of(status, "wanted"),
      json::get_flag(status, "subscriptions_settled") ? "" : " (not all owners have accepted yet)");
  if (const std::int64_t unlisted = number_of(status, "followers_unlisted"); unlisted != 0)
    fmt::print("  lists too long           {}\n",
               in_lines(fmt::format("{} of followers of one server: they are not compared", unlisted), 27));
  print_fronts(json::find(status, "fronts"));
  fmt::print("Disk\n");
  if (const json::object* kept = json::get_object(status, "retention"))
    fmt::print("  history    {}\n", in_lines(fmt::format("{}; old ones go beyond {}", history_of(*kept),
                                                         amount(real_of(*kept, "octets_max"))),
                                             13));
  if (const json::object* disk = json::get_object(status, "disk"))
    fmt::print("  data       {}; {} of {} free\n", amount(real_of(*disk, "used")),
               amount(real_of(*disk, "free")), amount(real_of(*disk, "size")));
  if (const json::object* forecast = json::get_object(status, "forecast"))
    fmt::print("  forecast   {}\n", in_lines(json::text_of(*forecast, "text"), 13));
  if (const std::int64_t until = number_of(status, "certificate_until"); until != 0)
    fmt::print("Certificate  good until {}\n", to_rfc3339(WallTime(std::chrono::seconds(until))));
}

// As an exit code: whether the node is ready.
int show_status(const ControlOptions& options) {
  const Result<json::object> answer = ask_node(options, "GET", "/status");
  const int told = tell(options, answer, print_status);
  return told == kExitOk && !options.json && !json::get_flag(*answer, "ready") ? kExitFailed : told;
}

std::string place(const json::value* contact) {
  if (contact == nullptr || !contact->is_object()) return "nobody";
  const json::object& o = contact->get_object();
  return fmt::format("{} {}/{}", json::text_of(o, "id").substr(0, 8), json::text_of(o, "host"),
                     number_of(o, "vserver"));
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
        fmt::print("    serves    {}\n", serving == nullptr
                                             ? "nothing yet"
                                             : json::text_of(*serving, "from").substr(0, 8) + " … " +
                                                   json::text_of(*serving, "to").substr(0, 8));
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
                fmt::print("#{}  key {}\n", json::text_of(answer, "tag"), json::text_of(answer, "key"));
                for (const char* ring : {"relay", "storage"}) {
                  json::for_each(json::find(answer, ring), [&](const json::value& owner) {
                    fmt::print("  {:<8} {}\n", ring, place(&owner));
                  });
                }
              });
}

struct FeedOptions {
  ControlOptions control;
  std::optional<std::uint64_t> after;
  unsigned limit = 100;
  std::string tag;
  bool follow = false;
};

std::string feed_target(const FeedOptions& options, std::optional<std::uint64_t> after) {
  std::string target = fmt::format("/feed?limit={}", options.limit);
  if (!options.tag.empty()) target += "&tag=" + percent_encode(options.tag);
  if (after) target += fmt::format("&after={}", *after);
  return target;
}

void print_entry(const json::value& element) {
  const json::object& entry = element.get_object();
  fmt::print("{:>8}  {} #{:<20}  {}\n", number_of(entry, "seq"),
             json::text_of(entry, "op") == "add" ? '+' : '-', json::text_of(entry, "tag"),
             json::text_of(entry, "uri"));
}

// The last ones, oldest first, and then what comes, also after a restart of the node.
int follow_feed(const FeedOptions& options) {
  std::uint64_t after = options.after.value_or(0);
  bool has_answered = false;
  bool is_away = false;
  for (bool is_first = !options.after;; is_first = false) {
    const auto from = is_first ? std::nullopt : std::optional(after);
    const Result<json::object> answer = ask_node(options.control, "GET", feed_target(options, from));
    if (!answer && has_answered) {
      if (!std::exchange(is_away, true)) fmt::print(stderr, "{}; waiting for it\n", answer.error().message);
      if (cli::wait_for_reader_to_go(kFollowEvery)) return kExitOk;
      continue;
    }
    if (!answer) return report(answer.error());
    has_answered = true;
    is_away = false;
    json::array entries;
    json::for_each(json::find(*answer, "entries"),
                   [&](const json::value& entry) { entries.push_back(entry); });
    if (is_first) std::ranges::reverse(entries);
    for (const json::value& entry : entries) {
      if (options.control.json) {
        fmt::print("{}\n", json::serialize(entry));
      } else {
        print_entry(entry);
      }
      after = static_cast<std::uint64_t>(number_of(entry.get_object(), "seq"));
    }
    std::fflush(stdout);
    if (entries.size() < options.limit && cli::wait_for_reader_to_go(kFollowEvery)) return kExitOk;
  }
}

int show_feed(const FeedOptions& options) {
  if (options.follow) return follow_feed(options);
  return tell(
      options.control, ask_node(options.control, "GET", feed_target(options, options.after)),
      [&](const json::object& answer) {
        json::for_each(json::find(answer, "entries"), print_entry);
        if (has_items(answer, "entries")) return;
        fmt::print(
            "nothing{}{}: posts come of the hashtags that are subscribed (tagring show subscriptions) "
            "or that are followed here\n",
            options.tag.empty() ? "" : " under " + options.tag,
            options.after ? fmt::format(" after {}", *options.after) : "");
      });
}

}  // namespace

void add_status(CLI::App& app, int& status) {
  auto options = std::make_shared<ControlOptions>();
  CLI::App* command = app.add_subcommand("status", "Show how a running node is, problems first");
  add_control_options(*command, *options);
  command->footer(
      "Exit code 1 if it is not ready; with --json, which says so in \"ready\", 0 whenever it "
      "answers.\nExample:\n  tagring status");
  command->callback([options, &status] { status = show_status(*options); });
}

void add_ring(CLI::App& app, int& status) {
  auto options = std::make_shared<ControlOptions>();
  CLI::App* command = app.add_subcommand("ring", "Show a running node's place on both rings");
  add_control_options(*command, *options);
  command->footer("Example:\n  tagring ring");
  command->callback([options, &status] { status = show_ring(*options); });
}

void add_owners(CLI::App& app, int& status) {
  auto options = std::make_shared<ControlOptions>();
  auto tag = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("owners", "Look up who relays and who stores a hashtag");
  command->add_option("tag", *tag, "The hashtag, with or without #")->required();
  add_control_options(*command, *options);
  command->footer("Example:\n  tagring owners '#caturday'");
  command->callback([options, tag, &status] { status = show_owners(*options, *tag); });
}

void add_feed(CLI::App& app, int& status) {
  auto options = std::make_shared<FeedOptions>();
  CLI::App* command =
      app.add_subcommand("feed", "Show what a running node has received and announced, newest first");
  command->add_option("--tag", options->tag, "Only of that hashtag");
  command->add_flag("--follow", options->follow, "Go on with what comes, until Ctrl-C; oldest first");
  command->add_option("--after", options->after, "Entries with a greater number, oldest first")
      ->check(cli::whole_number(0));
  command->add_option("--limit", options->limit, "How many")
      ->check(cli::whole_number(1, 10'000))
      ->capture_default_str();
  add_control_options(*command, options->control);
  command->footer("Example:\n  tagring feed --tag caturday --follow");
  command->callback([options, &status] { status = show_feed(*options); });
}

}  // namespace tagring::client
