// tagring sim liars: whole nodes of which a part lies.
#include "runs/liars.hpp"

#include <fmt/core.h>
#include <map>
#include <memory>

#include "base/json.hpp"
#include "cli/one_of.hpp"
#include "sim/lies.hpp"
#include "studies/sim.hpp"

namespace tagring::studies {
namespace {

struct LiarsOptions {
  std::string role = "all";
  runs::LiarRunOptions run;
  std::string json = "-";
};

const std::map<std::string, sim::LiarRoles> kRoles = {
    {"relay", {.relay = true}},         {"storage", {.storage = true}},     {"keeper", {.keeper = true}},
    {"neighbour", {.neighbour = true}}, {"publisher", {.publisher = true}}, {"all", sim::kAllRoles}};

json::object to_json(const runs::LiarRunResult& result, const LiarsOptions& options) {
  json::object lies;
  for (const auto& [role, told] : result.lies) lies[role] = told;
  return {{"scenario", "liars"},
          {"nodes", options.run.nodes},
          {"malicious", options.run.malicious},
          {"role", options.role},
          {"seed", options.run.seed},
          {"liars", result.liars},
          {"hashtags", options.run.hashtags},
          {"hashtags_counted", result.hashtags_counted},
          {"posts", result.posts},
          {"removed", result.removed},
          {"readers", result.readers},
          {"pairs", result.pairs},
          {"lost", result.lost},
          {"wrong", json::array(result.wrong.begin(), result.wrong.end())},
          {"invented", result.invented},
          {"altered", result.altered},
          {"third_party_requests_per_minute", result.third_party_requests_per_minute},
          {"lies", std::move(lies)},
          {"rested", result.rested},
          {"messages", result.messages},
          {"trace", fmt::format("{:016x}", result.trace)}};
}

int run(LiarsOptions options) {
  options.run.roles = kRoles.at(options.role);
  const Progress progress;
  options.run.on_progress = [&](double done) { progress.show("liars", done); };
  const runs::LiarRunResult result = runs::run_liars(options.run);
  progress.show("done", 1);
  return finish(options.json, to_json(result, options));
}

}  // namespace

void add_sim_liars(CLI::App& sim, int& status) {
  auto options = std::make_shared<LiarsOptions>();
  CLI::App* command = sim.add_subcommand("liars", std::string(kLiarsSummary));
  command->add_option("--nodes", options->run.nodes, "Nodes of the network")
      ->check(CLI::Range(std::size_t{8}, std::size_t{1000}))
      ->capture_default_str();
  command->add_option("--malicious", options->run.malicious, "Part of the nodes that lies")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  command
      ->add_option(
          "--role", options->role,
          "As what they lie; all: as owners, keepers and publishers; neighbour: on the rings themselves")
      ->check(cli::one_of(kRoles))
      ->capture_default_str();
  command->add_option("--hashtags", options->run.hashtags, "Hashtags that people use")
      ->check(CLI::Range(std::size_t{1}, std::size_t{500}))
      ->capture_default_str();
  add_common_options(*command, options->run.seed, options->json);
  command->footer(
      "40 nodes take about a minute of CPU, 200 about ten.\n\nExamples:\n  tagring sim liars --malicious "
      "0.3\n  "
      "tagring sim liars --nodes 200 --role storage --seed 2 --json liars.json");
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace tagring::studies
