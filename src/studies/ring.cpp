// tagring sim ring: hours of joins and crashes in minutes, under an oracle that sees everything.
#include <algorithm>
#include <fmt/core.h>
#include <memory>

#include "base/json.hpp"
#include "ring_sim/churn.hpp"
#include "studies/sim.hpp"

namespace tagring::studies {
namespace {

constexpr std::uint64_t kSoak = 1'000'000'000;
constexpr std::uint64_t kEventsOfRun = 500'000;  // then a new ring
constexpr std::uint64_t kEventsOfHost = 1'000;   // unless it is so large that little would happen in it
constexpr std::size_t kRingMin = 8;
constexpr std::size_t kRingMax = 100'000;

struct RingOptions {
  std::size_t nodes = 24;
  unsigned vservers = 1;
  std::uint64_t events = 1'000'000;
  std::uint64_t check_every = 1;
  std::uint64_t seed = 1;
  bool soak = false;
  std::string json = "-";
};

struct Sum {
  std::uint64_t events = 0;
  std::uint64_t checks = 0;
  std::uint64_t crashes = 0;
  std::uint64_t runs = 0;
  std::uint64_t violations = 0;
  std::uint64_t trace = 0;
  int ideal_rounds = 0;  // the most
  int rounds_bound = 0;
};

void add_run(const RingOptions& options, std::uint64_t wanted, const Progress& progress, Sum* sum) {
  ring_sim::RingChurn churn;
  churn.hosts = options.nodes;
  churn.options.vservers = static_cast<std::uint8_t>(options.vservers);
  churn.duration = std::chrono::hours(24 * 365);
  churn.events = std::min(wanted - sum->events, std::max(kEventsOfRun, kEventsOfHost * options.nodes));
  churn.check_every = options.check_every;
  churn.on_progress = [&](std::uint64_t events) {
    progress.show(fmt::format("ring {}", sum->runs + 1),
                  std::min(0.999, static_cast<double>(sum->events + events) / static_cast<double>(wanted)));
  };
  const std::uint64_t seed = options.seed + sum->runs;
  const ring_sim::RingChurnResult result = ring_sim::run_ring_churn(seed, churn);
  if (result.broken) fmt::print(stderr, "tagring: seed {}: {}\n", seed, *result.broken);
  if (!result.broken && !result.ideal_rounds)
    fmt::print(stderr, "tagring: seed {}: the ring did not become ideal\n", seed);
  const bool late = result.ideal_rounds.value_or(0) > result.rounds_bound;
  if (late)
    fmt::print(stderr, "tagring: seed {}: ideal after {} rounds, more than {}\n", seed, *result.ideal_rounds,
               result.rounds_bound);
  sum->violations += result.broken || !result.ideal_rounds || late ? 1 : 0;
  sum->events += result.events;
  sum->checks += result.checks;
  sum->crashes += result.crashes;
  sum->ideal_rounds = std::max(sum->ideal_rounds, result.ideal_rounds.value_or(0));
  sum->rounds_bound = std::max(sum->rounds_bound, result.rounds_bound);
  sum->trace = (sum->trace ^ result.trace) * 0x100000001B3U;
  ++sum->runs;
}

int run_ring(const RingOptions& options) {
  const std::uint64_t wanted = options.soak ? kSoak : options.events;
  const Progress progress;
  Sum sum;
  while (sum.events < wanted) add_run(options, wanted, progress, &sum);
  progress.show("done", 1);
  const json::object figures = {{"scenario", "ring"},
                                {"nodes", options.nodes},
                                {"seed", options.seed},
                                {"events", sum.events},
                                {"check_every", options.check_every},
                                {"checks", sum.checks},
                                {"crashes", sum.crashes},
                                {"rings", sum.runs},
                                {"violations", sum.violations},
                                {"ideal_rounds", sum.ideal_rounds},
                                {"rounds_bound", sum.rounds_bound},
                                {"trace", fmt::format("{:016x}", sum.trace)}};
  const int written = finish(options.json, figures);
  return written != kExitOk ? written : sum.violations == 0 ? kExitOk : kExitFailed;
}

}  // namespace

void add_sim_ring(CLI::App& sim, int& status) {
  auto options = std::make_shared<RingOptions>();
  CLI::App* command = sim.add_subcommand("ring", std::string(kRingSummary));
  command->add_option("--nodes", options->nodes, "Hosts that come and go")
      ->check(CLI::Range(kRingMin, kRingMax))
      ->capture_default_str();
  command->add_option("--vservers", options->vservers, "Virtual servers of a host")
      ->check(CLI::Range(1U, 64U))
      ->capture_default_str();
  command->add_option("--events", options->events, "How many events, in as many rings as that takes")
      ->check(CLI::Range(std::uint64_t{1'000}, std::uint64_t{1'000'000'000'000}))
      ->capture_default_str();
  command
      ->add_option(
          "--check-every", options->check_every,
          "Look at the ring after every n-th change only; a look takes longer the more nodes there are")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}))
      ->capture_default_str();
  command->add_flag("--soak", options->soak, "A thousand million events");
  add_common_options(*command, options->seed, options->json);
  command->footer(
      "Members join, crash and come back at random, as far as corrected Chord allows: nobody loses its last "
      "live\n"
      "successor. After every change the ring must be one, ordered and complete; when the unrest ends it "
      "must "
      "become\n"
      "ideal within rounds_bound periods of stabilising. Exits with 1 if anything was violated.\n\n"
      "Example:\n  tagring sim ring --nodes 100 --events 10000000");
  command->callback([options, &status] { status = run_ring(*options); });
}

}  // namespace tagring::studies
