#include "evaluation/network.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

#include "base/assert.hpp"
#include "base/rng.hpp"
#include "evaluation/table.hpp"

namespace tagring::evaluation {
namespace {

struct Key {
  std::uint64_t position = 0;
  double load = 0;
};

// Every replica of every partition of every hashtag.
std::vector<Key> make_keys(const std::vector<SpectrumRow>& spectrum, const Placing& placing,
                           double gib_of_post) {
  std::vector<Key> keys;
  for (const Tag& tag : make_tags(spectrum, placing.seed)) {
    const double whole = static_cast<double>(tag.posts) * gib_of_post;
    const unsigned copies = copies_of(placing, whole);
    const double part = whole * placing.replicas / copies;
    for (unsigned i = 0; i < copies; ++i) keys.push_back({position_of(tag.key, i, copies), part});
  }
  std::ranges::sort(keys, {}, &Key::position);
  return keys;
}

}  // namespace

Result<std::vector<NodeRow>> parse_nodes(std::string_view text) {
  TRY(const Table table, Table::parse(text));
  TRY(const std::size_t domain, table.column({"registrable_domain", "domain"}));
  TRY(const std::size_t address, table.column({"address", "synthetic_ipv6"}));
  TRY(const std::size_t weight, table.column({"weight", "capacity", "statuses"}));
  std::vector<NodeRow> nodes;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    NodeRow node;
    TRY(const std::string_view name, table.cell(row, domain));
    TRY(const std::string_view place, table.cell(row, address));
    TRY(node.weight, table.number_at(row, weight));
    const std::optional<IpAddress> parsed = IpAddress::parse(std::string(place));
    if (!parsed) return fail(ErrorCode::kInvalid, fmt::format("line {}: '{}' is no address", row + 2, place));
    node.domain = name;
    node.prefix = parsed->prefix64();
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Result<std::vector<SpectrumRow>> parse_spectrum(std::string_view text) {
  constexpr double kTagsMax = 20'000'000;
  TRY(const Table table, Table::parse(text));
  TRY(const std::size_t posts, table.column({"posts"}));
  const Result<std::size_t> tags = table.column({"tags"});
  if (!tags && !table.column({"tag"})) return std::unexpected(tags.error());
  std::vector<SpectrumRow> spectrum;
  double sum = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    TRY(const double of_tag, table.number_at(row, posts));
    double count = 1;
    if (tags) {
      TRY(count, table.number_at(row, *tags));
    }
    sum += count;
    if (sum > kTagsMax) return fail(ErrorCode::kTooLarge, "a spectrum has at most 20 million hashtags");
    spectrum.push_back({static_cast<std::uint64_t>(of_tag), static_cast<std::uint64_t>(count)});
  }
  if (sum < 1) return fail(ErrorCode::kInvalid, "the spectrum has no hashtag");
  return spectrum;
}

// The keys of a spectrum are those of hashtags named by numbers, hashed by a generator.
std::vector<Tag> make_tags(const std::vector<SpectrumRow>& spectrum, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Tag> tags;
  for (const SpectrumRow& row : spectrum) {
    for (std::uint64_t i = 0; i < row.tags; ++i) tags.push_back({rng.next(), row.posts});
  }
  return tags;
}

unsigned copies_of(const Placing& placing, double gib) {
  unsigned partitions = 1;
  while (placing.split_gib > 0 && gib / partitions > placing.split_gib &&
         partitions * 2 * placing.replicas <= kReplicasMax)
    partitions *= 2;
  return partitions * placing.replicas;
}

std::uint64_t position_of(std::uint64_t key, unsigned copy, unsigned copies) {
  return copies == 1 ? key : key + copy * (std::uint64_t{1} << (64 - std::countr_zero(copies)));
}

std::vector<NodeRow> resize_nodes(std::vector<NodeRow> nodes, std::size_t count, std::uint64_t seed) {
  TR_ASSERT(!nodes.empty());
  Rng rng(seed);
  const std::size_t known = nodes.size();
  if (count < known) {
    for (std::size_t i = 0; i < count; ++i) std::swap(nodes[i], nodes[i + rng.below(known - i)]);
  }
  nodes.resize(count);
  for (std::size_t i = known; i < count; ++i) {
    NodeRow& node = nodes[i] = nodes[i - known];
    const std::size_t copy = i / known;
    node.domain = fmt::format("{}.{}", copy, node.domain);
    node.prefix[2] = static_cast<std::uint8_t>(copy);  // another /24
    node.prefix[3] = static_cast<std::uint8_t>(copy >> 8);
  }
  return nodes;
}

std::uint32_t gap_of(const Network& network, std::uint64_t position) {
  const auto at = std::ranges::lower_bound(network.sites, position, {}, &Site::position);
  return at == network.sites.end() ? 0 : static_cast<std::uint32_t>(at - network.sites.begin());
}

Network make_network(const std::vector<NodeRow>& nodes, const std::vector<SpectrumRow>& spectrum,
                     const Placing& placing) {
  TR_ASSERT(placing.kappa >= 1 && placing.kappa <= 64 && std::has_single_bit(placing.replicas));
  double posts = 0;
  for (const SpectrumRow& row : spectrum) posts += static_cast<double>(row.posts * row.tags);
  const double original = placing.total_gib / placing.replicas;
  const std::vector<Key> keys = make_keys(spectrum, placing, original / posts);

  Network network;
  double weights = 0;
  for (const NodeRow& node : nodes) weights += node.weight;
  std::vector<std::pair<RingId, Site>> places;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    network.capacity.push_back(nodes[n].weight / weights * original * placing.capacity_factor);
    for (std::uint32_t v = 0; v < placing.kappa; ++v) {
      const RingId id =
          ring::make_node_id(placing.scheme, nodes[n].prefix, nodes[n].domain, static_cast<std::uint8_t>(v));
      places.push_back({id, {n, v, id.top(), 0}});
    }
  }
  // Nodes of one /64 and domain have the same IDs; the first of them wins.
  std::ranges::sort(places, {}, [](const auto& place) { return std::pair(place.first, place.second.node); });
  network.of_node.assign(nodes.size(), std::vector<std::uint32_t>(placing.kappa));
  std::size_t reached = 0;
  for (auto& [id, site] : places) {
    while (reached < keys.size() && keys[reached].position <= id.top()) network.total += keys[reached++].load;
    site.before = network.total;
    network.of_node[site.node][site.index] = static_cast<std::uint32_t>(network.sites.size());
    network.sites.push_back(site);
  }
  for (; reached < keys.size(); ++reached) network.total += keys[reached].load;
  for (const Key& key : keys) network.heaviest_key = std::max(network.heaviest_key, key.load);
  return network;
}

}  // namespace tagring::evaluation
