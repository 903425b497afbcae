// Whose a node's data is, and how it is started as that user: whatever root itself wrote there, the node
// could not open any more.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>

#include "base/result.hpp"

namespace tagring::machine {

struct Owner {
  uid_t user = 0;
  gid_t group = 0;
  std::string name;  // empty: the machine knows none
};
// None if there is no such file or folder, or it cannot be seen.
[[nodiscard]] std::optional<Owner> owner_of(const std::filesystem::path& path);

// Who runs the node: whose its data is; of a folder that is root's or is not there yet, the user of the unit.
[[nodiscard]] std::optional<Owner> node_user(const std::filesystem::path& data,
                                             const std::string& config_file,
                                             const std::filesystem::path& root = "/");

// What somebody who sits here types to start the node. Below `root` is where systemd has its units.
[[nodiscard]] std::string how_to_start(const std::filesystem::path& data, const std::string& config_file,
                                       const std::filesystem::path& root = "/");
// To stop it until it is started again; empty if no unit runs it. tagring.socket, if it is left, starts the
// node again with the next connection.
[[nodiscard]] std::string how_to_stop(const std::string& config_file,
                                      const std::filesystem::path& root = "/");
// kDenied: root is about to run a node whose data belongs to another user.
[[nodiscard]] Result<void> check_runner(const std::filesystem::path& data, const std::string& config_file);

}  // namespace tagring::machine
