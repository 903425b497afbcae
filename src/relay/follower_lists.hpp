// What the relays of a hashtag tell each other of its followers (paper §7.1; docs/protocol.md, "Relay sets"):
// each has its list, with the time of each follower's last request, and the last request wins. Only nodes are
// on it: people follow this node's own actor, and stay with it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "belief/node_actors.hpp"
#include "delivery/followers.hpp"
#include "delivery/store.hpp"
#include "federation/identity.hpp"
#include "hashtag/tag.hpp"
#include "redundancy/follow_times.hpp"
#include "relay/relay_places.hpp"

namespace tagring::relay {

class FollowerLists {
 public:
  struct Listed {
    std::string inbox;
    WallTime at;
  };
  using List = std::map<std::string, Listed>;              // by actor
  using Pairs = std::vector<std::pair<Tag, std::string>>;  // with the actor

  FollowerLists(delivery::Store& store, delivery::Followers& followers, const RelayPlaces& places,
                const federation::Identity& identity, belief::NodeActors& nodes, Clock& clock)
      : store_(store),
        followers_(followers),
        places_(places),
        identity_(identity),
        node_actors_(nodes),
        clock_(clock),
        times_(clock) {}

  // Another node has asked, just now, to follow the tag here, or not to.
  void note_request(const Tag& tag, const std::string& actor, bool follows);
  // How many deliveries a post of the tag is; at least one.
  [[nodiscard]] double deliveries(const Tag& tag) const;
  [[nodiscard]] bool has_inbox(const Tag& tag, const std::string& inbox) const {
    return followers_.target(tag, inbox) != nullptr;
  }
  // Actor and inbox of each, by actor.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> nodes(const Tag& tag) const {
    return followers_.nodes(tag);
  }

  // A page of this node's list, by actor after that one: {"followers", "after"?}.
  [[nodiscard]] json::object page(const Tag& tag, const std::string& after) const;
  // Adds a page of another relay's list. What is malformed is left out, as are followers whom this node gives
  // nothing.
  void read_page(const json::object& page, List* list) const;
  // Of what several relays say of one follower, the latest request counts. Each has its own limit, so that
  // the list of one keeps nobody off that another one names.
  static void merge(List list, List* into);
  static constexpr std::size_t kPage = 1'000;    // followers in one answer
  static constexpr std::size_t kPagesMax = 100;  // of one list

  // Whom a list has that this node lacks, as long as it has not been asked later not to follow. (Who follows
  // no more is told by nobody else: a relay that lies would take the others' followers away.)
  struct Changes {
    std::vector<delivery::Follower> come;
    std::vector<std::string> inboxes;  // theirs
  };
  [[nodiscard]] Changes changes(const Tag& tag, const List& list) const;
  // Those that are nodes. Durable when it completes.
  [[nodiscard]] Task<Result<void>> add(std::vector<delivery::Follower> followers);
  [[nodiscard]] Task<Result<void>> remove(Pairs gone);

 private:
  delivery::Store& store_;
  delivery::Followers& followers_;
  const RelayPlaces& places_;
  const federation::Identity& identity_;
  belief::NodeActors& node_actors_;
  Clock& clock_;
  redundancy::FollowTimes times_;
};

}  // namespace tagring::relay
