// Weeks of a network in motion.
#include "evaluation/dynamic.hpp"

#include <algorithm>

#include "scenarios/scenario.hpp"

namespace tagring::scenarios {

using namespace evaluation;

namespace {

constexpr double kOverGoal = 0.02;  // what is above it for long is too much

double over(const Hour& hour) { return std::max(hour.owned_over, hour.stored_over); }

struct Summary {
  double over_max = 0;
  double over_mean = 0;
  double nodes_over = 0;
  double nodes_up = 0;
  double fill_end = 0;
  unsigned longest = 0;
};

Summary summary_of(const Dynamic& run) {
  Summary summary;
  const auto hours = static_cast<double>(run.hours.size());
  for (const Hour& hour : run.hours) {
    summary.over_max = std::max(summary.over_max, over(hour));
    summary.over_mean += over(hour) / hours;
    summary.nodes_over += static_cast<double>(hour.nodes_over) / hours;
    summary.nodes_up += static_cast<double>(hour.nodes_up) / hours;
  }
  summary.fill_end = run.hours.back().fill;
  summary.longest = run.longest_over(kOverGoal);
  return summary;
}

double moved_ratio(const Dynamic& run, Cause cause) {
  return run.moved_gib[static_cast<std::size_t>(cause)] / run.posted_gib;
}

json::object to_json(const Dynamic& run) {
  const Summary summary = summary_of(run);
  return {{"bytes_over_max", summary.over_max},
          {"bytes_over_mean", summary.over_mean},
          {"hours_above_2_percent", summary.longest},
          {"nodes_over_mean", summary.nodes_over},
          {"nodes_up_mean", summary.nodes_up},
          {"fill_at_end", summary.fill_end},
          {"outages", run.outages},
          {"moves", run.moves},
          {"moved_by_balancing_ratio", moved_ratio(run, Cause::kBalancing)},
          {"splits", run.splits},
          {"moved_by_churn_ratio", moved_ratio(run, Cause::kChurn)}};
}

}  // namespace

json::object run_dynamic(const ScenarioInput& input) {
  const double start = input.clock();
  DynamicOptions options;
  options.nodes = input.nodes;
  options.spectrum = input.spectrum;
  options.outages = input.outages ? *input.outages : parse_outages(built_in_outages()).value();
  options.stream = input.stream ? *input.stream : parse_stream(built_in_stream()).value();
  options.setting = dynamic_setting();
  options.mbit_per_second = input.mbit_per_second;
  options.seed = input.seed;
  double begun = 0;
  std::string_view step = "recommended";
  options.on_progress = [&](double done) { input.on_progress(step, begun + done / 3); };
  const Dynamic balanced = run_network(options);
  step = "without";
  begun = 1.0 / 3;
  options.balances = false;
  const Dynamic left_alone = run_network(options);
  step = "eager";
  begun = 2.0 / 3;
  options.balances = true;
  options.setting = recommended_setting();
  options.patience = 0;
  const Dynamic eager = run_network(options);
  input.on_progress("done", 1);
  return {{"scenario", "dynamic"},
          {"seed", input.seed},
          {"nodes", input.nodes.size()},
          {"hours", balanced.hours.size()},
          {"posted_gib", balanced.posted_gib},
          {"recommended", to_json(balanced)},
          {"without", to_json(left_alone)},
          {"eager", to_json(eager)},
          {"seconds", input.clock() - start}};
}

}  // namespace tagring::scenarios
