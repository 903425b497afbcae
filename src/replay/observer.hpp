// What replays tell the rest of the node. The node itself implements it (node/wiring.hpp).
#pragma once

#include <string>

#include "storage/history.hpp"

namespace tagring::replay {

class Observer {
 public:
  virtual ~Observer() = default;
  // The post is about to be announced by an Announce of that id of that actor: whoever gets it may fetch it.
  virtual void announces(std::string id, std::string actor, const storage::HistoryEntry& post) = 0;
};

}  // namespace tagring::replay
