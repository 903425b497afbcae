// tagring sim churn: look-ups in a ring whose hosts come and go as real servers did.
#include <algorithm>
#include <fmt/core.h>
#include <memory>
#include <tuple>

#include "base/json.hpp"
#include "evaluation/events.hpp"
#include "ring_sim/trace.hpp"
#include "studies/sim.hpp"

namespace tagring::studies {
namespace {

constexpr double kHoursOfTable = 46 * 24;  // data/evaluation/README.md

struct ChurnOptions {
  std::size_t nodes = 1'000;
  double days = 46;
  double speed = 60;
  std::string outages_file;
  std::uint64_t seed = 1;
  std::string json = "-";
};

Duration hours(double count) { return Duration(static_cast<Duration::rep>(count * 3.6e6)); }

ring_sim::RingTrace trace_of(const std::vector<evaluation::Outage>& outages, const ChurnOptions& options) {
  ring_sim::RingTrace trace;
  trace.hosts = options.nodes;
  trace.length = hours(options.days * 24 / options.speed);
  for (const evaluation::Outage& outage : outages) {
    if (outage.node >= options.nodes) continue;
    trace.changes.push_back({hours(outage.down / options.speed), outage.node, false});
    trace.changes.push_back({hours(outage.up / options.speed), outage.node, true});
  }
  std::ranges::sort(trace.changes, {}, [](const ring_sim::RingTrace::Change& change) {
    return std::tuple(change.at, change.host, change.up);
  });
  return trace;
}

int run_churn(const ChurnOptions& options) {
  const Result<std::vector<evaluation::Outage>> outages = read_outages(options.outages_file);
  if (!outages) return report(outages.error());
  ring_sim::RingTrace trace = trace_of(*outages, options);
  const Progress progress;
  trace.on_progress = [&](Duration passed) {
    progress.show("churn",
                  static_cast<double>(passed.count()) / static_cast<double>(trace.length.count() + 1));
  };
  const ring_sim::RingTraceResult result = ring_sim::run_ring_trace(options.seed, trace);
  progress.show("done", 1);
  const auto all = static_cast<double>(std::max<std::uint64_t>(1, result.lookups));
  const json::object figures = {{"scenario", "churn"},
                                {"nodes", options.nodes},
                                {"days", options.days},
                                {"speed", options.speed},
                                {"seed", options.seed},
                                {"crashes", result.crashes},
                                {"joins", result.joins},
                                {"up_at_least", result.up_at_least},
                                {"lookups", result.lookups},
                                {"failed_first_rate", static_cast<double>(result.failed_first) / all},
                                {"failed_rate", static_cast<double>(result.failed) / all},
                                {"ideal_at_the_end", result.ideal},
                                {"events", result.events}};
  return finish(options.json, figures);
}

}  // namespace

void add_sim_churn(CLI::App& sim, int& status) {
  auto options = std::make_shared<ChurnOptions>();
  CLI::App* command = sim.add_subcommand("churn", std::string(kChurnSummary));
  command->add_option("--nodes", options->nodes, "Nodes, the largest of the table first")
      ->check(CLI::Range(2U, 100'000U))
      ->capture_default_str();
  command->add_option("--days", options->days, "Of the table, from its start")
      ->check(CLI::Range(0.01, kHoursOfTable / 24))
      ->capture_default_str();
  command->add_option("--speed", options->speed, "How much faster than in reality nodes come and go")
      ->check(CLI::Range(0.1, 10'000.0))
      ->capture_default_str();
  command->add_option("--outages-file", options->outages_file,
                      "Table of outages, tab-separated: rank (of the node by size), down, up (hours)");
  add_common_options(*command, options->seed, options->json);
  command->footer(
      "Nodes end without a word and do not answer any more. A look-up is made each second, by the code that "
      "ships: with\n"
      "its cache, along several ways. It has failed if the owner itself does not say that it owns the key; "
      "failed_rate\n"
      "counts those that failed again a second later.\n\n"
      "Example:\n  tagring sim churn --days 2");
  command->callback([options, &status] { status = run_churn(*options); });
}

}  // namespace tagring::studies
