// Which hosts offer a service of a domain, as the DNS says in SRV records (RFC 2782).
//
// A port: the internet and the simulator each have their own. What comes back is hearsay: whoever is found
// this way must still prove who it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"

namespace tagring {

struct ServiceHost {
  std::string host;  // is_host_name()
  std::uint16_t port = 0;

  friend bool operator==(const ServiceHost&, const ServiceHost&) = default;
};

class ServiceFinder {
 public:
  static constexpr std::size_t kHostsMax = 16;  // of one service

  virtual ~ServiceFinder() = default;
  // `name` is "_service._tcp.domain". The hosts to be tried, best first: by priority, then the greater
  // weight; at most kHostsMax, none twice. kNotFound if the domain does not offer the service, kUnavailable
  // if the name server failed, kTimedOut at `deadline`, kInvalid for what cannot be a name.
  [[nodiscard]] virtual Task<Result<std::vector<ServiceHost>>> find_service(std::string name,
                                                                            Instant deadline) = 0;
};

}  // namespace tagring
