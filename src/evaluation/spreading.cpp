#include "evaluation/spreading.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "balance/kchoices.hpp"
#include "base/rng.hpp"
#include "ring/contact.hpp"

namespace tagring::evaluation {
namespace {

// Of all nodes together ten times what is stored, so that none is overloaded.
constexpr double kRoom = 10;

struct Vserver {
  std::uint32_t node = 0;
  std::size_t number = 0;
};

class SpreadingRun {
 public:
  explicit SpreadingRun(const Spreading& options)
      : options_(options), rng_(options.seed), places_(options.nodes.size()) {
    for (std::size_t node = 0; node < options.nodes.size(); ++node) {
      const NodeRow& row = options.nodes[node];
      for (unsigned v = 0; v < options.kappa; ++v) {
        places_[node].push_back(ring::make_node_id(ring::IdScheme::kSpread, row.prefix, row.domain,
                                                   static_cast<std::uint8_t>(v)));
      }
    }
  }

  std::vector<Spread> run() {
    for (const std::uint32_t node : shuffled()) join(node);
    std::vector<Spread> outcomes = {measure()};
    for (unsigned round = 0; round < options_.rounds; ++round) {
      for (const std::uint32_t node : shuffled()) move(node);
      outcomes.push_back(measure());
    }
    return outcomes;
  }

 private:
  using Active = std::map<RingId, Vserver>;

  std::vector<std::uint32_t> shuffled() {
    std::vector<std::uint32_t> order(places_.size());
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.below(i)]);
    return order;
  }

  [[nodiscard]] Active::const_iterator owner(const RingId& key) const {
    const auto at = active_.lower_bound(key);
    return at == active_.end() ? active_.begin() : at;
  }
  [[nodiscard]] Active::const_iterator before(Active::const_iterator at) const {
    return std::prev(at == active_.begin() ? active_.end() : at);
  }
  [[nodiscard]] Active::const_iterator after(Active::const_iterator at) const {
    return std::next(at) == active_.end() ? active_.begin() : std::next(at);
  }
  // Part of the ring.
  static double share(const Segment& keys) { return balance::part_of_hashtags(keys, 1); }
  [[nodiscard]] Segment keys(Active::const_iterator at) const { return {before(at)->first, at->first}; }

  [[nodiscard]] std::vector<double> shares() const {
    std::vector<double> sums(places_.size());
    for (auto at = active_.begin(); at != active_.end(); ++at) sums[at->second.node] += share(keys(at));
    return sums;
  }

  [[nodiscard]] balance::Identity identity(std::uint32_t node) const {
    const NodeRow& row = options_.nodes[node];
    balance::Identity identity{.node = node};
    for (std::size_t i = 0; i < 6; ++i) identity.network = identity.network << 8U | row.prefix[i];
    identity.domain = std::hash<std::string>()(row.domain);
    return identity;
  }

  // What a node learns of its own places, of those that follow them, and of the owners of its free places.
  [[nodiscard]] balance::Surroundings look_around(std::uint32_t node) const {
    const std::vector<double> loads = shares();
    const double capacity = kRoom / static_cast<double>(places_.size());
    balance::Surroundings around;
    around.self = {loads[node], capacity};
    around.layout = {options_.copies, identity(node), {}};
    std::set<RingId> known;
    const auto know = [&](Active::const_iterator at) {
      if (known.insert(at->first).second)
        around.layout.known.push_back({keys(at), identity(at->second.node)});
    };
    for (std::size_t number = 0; number < places_[node].size(); ++number) {
      const RingId& id = places_[node][number];
      const auto at = owner(id);
      const bool stands = at->first == id;
      const auto next = stands ? after(at) : at;
      know(at);
      know(next);
      balance::Place place;
      place.index = number;
      place.id = id;
      place.load = share({before(at)->first, id});
      place.successor_node = next->second.node;
      place.successor = {loads[next->second.node], capacity};
      place.own = next->second.node == node;
      if (place.own) place.after = next->second.number;
      if (before(at)->second.node == node) place.before = before(at)->second.number;
      (stands ? around.active : around.free).push_back(place);
    }
    return around;
  }

  void join(std::uint32_t node) {
    active_.emplace(places_[node][0], Vserver{node, 0});
    for (unsigned v = 1; v < options_.vservers; ++v) {
      const balance::Surroundings around = look_around(node);
      const auto choice = balance::best_join({}, around.self, around.free);
      if (choice) active_.emplace(places_[node][choice->index], Vserver{node, choice->index});
    }
  }

  void move(std::uint32_t node) {
    const balance::Move move = balance::best_spread({}, look_around(node));
    if (move.is_none()) return;
    ++moves_;
    active_.erase(places_[node][*move.from]);
    active_.emplace(places_[node][*move.to], Vserver{node, *move.to});
  }

  [[nodiscard]] Spread measure() {
    Spread spread;
    Rng keys(options_.seed);
    const double each = 1.0 / options_.hashtags;
    for (unsigned n = 0; n < options_.hashtags; ++n) {
      std::array<std::uint8_t, 32> bytes;
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(keys.next());
      std::set<std::uint64_t> nodes;
      std::set<std::uint64_t> networks;
      std::set<std::uint64_t> domains;
      for (unsigned i = 0; i < options_.copies; ++i) {
        const RingId at = replica_key(RingId::from_bytes(bytes), i, options_.copies);
        const balance::Identity by = identity(owner(at)->second.node);
        nodes.insert(by.node);
        networks.insert(by.network);
        domains.insert(by.domain);
      }
      if (nodes.size() == options_.copies) spread.nodes += each;
      if (networks.size() == options_.copies) spread.networks += each;
      if (domains.size() == options_.copies) spread.domains += each;
    }
    const auto of_mean = static_cast<double>(places_.size());
    spread.largest = std::ranges::max(shares()) * of_mean;
    spread.moves = static_cast<double>(moves_) / of_mean;
    return spread;
  }

  const Spreading& options_;
  Rng rng_;
  std::vector<std::vector<RingId>> places_;  // of each node
  Active active_;
  std::size_t moves_ = 0;
};

}  // namespace

std::vector<Spread> spread_copies(const Spreading& options) { return SpreadingRun(options).run(); }

}  // namespace tagring::evaluation
