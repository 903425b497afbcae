// What an administrator wants to know of a node: is all well, and if not, what is to be done.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace tagring::health {

struct Check {
  std::string name;
  bool ok = true;
  std::string detail;
  std::string what_to_do;  // empty if it is well
};
using Checks = std::vector<Check>;

inline Check well(std::string name, std::string detail) {
  return {std::move(name), true, std::move(detail), {}};
}
inline Check bad(std::string name, std::string detail, std::string what_to_do) {
  return {std::move(name), false, std::move(detail), std::move(what_to_do)};
}
inline bool all_well(const Checks& checks) {
  return std::ranges::all_of(checks, [](const Check& check) { return check.ok; });
}
// {"ok", "checks": [{"name", "ok", "detail", "what_to_do"}]}
inline json::object to_json(const Checks& checks) {
  json::array list;
  for (const Check& check : checks) {
    list.push_back(json::object{
        {"name", check.name}, {"ok", check.ok}, {"detail", check.detail}, {"what_to_do", check.what_to_do}});
  }
  return {{"ok", all_well(checks)}, {"checks", std::move(list)}};
}

}  // namespace tagring::health
