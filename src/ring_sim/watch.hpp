// Holds a ring against its invariants after every event that changed a pointer, or after every n-th such
// event: a look at a large ring takes long. All of them hold inside the operating assumptions: perfect
// failure detection, and no crash that may_crash() forbids. Outside of them only the order of each list does.
// What is said of principals holds where there are more of them than a list has entries.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "ring/membership.hpp"
#include "ring_sim/loop.hpp"
#include "ring_sim/oracle.hpp"

namespace tagring::ring_sim {

class RingWatch {
 public:
  // `successors`: length of the lists. `operation`: longer than any operation of a vserver takes.
  RingWatch(std::size_t successors, Duration operation) : successors_(successors), operation_(operation) {}

  // Whether what happens from now on is inside the operating assumptions; true at first. After a time
  // outside, the ring has to be at rest: it is looked at after the next event.
  void set_inside(bool inside);

  // Looks at the ring after every n-th event that changed a pointer; 1 or more.
  void set_check_every(std::uint64_t changes) { check_every_ = changes; }

  // After an event of `owner`, whose place on the ring is `membership`, or null if it has none (any more). An
  // event changes nobody's pointers but its owner's.
  void after_event(OwnerId owner, const ring::Membership* membership, Instant now,
                   const std::function<RingView()>& view);
  // Somebody has crashed: look at the ring after the next event.
  void note_crash() { looks_ = true; }

  // Without `gone`, everybody still has a live successor, and more principals remain than a list has entries.
  [[nodiscard]] bool may_crash(RingView view, const std::vector<RingId>& gone, Instant now) const;

  // The first broken invariant.
  [[nodiscard]] const std::optional<std::string>& broken() const { return broken_; }
  // How often the ring was looked at.
  [[nodiscard]] std::uint64_t checks() const { return checks_; }

 private:
  using Since = std::map<Principals::value_type, Instant>;

  // Those who have been so for longer than an operation takes.
  [[nodiscard]] Principals settled(const Since& since, Instant now) const;

  std::size_t successors_;
  Duration operation_;
  std::map<OwnerId, std::uint64_t> pointers_;  // a hash of all of them
  Since principal_since_;
  Since announced_since_;
  std::optional<std::string> broken_;
  std::uint64_t checks_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t check_every_ = 1;
  bool looks_ = false;  // whatever changes
  bool inside_ = true;
  bool enough_ = false;  // principals, once
};

}  // namespace tagring::ring_sim
