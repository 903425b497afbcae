#include "evaluation/bursts.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/rng.hpp"

namespace tagring::evaluation {
namespace {

constexpr double kPostsMax = 1e6;

struct Row {
  std::string_view burst;
  double minute = 0;
  double posts = 0;
};

double number(std::string_view text) {
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

// Without the header. What is malformed has negative numbers.
std::vector<Row> rows_of(std::string_view table) {
  std::vector<Row> rows;
  bool header = true;
  while (!table.empty()) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    const std::string_view line = table.substr(0, end);
    table.remove_prefix(std::min(end + 1, table.size()));
    if (std::exchange(header, false) || line.empty()) continue;
    const std::size_t first = std::min(line.find('\t'), line.size());
    const std::size_t second = std::min(line.find('\t', first + 1), line.size());
    if (second == line.size()) {
      rows.push_back({line, -1, -1});
    } else {
      rows.push_back({line.substr(0, first), number(line.substr(first + 1, second - first - 1)),
                      number(line.substr(second + 1))});
    }
  }
  return rows;
}

}  // namespace

std::vector<std::string> burst_names(std::string_view table) {
  std::vector<std::string> names;
  for (const Row& row : rows_of(table)) {
    if (std::ranges::find(names, row.burst) == names.end()) names.emplace_back(row.burst);
  }
  return names;
}

Result<std::vector<double>> burst_arrivals(std::string_view table, std::string_view burst, double scale,
                                           double speed, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<double> arrivals;
  double owed = 0;  // parts of posts
  for (const Row& row : rows_of(table)) {
    if (row.minute < 0 || row.posts < 0)
      return fail(ErrorCode::kInvalid, "a line is not: burst, minute, posts");
    if (row.burst != burst) continue;
    owed += row.posts * scale;
    if (static_cast<double>(arrivals.size()) + owed > kPostsMax)
      return fail(ErrorCode::kTooLarge, "more than a million posts");
    for (; owed >= 1; owed -= 1) {
      const double within = static_cast<double>(rng.below(60'000)) / 1000;
      arrivals.push_back((row.minute * 60 + within) / speed);
    }
  }
  if (arrivals.empty()) return fail(ErrorCode::kNotFound, "no such burst");
  std::ranges::sort(arrivals);
  const double first = arrivals.front();
  for (double& arrival : arrivals) arrival -= first;
  return arrivals;
}

}  // namespace tagring::evaluation
