// Vservers on a virtual network, without anything above the ring: for checking the ring's invariants after
// every event, and for measuring look-ups among thousands of vservers.
//
// Messages travel as values. Certificates and addresses are virtual: a call fails unless the contact is of a
// live node.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ring/vserver.hpp"
#include "sim/loop.hpp"

namespace tagring::sim {

// How bad the network is. Probabilities are per message.
struct NetworkFaults {
  Duration delay_min = Duration(1);
  Duration delay_max = Duration(50);
  double loss = 0;
};

class RingWorld {
 public:
  struct Member {
    Member(ring::Vserver::Environment environment, ring::Contact contact, Rng rng)
        : vserver(std::move(environment), Ring::kRelay, std::move(contact), rng) {}
    OwnerId owner = 0;
    std::unique_ptr<LoopClock> clock;
    std::unique_ptr<ring::Peers> peers;
    ring::Vserver vserver;
    bool joining = false;
  };

  RingWorld(std::uint64_t seed, ring::Tuning tuning);
  ~RingWorld();

  // A host's contact: same place on the ring each time, a new incarnation each time.
  ring::Contact make_contact(std::size_t host);

  // Starts a host that joins through `known` (or creates the ring if there is nobody), retrying until it is a
  // member.
  void start(std::size_t host);
  // The host stops at once, and everything it was doing with it.
  void crash(std::size_t host);
  [[nodiscard]] bool is_up(std::size_t host) const { return members_.contains(host); }
  // Hosts in different parts cannot talk; an empty map heals.
  void partition(std::map<std::size_t, int> parts) { parts_ = std::move(parts); }

  // An ideal ring of `hosts` vservers, built by formula.
  void build(std::size_t hosts);
  // The true owner of a key among the members.
  [[nodiscard]] const ring::Vserver& true_owner(const RingId& key) const;

  // The first broken invariant of research on corrected Chord, or nothing. Inside the operating assumptions
  // it must be nothing after every event: every member has a live successor, successor lists are ordered, one
  // ordered ring.
  [[nodiscard]] std::optional<std::string> broken_invariant() const;
  // True if all pointers of all members are what they must be when nothing changes: heads, lists and
  // predecessors.
  [[nodiscard]] bool is_ideal() const;
  // True if `host` may crash without leaving the assumptions: nobody loses its last live successor.
  [[nodiscard]] bool may_crash(std::size_t host) const;

  Loop loop;
  NetworkFaults faults;
  std::map<std::size_t, std::unique_ptr<Member>> members_;
  std::uint64_t messages = 0;

 private:
  class SimPeers;
  Task<void> run_member(std::size_t host);
  [[nodiscard]] std::map<RingId, const ring::Vserver*> live() const;
  Member* find(const RingId& id);
  Duration delay();
  bool passes(std::size_t from, std::size_t to);

  Rng rng_;
  ring::Tuning tuning_;
  OwnerId last_owner_ = 0;
  std::map<std::size_t, std::uint64_t> incarnations_;
  std::map<RingId, std::size_t> host_of_;
  std::map<std::size_t, int> parts_;
};

}  // namespace tagring::sim
