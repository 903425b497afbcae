// The settings that a node runs with, and what docs/config.md says about each.
#pragma once

#include "base/json.hpp"
#include "node/config.hpp"

namespace tagring::node {

// [{"key": "node.host", "value", "type", "default", "meaning"}]; meanings are Markdown. Secrets are not among
// the values.
json::array describe_settings(const Config& config);

}  // namespace tagring::node
