// tagring sim attack: look-ups in a ring of which a part lies.
#include "ring_sim/attack.hpp"

#include <cmath>
#include <fmt/core.h>
#include <map>
#include <memory>

#include "base/json.hpp"
#include "cli/one_of.hpp"
#include "studies/sim.hpp"

namespace tagring::studies {
namespace {

constexpr std::size_t kNodesMin = 32;
constexpr std::size_t kNodesMax = 200'000;

struct AttackOptions {
  std::string strategy = "adaptive";
  ring_sim::RingAttack attack;
  std::uint64_t seed = 1;
  std::string json = "-";
};

const std::map<std::string, ring_sim::Strategy> kStrategies = {{"plain", ring_sim::Strategy::kPlain},
                                                               {"static", ring_sim::Strategy::kStatic},
                                                               {"adaptive", ring_sim::Strategy::kAdaptive},
                                                               {"invent", ring_sim::Strategy::kInvent}};

// Of 95 % confidence (Wilson).
json::array interval(std::uint64_t hits, unsigned all) {
  constexpr double kZ = 1.96;
  const double n = all;
  const double p = static_cast<double>(hits) / n;
  const double middle = (p + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n)) / (1 + kZ * kZ / n);
  return {middle - half, middle + half};
}

int run_attack(AttackOptions options) {
  ring_sim::RingAttack& attack = options.attack;
  attack.strategy = kStrategies.at(options.strategy);
  const Progress progress;
  attack.on_progress = [&](double done) { progress.show("look-ups", done); };
  const ring_sim::RingAttackResult result = ring_sim::run_ring_attack(options.seed, attack);
  progress.show("done", 1);
  const double n = attack.lookups;
  json::object figures = {{"scenario", "attack"},
                          {"nodes", attack.hosts},
                          {"malicious", attack.malicious},
                          {"strategy", options.strategy},
                          {"seed", options.seed},
                          {"lookups", attack.lookups},
                          {"true_owner_rate", static_cast<double>(result.true_owner) / n},
                          {"true_owner_95", interval(result.true_owner, attack.lookups)},
                          {"success_rate", static_cast<double>(result.success) / n},
                          {"success_95", interval(result.success, attack.lookups)},
                          {"calls_mean", static_cast<double>(result.calls) / n}};
  if (attack.strategy == ring_sim::Strategy::kPlain) {
    const double hops = std::log2(static_cast<double>(attack.hosts));
    figures["closed_form"] = std::pow(1 - attack.malicious / 2, hops) * (1 - attack.malicious);
  } else {
    figures["queries"] = attack.queries;
  }
  return finish(options.json, figures);
}

}  // namespace

void add_sim_attack(CLI::App& sim, int& status) {
  auto options = std::make_shared<AttackOptions>();
  CLI::App* command = sim.add_subcommand("attack", std::string(kAttackSummary));
  command->add_option("--nodes", options->attack.hosts, "Members of the ring")
      ->check(CLI::Range(kNodesMin, kNodesMax))
      ->capture_default_str();
  command->add_option("--malicious", options->attack.malicious, "What part of them lies")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  command->add_option("--strategy", options->strategy, "How they lie")
      ->check(cli::one_of(kStrategies))
      ->capture_default_str();
  command->add_option("--queries", options->attack.queries, "Calls of a secure look-up, at most")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
      ->capture_default_str();
  command
      ->add_option("--successors", options->attack.successors,
                   "Entries of a successor list (default: 1 for plain, 16 otherwise)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{16}));
  command->add_option("--lookups", options->attack.lookups, "Of random keys by random honest members")
      ->check(CLI::Range(1U, 10'000'000U))
      ->capture_default_str();
  add_common_options(*command, options->seed, options->json);
  command->footer(
      "plain:    Chord's greedy look-up; a liar on the way claims the key. closed_form is what theory says "
      "of\n"
      "          success_rate.\n"
      "static:   the secure look-up; liars always name those of them who stand nearest the key.\n"
      "adaptive: the secure look-up; liars name ever new ones, until its calls are used up.\n"
      "invent:   the secure look-up; liars name members that do not exist.\n\n"
      "true_owner_rate: the look-up ended at the true owner of the key. success_rate: and it was honest. "
      "Both "
      "with\n95 % intervals.\n\n"
      "Example:\n  tagring sim attack --nodes 10000 --malicious 0.2 --strategy adaptive");
  command->callback([options, &status] { status = run_attack(*options); });
}

}  // namespace tagring::studies
