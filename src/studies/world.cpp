// tagring sim world: whole networks that their seeds draw, with everything that breaks in them.
#include <array>
#include <csignal>
#include <fmt/core.h>
#include <map>
#include <unistd.h>

#include "base/json.hpp"
#include "runs/swarm.hpp"
#include "studies/sim.hpp"

namespace tagring::studies {
namespace {

struct WorldOptions {
  std::uint64_t seed = 1;
  std::uint64_t seeds = 10;
  runs::SwarmOptions world;
  std::string json = "-";
};

// What a world that aborts leaves behind.
std::array<char, 64> last_words;

void say_last_words(int) {
  const std::size_t size = std::char_traits<char>::length(last_words.data());
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, last_words.data(), size);
}

void note_seed(std::uint64_t seed) {
  *fmt::format_to_n(last_words.data(), last_words.size() - 1, "tagring: aborted in the world of seed {}\n",
                    seed)
       .out = '\0';
  std::signal(SIGABRT, say_last_words);
}

int run_worlds(const WorldOptions& options) {
  const Progress progress;
  json::array failures;
  double hours = 0;
  std::uint64_t steps = 0;
  for (std::uint64_t n = 0; n < options.seeds; ++n) {
    const std::uint64_t seed = options.seed + n;
    progress.show(fmt::format("seed {}", seed), static_cast<double>(n) / static_cast<double>(options.seeds));
    note_seed(seed);
    const runs::SwarmRun run = runs::run_swarm(seed, options.world);
    hours += std::chrono::duration<double, std::ratio<3600>>(run.simulated).count();
    steps += run.steps;
    if (run.what.empty()) continue;
    fmt::print("{}\n",
               json::serialize(json::object{{"seed", seed}, {"what", run.what}, {"world", run.world}}));
    std::fflush(stdout);
    failures.push_back(json::object{{"seed", seed}, {"what", run.what}});
  }
  progress.show("done", 1);
  const bool failed = !failures.empty();
  const int written = finish(options.json, json::object{{"scenario", "world"},
                                                        {"seeds", options.seeds},
                                                        {"failed", failures.size()},
                                                        {"failures", std::move(failures)},
                                                        {"sim_hours", hours},
                                                        {"steps", steps}});
  return failed ? kExitFailed : written;
}

}  // namespace

void add_sim_world(CLI::App& sim, int& status) {
  auto options = std::make_shared<WorldOptions>();
  CLI::App* command = sim.add_subcommand("world", std::string(kWorldSummary));
  command->add_option("--seeds", options->seeds, "How many worlds: of this seed and those that follow it")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
      ->capture_default_str();
  command->add_flag("--log", options->world.log, "What the nodes say, on standard error");
  command->add_flag("--calm,!--no-calm", options->world.calm,
                    "All worlds, or none, keep to what the theory of the ring allows; otherwise a tenth");
  command->add_flag("--people", options->world.people, "People on other servers follow hashtags, too");
  // Not for people: seeds that once showed something, and a world that is bound to fail.
  command->add_flag("--first-draw", options->world.first_draw)->group("");
  command->add_flag("--usual-sizes", options->world.usual_sizes)->group("");
  command->add_flag("--scarce", options->world.scarce)->group("");
  const std::map<std::string, runs::Sabotage> sabotages = {{"post", runs::Sabotage::kLosePost},
                                                           {"abort", runs::Sabotage::kAbort}};
  command->add_option("--sabotage", options->world.sabotage)
      ->transform(CLI::CheckedTransformer(sabotages))
      ->group("");
  add_common_options(*command, options->seed, options->json);
  command->footer(
      "Prints a line of JSON for each world that did not keep its word, and the figures at the end. Exits "
      "with 1 if\n"
      "there was one.\n\nExamples:\n  tagring sim world --seed 1 --seeds 100\n  tagring sim world --seed "
      "4711 --seeds 1 --log");
  command->callback([options, &status] { status = run_worlds(*options); });
}

}  // namespace tagring::studies
