// What a part of the node's health has itself written down.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/task.hpp"

namespace tagring::health {

// As last saved, and how it is saved. Without them it begins anew at each start.
struct Memory {
  std::optional<std::string> saved = {};
  std::function<Task<Result<void>>(std::string text)> save = {};
};

}  // namespace tagring::health
