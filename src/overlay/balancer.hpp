// Chooses where on the rings this node stands (paper §6.2): asks what the owners of its possible places bear,
// lets balance/kchoices.hpp decide, and carries the decision out, one vserver at a time.
//
// Both rings are balanced alike and apart from each other: the load is bytes a second relayed on one, bytes
// stored on the other.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "balance/kchoices.hpp"
#include "base/log.hpp"
#include "base/rng.hpp"
#include "base/runtime.hpp"
#include "overlay/loads.hpp"
#include "overlay/ring_service.hpp"
#include "ring/vserver.hpp"

namespace tagring::overlay {

// Numbers of the vservers that stand on each ring, which of them is about to go, and whether the node is new
// there and still chooses its first places: kept over restarts.
struct Places {
  struct OfRing {
    std::vector<std::uint8_t> taken;
    std::optional<std::uint8_t> leaving;
    bool settling = false;
  };
  OfRing relay;
  OfRing storage;

  [[nodiscard]] std::string text() const;
  // Nothing if that is not what text() gave.
  static std::optional<Places> parse(std::string_view text);
};

class Balancer {
 public:
  struct Options {
    bool enabled = true;
    unsigned vservers = 4;        // places that a new node takes on each ring
    double relay_capacity = 0;    // bytes a second
    double storage_capacity = 0;  // bytes on this node's disk
    unsigned relay_replicas = 2;
    unsigned storage_replicas = 4;
    balance::Parameters parameters;
    Duration every = std::chrono::hours(1);     // between two decisions on a ring
    Duration patience = std::chrono::hours(6);  // an overload that ends sooner is nobody's business
    double bytes_per_second = 1 << 20;          // that decisions make move, over time
  };
  using Save = std::function<Task<Result<void>>(std::string places)>;

  // `places`: as last saved; nothing at the first start. Without `save` nothing is kept.
  Balancer(Options options, std::optional<Places> places, Save save, RingService& rings, Loads& loads,
           const Runtime& runtime);

  void start();
  [[nodiscard]] Task<void> stop();
  // Answers ring::GetLoad.
  [[nodiscard]] Task<Result<ring::Load>> load_of(Ring ring, Segment segment);

  struct State {
    double load = 0;  // both in bytes of this node's disk, or a second
    double capacity = 0;
    std::uint64_t moves = 0;    // since the start
    std::uint64_t refused = 0;  // answers of others that others contradict
  };
  [[nodiscard]] State state(Ring ring) const;

 private:
  struct Side {
    Instant fitted{};                    // when the node was last not overloaded
    Instant rested{};                    // not before this it moves again
    std::optional<std::uint8_t> taking;  // the place that is about to be taken
    // Taken in place of the one that is about to go: it goes instead if that one cannot.
    std::optional<std::uint8_t> instead;
    // Places that nobody takes over (who would have to refuses, or cannot), or whose owner is contradicted,
    // or nobody else knows.
    std::map<std::uint8_t, Instant> denied;
    unsigned failures = 0;  // to give up the one that has to go
    std::uint64_t moves = 0;
    std::uint64_t refused = 0;
  };
  // What a decision rests on; whom each place was taken from is asked about again before it is taken.
  struct FreePlace {
    RingId id;
    ring::Owner owner;  // of what this node would take
  };
  struct View {
    balance::Surroundings around;
    std::map<std::size_t, FreePlace> free;  // by number
  };
  Task<void> balance_for_ever(Ring ring);
  Task<void> settle_in(Ring ring);
  Task<void> finish_leaving(Ring ring);
  Task<void> decide(Ring ring);
  Task<View> look_around(Ring ring);
  Task<bool> see_active(Ring ring, RingId vserver, balance::Place* place);
  Task<std::optional<ring::Owner>> see_free(Ring ring, ring::Contact contact, balance::Place* place);
  Task<bool> ask(Ring ring, ring::Contact owner, Segment segment, balance::Place* place, bool wants_load);
  Task<Result<bool>> is_plausible(Ring ring, ring::Owner owner, Segment segment);
  Task<Result<void>> take_checked(Ring ring, std::uint8_t number, FreePlace place);
  Task<Result<void>> take_best(Ring ring);
  Task<bool> carry_out(Ring ring, balance::Move move, View view);
  Task<bool> wait_until_served(Ring ring, std::uint8_t number);
  Task<Result<void>> take(Ring ring, std::uint8_t number);
  Task<bool> depart(Ring ring, std::uint8_t number);
  Task<Result<void>> give_up(Ring ring, std::uint8_t number);
  Task<Result<void>> save();
  Task<void> save_again();
  Task<void> refresh();
  [[nodiscard]] balance::Bearer self(Ring ring) const;
  [[nodiscard]] double own_load(Ring ring) const;
  [[nodiscard]] double capacity(Ring ring) const;  // in the bytes of Loads::of()
  [[nodiscard]] unsigned replicas(Ring ring) const;
  [[nodiscard]] Side& side(Ring ring) { return sides_[static_cast<std::size_t>(ring)]; }
  [[nodiscard]] Places::OfRing& places(Ring ring) {
    return ring == Ring::kRelay ? places_.relay : places_.storage;
  }
  [[nodiscard]] Duration jittered(Duration base);

  Options options_;
  Places places_;
  const Save save_;
  RingService& rings_;
  Loads& loads_;
  Clock& clock_;
  Rng rng_;
  Log& log_;
  bool saving_again_ = false;
  Instant counted_{};  // when loads were counted last
  Side sides_[2];
  TaskGroup tasks_;
};

}  // namespace tagring::overlay
