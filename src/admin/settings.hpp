// The settings that a node runs with, and what docs/config.md says about each.
#pragma once

#include <string_view>

#include "base/json.hpp"
#include "config/config.hpp"

namespace tagring::admin {

// [{"key": "node.host", "value", "type", "default", "meaning", "at_once"}]; meanings are Markdown. Secrets
// are not among the values.
json::array describe_settings(const config::Config& config);

// A change of that key counts when the file is read again; of others, after a restart.
bool counts_at_once(std::string_view key);

// Keys whose values differ.
std::vector<std::string> changed_settings(const config::Config& before, const config::Config& after);

}  // namespace tagring::admin
