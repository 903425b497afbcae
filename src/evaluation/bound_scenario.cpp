#include <array>
#include <fmt/format.h>

#include "evaluation/balancing.hpp"
#include "evaluation/scenario.hpp"
#include "evaluation/search.hpp"

namespace tagring::evaluation {
namespace {

constexpr double kSeconds = 480;  // for all settings, unless told otherwise

struct Variant {
  ring::IdScheme scheme;
  unsigned kappa;
  unsigned replicas;
  double split_gib;  // 0: whole
};
constexpr std::array kVariants = {
    Variant{ring::IdScheme::kPaper, 8, 4, 0},
    Variant{ring::IdScheme::kPaper, 32, 4, 4},
    Variant{ring::IdScheme::kSpread, 8, 4, 4},
    Variant{ring::IdScheme::kPaper, 32, 2, 1},
};

std::string keys_of(const Variant& variant) {
  return variant.split_gib > 0 ? fmt::format("split to {:g} GiB", variant.split_gib) : "whole";
}

Placement best_placement(const Network& network, const ScenarioInput& input, std::size_t index) {
  const double begin = input.clock();
  const double seconds = input.bound_seconds.value_or(kSeconds) / kVariants.size();
  const auto progress = [&] {
    const double done = (input.clock() - begin) / seconds;
    input.on_progress(fmt::format("setting {} of {}", index + 1, kVariants.size()),
                      (static_cast<double>(index) + std::min(done, 1.0)) / kVariants.size());
    return done;
  };
  return search(unbalanced(network), progress, input.seed);
}

}  // namespace

ScenarioOutput run_bound(const ScenarioInput& input) {
  Report report("What global knowledge could reach");
  report.paragraph(
      "How well a year of posts would fit on the nodes if somebody who knows everything chose which of the κ "
      "possible places of each node are taken. A search proves nothing to be best, but what it finds "
      "exists. Given are κ, the copies R of each post, how the nodes' IDs are made, and from "
      "which size on a hashtag is spread over partitions. All nodes together hold 4.5 copies.");
  report.paragraph(describe_data(input));
  Plot plot = utilisation_plot();
  json::array settings;
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < kVariants.size(); ++i) {
    const Variant& variant = kVariants[i];
    Placing placing;
    placing.scheme = variant.scheme;
    placing.kappa = variant.kappa;
    placing.total_gib *= static_cast<double>(variant.replicas) / placing.replicas;
    placing.replicas = variant.replicas;
    placing.split_gib = variant.split_gib;
    placing.seed = input.seed;
    const Network network = make_network(input.nodes, input.spectrum, placing);
    const Placement placement = best_placement(network, input, i);
    const Fit fit = fit_of(placement);
    settings.push_back(json::object{{"ids", name_of(variant.scheme)},
                                    {"kappa", variant.kappa},
                                    {"replicas", variant.replicas},
                                    {"split_gib", variant.split_gib},
                                    {"nodes_over", fit.nodes_over},
                                    {"bytes_over_ratio", fit.bytes_over_ratio},
                                    {"vservers", placement.active()}});
    const std::string name = fmt::format("R = {}, κ = {}, {} IDs, keys {}", variant.replicas, variant.kappa,
                                         name_of(variant.scheme), keys_of(variant));
    plot.series.push_back(series_of(name, utilisation(placement)));
    rows.push_back({fmt::format("{}", variant.replicas), fmt::format("{}", variant.kappa),
                    std::string(name_of(variant.scheme)), keys_of(variant),
                    fmt::format("{:.3f} %", 100 * fit.bytes_over_ratio), fmt::format("{}", fit.nodes_over),
                    fmt::format("{}", placement.active())});
  }
  report.plot(plot);
  report.table({"R", "κ", "IDs", "keys", "bytes over capacity", "nodes over", "vservers"}, rows);
  return {json::object{{"scenario", "bound"}, {"seed", input.seed}, {"settings", std::move(settings)}},
          report};
}

}  // namespace tagring::evaluation
