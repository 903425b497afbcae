// tagring sim scale: the ring at growing sizes.
#include "ring_sim/scale.hpp"

#include <cmath>
#include <fmt/core.h>
#include <fstream>
#include <memory>
#include <unistd.h>

#include "base/json.hpp"
#include "studies/sim.hpp"

namespace tagring::studies {
namespace {

constexpr std::size_t kSmallest = 100;
constexpr Duration kUpkeep = std::chrono::seconds(20);

struct ScaleOptions {
  std::size_t nodes = 10'000;
  unsigned vservers = 8;
  unsigned lookups = 200;
  std::uint64_t seed = 1;
  std::string json = "-";
};

struct Row {
  std::size_t hosts = 0;
  double bound = 0;  // ½ log2 of the vservers, + 1
  double seconds = 0;
  double memory_mb = 0;
  ring_sim::RingScaleResult result;
};

// Resident, of this process.
double memory_mb() {
  std::ifstream file("/proc/self/statm");
  double size = 0;
  double resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

json::object to_json(const Row& row) {
  json::object out = {{"nodes", row.hosts},
                      {"calls_mean", row.result.calls_mean},
                      {"calls_max", row.result.calls_max},
                      {"calls_bound", row.bound},
                      {"lookups_failed", row.result.failed},
                      {"messages_per_node_s", row.result.messages_per_host},
                      {"events", row.result.events},
                      {"memory_mb", row.memory_mb},
                      {"seconds", row.seconds}};
  if (row.result.healed) out["healed_s"] = std::chrono::duration<double>(*row.result.healed).count();
  return out;
}

Row measure(std::size_t hosts, const ScaleOptions& options) {
  Row row;
  row.hosts = hosts;
  row.bound = 0.5 * std::log2(static_cast<double>(hosts * options.vservers)) + 1;
  const double start = steady_seconds();
  row.result = ring_sim::run_ring_scale(
      options.seed, {hosts, static_cast<std::uint8_t>(options.vservers), options.lookups, kUpkeep});
  row.seconds = steady_seconds() - start;
  row.memory_mb = memory_mb();
  return row;
}

int run_scale(const ScaleOptions& options) {
  const Progress progress;
  std::vector<Row> rows;
  for (std::size_t hosts = kSmallest; hosts <= options.nodes; hosts *= 10) {
    // A ring ten times as large takes more than ten times as long: the last one is nearly all.
    progress.show(fmt::format("{} nodes", hosts),
                  static_cast<double>(hosts) / static_cast<double>(options.nodes) / 11);
    rows.push_back(measure(hosts, options));
  }
  progress.show("done", 1);
  json::array sizes;
  for (const Row& row : rows) sizes.push_back(to_json(row));
  const json::object figures = {{"scenario", "scale"},
                                {"vservers", options.vservers},
                                {"seed", options.seed},
                                {"sizes", std::move(sizes)}};
  return finish(options.json, figures);
}

}  // namespace

void add_sim_scale(CLI::App& sim, int& status) {
  auto options = std::make_shared<ScaleOptions>();
  CLI::App* command = sim.add_subcommand("scale", std::string(kScaleSummary));
  command->add_option("--nodes", options->nodes, "The largest ring: 100, 1000, … up to that")
      ->check(CLI::Range(kSmallest, std::size_t{1'000'000}))
      ->capture_default_str();
  command->add_option("--vservers", options->vservers, "Virtual servers of a node")
      ->check(CLI::Range(1U, 64U))
      ->capture_default_str();
  command->add_option("--lookups", options->lookups, "Look-ups in each ring")
      ->check(CLI::Range(1U, 1'000'000U))
      ->capture_default_str();
  add_common_options(*command, options->seed, options->json);
  command->callback([options, &status] { status = run_scale(*options); });
}

}  // namespace tagring::studies
