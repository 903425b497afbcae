#include "evaluation/dynamics.hpp"

#include <fmt/format.h>

#include "evaluation/table.hpp"

namespace tagring::evaluation {
namespace {

constexpr double kHoursMax = 24 * 366;
constexpr double kRankMax = 1e9;

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

}  // namespace tagring::evaluation
