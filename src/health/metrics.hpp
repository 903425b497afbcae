// What a node counts, as Prometheus reads it (text format 0.0.4).
#pragma once

#include <string>

#include "base/json.hpp"

namespace tagring::health {

// Of Node::status(), or of a front, its figures in the same places. A figure that is not there is left out.
[[nodiscard]] std::string to_metrics(const json::object& status);

}  // namespace tagring::health
