// tagring run: the node as a daemon.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace tagring::app {

// As the commands of cli/commands.hpp.
void add_run(CLI::App& app, int& status);

}  // namespace tagring::app
