// Followers collections as one server sees them (FEP-8fcf): which collection a follower is in, under which
// id, and the digest of all those of one server.
//
// There is a collection for each hashtag actor, and one for the node's actor. People follow hashtag actors,
// and stand there under their own ids. Nodes follow hashtag actors too, by the thousand, but what they get
// is sent by the node's actor; so they stand in that actor's collection, a node under the ids of its own
// hashtag actors: https://S/tag/x says that node S follows #x here. One digest of S then covers all its
// hashtags. People and LitePub relays who follow the node's actor itself stand beside them
// (Followers::count_own). Who uses the node as a relay otherwise follows the public collection, and is in
// none; nor is a server that uses the node as a FASP.
#pragma once

#include <optional>
#include <string>

#include "delivery/store.hpp"

namespace tagring::delivery {

struct Membership {
  PartialKey key;
  std::string id;
};

// Nothing for who is in no collection by following a hashtag.
std::optional<Membership> membership_of(const Follower& follower);

}  // namespace tagring::delivery
