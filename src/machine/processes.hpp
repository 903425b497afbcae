// What can be seen from one machine of the processes that are one node: a front that runs here and has no
// control socket (docs/scaling.md), and who has the node's database or waits for it (docs/postgresql.md).
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "config/config.hpp"
#include "health/check.hpp"
#include "sql/backend.hpp"

namespace tagring::machine {

// As it says of itself.
struct FrontHere {
  std::string at;  // where its core reaches it
  std::string version;
  std::string core;  // where it looks for its core; empty: it knows of none
  bool core_answers = false;
};
// Who answers as a front at the configuration's metrics.port. Blocks, for some seconds at most.
[[nodiscard]] std::optional<FrontHere> find_front(const config::Config& config);
[[nodiscard]] health::Check judge(const FrontHere& front);

// Of a node with database.standby: is there another to take over?
[[nodiscard]] health::Check judge(const Result<sql::Tenure>& tenure);

}  // namespace tagring::machine
