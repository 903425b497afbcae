// The ways against the order of the folders: what rings, relay role, storage role, publisher and replays tell
// those above them, or ask of them. Everything else that a part uses, it is handed when it is made.
#pragma once

#include <string>

#include "delivery/observer.hpp"
#include "overlay/observer.hpp"
#include "publisher/observer.hpp"
#include "replay/observer.hpp"
#include "storage/history.hpp"
#include "storage/observer.hpp"

namespace tagring::node {

class Wiring : public overlay::Observer,
               public delivery::Observer,
               public storage::Observer,
               public publisher::Observer,
               public replay::Observer {
 public:
  // A hashtag is known to have more relays than before.
  virtual void more_relays(const Tag& tag) = 0;
  // The administrator has taken a post down: readers who look at it need to hear of it.
  virtual void taken_down(const storage::HistoryEntry& entry) = 0;
  // Hands over what this node owns and leaves both rings (paper §5.6).
  virtual Task<void> leave() = 0;
};

}  // namespace tagring::node
