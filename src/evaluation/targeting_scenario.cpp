#include <array>
#include <fmt/format.h>

#include "evaluation/scenario.hpp"
#include "evaluation/targeting.hpp"

namespace tagring::evaluation {
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

ScenarioOutput run_targeting(const ScenarioInput& input) {
  Report report("What it costs to own replicas of a chosen hashtag");
  report.paragraph(describe_data(input));
  report.paragraph(fmt::format(
      "Honest nodes have {} vservers each. The attacker chooses among all IDs that its networks and domains "
      "give, and starts nodes at those only that take a wanted key. Costs are of even odds; beside them, how "
      "often it succeeded in trials with the IDs that nodes make.",
      kVservers));
  json::array figures;
  Plot plot{.title = "IDs that the attacker must be able to choose from",
            .x = "replicas owned, of 4",
            .y = "IDs, at even odds",
            .series = {},
            .log_y = true};
  std::vector<std::vector<std::string>> rows;
  const double all = 2.0 * kAttackers.size() * kWanted.size();
  for (const Attacker& attacker : kAttackers) {
    const std::vector<RingId> places = honest_places(input.nodes, attacker.scheme, kVservers);
    plot.series.push_back({std::string(attacker.name), {}});
    for (unsigned owned = 1; owned <= 4; ++owned) {
      const TargetCost cost =
          target_cost({attacker.scheme, attacker.choice, kVservers, 4, owned}, places.size());
      plot.series.back().points.emplace_back(owned, static_cast<double>(cost.candidates));
    }
    for (const unsigned vservers : {kVservers, kNumbers}) {
      for (const auto& [replicas, owned] : kWanted) {
        input.on_progress(attacker.name, static_cast<double>(rows.size()) / all);
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
        rows.push_back({std::string(attacker.name), fmt::format("{}", vservers),
                        fmt::format("{} of {}", owned, replicas), fmt::format("{:.0f}", cost.candidates),
                        fmt::format("{}", cost.n64), fmt::format("{}", cost.n48),
                        fmt::format("{}", cost.domains), fmt::format("{:.2f}", success)});
      }
    }
  }
  input.on_progress("done", 1);
  report.plot(plot);
  report.table({"IDs, attacker's choice", "vserver numbers", "replicas", "IDs to choose from", "/64s", "/48s",
                "domains", "success in trials"},
               rows);
  return {json::object{{"scenario", "targeting"},
                       {"nodes", input.nodes.size()},
                       {"seed", input.seed},
                       {"rows", std::move(figures)}},
          std::move(report)};
}

}  // namespace tagring::evaluation
