// What an HttpClient may connect to, and for how long.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "http/ip.hpp"

namespace tagring::net {

struct HttpClientOptions {
  std::string ca_file;                   // PEM, trusted besides the system's CAs; may be empty
  bool allow_private_addresses = false;  // for networks of one's own: any address, and http as well as https
  std::vector<std::uint16_t> ports;  // that may be connected to. Empty: 443, or any with private addresses
  // An address of this machine that connections come from, to addresses of its family; else the system's
  // choice.
  std::optional<IpAddress> source = std::nullopt;
  std::size_t connections_per_host_max = 16;  // at once; further calls wait their turn
  Duration idle_timeout{50'000};              // how long an unused connection is kept
  Duration connect_timeout{8'000};            // per address, so that the next one gets its chance
  std::string user_agent = "tagring";
};

}  // namespace tagring::net
