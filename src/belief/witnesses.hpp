// Who says what of a post that nobody here has looked at. A relay can be bought; two that have nothing in
// common are believed where they say the same, since every post goes to two relays of its hashtag, one of
// each half (docs/protocol.md §7.2). Two that stood at one place one after the other are no two: of the
// relays of a hashtag, one that does not lie is always opposite to them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "base/time.hpp"
#include "belief/tag_event.hpp"
#include "redundancy/relay_place.hpp"

namespace tagring::belief {

class Witnesses {
 public:
  // `relays`: of a hashtag at rest. One alone has to be believed: there is nobody to hold it against.
  Witnesses(unsigned relays, Clock& clock) : alone_(relays < 2), clock_(clock), turned_(clock.now()) {}

  // The node at that origin says so, and is a relay of those halves. Who was only told is no witness.
  void note(const TagEvent& event, const std::string& origin, redundancy::RelayHalves halves);
  // Two of different registered domains and halves said exactly that, within the last ten minutes or so.
  [[nodiscard]] bool agree_on(const TagEvent& event);
  // It is not so, says the post's server: whoever goes on to say so has to be two anew. Or one that lies
  // would have a second one, later, at the place opposite, where one that does not lie stood at that time.
  void forget(const TagEvent& event);

 private:
  static constexpr Duration kTurn = std::chrono::minutes(5);
  static constexpr std::size_t kTurnMax = 50'000;

  using Statement = std::array<std::uint8_t, 16>;
  struct Said {
    std::array<std::string, 2> by;  // of each half, the registered domain that was first
    bool by_both = false;           // by two of them
  };
  void turn();

  bool alone_;
  Clock& clock_;
  std::map<Statement, Said> said_;
  std::map<Statement, Said> said_before_;  // the turn before; two turns are remembered
  Instant turned_;
};

}  // namespace tagring::belief
