#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "evaluation/scenario.hpp"

namespace tagring::evaluation {
namespace {

constexpr std::size_t kBins = 100;

struct Spread {
  std::size_t ids = 0;       // different ones
  std::vector<double> bins;  // IDs in each hundredth of the ring
  double largest_arc = 0;    // of the ring
  std::size_t idle = 0;      // nodes with less than a thousandth of their fair part
};

Spread spread_of(const std::vector<NodeRow>& nodes, ring::IdScheme scheme, unsigned vservers) {
  Spread spread;
  spread.bins.assign(kBins, 0);
  std::set<std::pair<RingId, std::size_t>> ring;
  std::set<RingId> seen;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (unsigned v = 0; v < vservers; ++v) {
      const RingId id =
          ring::make_node_id(scheme, nodes[n].prefix, nodes[n].domain, static_cast<std::uint8_t>(v));
      if (!seen.insert(id).second) continue;
      ring.emplace(id, n);
      ++spread.bins[std::min(kBins - 1, static_cast<std::size_t>(id.fraction() * kBins))];
    }
  }
  spread.ids = ring.size();
  std::vector<double> owned(nodes.size());
  RingId before = ring.rbegin()->first;
  for (const auto& [id, n] : ring) {
    const double arc = clockwise_distance(before, id).fraction();
    owned[n] += arc;
    spread.largest_arc = std::max(spread.largest_arc, arc);
    before = id;
  }
  const double fair = 1 / static_cast<double>(nodes.size());
  spread.idle =
      static_cast<std::size_t>(std::ranges::count_if(owned, [&](double o) { return o < fair / 1000; }));
  return spread;
}

}  // namespace

ScenarioOutput run_node_placement(const ScenarioInput& input) {
  Report report("Where nodes lie on the ring: figures 6 and 8 of the paper");
  report.paragraph(describe_data(input));
  report.paragraph(
      "An ID follows from a node's address and domain, so that nobody chooses his place. By the paper's "
      "scheme the "
      "/64 alone decides where on the ring, up to the last of 2^64 steps: customers of one hoster stand on "
      "one "
      "point, only the first of them owns keys, and its outage takes neighbours at once. The spread scheme "
      "hashes "
      "the /48 together with the domain.");
  json::array figures;
  std::vector<std::vector<std::string>> rows;
  for (const unsigned vservers : {1U, 8U}) {
    Plot plot{fmt::format("IDs in each hundredth of the ring, {} vserver{} a node", vservers,
                          vservers > 1 ? "s" : ""),
              "place on the ring, in hundredths",
              "IDs",
              {}};
    for (const auto& [name, scheme] :
         {std::pair{"paper", ring::IdScheme::kPaper}, std::pair{"spread", ring::IdScheme::kSpread}}) {
      const Spread spread = spread_of(input.nodes, scheme, vservers);
      Series series{std::string(name) + " IDs", {}};
      for (std::size_t bin = 0; bin < kBins; ++bin) series.points.emplace_back(bin, spread.bins[bin]);
      plot.series.push_back(std::move(series));
      const double fullest = *std::ranges::max_element(spread.bins) / static_cast<double>(spread.ids);
      figures.push_back(json::object{{"ids", name},
                                     {"vservers", vservers},
                                     {"distinct", spread.ids},
                                     {"fullest_hundredth", fullest},
                                     {"largest_arc", spread.largest_arc},
                                     {"idle_nodes", spread.idle}});
      rows.push_back({name, fmt::format("{}", vservers), fmt::format("{}", spread.ids),
                      fmt::format("{:.1f} %", 100 * fullest),
                      fmt::format("{:.2f} %", 100 * spread.largest_arc), fmt::format("{}", spread.idle)});
    }
    report.plot(plot);
  }
  Plot circle{
      "Three nodes with 8 vservers each (figure 6)", "place on the ring", "node", {}, false, false, true};
  for (std::size_t n = 0; n < std::min<std::size_t>(3, input.nodes.size()); ++n) {
    Series series{fmt::format("node {}", n + 1), {}};
    for (std::uint8_t v = 0; v < 8; ++v) {
      const RingId id =
          ring::make_node_id(ring::IdScheme::kPaper, input.nodes[n].prefix, input.nodes[n].domain, v);
      series.points.emplace_back(id.fraction(), static_cast<double>(n + 1));
    }
    circle.series.push_back(std::move(series));
  }
  report.plot(circle);
  report.table({"IDs", "vservers", "different IDs", "in the fullest hundredth", "largest arc",
                "nodes with next to nothing"},
               rows);
  return {
      json::object{
          {"scenario", "node-placement"}, {"nodes", input.nodes.size()}, {"placements", std::move(figures)}},
      report};
}

}  // namespace tagring::evaluation
