#include <array>

#include "evaluation/spreading.hpp"
#include "scenarios/scenario.hpp"

namespace tagring::scenarios {

using namespace evaluation;

namespace {

// How many networks of so many nodes are looked at.
constexpr std::array<std::pair<unsigned, unsigned>, 5> kSizes = {
    std::pair{5U, 40U}, {8U, 40U}, {16U, 40U}, {40U, 12U}, {100U, 6U}};

void add(Spread* sum, const Spread& one, double weight) {
  sum->nodes += weight * one.nodes;
  sum->networks += weight * one.networks;
  sum->domains += weight * one.domains;
  sum->largest += weight * one.largest;
  sum->moves += weight * one.moves;
}

json::array mean_of(const ScenarioInput& input, unsigned copies, unsigned nodes, unsigned networks) {
  std::vector<Spread> means;
  for (unsigned n = 0; n < networks; ++n) {
    Spreading options;
    options.seed = input.seed + n;
    options.nodes = resize_nodes(input.nodes, nodes, options.seed);
    options.copies = copies;
    const std::vector<Spread> one = spread_copies(options);
    means.resize(one.size());
    for (std::size_t round = 0; round < one.size(); ++round) add(&means[round], one[round], 1.0 / networks);
  }
  json::array rounds;
  for (const Spread& mean : means) {
    rounds.push_back(json::object{{"on_different_nodes", mean.nodes},
                                  {"on_different_networks", mean.networks},
                                  {"on_different_domains", mean.domains},
                                  {"largest_share", mean.largest},
                                  {"moves", mean.moves}});
  }
  return rounds;
}

}  // namespace

json::object run_copies(const ScenarioInput& input) {
  json::array rows;
  for (const unsigned copies : {2U, 4U}) {
    for (const auto& [nodes, networks] : kSizes) {
      input.on_progress("copies", static_cast<double>(rows.size()) / (2 * kSizes.size()));
      rows.push_back(json::object{{"copies", copies},
                                  {"nodes", nodes},
                                  {"networks", networks},
                                  {"rounds", mean_of(input, copies, nodes, networks)}});
    }
  }
  input.on_progress("done", 1);
  return {{"scenario", "copies"}, {"seed", input.seed}, {"rows", std::move(rows)}};
}

}  // namespace tagring::scenarios
