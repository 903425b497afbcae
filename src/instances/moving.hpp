// This node goes by another name from now on, which is another node (docs/protocol.md, 9.9). Its actors'
// documents say so, every inbox of their followers gets a Move, so that these follow the new ones, and what
// comes meanwhile is announced to who stays, for thirty days. Then the last are let go, and the node leaves
// the rings.
//
// The Moves are letters (federation/activity_queue.hpp): durable, and each is sent until it is taken. Who
// still follows eight days later is sent another: servers that could not reach the new node then have
// forgotten the first, and those that know of a move do nothing for a week (Mastodon, GoToSocial).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/log.hpp"
#include "base/runtime.hpp"
#include "base/time.hpp"
#include "federation/activity_queue.hpp"
#include "federation/identity.hpp"
#include "hashtag/tag.hpp"
#include "instances/instances.hpp"
#include "subscriber/hashtag_followers.hpp"

namespace tagring::instances {

class Moving {
 public:
  static constexpr Duration kTerm = std::chrono::days(30);
  static constexpr Duration kAgainAfter = std::chrono::days(8);
  // Between two Moves: each has a server look at the new node, and follow there.
  static constexpr Duration kPace = std::chrono::milliseconds(50);
  static constexpr Duration kRetry = std::chrono::minutes(1);  // if the disk fails, or the date is doubted

  // What is on disk: as last saved, and how it is saved. Without it a move is over at the next start.
  struct Memory {
    std::optional<std::string> saved = {};
    std::function<Task<Result<void>>(std::string text)> save = {};
  };
  struct Options {
    Memory memory = {};
    std::function<Task<void>()> leave;  // hands over and leaves both rings
  };

  Moving(Options options, federation::Identity& identity, Instances& instances,
         subscriber::HashtagFollowers& followers, federation::ActivityQueue& activities,
         const Runtime& runtime);

  // Goes on with a move.
  void start();
  [[nodiscard]] Task<void> stop();

  // To the node of that origin, which is known to name this one (admin/node_control.hpp). `at_once`: the
  // rings are left now. Durable when it completes; nothing if it is so already. kConflict if this node has
  // moved elsewhere.
  [[nodiscard]] Task<Result<void>> begin(std::string to, bool at_once);
  // Nothing of it holds any more; who has followed the new actors has. kNotFound if there is none.
  [[nodiscard]] Task<Result<void>> cancel();

  // It has not left them because of a move.
  [[nodiscard]] bool is_on_rings() const { return !move_ || move_->on_rings; }
  // {"to", "since", "until", "told": all who follow were sent a Move, "on_rings"}; nothing if it has not
  // moved.
  [[nodiscard]] std::optional<json::object> status() const;
  // Who uses the node in ways that no Move moves: [{"host", "style", "add"}], where "add" is what takes the
  // place of what the host's administrator has added; and [{"group", "tag"}] that this node follows.
  [[nodiscard]] json::array instances_to_tell() const;
  [[nodiscard]] json::array groups_to_follow() const;

 private:
  struct Move {
    std::string to;  // origin
    WallTime since;
    WallTime next;          // when the followers there are then are told
    std::string told = {};  // the actor whose followers were told last, of those being told
    bool on_rings = true;
  };
  // By actor.
  struct Recipients {
    std::optional<Tag> tag;  // none: the node's own actor
    std::set<std::string> inboxes;
  };
  static std::optional<Move> parse(const std::string& text);
  Task<Result<void>> save();
  [[nodiscard]] bool goes_on(WallTime since) const { return move_ && move_->since == since; }
  Task<void> carry_out(WallTime since);
  Task<Result<void>> tell_followers(WallTime since);
  Task<Result<void>> let_go(WallTime since);
  [[nodiscard]] std::map<std::string, Recipients> recipients() const;

  const Options options_;
  federation::Identity& identity_;
  Instances& instances_;
  subscriber::HashtagFollowers& followers_;
  federation::ActivityQueue& activities_;
  Clock& clock_;
  SteadyDate date_;
  Log& log_;
  std::optional<Move> move_;
  TaskGroup tasks_;
};

}  // namespace tagring::instances
