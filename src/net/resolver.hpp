// From host names to addresses.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ip.hpp"
#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"

namespace tagring::net {

struct ResolverOptions {
  std::map<std::string, std::vector<IpAddress>> hosts;  // asked before the DNS; lower-case names
  bool allow_ip_literals = false;                       // accept "192.0.2.1" and "[2001:db8::1]" as names
  unsigned threads = 8;                                 // look-ups at the same time
};

// Asks the configured table, then the system (hosts file and DNS). Does not judge the addresses: that is
// is_public(). The system's resolver blocks, so it runs on threads of its own; the destructor waits for
// look-ups that are running. May be used from any executor.
class Resolver {
 public:
  explicit Resolver(ResolverOptions options);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Never empty. Order is the system's preference (RFC 6724). kInvalid: not a host name. kDenied: an address
  // as a name. kUnavailable: no such host, or the name server failed. kTimedOut at `deadline`.
  [[nodiscard]] Task<Result<std::vector<IpAddress>>> resolve(std::string host, Instant deadline);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tagring::net
