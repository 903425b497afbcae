#include "evaluation/scenario.hpp"

#include <array>
#include <fmt/format.h>

namespace tagring::evaluation {
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
    Scenario{"hashtag-distribution", "figure 4: how posts are spread over hashtags",
             run_hashtag_distribution},
};

}  // namespace

std::span<const Scenario> scenarios() { return kScenarios; }

Plot utilisation_plot() {
  return {"Load of the nodes, from the emptiest to the fullest",
          "share of the nodes",
          "load / capacity",
          {},
          false,
          true};
}

Series series_of(std::string name, const std::vector<double>& utilisation) {
  Series series{std::move(name), {}};
  const auto count = static_cast<double>(utilisation.size());
  for (std::size_t i = 0; i < utilisation.size(); ++i)
    series.points.emplace_back(static_cast<double>(i) / count, utilisation[i]);
  return series;
}

std::string describe_data(const ScenarioInput& input) {
  std::uint64_t tags = 0;
  std::uint64_t posts = 0;
  for (const SpectrumRow& row : input.spectrum) {
    tags += row.tags;
    posts += row.tags * row.posts;
  }
  return fmt::format("Data: {} nodes, {} hashtags with {} uses, seed {}.", input.nodes.size(), tags, posts,
                     input.seed);
}

}  // namespace tagring::evaluation
