// tagring login, move, leave: the node as a whole, for who may use its control socket.
#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/core.h>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "cli/one_of.hpp"
#include "client/ask.hpp"
#include "machine/owner.hpp"

namespace tagring::client {
namespace {

constexpr Duration kDrainMax = std::chrono::minutes(3);
constexpr Duration kDrainPause = std::chrono::seconds(1);

struct LoginOptions {
  ControlOptions control;
  std::optional<std::string> name;
  std::string role = "all";
  bool end = false;
};

void print_login(const json::object& answer) {
  const std::string role = json::text_of(answer, "role");
  const std::string_view may = role == "look"       ? "Who has this address sees what administrators see."
                               : role == "moderate" ? "Who has this address may moderate here."
                                                    : "Who has this address has the node.";
  fmt::print("{}\nFor {} hours, or until the node is stopped. {}\n", json::text_of(answer, "url"),
             number_of(answer, "seconds") / 3600, may);
}

int log_in(const LoginOptions& options) {
  json::object body;
  if (options.name) body["name"] = *options.name;
  if (options.end) {
    return tell(
        options.control, ask_node(options.control, "POST", "/logout", body),
        [&](const json::object& answer) { fmt::print("{} sessions ended\n", number_of(answer, "closed")); });
  }
  body["role"] = options.role;
  return tell(options.control, ask_node(options.control, "POST", "/login", body), print_login);
}

struct MoveOptions {
  ControlOptions control;
  std::string to;
  bool cancel = false;
};

void print_others(const json::object& answer) {
  json::for_each(json::find(answer, "instances"), [is_first = true](const json::value& element) mutable {
    const json::object& instance = element.get_object();
    if (std::exchange(is_first, false))
      fmt::print(
          "These use this node as a relay, which nobody can move but they. Ask their administrators:\n");
    fmt::print("  {:<32} to add {}\n", json::text_of(instance, "host"), json::text_of(instance, "add"));
  });
  json::for_each(json::find(answer, "groups"), [is_first = true](const json::value& element) mutable {
    const json::object& group = element.get_object();
    if (std::exchange(is_first, false))
      fmt::print("This node follows these groups. Have the new one follow them:\n");
    fmt::print("  tagring instance follow {} {}\n", json::text_of(group, "group"),
               json::text_of(group, "tag"));
  });
}

void print_move(const json::object& answer) {
  const json::object* moved = json::get_object(answer, "moved");
  if (moved == nullptr) {
    fmt::print("this node has not moved\n");
    return;
  }
  fmt::print("moved to {} on {}\n", json::text_of(*moved, "to"), json::text_of(*moved, "since"));
  fmt::print("{}\n",
             json::get_flag(*moved, "told")
                 ? "Every server with followers was sent the Moves; who does not answer is asked again."
                 : "Every server with followers is being told, and has them follow there.");
  print_others(answer);
  const std::string until = json::text_of(*moved, "until");
  if (json::get_flag(*moved, "on_rings")) {
    fmt::print(
        "Leave this node running: who stays gets posts until {}. Then it lets go of them, and leaves the "
        "rings by itself.\n",
        until);
  } else {
    fmt::print(
        "It is not on the rings any more, so that the new one can be. Leave it running until {}: others "
        "read here where it has moved.\n",
        until);
  }
}

int move(const MoveOptions& options) {
  if (options.cancel) {
    return tell(options.control, ask_node(options.control, "POST", "/move/cancel"),
                [](const json::object& answer) {
                  fmt::print("this node has its own name again; who has followed the new one stays there\n");
                  if (json::get_flag(answer, "rejoins")) fmt::print("restart it: then it joins the rings\n");
                });
  }
  if (options.to.empty()) return tell(options.control, ask_node(options.control, "GET", "/move"), print_move);
  return tell(options.control, ask_node(options.control, "POST", "/move", {{"to", options.to}}), print_move);
}

void print_left(const json::object& answer, const char* name) {
  const json::object* ring = json::get_object(answer, name);
  if (ring == nullptr) return;
  fmt::print("{:<8} {} places handed over{}\n", name, number_of(*ring, "handed_over"),
             has_items(*ring, "not_handed_over") ? ", but not these:" : "");
  json::for_each(json::find(*ring, "not_handed_over"), [](const json::value& element) {
    const json::object& place = element.get_object();
    fmt::print("  place {}: {}\n", number_of(place, "vserver"), json::text_of(place, "because"));
  });
}

bool is_handed_over(const json::object& answer) {
  return std::ranges::none_of(std::array{"relay", "storage"}, [&](const char* name) {
    const json::object* ring = json::get_object(answer, name);
    return ring != nullptr && has_items(*ring, "not_handed_over");
  });
}

// `with`: what stops it, in parentheses, if that is known.
void print_leaving(const json::object& answer, const std::string& with) {
  fmt::print("left both rings\n");
  print_left(answer, "relay");
  print_left(answer, "storage");
  const std::int64_t owed = number_of(answer, "owed");
  if (!is_handed_over(answer))
    fmt::print(
        "What those places owned is at its other owners, from whom the next nodes fetch it, and this node "
        "sends them its posts.\n");
  if (owed != 0) fmt::print("{} posts wait for owners to take them.\n", owed);
  fmt::print("Stop the node{} {}\n", with,
             is_handed_over(answer) && owed == 0
                 ? "now."
                 : "when \"tagring status\" has shown for some minutes that none waits for owners to take.");
}

// The number of posts that the node owes in the end.
std::int64_t wait_for_outbox(const ControlOptions& options, std::int64_t owed) {
  const auto end = std::chrono::steady_clock::now() + kDrainMax;
  while (owed != 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kDrainPause);
    const Result<json::object> status = ask_node(options, "GET", "/status");
    if (!status) break;
    owed = number_of(*status, "owed");
  }
  return owed;
}

int leave(const ControlOptions& options) {
  if (!options.json)
    fmt::print(stderr,
               "handing over what this node owns, as long as that takes, also if this command is ended; "
               "\"tagring status\" says when it has left\n");
  Result<json::object> answer = ask_node(options, "POST", "/leave", {}, kLongTimeout);
  if (!answer) return report(answer.error());
  const std::int64_t owed = wait_for_outbox(options, number_of(*answer, "owed"));
  (*answer)["owed"] = owed;
  const std::string how = machine::how_to_stop(options.config);
  tell(options, answer, [&how](const json::object& left) {
    print_leaving(left, how.empty() ? "" : fmt::format(" ({})", how));
  });
  return is_handed_over(*answer) && owed == 0 ? kExitOk : kExitFailed;
}

}  // namespace

void add_login(CLI::App& app, int& status) {
  auto options = std::make_shared<LoginOptions>();
  CLI::App* command = app.add_subcommand("login", "Print an address that opens the administrator's page");
  command->add_option("--name", options->name, "For whom: the name that their changes are noted with");
  auto* role = command->add_option("--role", options->role, "What they may do")
                   ->check(cli::one_of({"look", "moderate", "all"}))
                   ->capture_default_str();
  command->add_flag("--end", options->end, "Instead, end the sessions of that name, or all of them")
      ->excludes(role);
  add_control_options(*command, options->control);
  command->footer("Example:\n  tagring login --name anna --role moderate");
  command->callback([options, &status] { status = log_in(*options); });
}

void add_move(CLI::App& app, int& status) {
  auto options = std::make_shared<MoveOptions>();
  CLI::App* command =
      app.add_subcommand("move", "Move to another name: the followers of this node go to a new one");
  CLI::Option* to = command->add_option("to", options->to, "The new node; without it, how the move stands");
  command->add_flag("--cancel", options->cancel, "Call the move off")->excludes(to);
  add_control_options(*command, options->control);
  command->footer(
      "Before, on the new node: tagring setup --moved-from https://OLD\n"
      "Example:\n  tagring move https://tags.example.org");
  command->callback([options, &status] { status = move(*options); });
}

void add_leave(CLI::App& app, int& status) {
  auto options = std::make_shared<ControlOptions>();
  CLI::App* command = app.add_subcommand("leave", "Hand over what a node owns and leave both rings");
  add_control_options(*command, *options);
  command->footer(
      "It fails if a place could not be handed over or posts still wait for their owners, and says which: "
      "the "
      "node should run on until none waits. Started again, it joins as a new member.\n"
      "Example:\n  tagring leave && systemctl disable --now tagring.socket tagring");
  command->callback([options, &status] { status = leave(*options); });
}

}  // namespace tagring::client
