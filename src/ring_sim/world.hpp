// Members of one ring on a virtual network, without anything above the ring: for checking the ring's
// invariants after every event, and for measuring look-ups among thousands of vservers.
//
// Messages travel as values. Certificates and addresses are virtual: a call fails unless the contact is of a
// live host.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ring/membership.hpp"
#include "ring_sim/loop.hpp"
#include "ring_sim/watch.hpp"

namespace tagring::ring_sim {

// How bad the network is. Probabilities are per message.
struct NetworkFaults {
  Duration delay_min = Duration(1);
  Duration delay_max = Duration(50);
  double loss = 0;
  double duplicates = 0;  // requests that arrive twice: whole nodes only (sim/world.hpp)
  double resets = 0;      // connections that break before the request is there, or its answer: the same
  bool refused = true;    // are calls to hosts that are down, at once; else they time out
};

struct RingOptions {
  std::uint8_t vservers = 1;  // per host
  // Entries that build() puts into a successor list, at most; zero: as many as the protocol keeps.
  std::size_t built_successors = 0;
  std::size_t first_of_hoster = SIZE_MAX;  // from this host on they all stand in one /64
  ring::Membership::Options membership;
  // Answers in the place of a vserver that does not follow the protocol, to that host. Nothing: it does.
  std::function<std::optional<Result<ring::Reply>>(std::size_t from, const ring::Contact& asked,
                                                   const ring::Request&)>
      misbehave = [](std::size_t, const ring::Contact&, const ring::Request&) { return std::nullopt; };
  // Whom hosts know beforehand; nothing: some members at random.
  std::function<std::optional<std::vector<ring::Contact>>()> bootstrap = [] { return std::nullopt; };
};

// Any place on the ring as likely as any other.
RingId random_id(Rng& rng);

class RingWorld {
 public:
  struct Member {
    // What a host has of its own, and its vservers use.
    struct Ports {
      OwnerId owner;
      std::unique_ptr<LoopClock> clock;
      std::unique_ptr<ring::Peers> peers;
    };

    Member(Ports ports, ring::Vserver::Environment environment, const RingOptions& options,
           std::vector<ring::Contact> contacts, ring::Membership::Bootstrap bootstrap, Rng rng)
        : owner(ports.owner),
          clock(std::move(ports.clock)),
          peers(std::move(ports.peers)),
          membership(std::move(environment), options.membership, Ring::kRelay, std::move(contacts),
                     std::move(bootstrap), rng),
          vserver(*membership.vservers().front()) {}

    OwnerId owner;
    std::unique_ptr<LoopClock> clock;
    std::unique_ptr<ring::Peers> peers;
    ring::Membership membership;
    ring::Vserver& vserver;  // the first
  };

  RingWorld(std::uint64_t seed, ring::Tuning tuning, RingOptions options = {});
  ~RingWorld();

  // Starts a host that joins through members chosen at random (or creates the ring if there is nobody).
  void start(std::size_t host);
  // The host stops at once, and everything it was doing with it.
  void crash(std::size_t host);
  [[nodiscard]] bool is_up(std::size_t host) const { return members_.contains(host); }
  // Hosts in different parts cannot talk; an empty map heals.
  void partition(std::map<std::size_t, int> parts) { parts_ = std::move(parts); }

  // An ideal ring of `hosts` hosts, built by formula. It lies still until run().
  void build(std::size_t hosts);
  void run();

  [[nodiscard]] RingView view() const;
  // The true owner of a key among the members.
  [[nodiscard]] const ring::Vserver& true_owner(const RingId& key) const;
  // Everybody is a member, and the ring is ideal.
  [[nodiscard]] bool is_ideal() const;

  // Checks the ring after every n-th event that changed a pointer, from now on. Only for runs inside the
  // operating assumptions: perfect failure detection, and no crash that may_crash() forbids.
  void watch(std::uint64_t check_every = 1);
  // The first broken invariant that watch() has seen.
  [[nodiscard]] const std::optional<std::string>& broken() const { return watch_.broken(); }
  [[nodiscard]] std::uint64_t checks() const { return watch_.checks(); }
  // True if `host` may crash without leaving the assumptions: nobody loses its last live successor, and
  // enough principals remain.
  [[nodiscard]] bool may_crash(std::size_t host) const;

  Loop loop;
  NetworkFaults faults;
  std::map<std::size_t, std::unique_ptr<Member>> members_;
  std::vector<std::size_t> up_;  // the hosts of members_, in order
  std::uint64_t messages = 0;

 private:
  class SimPeers;
  Member& add(std::size_t host);
  std::vector<ring::Contact> make_contacts(std::size_t host);
  Task<ring::Membership::Found> find_bootstrap();
  [[nodiscard]] ring::Vserver* find(const RingId& id, Member** member);
  void check_after_event();
  Duration delay();
  bool passes(std::size_t from, std::size_t to);

  Rng rng_;
  ring::Tuning tuning_;
  const RingOptions options_;
  OwnerId last_owner_ = 0;
  std::map<std::size_t, std::uint64_t> incarnations_;
  std::unordered_map<RingId, std::size_t> host_of_;
  std::map<OwnerId, std::size_t> host_of_owner_;
  std::map<std::size_t, int> parts_;
  RingWatch watch_;
  bool is_watched_ = false;
};

}  // namespace tagring::ring_sim
