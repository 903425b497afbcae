#include "evaluation/targeting.hpp"

#include <array>

#include "ring/contact.hpp"
#include "scenarios/scenario.hpp"

namespace tagring::scenarios {

using namespace evaluation;

namespace {

constexpr unsigned kVservers = 8;                     // of honest nodes
constexpr unsigned kNumbers = ring::IdRules{}.kappa;  // of vservers that a network allows
constexpr unsigned kTrials = 300;

struct Attacker {
  std::string_view name;
  ring::IdScheme scheme;
  Choice choice;
};

constexpr std::array kAttackers = {
    Attacker{"paper, many /64s", ring::IdScheme::kPaper, Choice::kNetworks},
    Attacker{"spread, many /48s", ring::IdScheme::kSpread, Choice::kNetworks},
    Attacker{"spread, many domains", ring::IdScheme::kSpread, Choice::kDomains},
    Attacker{"spread, searched names", ring::IdScheme::kSpread, Choice::kNames},
};
constexpr std::array<std::pair<unsigned, unsigned>, 6> kWanted = {std::pair{2U, 1U}, {2U, 2U}, {4U, 1U},
                                                                  {4U, 2U},          {4U, 4U}, {16U, 16U}};

}  // namespace

json::object run_targeting(const ScenarioInput& input) {
  json::array figures;
  const double all = 2.0 * kAttackers.size() * kWanted.size();
  for (const Attacker& attacker : kAttackers) {
    const std::vector<RingId> places = honest_places(input.nodes, attacker.scheme, kVservers);
    for (const unsigned vservers : {kVservers, kNumbers}) {
      for (const auto& [replicas, owned] : kWanted) {
        input.on_progress(attacker.name, static_cast<double>(figures.size()) / all);
        const Target target{attacker.scheme, attacker.choice, vservers, replicas, owned};
        const TargetCost cost = target_cost(target, places.size());
        const double success = target_success(target, cost, places, kTrials, input.seed);
        figures.push_back(json::object{{"ids", ring::name_of(attacker.scheme)},
                                       {"attacker", attacker.name},
                                       {"places", places.size()},
                                       {"vservers", vservers},
                                       {"replicas", replicas},
                                       {"owned", owned},
                                       {"candidates", cost.candidates},
                                       {"prefixes_64", cost.n64},
                                       {"prefixes_48", cost.n48},
                                       {"domains", cost.domains},
                                       {"success_computed", cost.success},
                                       {"success_simulated", success},
                                       {"trials", kTrials}});
      }
    }
  }
  input.on_progress("done", 1);
  return {{"scenario", "targeting"},
          {"nodes", input.nodes.size()},
          {"seed", input.seed},
          {"rows", std::move(figures)}};
}

}  // namespace tagring::scenarios
