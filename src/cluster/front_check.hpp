// What a core makes of what it sees of its fronts, for who asks whether all is well (docs/scaling.md).
#pragma once

#include <string>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "health/check.hpp"

namespace tagring::cluster {

struct SeenFront {
  std::string place;    // Place::text()
  std::string version;  // as it said last
  bool is_there = false;
  Duration unheard_for{0};
  Result<json::object> answer;  // of it, when it was asked just now: Front::report()
};

// `own`: where the core listens, a Place::text().
[[nodiscard]] health::Check judge(const SeenFront& front, const std::string& own);
[[nodiscard]] health::Check no_front(const std::string& own);

}  // namespace tagring::cluster
