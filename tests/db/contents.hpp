// All that a database holds, as text: every row of every table, with all its columns.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "sql/connection.hpp"
#include "sql/tables.hpp"

namespace tagring::db {

// Of a column of that type.
inline std::string value_text(const sql::Statement& row, int column, const std::string& type) {
  if (row.type(column) == sql::Type::kNull) return "NULL";
  const sql::Any value = type == "ANY"       ? row.any(column)
                         : type == "INTEGER" ? sql::Any(row.integer(column))
                         : type == "BLOB"    ? sql::Any(sql::Blob{row.view(column)})
                                             : sql::Any(row.view(column));
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* blob = std::get_if<sql::Blob>(&value)) return "X'" + to_hex(blob->bytes) + "'";
  return "'" + std::string(std::get<std::string_view>(value)) + "'";
}

// For a job of Database::read; without the tables of these names.
inline Result<std::string> contents_of(sql::Connection& connection,
                                       const std::set<std::string>& but_for = {}) {
  static std::set<std::string> literals;  // whose addresses name prepared statements
  std::string all;
  TRY(const std::vector<sql::Table> tables, sql::tables_of(connection));
  for (const sql::Table& table : tables) {
    if (but_for.contains(table.name)) continue;
    std::string columns;
    for (const sql::Column& column : table.columns) columns += (columns.empty() ? "" : ", ") + column.name;
    const std::string sql = "SELECT " + columns + " FROM " + table.name;
    std::vector<std::string> lines;
    sql::Statement row = connection.query(literals.insert(sql).first->c_str());
    for (;;) {
      TRY(const bool more, row.step());
      if (!more) break;
      std::string line = table.name + ":";
      for (int i = 0; const sql::Column& column : table.columns)
        line += " " + value_text(row, i++, column.type);
      // Another with each process that opens a PostgreSQL.
      if (!line.starts_with("counters: 'node:")) lines.push_back(line + "\n");
    }
    std::ranges::sort(lines);
    for (const std::string& line : lines) all += line;
  }
  return all;
}

}  // namespace tagring::db
