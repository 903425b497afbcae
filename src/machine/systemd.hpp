// What systemd and a service tell each other (sd_notify(3), sd_listen_fds(3)): a datagram and two variables
// each way, so that nothing is linked for it.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.hpp"

namespace tagring::machine {

// "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=…". Nothing happens without systemd.
void notify_systemd(std::string_view state);
// The first socket that was handed over; it is closed in programs that this one starts. -1 if there is none.
[[nodiscard]] int inherited_socket();
// How often at least "WATCHDOG=1" is expected; none if it is not.
[[nodiscard]] std::optional<Duration> watchdog_interval();

}  // namespace tagring::machine
