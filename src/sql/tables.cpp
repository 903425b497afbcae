#include "sql/tables.hpp"

#include <algorithm>

namespace tagring::sql {
namespace {

#define TR_OF_SCHEMA "relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())"

constexpr const char* kSqliteColumns =
    "SELECT t.name, c.name, c.type, c.\"notnull\" = 0 AND c.pk = 0, c.pk FROM sqlite_schema t CROSS JOIN"
    " pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    " ORDER BY t.name, c.cid";
constexpr const char* kPostgresColumns =
    "SELECT t.relname, c.attname, CASE format_type(c.atttypid, NULL) WHEN 'bigint' THEN 'INTEGER' WHEN "
    "'text' THEN"
    " 'TEXT' WHEN 'bytea' THEN 'BLOB' WHEN 'any_value' THEN 'ANY' ELSE format_type(c.atttypid, NULL) END, "
    "NOT c.attnotnull,"
    " coalesce(array_position(k.indkey::int2[], c.attnum) + 1, 0) FROM pg_class t JOIN pg_attribute c ON"
    " c.attrelid = t.oid LEFT JOIN pg_index k ON k.indrelid = t.oid AND k.indisprimary WHERE t." TR_OF_SCHEMA
    " AND t.relkind IN ('r', 'p') AND NOT t.relispartition AND c.attnum > 0 AND NOT c.attisdropped"
    " ORDER BY t.relname, c.attnum";

}  // namespace

Result<std::vector<Table>> tables_of(Connection& db) {
  std::vector<Table> tables;
  Statement row = db.query(db.dialect() == Dialect::kSqlite ? kSqliteColumns : kPostgresColumns);
  for (;;) {
    TRY(const bool more, row.step());
    if (!more) break;
    if (tables.empty() || tables.back().name != row.view(0)) tables.push_back({row.text(0), {}});
    tables.back().columns.push_back(
        {row.text(1), row.text(2), row.integer(3) != 0, static_cast<int>(row.integer(4))});
  }
  std::ranges::sort(tables, {}, &Table::name);
  return tables;
}

Result<bool> has_table(Connection& db, const std::string& name) {
  Statement row = db.query(db.dialect() == Dialect::kSqlite
                               ? "SELECT 1 FROM sqlite_schema WHERE name = ?"
                               : "SELECT 1 FROM pg_class WHERE relname = ? AND " TR_OF_SCHEMA,
                           name);
  return row.step();
}

Result<DatabaseSize> size_of(Connection& db) {
  Statement row =
      db.query(db.dialect() == Dialect::kSqlite
                   ? "SELECT page_count * page_size, freelist_count * page_size FROM pragma_page_count,"
                     " pragma_page_size, pragma_freelist_count"
                   : "SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT), 0 FROM"
                     " pg_class WHERE relkind = 'r' AND " TR_OF_SCHEMA);
  TRY_VOID(row.step());
  return DatabaseSize{row.number(0), row.number(1)};
}

Result<std::optional<std::uint64_t>> size_of_tables(Connection& db, std::string_view prefix) {
  if (db.dialect() == Dialect::kSqlite) return std::nullopt;
  Statement row = db.query(
      "SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT) FROM pg_class"
      " WHERE relkind = 'r' AND starts_with(CAST(relname AS TEXT), ?) AND " TR_OF_SCHEMA,
      prefix);
  TRY_VOID(row.step());
  return row.number(0);
}

}  // namespace tagring::sql
