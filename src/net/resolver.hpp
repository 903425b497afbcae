// From host names to addresses, and from services to host names.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ip.hpp"
#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "net/srv.hpp"

namespace tagring::net {

struct ResolverOptions {
  std::map<std::string, std::vector<IpAddress>> hosts;  // asked before the DNS; lower-case names
  bool allow_ip_literals = false;                       // accept "192.0.2.1" and "[2001:db8::1]" as names
  unsigned threads = 8;                                 // look-ups at the same time
  std::optional<NameServer> name_server = {};  // is asked for services, instead of those of the system
};

// Asks the configured table, then the system (hosts file and DNS). Does not judge the addresses: that is
// is_public(). The system's resolver blocks, so it runs on threads of its own; the destructor waits for
// look-ups that are running. May be used from any executor.
class Resolver final : public ServiceFinder {
 public:
  explicit Resolver(ResolverOptions options);
  ~Resolver() override;
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Never empty. Order is the system's preference (RFC 6724). kInvalid: not a host name. kDenied: an address
  // as a name. kUnavailable: no such host, or the name server failed. kTimedOut at `deadline`.
  [[nodiscard]] Task<Result<std::vector<IpAddress>>> resolve(std::string host, Instant deadline);
  [[nodiscard]] Task<Result<std::vector<ServiceHost>>> find_service(std::string name,
                                                                    Instant deadline) override;

 private:
  template <class T, class Ask>
  Task<Result<T>> ask_in_thread(std::string name, Instant deadline, Ask ask);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tagring::net
