// The commands that need no node. A function `add_<command>` calls app.add_subcommand and gives it a
// callback, which does the work, prints its result to standard output and sets `status` to the exit code.
// `status` outlives the callback; options live in a shared_ptr that the callback holds.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace tagring::cli {

void add_key(CLI::App& app, int& status);
void add_id(CLI::App& app, int& status);
void add_followers_digest(CLI::App& app, int& status);

}  // namespace tagring::cli
