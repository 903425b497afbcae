// The commands that ask a running node, as those of cli/commands.hpp.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace tagring::client {

void add_status(CLI::App& app, int& status);
void add_show(CLI::App& app, int& status);
void add_login(CLI::App& app, int& status);
void add_query(CLI::App& app, int& status);
void add_subscribe(CLI::App& app, int& status);
void add_unsubscribe(CLI::App& app, int& status);
void add_instance(CLI::App& app, int& status);
void add_block(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
void add_fasp(CLI::App& app, int& status);
void add_feed(CLI::App& app, int& status);
void add_ring(CLI::App& app, int& status);
void add_owners(CLI::App& app, int& status);
void add_audit(CLI::App& app, int& status);
void add_takedown(CLI::App& app, int& status);
void add_move(CLI::App& app, int& status);
void add_leave(CLI::App& app, int& status);
void add_followers_check(CLI::App& app, int& status);
void add_followers_verify(CLI::App& app, int& status);

}  // namespace tagring::client
