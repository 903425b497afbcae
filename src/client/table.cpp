#include "client/table.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <ranges>
#include <string_view>

#include "base/printable.hpp"
#include "cli/terminal.hpp"

namespace tagring::client {
namespace {

constexpr std::size_t kGap = 2;

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  for (const auto& word : std::views::split(text, ' '))
    longest = std::max(longest, cli::columns_of(std::string_view(word)));
  return longest;
}

struct Column {
  std::string name;
  std::size_t width = 0;
  std::size_t word = 0;  // the longest one
  bool is_number = true;

  void hold(const std::string& text) {
    width = std::max(width, cli::columns_of(text));
    word = std::max(word, longest_word(text));
  }
};

std::string cell_of(const json::value& row, const std::string& name) {
  const json::value* value = row.is_object() ? json::find(row.get_object(), name) : nullptr;
  if (value == nullptr || value->is_null()) return "";
  return printable(value->is_string() ? std::string(value->get_string()) : json::serialize(*value));
}

std::vector<Column> columns_of(const json::array& rows) {
  std::vector<Column> columns;
  for (const json::value& row : rows) {
    if (!row.is_object()) continue;
    for (const auto& [key, value] : row.get_object()) {
      const std::string name(key);
      auto column = std::ranges::find(columns, name, &Column::name);
      if (column == columns.end()) {
        column = columns.insert(column, Column{.name = name});
        column->hold(name);
      }
      column->hold(cell_of(row, name));
      column->is_number = column->is_number && value.is_number();
    }
  }
  return columns;
}

// As far as the words of each column have room: people compare and copy them. Whether that is far enough.
bool fit(std::vector<Column>& columns, std::size_t width) {
  std::size_t all = columns.empty() ? 0 : kGap * (columns.size() - 1);
  for (const Column& column : columns) all += column.width;
  const auto spare = [](const Column& column) { return column.width > column.word ? column.width : 0; };
  while (all > width) {
    const auto widest = std::ranges::max_element(columns, {}, spare);
    if (widest == columns.end() || spare(*widest) == 0) return false;
    --widest->width;
    --all;
  }
  return true;
}

// As lines of that width, one at least.
std::vector<std::string> lines_in(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  for (const auto& part : std::views::split(cli::wrapped(text, 0, width), '\n'))
    lines.emplace_back(std::string_view(part));
  return lines;
}

std::string row_of(const std::vector<Column>& columns, const auto& text_of_column) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 0;
  for (const Column& column : columns) {
    cells.push_back(lines_in(text_of_column(column), column.width));
    height = std::max(height, cells.back().size());
  }
  std::string row;
  for (std::size_t at = 0; at < height; ++at) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string text = at < cells[i].size() ? cells[i][at] : "";
      const std::string space(columns[i].width - cli::columns_of(text), ' ');
      if (i != 0) line.append(kGap, ' ');
      line += columns[i].is_number ? space + text : text + space;
    }
    row += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return row;
}

// Each with the names of its members before them, for rows that are too wide to stand below these.
std::string rows_apart(const json::array& rows, const std::vector<Column>& columns, std::size_t width) {
  std::size_t names = 0;
  for (const Column& column : columns) names = std::max(names, cli::columns_of(column.name));
  const std::size_t indent = names + kGap;
  std::string text;
  for (const json::value& row : rows) {
    if (!text.empty()) text += "\n";
    for (const Column& column : columns) {
      const std::string cell = cell_of(row, column.name);
      if (cell.empty()) continue;
      // One that has no room behind the name may have it below.
      const bool is_below = indent + longest_word(cell) > width;
      const std::string space(is_below ? kGap : indent - cli::columns_of(column.name), ' ');
      text += column.name + (is_below ? "\n" : "") + space;
      text += cli::wrapped(cell, is_below ? kGap : indent, width) + "\n";
    }
  }
  return text;
}

struct Parts {
  std::string heading;
  std::string rows;
};

Parts parts_of(const json::array& rows, std::optional<std::size_t> width) {
  if (rows.empty()) return {};
  std::vector<Column> columns = columns_of(rows);
  if (width && !fit(columns, *width)) return {.heading = "", .rows = rows_apart(rows, columns, *width)};
  Parts parts{.heading = row_of(columns, [](const Column& column) { return column.name; }), .rows = {}};
  for (const json::value& row : rows)
    parts.rows += row_of(columns, [&row](const Column& column) { return cell_of(row, column.name); });
  return parts;
}

}  // namespace

std::string table_of(const json::array& rows, std::optional<std::size_t> width) {
  const Parts parts = parts_of(rows, width);
  return parts.heading + parts.rows;
}

void print_table(const json::array& rows, Heading heading) {
  const std::optional<std::size_t> width = cli::terminal_width();
  const Parts parts = parts_of(rows, width);
  if (width || heading == Heading::kEverywhere)
    fmt::print("{}", cli::painted(cli::Colour::kBold, parts.heading));
  fmt::print("{}", parts.rows);
}

void print_remarks(const std::vector<std::string>& remarks) {
  if (!remarks.empty()) fmt::print("\n");
  for (const std::string& remark : remarks)
    fmt::print("{}\n", cli::wrapped(printable(remark), 0, cli::terminal_width()));
}

}  // namespace tagring::client
