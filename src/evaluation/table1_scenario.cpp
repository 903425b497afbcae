#include <fmt/format.h>

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

std::vector<const Outcome*> outcomes_of(const Table1& table) {
  return {&table.unbalanced, &table.printed, &table.paper, &table.recommended};
}

Report report_of(const Table1& table, const ScenarioInput& input) {
  Report report("How hashtags fit on nodes: table 1 of the paper");
  report.paragraph(
      "A year of posts, four copies of each, is placed on a ring of nodes by hashtag. A node's capacity is "
      "in "
      "proportion to the posts of its instance; all nodes together can hold 4.5 copies. Without balancing a "
      "node "
      "stands in one place. With k-choices it may stand in up to κ places and chooses, by what the owners of "
      "those places report, how many and which.");
  report.paragraph(describe_data(input));
  report.paragraph(fmt::format(
      "{:.0f} GiB in all; the heaviest hashtag has {:.1f} GiB at one place, the mean "
      "node a capacity of {:.1f} GiB.",
      table.total_gib, table.heaviest_key_gib, table.total_gib / 4 * 4.5 / static_cast<double>(table.nodes)));
  report.heading("Result");
  std::vector<std::vector<std::string>> rows;
  for (const Outcome* outcome : outcomes_of(table)) {
    const Fit& fit = outcome->fit;
    rows.push_back({outcome->name, fmt::format("{:.2f} %", 100 * fit.bytes_over_ratio),
                    fmt::format("{}", fit.nodes_over), fmt::format("{:.2f}", fit.mean_abs_gib),
                    fmt::format("{:.2f}", fit.median_abs_gib), fmt::format("{:.2f}", outcome->moved_ratio),
                    fmt::format("{}", outcome->rounds), fmt::format("{}", outcome->vservers)});
  }
  report.table({"setting", "bytes over capacity", "nodes over", "mean |load − capacity| GiB", "median GiB",
                "moved / placed", "rounds", "vservers"},
               rows);
  for (const Setting& setting : {printed_setting(), paper_setting(), recommended_setting()})
    report.paragraph(setting.name + ": " + setting.meaning + ".");
  report.paragraph(
      "The paper: 525 of 1,036 nodes over capacity and mean |load − capacity| 57.60 GiB unbalanced; 42 "
      "and 49.11 GiB balanced, which by its own averages leaves about 60 % of all bytes above "
      "capacity. So both figures are given here.");
  Plot fill = utilisation_plot();
  for (const Outcome* outcome : {&table.unbalanced, &table.printed, &table.paper, &table.recommended})
    fill.series.push_back(series_of(outcome->name, outcome->utilisation));
  report.plot(fill);
  Plot rounds{"Bytes above capacity after each round", "round", "% of all bytes", {}, false, true};
  for (const Outcome* outcome : {&table.printed, &table.paper, &table.recommended}) {
    Series series{outcome->name, {}};
    for (std::size_t i = 0; i < outcome->of_round.size(); ++i)
      series.points.emplace_back(static_cast<double>(i + 1), 100 * outcome->of_round[i].bytes_over_ratio);
    rounds.series.push_back(std::move(series));
  }
  report.plot(rounds);
  return report;
}

}  // namespace

ScenarioOutput run_table1(const ScenarioInput& input) {
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
  return {std::move(figures), report_of(table, input)};
}

}  // namespace tagring::evaluation
