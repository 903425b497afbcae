// Where a node listens for everybody: what [listen] says, or the sockets that systemd holds for it
// (packaging/tagring.socket), which count instead. So both must say the same.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "health/check.hpp"
#include "http/ip.hpp"
#include "machine/systemd.hpp"

namespace tagring::machine {

// What tagring.socket will hold for the node of that configuration with its next start, as its unit and what
// "systemctl edit" has made say; none if it is not enabled. Below `root` is where systemd has its units.
[[nodiscard]] std::vector<InheritedSocket> sockets_of_unit(const std::string& config_file,
                                                           const std::filesystem::path& root = "/");

// Why a node with that configuration does not start with what is held for it, and what to do; none if it
// does.
[[nodiscard]] std::optional<health::Check> unfit(const config::Config& config, const std::string& config_file,
                                                 const std::vector<InheritedSocket>& held);

// Ports and sockets, and who has them, for people. `bound` is the address to which a process of the node has
// bound listen.port itself; before that, which one it will be may be open.
[[nodiscard]] std::string listening_at(const config::Config& config, const std::vector<InheritedSocket>& held,
                                       std::optional<IpAddress> bound = std::nullopt);
// The same, and whether connections come where the configuration says that they do.
[[nodiscard]] health::Check look_at_listening(const config::Config& config, const std::string& config_file,
                                              const std::vector<InheritedSocket>& held,
                                              std::optional<IpAddress> bound = std::nullopt);

}  // namespace tagring::machine
