#include "evaluation/events.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/rng.hpp"
#include "evaluation/table.hpp"

namespace tagring::evaluation {
namespace {

constexpr double kHoursMax = 24 * 366;
constexpr double kRankMax = 1e9;
constexpr double kBurstPostsMax = 1e6;

Result<std::vector<std::pair<unsigned, double>>> parse_pairs(std::string_view text, std::size_t row) {
  std::vector<std::pair<unsigned, double>> pairs;
  for (const std::string_view pair : split(text, ' ')) {
    const std::vector<std::string_view> parts = split(pair, ':');
    const std::optional<double> at = number(parts[0]);
    const std::optional<double> posts = parts.size() == 2 ? number(parts[1]) : std::nullopt;
    if (!at || !posts || *at >= kHoursMax)
      return fail(ErrorCode::kInvalid, fmt::format("line {}: '{}' is no time:posts", row + 2, pair));
    pairs.emplace_back(static_cast<unsigned>(*at), *posts);
  }
  return pairs;
}

}  // namespace

Result<std::vector<Outage>> parse_outages(std::string_view text) {
  TRY(const Table table, Table::parse(text));
  TRY(const std::size_t rank, table.column({"rank"}));
  TRY(const std::size_t down, table.column({"down"}));
  TRY(const std::size_t up, table.column({"up"}));
  std::vector<Outage> outages;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Outage outage;
    TRY(const double node, table.number_at(row, rank));
    TRY(outage.down, table.number_at(row, down));
    TRY(outage.up, table.number_at(row, up));
    if (node < 1 || node > kRankMax || outage.up < outage.down)
      return fail(ErrorCode::kInvalid, fmt::format("line {}: no rank, or up before down", row + 2));
    outage.node = static_cast<std::uint32_t>(node) - 1;
    outages.push_back(outage);
  }
  return outages;
}

Result<Stream> parse_stream(std::string_view text) {
  TRY(const Table table, Table::parse(text));
  TRY(const std::size_t rank, table.column({"rank_before"}));
  TRY(const std::size_t posts, table.column({"posts"}));
  Stream stream;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    TRY(const std::string_view who, table.cell(row, rank));
    TRY(const std::string_view cell, table.cell(row, posts));
    TRY(auto pairs, parse_pairs(cell, row));
    if (who != "all") {
      TRY(const double of_tag, table.number_at(row, rank));
      stream.tags.push_back({static_cast<std::uint32_t>(std::min(of_tag, kRankMax)), std::move(pairs)});
      continue;
    }
    for (const auto& [hour, count] : pairs) {
      if (hour >= stream.of_hour.size()) stream.of_hour.resize(hour + 1);
      stream.of_hour[hour] += count;
    }
  }
  if (stream.of_hour.empty()) return fail(ErrorCode::kInvalid, "the stream has no line 'all'");
  return stream;
}

std::vector<std::string> burst_names(std::string_view text) {
  const Result<Table> table = Table::parse(text);
  std::vector<std::string> names;
  for (std::size_t row = 0; table && row < table->rows(); ++row) {
    const std::string name(table->cell(row, 0).value_or(""));
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

Result<std::vector<double>> burst_arrivals(std::string_view text, std::string_view burst, double scale,
                                           double speed, std::uint64_t seed) {
  TRY(const Table table, Table::parse(text));
  Rng rng(seed);
  std::vector<double> arrivals;
  double owed = 0;  // parts of posts
  for (std::size_t row = 0; row < table.rows(); ++row) {
    TRY(const std::string_view name, table.cell(row, 0));
    TRY(const double minute, table.number_at(row, 1));
    TRY(const double posts, table.number_at(row, 2));
    if (name != burst) continue;
    owed += posts * scale;
    if (static_cast<double>(arrivals.size()) + owed > kBurstPostsMax)
      return fail(ErrorCode::kTooLarge, "more than a million posts");
    for (; owed >= 1; owed -= 1) {
      const double within = static_cast<double>(rng.below(60'000)) / 1000;
      arrivals.push_back((minute * 60 + within) / speed);
    }
  }
  if (arrivals.empty()) return fail(ErrorCode::kNotFound, "no such burst");
  std::ranges::sort(arrivals);
  const double first = arrivals.front();
  for (double& arrival : arrivals) arrival -= first;
  return arrivals;
}

}  // namespace tagring::evaluation
