#include "evaluation/table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace tagring::evaluation {

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

Result<Table> Table::parse(std::string_view text) {
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

Result<std::size_t> Table::column(const std::vector<std::string_view>& names) const {
  for (const std::string_view name : names) {
    const auto at = std::ranges::find(lines_[0], name);
    if (at != lines_[0].end()) return static_cast<std::size_t>(at - lines_[0].begin());
  }
  return fail(ErrorCode::kInvalid, fmt::format("no column '{}' in the header line", names[0]));
}

Result<std::string_view> Table::cell(std::size_t row, std::size_t column) const {
  const auto& line = lines_[row + 1];
  if (column >= line.size())
    return fail(ErrorCode::kInvalid, fmt::format("line {}: too few columns", row + 2));
  return line[column];
}

Result<double> Table::number_at(std::size_t row, std::size_t column) const {
  TRY(const std::string_view text, cell(row, column));
  const std::optional<double> value = number(text);
  if (!value) return fail(ErrorCode::kInvalid, fmt::format("line {}: '{}' is no number", row + 2, text));
  return *value;
}

}  // namespace tagring::evaluation
