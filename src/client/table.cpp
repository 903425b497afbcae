#include "client/table.hpp"

#include <algorithm>
#include <vector>

#include "base/printable.hpp"

namespace tagring::client {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeast = 4;  // of a column that is cut

struct Column {
  std::string name;
  std::size_t width = 0;
  bool is_number = true;
};

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

std::size_t length_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string cell_of(const json::value& row, const std::string& name) {
  const json::value* value = row.is_object() ? json::find(row.get_object(), name) : nullptr;
  if (value == nullptr || value->is_null()) return "";
  return printable(value->is_string() ? std::string(value->get_string()) : json::serialize(*value));
}

std::string cut(std::string text, std::size_t width) {
  if (length_of(text) <= width) return text;
  std::size_t characters = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end)
    if (begins_character(text[end]) && ++characters == width) break;
  return text.substr(0, end) + "…";
}

std::vector<Column> columns_of(const json::array& rows) {
  std::vector<Column> columns;
  for (const json::value& row : rows) {
    if (!row.is_object()) continue;
    for (const auto& [key, value] : row.get_object()) {
      const std::string name(key);
      auto column = std::ranges::find(columns, name, &Column::name);
      if (column == columns.end()) column = columns.insert(column, {name, length_of(name), true});
      column->width = std::max(column->width, length_of(cell_of(row, name)));
      column->is_number = column->is_number && value.is_number();
    }
  }
  return columns;
}

void fit(std::vector<Column>& columns, std::size_t width) {
  std::size_t all = columns.empty() ? 0 : kGap * (columns.size() - 1);
  for (const Column& column : columns) all += column.width;
  while (all > width) {
    const auto widest = std::ranges::max_element(columns, {}, &Column::width);
    if (widest == columns.end() || widest->width <= kLeast) return;
    --widest->width;
    --all;
  }
}

std::string line_of(const std::vector<Column>& columns, const auto& text_of_column) {
  std::string line;
  for (const Column& column : columns) {
    const std::string text = cut(text_of_column(column), column.width);
    const std::string space(column.width - std::min(column.width, length_of(text)), ' ');
    if (!line.empty()) line.append(kGap, ' ');
    line += column.is_number ? space + text : text + space;
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::string table_of(const json::array& rows, std::optional<std::size_t> width) {
  if (rows.empty()) return "";
  std::vector<Column> columns = columns_of(rows);
  if (width) fit(columns, *width);
  std::string table = line_of(columns, [](const Column& column) { return column.name; });
  for (const json::value& row : rows)
    table += line_of(columns, [&row](const Column& column) { return cell_of(row, column.name); });
  return table;
}

}  // namespace tagring::client
