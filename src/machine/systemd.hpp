// What systemd and a service tell each other (sd_notify(3), sd_listen_fds(3)): a datagram and two variables
// each way, so that nothing is linked for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "http/ip.hpp"

namespace tagring::machine {

// "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=…". Nothing happens without systemd.
void notify_systemd(std::string_view state);
// A socket that listens already.
struct InheritedSocket {
  int number = -1;         // of the file
  IpAddress address;       // of TCP
  std::uint16_t port = 0;  // of TCP
  std::string path;        // of a Unix socket; empty for TCP
};
// Those that were handed over; they are closed in programs that this one starts.
[[nodiscard]] std::vector<InheritedSocket> inherited_sockets();
// What is written to stderr goes to the journal, which takes a priority from the begin of each line.
[[nodiscard]] bool stderr_is_journal();
// How often at least "WATCHDOG=1" is expected; none if it is not.
[[nodiscard]] std::optional<Duration> watchdog_interval();

}  // namespace tagring::machine
