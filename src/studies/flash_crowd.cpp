// tagring sim flash-crowd: a real burst of posts, and sets of relays that grow and shrink.
#include "runs/flash_crowd.hpp"

#include <fmt/core.h>
#include <memory>

#include "base/json.hpp"
#include "cli/one_of.hpp"
#include "evaluation/events.hpp"
#include "studies/sim.hpp"

namespace tagring::studies {
namespace {

struct FlashCrowdOptions {
  std::string burst = "40o20";
  double scale = 1;
  double speed = 4;
  runs::FlashCrowdOptions crowd;
  std::string json = "-";
};

json::object to_json(const runs::FlashCrowdResult& result, const FlashCrowdOptions& options) {
  return {{"scenario", "flash-crowd"},
          {"burst", options.burst},
          {"scale", options.scale},
          {"speed", options.speed},
          {"seed", options.crowd.seed},
          {"nodes", options.crowd.nodes},
          {"subscribers", options.crowd.subscribers},
          {"subscribed_nodes", options.crowd.subscribed_nodes},
          {"capacity", options.crowd.capacity},
          {"posts", result.posts},
          {"acknowledged", result.acknowledged},
          {"lost", result.lost},
          {"delay_max_s", result.delay_max},
          {"r_max", result.relays_max},
          {"r_end", result.relays_end},
          {"fetch_peak_per_s", result.fetch_peak},
          {"over_capacity_s", result.over_capacity},
          {"busiest_minute", result.busiest_minute},
          {"deliveries", result.deliveries},
          {"messages", result.messages},
          {"trace", fmt::format("{:016x}", result.trace)}};
}

int run(FlashCrowdOptions options) {
  auto arrivals = evaluation::burst_arrivals(evaluation::built_in_bursts(), options.burst, options.scale,
                                             options.speed, options.crowd.seed);
  if (!arrivals) return report(arrivals.error());
  options.crowd.arrivals = std::move(*arrivals);
  const Progress progress;
  options.crowd.on_progress = [&](double done) { progress.show(options.burst, done); };
  const runs::FlashCrowdResult result = runs::run_flash_crowd(options.crowd);
  progress.show("done", 1);
  return finish(options.json, to_json(result, options));
}

}  // namespace

void add_sim_flash_crowd(CLI::App& sim, int& status) {
  auto options = std::make_shared<FlashCrowdOptions>();
  CLI::App* command = sim.add_subcommand("flash-crowd", std::string(kFlashCrowdSummary));
  command->add_option("--burst", options->burst, "Which burst of real posts")
      ->check(cli::one_of(evaluation::burst_names(evaluation::built_in_bursts())))
      ->capture_default_str();
  command->add_option("--scale", options->scale, "So many times the posts (the bursts are a sample of 1 %)")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
  command->add_option("--speed", options->speed, "So many times as fast")
      ->check(CLI::Range(0.1, 100.0))
      ->capture_default_str();
  command->add_option("--nodes", options->crowd.nodes, "Nodes of the network")
      ->check(CLI::Range(std::size_t{4}, std::size_t{1000}))
      ->capture_default_str();
  command->add_option("--subscribers", options->crowd.subscribers, "Subscribers of the hashtag")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
      ->capture_default_str();
  command->add_option("--subscribed-nodes", options->crowd.subscribed_nodes, "Of them, whole nodes")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1000}))
      ->capture_default_str();
  command->add_option("--capacity", options->crowd.capacity, "What a node may send, deliveries a second")
      ->check(CLI::Range(10U, 100'000'000U))
      ->capture_default_str();
  add_common_options(*command, options->crowd.seed, options->json);
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace tagring::studies
