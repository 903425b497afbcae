// All that a database holds, as text: every row of every table, with all its columns.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sql/connection.hpp"

namespace tagring::db {

// For a job of Database::read; without the tables of these names.
inline Result<std::string> contents_of(sql::Connection& connection,
                                       const std::set<std::string>& but_for = {}) {
  static std::set<std::string> literals;  // whose addresses name prepared statements
  const auto lines = [&](const std::string& sql) -> Result<std::vector<std::string>> {
    std::vector<std::string> found;
    sql::Statement row = connection.query(literals.insert(sql).first->c_str());
    for (;;) {
      TRY(const bool more, row.step());
      if (!more) return found;
      found.push_back(row.text(0));
    }
  };
  std::string all;
  TRY(const auto tables, lines("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1"));
  for (const std::string& table : tables) {
    if (but_for.contains(table)) continue;
    TRY(const auto columns, lines("SELECT name FROM pragma_table_info('" + table + "')"));
    std::string row;
    for (const std::string& column : columns)
      row += (row.empty() ? "quote(\"" : " || ' ' || quote(\"") + column + "\")";
    TRY(const auto rows, lines("SELECT " + row + " FROM \"" + table + "\" ORDER BY 1"));
    for (const std::string& one : rows) all.append(table).append(": ").append(one).append("\n");
  }
  return all;
}

}  // namespace tagring::db
