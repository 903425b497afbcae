// What is asked of a run of a swarm (runs/swarm.hpp).
#pragma once

#include <cstdint>
#include <optional>

namespace tagring::runs {

// For tests of who reports it: something goes wrong that no node has done.
enum class Sabotage : std::uint8_t { kNone, kLosePost, kAbort };

struct SwarmOptions {
  bool log = false;  // what the nodes say, to standard error
  bool first_draw =
      false;  // only what was drawn at first, so that seeds from then still show what they showed
  bool usual_sizes = false;  // no page, batch, memory or capacity is drawn: for seeds from before they were
  // Some worlds have relays that send one to four posts a second, and nodes that keep few doubts and
  // disputes.
  bool scarce = false;
  // Whether nothing happens outside of the assumptions under which the ring's invariant holds from event to
  // event (ring_sim/watch.hpp); if not said, in a tenth of the worlds.
  std::optional<bool> calm = std::nullopt;
  bool people = false;  // on other servers follow hashtags
  Sabotage sabotage = Sabotage::kNone;
};

}  // namespace tagring::runs
