// How every command of tagring begins and ends.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tagring::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;      // The input was fine, the world was not.
inline constexpr int kExitBadInput = 2;    // Options or arguments are wrong; nothing was done.
inline constexpr int kExitSuperseded = 3;  // Another process is the node, or may be.

// Prints "tagring: <message>" to standard error. Returns the exit code: kExitBadInput for kInvalid,
// kExitSuperseded for kSuperseded, else kExitFailed.
int report(const Error& error);

// What --config is if it is not given: tagring.toml in this folder, if there is one, else
// /etc/tagring/tagring.toml.
std::string default_config();

// Who types this: with sudo, who called that. Empty if the machine does not know.
std::string user_name();

}  // namespace tagring::cli
