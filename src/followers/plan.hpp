// What a receiver has to do to make its follow relationships agree with the partial collection of a sender.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "followers/authority.hpp"
#include "followers/digest.hpp"

namespace tagring::followers {

using TimePoint = std::chrono::sys_time<std::chrono::milliseconds>;

// The receiver's own actors that follow the sender, as the receiver knows it.
struct Knowledge {
  struct Follow {
    std::string follower;
    TimePoint since;  // when it was accepted
  };
  std::vector<Follow> accepted;
  std::vector<std::string> pending;  // followed, and not answered yet

  // Of the accepted ones: what the header's digest is compared with.
  [[nodiscard]] Digest digest() const;
};

struct PlanRules {
  // A younger follow is not removed: the list may have been made, or cached, before it.
  std::chrono::milliseconds grace = std::chrono::minutes(10);
  // Per plan: who lists strangers by the thousand shall not make us send by the thousand.
  std::size_t undo_max = 100;
  // Whether an id under our authority is that of an actor, in its one spelling. Without it, all are.
  std::function<bool(std::string_view id)> is_own_actor;
};

// Why no follow may be removed on the word of a list.
enum class Doubt : std::uint8_t {
  kIncomplete,  // not all of it could be read: then nothing at all is done
  kRepeated,    // an id stands in it twice, which XOR cannot see
  kForeign,     // an id is not one of ours: the sender groups ids in another way
  kOtherDigest  // it is not the list whose digest was signed; it may have changed since
};
// "incomplete", … for logs and counters.
std::string_view to_string(Doubt doubt);

// Three lists in ascending order. The world may have changed while the list was on its way: look each id up
// again, under whatever lock guards follows, before acting on it.
struct Plan {
  std::vector<std::string> remove;  // accepted, and not in the list: forget the follow, send nothing
  std::vector<std::string> accept;  // pending, and in the list: as if the Accept had come
  std::vector<std::string> undo;    // unknown, and in the list: send an Undo of a Follow to the sender
  std::optional<Doubt> doubt;       // why `remove` is empty
  std::size_t too_young = 0;        // would have been removed but for the grace
  std::size_t undo_later = 0;       // over undo_max

  [[nodiscard]] bool empty() const { return remove.empty() && accept.empty() && undo.empty(); }
};

// `listed` is Listing::items(), `digest` that of the header, `own` the receiver's authority.
//
// A follow is removed only if the list is complete, has every id once and only our own actors' ids, has
// exactly the digest that was signed, and the follow is older than the grace.
//
// Takes some microseconds an id: with long lists, not on a thread that others wait for.
Plan make_plan(const Knowledge& known, std::optional<std::span<const std::string>> listed,
               const Digest& digest, const Authority& own, TimePoint now, const PlanRules& rules = {});

}  // namespace tagring::followers
