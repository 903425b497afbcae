#include <algorithm>
#include <fmt/format.h>

#include "evaluation/dynamic.hpp"
#include "evaluation/scenario.hpp"

namespace tagring::evaluation {
namespace {

constexpr double kOverGoal = 0.02;
constexpr unsigned kHoursGoal = 24;
constexpr double kMovedGoal = 2;

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

Series series_of(std::string name, const Dynamic& run, double (*value)(const Hour&)) {
  Series series{std::move(name), {}};
  for (std::size_t hour = 0; hour < run.hours.size(); ++hour)
    series.points.emplace_back(static_cast<double>(hour) / 24, value(run.hours[hour]));
  return series;
}

std::vector<std::string> row_of(const std::string& name, const Dynamic& run) {
  const Summary summary = summary_of(run);
  return {name,
          fmt::format("{:.2f} %", 100 * summary.over_max),
          fmt::format("{:.2f} %", 100 * summary.over_mean),
          fmt::format("{} h", summary.longest),
          fmt::format("{:.1f}", summary.nodes_over),
          fmt::format("{:.2f}", moved_ratio(run, Cause::kBalancing)),
          fmt::format("{:.2f}", moved_ratio(run, Cause::kChurn)),
          fmt::format("{}", run.moves),
          fmt::format("{}", run.splits)};
}

Report report_of(const ScenarioInput& input, const Dynamic& balanced, const Dynamic& left_alone,
                 const Dynamic& eager) {
  Report report("Weeks of a network: posts arrive, nodes come and go");
  report.paragraph(
      "The network of table 1 with the recommended parameters, in its last weeks before a year's posts are "
      "there. "
      "Posts arrive hour by hour as in a real stream, on the hashtags of that stream; nodes go down and come "
      "back "
      "as real instances did. What changes its owner is fetched from the owner before or a replica, over "
      "lines that "
      "carry so much and no more; until it is there, who had it keeps it. Every node decides by itself, "
      "about once "
      "an hour, and moves one vserver at a time.");
  report.paragraph(describe_data(input));
  report.paragraph(fmt::format(
      "{} hours; {:.0f} GiB are posted, replicas included; each node moves data with {:g} Mbit/s; {} "
      "outages; {:.0f} nodes are up on average, and filled to {:.0f} % at the end.",
      balanced.hours.size(), balanced.posted_gib, input.mbit_per_second, balanced.outages,
      summary_of(balanced).nodes_up, 100 * summary_of(balanced).fill_end));
  report.table({"", "bytes over, most", "mean", "longest above 2 %", "nodes over, mean",
                "moved by balancing / posted", "by outages", "moves", "splits"},
               {row_of("recommended", balanced), row_of("placement of the start", left_alone),
                row_of("eager", eager)});
  report.paragraph(
      "recommended: a node moves only for one, itself or another, that has been overloaded for six hours, "
      "and "
      "only if half of what it carries was above somebody's capacity. eager: it moves whenever that brings "
      "anybody closer to the target, as when table 1 is balanced. placement of the start: no balancing after "
      "the start.");
  report.paragraph(
      fmt::format("Goals: not above {:.0f} % for more than {} hours; balancing moves at most {:.0f} times "
                  "what is posted. The paper does not evaluate a network in motion.",
                  100 * kOverGoal, kHoursGoal, kMovedGoal));
  const auto percent_over = [](const Hour& hour) { return 100 * over(hour); };
  report.plot({"Bytes above capacity",
               "days",
               "% of all bytes",
               {series_of("recommended", balanced, percent_over),
                series_of("placement of the start", left_alone, percent_over)}});
  report.plot({"Nodes that are up", "days", "nodes", {series_of("up", balanced, [](const Hour& hour) {
                 return static_cast<double>(hour.nodes_up);
               })}});
  report.plot({"Nodes above capacity",
               "days",
               "nodes",
               {series_of("recommended", balanced,
                          [](const Hour& hour) { return static_cast<double>(hour.nodes_over); }),
                series_of("placement of the start", left_alone,
                          [](const Hour& hour) { return static_cast<double>(hour.nodes_over); })}});
  return report;
}

}  // namespace

ScenarioOutput run_dynamic(const ScenarioInput& input) {
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
  json::object figures = {{"scenario", "dynamic"},
                          {"seed", input.seed},
                          {"nodes", input.nodes.size()},
                          {"hours", balanced.hours.size()},
                          {"posted_gib", balanced.posted_gib},
                          {"recommended", to_json(balanced)},
                          {"without", to_json(left_alone)},
                          {"eager", to_json(eager)},
                          {"seconds", input.clock() - start}};
  return {std::move(figures), report_of(input, balanced, left_alone, eager)};
}

}  // namespace tagring::evaluation
