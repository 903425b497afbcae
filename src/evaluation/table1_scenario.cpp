#include "evaluation/scenario.hpp"
#include "evaluation/table1.hpp"

namespace tagring::evaluation {
namespace {

json::object to_json(const Outcome& outcome) {
  return {{"nodes_over", outcome.fit.nodes_over},
          {"bytes_over_ratio", outcome.fit.bytes_over_ratio},
          {"mean_gib", outcome.fit.mean_gib},
          {"median_gib", outcome.fit.median_gib},
          {"mean_abs_gib", outcome.fit.mean_abs_gib},
          {"median_abs_gib", outcome.fit.median_abs_gib},
          {"moved_ratio", outcome.moved_ratio},
          {"joins_moved_ratio", outcome.joins_moved_ratio},
          {"rounds", outcome.rounds},
          {"vservers", outcome.vservers}};
}

}  // namespace

json::object run_table1(const ScenarioInput& input) {
  const double start = input.clock();
  Table1Options options;
  options.nodes = input.nodes;
  options.spectrum = input.spectrum;
  options.seed = input.seed;
  options.on_progress = input.on_progress;
  const Table1 table = make_table1(options);
  json::object figures = {{"scenario", "table1"},
                          {"seed", input.seed},
                          {"nodes", table.nodes},
                          {"total_gib", table.total_gib},
                          {"unbalanced", to_json(table.unbalanced)},
                          {"printed", to_json(table.printed)},
                          {"paper", to_json(table.paper)},
                          {"recommended", to_json(table.recommended)}};
  figures["seconds"] = input.clock() - start;
  return figures;
}

}  // namespace tagring::evaluation
