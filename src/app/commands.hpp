// The subcommands of the command line.
//
// To add one: write src/app/<name>.cpp with `void add_<name>(CLI::App& app, int& status)`, and name it in
// TR_COMMANDS. That function calls app.add_subcommand and gives it a callback, which does the work, prints
// its result to standard output and sets `status` to the exit code. `status` outlives the callback; options
// live in a shared_ptr that the callback holds.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/result.hpp"

// Every subcommand, in the order of --help.
#define TR_COMMANDS(X) \
  X(run)               \
  X(status)            \
  X(show)              \
  X(login)             \
  X(query)             \
  X(subscribe)         \
  X(unsubscribe)       \
  X(instance)          \
  X(block)             \
  X(fasp)              \
  X(feed)              \
  X(ring)              \
  X(owners)            \
  X(audit)             \
  X(takedown)          \
  X(leave)             \
  X(key)               \
  X(id)                \
  X(followers_digest)  \
  X(followers_check)   \
  X(followers_verify)  \
  X(sim)

namespace tagring::app {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;    // The input was fine, the world was not.
inline constexpr int kExitBadInput = 2;  // Options or arguments are wrong; nothing was done.

#define TR_DECLARE(name) void add_##name(CLI::App& app, int& status);
TR_COMMANDS(TR_DECLARE)
#undef TR_DECLARE

// Prints "tagring: <message>" to standard error. Returns the exit code: kExitBadInput for kInvalid, else
// kExitFailed.
int report(const Error& error);

}  // namespace tagring::app
