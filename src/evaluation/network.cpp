#include "evaluation/network.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "base/assert.hpp"
#include "base/rng.hpp"

namespace tagring::evaluation {
namespace {

constexpr unsigned kReplicasMax = 256;  // paper §7

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    return std::nullopt;
  return value;
}

// Rows under a header line, with the columns that are asked for.
class Table {
 public:
  static Result<Table> parse(std::string_view text) {
    Table table;
    for (std::string_view line : split(text, '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      table.lines_.push_back(split(line, '\t'));
    }
    while (!table.lines_.empty() && table.lines_.back().size() == 1 && table.lines_.back()[0].empty())
      table.lines_.pop_back();
    if (table.lines_.size() < 2) return fail(ErrorCode::kInvalid, "a table has a header line and rows");
    return table;
  }
  // The place of the first of these columns that exists.
  [[nodiscard]] Result<std::size_t> column(const std::vector<std::string_view>& names) const {
    for (const std::string_view name : names) {
      const auto at = std::ranges::find(lines_[0], name);
      if (at != lines_[0].end()) return static_cast<std::size_t>(at - lines_[0].begin());
    }
    return fail(ErrorCode::kInvalid, fmt::format("no column '{}' in the header line", names[0]));
  }
  [[nodiscard]] std::size_t rows() const { return lines_.size() - 1; }
  [[nodiscard]] Result<std::string_view> cell(std::size_t row, std::size_t column) const {
    const auto& line = lines_[row + 1];
    if (column >= line.size())
      return fail(ErrorCode::kInvalid, fmt::format("line {}: too few columns", row + 2));
    return line[column];
  }
  [[nodiscard]] Result<double> number_at(std::size_t row, std::size_t column) const {
    TRY(const std::string_view text, cell(row, column));
    const std::optional<double> value = number(text);
    if (!value) return fail(ErrorCode::kInvalid, fmt::format("line {}: '{}' is no number", row + 2, text));
    return *value;
  }

 private:
  std::vector<std::vector<std::string_view>> lines_;
};

struct Key {
  std::uint64_t position = 0;
  double load = 0;
};

// Every replica of every partition of every hashtag. The keys of a spectrum are those of hashtags named by
// numbers, hashed by a generator.
std::vector<Key> make_keys(const std::vector<SpectrumRow>& spectrum, const Placing& placing,
                           double gib_of_post) {
  Rng rng(placing.seed);
  std::vector<Key> keys;
  for (const SpectrumRow& row : spectrum) {
    const double whole = static_cast<double>(row.posts) * gib_of_post;
    unsigned partitions = 1;
    while (placing.split_gib > 0 && whole / partitions > placing.split_gib &&
           partitions * 2 * placing.replicas <= kReplicasMax)
      partitions *= 2;
    const unsigned copies = partitions * placing.replicas;
    const std::uint64_t step = copies == 1 ? 0 : std::uint64_t{1} << (64 - std::countr_zero(copies));
    for (std::uint64_t tag = 0; tag < row.tags; ++tag) {
      const std::uint64_t key = rng.next();
      for (unsigned i = 0; i < copies; ++i) keys.push_back({key + i * step, whole / partitions});
    }
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
      places.push_back({id, {n, v, 0}});
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
