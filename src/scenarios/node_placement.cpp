#include <algorithm>
#include <set>

#include "ring/contact.hpp"
#include "scenarios/scenario.hpp"

namespace tagring::scenarios {

using namespace evaluation;

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

json::object run_node_placement(const ScenarioInput& input) {
  json::array figures;
  for (const unsigned vservers : {1U, 8U}) {
    for (const auto& [name, scheme] :
         {std::pair{"paper", ring::IdScheme::kPaper}, std::pair{"spread", ring::IdScheme::kSpread}}) {
      const Spread spread = spread_of(input.nodes, scheme, vservers);
      const double fullest = *std::ranges::max_element(spread.bins) / static_cast<double>(spread.ids);
      figures.push_back(json::object{{"ids", name},
                                     {"vservers", vservers},
                                     {"distinct", spread.ids},
                                     {"fullest_hundredth", fullest},
                                     {"largest_arc", spread.largest_arc},
                                     {"idle_nodes", spread.idle}});
    }
  }
  return {{"scenario", "node-placement"}, {"nodes", input.nodes.size()}, {"placements", std::move(figures)}};
}

}  // namespace tagring::scenarios
