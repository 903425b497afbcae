#include <fmt/format.h>

#include "evaluation/settings.hpp"
#include "ring/contact.hpp"
#include "scenarios/scenario.hpp"

namespace tagring::scenarios {

using namespace evaluation;

namespace {

struct Variant {
  ring::IdScheme scheme;
  unsigned kappa;
  unsigned replicas;
  double split_gib;
  double overload;
  double epsilon;
};

std::vector<Variant> variants() {
  using ring::IdScheme;
  std::vector<Variant> all;
  for (const IdScheme scheme : {IdScheme::kPaper, IdScheme::kSpread}) {
    for (const unsigned kappa : {8U, 16U, 32U, 48U, 64U}) {
      for (const double split : {0.0, 4.0, 2.0, 1.0}) all.push_back({scheme, kappa, 4, split, 10, 0});
    }
  }
  constexpr ring::IdRules kOurs;
  for (const unsigned replicas : {1U, 2U, 8U}) all.push_back({kOurs.scheme, kOurs.kappa, replicas, 2, 10, 0});
  for (const double overload : {0.0, 1.0, 100.0})
    all.push_back({kOurs.scheme, kOurs.kappa, 4, 2, overload, 0});
  for (const double epsilon : {0.01, 0.1, 0.5}) all.push_back({kOurs.scheme, kOurs.kappa, 4, 2, 10, epsilon});
  return all;
}

}  // namespace

json::object run_parameters(const ScenarioInput& input) {
  json::array rows;
  const std::vector<Variant> all = variants();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Variant& v = all[i];
    input.on_progress(fmt::format("setting {} of {}", i + 1, all.size()),
                      static_cast<double>(i) / static_cast<double>(all.size()));
    Setting setting = recommended_setting();
    setting.placing.scheme = v.scheme;
    setting.placing.kappa = v.kappa;
    setting.placing.replicas = v.replicas;
    setting.placing.total_gib *= static_cast<double>(v.replicas) / 4;
    setting.placing.split_gib = v.split_gib;
    setting.balancing.parameters.overload = v.overload;
    setting.balancing.parameters.epsilon = v.epsilon;
    setting.placing.seed = setting.balancing.seed = input.seed;
    const Network network = make_network(input.nodes, input.spectrum, setting.placing);
    const Balanced balanced = balance_network(network, setting.balancing);
    rows.push_back(json::object{{"ids", name_of(v.scheme)},
                                {"kappa", v.kappa},
                                {"replicas", v.replicas},
                                {"split_gib", v.split_gib},
                                {"overload", v.overload},
                                {"epsilon", v.epsilon},
                                {"nodes_over", balanced.fit.nodes_over},
                                {"bytes_over_ratio", balanced.fit.bytes_over_ratio},
                                {"moved_ratio", balanced.moved_by_rounds},
                                {"vservers", balanced.vservers}});
  }
  input.on_progress("done", 1);
  return {{"scenario", "parameters"}, {"seed", input.seed}, {"settings", std::move(rows)}};
}

}  // namespace tagring::scenarios
