// The subcommands of `tagring instance` that send histories.
#pragma once

#include <CLI/App.hpp>

namespace tagring::client {

// `status` outlives the callbacks, as in commands.hpp.
void add_instance_replay(CLI::App& instance, int& status);

}  // namespace tagring::client
