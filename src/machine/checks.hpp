// What can be seen of a node's health from its configuration and the machine, whether or not it runs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/task.hpp"
#include "base/time.hpp"
#include "config/config.hpp"
#include "crypto/certificate.hpp"
#include "health/check.hpp"
#include "health/machine.hpp"
#include "net/resolver.hpp"

namespace tagring::machine {

// Of this much of the disk the node keeps off: others need it too, and SQLite needs room to make room.
inline constexpr unsigned kReservePercent = 10;

// What a restore sets aside has the database's name, this, and a number from the second on.
inline constexpr const char* kBeforeRestore = ".before-restore";
// The same of a copy that is made before the node goes on under another name (node.moved_from).
inline constexpr const char* kBeforeNewName = ".before-new-name";

// What others will say of listen.certificate (crypto/certificate.hpp).
[[nodiscard]] Result<crypto::CertificateFacts> certificate_of(const config::Config& config, WallTime now);
// None if it cannot be asked.
[[nodiscard]] std::optional<health::Disk> disk_of(const std::filesystem::path& data);
// Bytes that the data may still grow by before it gets at the reserve; less than 0 beyond that.
[[nodiscard]] std::int64_t room_on(const health::Disk& disk);
// kUnavailable: so much more would get at the reserve, and a node that runs would let its history go for it.
[[nodiscard]] Result<void> check_room(const health::Disk& disk, std::uint64_t bytes);
// Whether there is enough for a history of so many bytes at most.
[[nodiscard]] health::Check judge(const health::Disk& disk, std::uint64_t history_max);

// Certificate and key, as the configuration names them.
[[nodiscard]] health::Check look_at_certificate(const config::Config& config, WallTime now);

// Of one that others take: whether it is renewed in time. `is` begins what is said of it.
[[nodiscard]] health::Check judge_lifetime(WallTime from, WallTime until, WallTime now, std::string_view is,
                                           std::string mend);

// All of it: certificate, dns, disk, permissions. Nothing outlives the task.
[[nodiscard]] Task<health::Checks> look_at_machine(config::Config config, std::filesystem::path config_file,
                                                   net::Resolver* resolver, const Clock* clock);

}  // namespace tagring::machine
