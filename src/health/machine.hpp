// The machine under a node, as far as the administrator's questions need it. A port: the program implements
// it (app/), and in the simulator there is none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "health/check.hpp"
#include "http/ip.hpp"

namespace tagring::health {

struct Disk {
  std::uint64_t size = 0;  // bytes, of the file system that the node's data is on
  std::uint64_t free = 0;  // that the node may write
  std::uint64_t used = 0;  // by the node's data
};

class Machine {
 public:
  virtual ~Machine() = default;
  // Certificate, names, clock, disk, permissions, and the other processes of the node.
  [[nodiscard]] virtual Task<Checks> look() = 0;
  // What the DNS has for node.host; empty if it has nothing, or does not answer.
  [[nodiscard]] virtual Task<std::vector<IpAddress>> addresses() { co_return std::vector<IpAddress>(); }
  // Writes something to the database, and waits until it is on the disk.
  [[nodiscard]] virtual Task<Result<void>> try_to_write() = 0;
  // The last write succeeded.
  [[nodiscard]] virtual bool can_write() const = 0;
  [[nodiscard]] virtual std::optional<Disk> disk() const = 0;
  // Bytes that the node's data may still grow by, with a part of the disk kept off; less than 0 beyond that.
  [[nodiscard]] virtual std::optional<std::int64_t> room() const = 0;
  // None if a proxy has it.
  [[nodiscard]] virtual std::optional<WallTime> certificate_until() const = 0;
  // When there should have been a new one (crypto/certificate.hpp).
  [[nodiscard]] virtual std::optional<WallTime> certificate_late_from() const { return std::nullopt; }
  // Of a core, its fronts as they are now: cluster::Fronts::status(). None of a node in one process.
  [[nodiscard]] virtual std::optional<json::array> fronts() const { return std::nullopt; }
  // Of a core, activities that never came to it: cluster::Fronts::inbox_refused().
  [[nodiscard]] virtual std::map<std::string, std::int64_t> inbox_refused_by_fronts() const { return {}; }
  // Reads the configuration and the certificate again. On error nothing changes. {"changed": [keys],
  // "restart": [keys]}: what holds from now on, and what will after a restart.
  [[nodiscard]] virtual Task<Result<json::object>> reload() = 0;
  // Writes a copy of the database, while it is in use, to a file beside it, for who asked to take it away.
  // {"file", "octets"}. kConflict: another is being written. kUnavailable: there is no room for it.
  [[nodiscard]] virtual Task<Result<json::object>> back_up() = 0;
};

}  // namespace tagring::health
