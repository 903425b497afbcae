// The paper's table 1 (§8.3): how well hashtags of a year fit on nodes of very different size, without
// balancing, with the paper's parameters, and with ours.
#include "evaluation/settings.hpp"
#include "scenarios/scenario.hpp"

namespace tagring::scenarios {

using namespace evaluation;

namespace {

json::object to_json(const Balanced& outcome) {
  const Fit& fit = outcome.fit;
  return {{"nodes_over", fit.nodes_over},
          {"bytes_over_ratio", fit.bytes_over_ratio},
          {"mean_gib", fit.mean_gib},
          {"median_gib", fit.median_gib},
          {"mean_abs_gib", fit.mean_abs_gib},
          {"median_abs_gib", fit.median_abs_gib},
          {"moved_ratio", outcome.moved_by_rounds},
          {"joins_moved_ratio", outcome.moved_ratio - outcome.moved_by_rounds},
          {"rounds", outcome.rounds},
          {"vservers", outcome.vservers}};
}

json::object try_setting(Setting setting, const ScenarioInput& input, double done) {
  input.on_progress(setting.name, done);
  setting.placing.seed = setting.balancing.seed = input.seed;
  const Network network = make_network(input.nodes, input.spectrum, setting.placing);
  return to_json(balance_network(network, setting.balancing));
}

}  // namespace

json::object run_table1(const ScenarioInput& input) {
  const double start = input.clock();
  input.on_progress("unbalanced", 0);
  Placing placing = paper_setting().placing;
  placing.seed = input.seed;
  const Network network = make_network(input.nodes, input.spectrum, placing);
  const Placement placement = unbalanced(network);
  json::object figures = {{"scenario", "table1"},
                          {"seed", input.seed},
                          {"nodes", network.capacity.size()},
                          {"total_gib", network.total},
                          {"unbalanced", to_json({.placement = placement,
                                                  .fit = fit_of(placement),
                                                  .rounds = 0,
                                                  .moved_ratio = 0,
                                                  .moved_by_rounds = 0,
                                                  .vservers = placement.active()})},
                          {"printed", try_setting(printed_setting(), input, 0.1)},
                          {"paper", try_setting(paper_setting(), input, 0.2)},
                          {"recommended", try_setting(recommended_setting(), input, 0.6)}};
  input.on_progress("done", 1);
  figures["seconds"] = input.clock() - start;
  return figures;
}

}  // namespace tagring::scenarios
