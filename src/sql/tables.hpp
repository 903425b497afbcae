// Which tables a database has, and how large it is: what each kind of database says in its own way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sql/connection.hpp"

namespace tagring::sql {

struct Column {
  std::string name;
  std::string type;  // as SQLite would have it: INTEGER, TEXT, BLOB, ANY
  bool is_nullable = false;
  int key = 0;  // its place in the primary key, from 1; 0: not part of it
  friend bool operator==(const Column&, const Column&) = default;
};
struct Table {
  std::string name;
  std::vector<Column> columns;
  friend bool operator==(const Table&, const Table&) = default;
};
// Sorted by name. Partitions are their table's.
Result<std::vector<Table>> tables_of(Connection& db);
Result<bool> has_table(Connection& db, const std::string& name);

struct DatabaseSize {
  std::uint64_t bytes = 0;
  std::uint64_t unused = 0;  // of these: free for what comes, as far as it is known
};
Result<DatabaseSize> size_of(Connection& db);
// What the tables whose names begin so take on the disk, with their indexes and partitions. None: it is
// SQLite, which would have to read all of them for that.
Result<std::optional<std::uint64_t>> size_of_tables(Connection& db, std::string_view prefix);

}  // namespace tagring::sql
