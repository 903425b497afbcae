// The command line's way to the daemon.
#pragma once

#include <string>

#include "http/message.hpp"

namespace tagring::net {

// Makes one request on the daemon's control socket and waits for the answer; blocks the thread. kUnavailable:
// nobody listens there. kTimedOut after `timeout`.
[[nodiscard]] Result<HttpResponse> call_control_socket(std::string path, HttpRequest request,
                                                       Duration timeout);

}  // namespace tagring::net
