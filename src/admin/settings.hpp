// The settings that a node runs with, and what docs/config.md says about each.
#pragma once

#include "base/json.hpp"
#include "config/config.hpp"

namespace tagring::admin {

// [{"key": "node.host", "value", "type", "default", "meaning"}]; meanings are Markdown. Secrets are not among
// the values.
json::array describe_settings(const config::Config& config);

// Keys whose values differ.
std::vector<std::string> changed_settings(const config::Config& before, const config::Config& after);

}  // namespace tagring::admin
