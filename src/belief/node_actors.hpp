// Whether an actor is that of a node, and gets its deliveries where somebody says (paper §3.4). Lists of
// followers come from other owners, who could aim the posts of a hashtag at a server that follows nothing.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime.hpp"
#include "budget/manager.hpp"
#include "federation/signed_client.hpp"

namespace tagring::belief {

class NodeActors {
 public:
  NodeActors(budget::Manager& budget, federation::SignedClient& client, const Runtime& runtime)
      : budget_(budget), client_(client), clock_(runtime.clock) {}

  // Of these actors, each with its inbox, who is a node: its own document says so. Of one that does not
  // answer now what it said before holds, as far as that is remembered; of one that never said anything
  // nothing is believed, or a list could aim at whoever is down. (A node that was away follows its owners by
  // itself.) Each is asked once in a while, in parallel.
  [[nodiscard]] Task<std::vector<bool>> are_nodes(
      std::vector<std::pair<std::string, std::string>> actors_and_inboxes);

 private:
  static constexpr Duration kRemembered = std::chrono::hours(12);
  static constexpr Duration kNoneRemembered = std::chrono::minutes(10);
  static constexpr std::size_t kRememberedMax = 20'000;
  static constexpr std::size_t kAtOnce = 16;
  struct Known {
    std::vector<std::string> inboxes;  // none: no node
    Instant until;
  };
  Task<bool> look(std::string actor, std::string inbox);

  budget::Manager& budget_;
  federation::SignedClient& client_;
  Clock& clock_;
  std::map<std::string, Known> known_;  // by actor
};

}  // namespace tagring::belief
