// The commands by which an administrator sets a node up and keeps it well, as those of cli/commands.hpp.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace tagring::operation {

void add_setup(CLI::App& app, int& status);
void add_doctor(CLI::App& app, int& status);
void add_reload(CLI::App& app, int& status);
void add_backup(CLI::App& app, int& status);
void add_restore(CLI::App& app, int& status);
void add_upgrade(CLI::App& app, int& status);
void add_migrate_database(CLI::App& app, int& status);

}  // namespace tagring::operation
