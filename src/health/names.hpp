// Whether all that the DNS has for a node's name leads to the node. Nodes on the rings go to node.address
// only; but servers, readers, and nodes that have met it nowhere yet, take any of it, IPv6 first if they have
// it.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "health/check.hpp"
#include "health/reach.hpp"
#include "http/ip.hpp"

namespace tagring::health {

// Of what the DNS has, all that is not node.address itself. What is private is not counted unless that is:
// /etc/hosts may have it, and no other machine sees it.
[[nodiscard]] std::vector<IpAddress> other_addresses(const config::Config& config,
                                                     std::vector<IpAddress> found);

// Tries each of `others`, and has `neighbours` (origins of nodes) try those that cannot be seen from here.
// `dns` is what was found so far, and is well; the answer is that, or what is to be done. Not well is only
// where something else has answered: to this node, or to two neighbours (the only one, where no more are
// known) while none got to this node. What nobody could see is said, and stays well: that this machine, or
// they, cannot get there does not show that nobody can.
[[nodiscard]] Task<Check> look_at_others(Check dns, std::string own_origin, std::vector<IpAddress> others,
                                         std::vector<std::string> neighbours, Reach* reach);

}  // namespace tagring::health
