#include "scenarios/scenario.hpp"

#include <array>

namespace tagring::scenarios {
namespace {

constexpr std::array kScenarios = {
    Scenario{"table1", "the paper's table 1: how a year of posts fits on the nodes, unbalanced and balanced",
             run_table1},
    Scenario{"parameters", "which κ, redundancy, ID scheme and splitting of keys balance how well",
             run_parameters},
    Scenario{"dynamic", "weeks of posts that arrive, nodes that come and go, and balancing throughout",
             run_dynamic},
    Scenario{"node-placement", "figures 6 and 8: where nodes lie on the ring, with 1 and 8 vservers",
             run_node_placement},
    Scenario{"targeting", "what it costs an attacker to own replicas of a chosen hashtag, by ID scheme",
             run_targeting},
    Scenario{"copies", "how many hashtags have all their copies on different nodes, in networks of few",
             run_copies},
    Scenario{"hashtag-distribution", "figure 4: how posts are spread over hashtags",
             run_hashtag_distribution},
};

}  // namespace

std::span<const Scenario> scenarios() { return kScenarios; }

}  // namespace tagring::scenarios
