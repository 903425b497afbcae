// From host names to addresses, and from services to host names.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "budget/manager.hpp"
#include "http/ip.hpp"
#include "net/srv.hpp"

namespace tagring::net {

struct ResolverOptions {
  std::map<std::string, std::vector<IpAddress>> hosts;  // asked before the DNS; lower-case names
  bool allow_ip_literals = false;                       // accept "192.0.2.1" and "[2001:db8::1]" as names
  unsigned threads = 24;                                // look-ups at the same time: as the budget's total
  unsigned ring_threads = 8;                   // the same, of nodes on the rings: as the budget's total
  std::size_t kept_max = 10'000;               // answers, and as many for the rings
  std::optional<NameServer> name_server = {};  // is asked instead of the system
  budget::Manager* budget = nullptr;           // outlives the resolver; null: no limits
};

// For whom a name is looked up: threads and budgets are apart, so that names that strangers bring up, and
// whose servers never answer, are not in the way of the rings.
enum class NameUse : std::uint8_t { kOthers, kRing };

// Asks the configured table, then the system (hosts file and DNS). Does not judge the addresses: that is
// is_public(). The system's resolver blocks, so it runs on threads of its own, of which the names of one
// registered domain have a few at most; the destructor waits for look-ups that are running. Answers are kept
// as long as the DNS says, and an hour at most; failures for half a minute. For the rings an answer of
// the last day is better than one that is late. Who asks for a name that is being looked up waits for that
// answer. May be used from any executor.
class Resolver final : public ServiceFinder {
 public:
  explicit Resolver(ResolverOptions options);
  ~Resolver() override;
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Never empty. Order is the system's preference (RFC 6724). kInvalid: not a host name. kDenied: an address
  // as a name. kUnavailable: no such host, or the name server failed. kTimedOut at `deadline`.
  [[nodiscard]] Task<Result<std::vector<IpAddress>>> resolve(std::string host, Instant deadline,
                                                             NameUse use = NameUse::kOthers);
  [[nodiscard]] Task<Result<std::vector<ServiceHost>>> find_service(std::string name,
                                                                    Instant deadline) override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // also of who waits
};

}  // namespace tagring::net
