#include "db/copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include "crypto/hash.hpp"
#include "db/schema.hpp"
#include "sql/postgres_values.hpp"
#include "sql/tables.hpp"

namespace tagring::db {

using namespace sql;

namespace {

constexpr int kRowsOfATransaction = 5'000;
constexpr std::size_t kBytesOfATransaction = 16 << 20;
constexpr std::uint64_t kToldEvery = 1'000;  // rows

// The same for the same rows in any order.
struct TableDigest {
  std::uint64_t rows = 0;
  std::array<std::uint64_t, 2> sum{};
  friend bool operator==(const TableDigest&, const TableDigest&) = default;
};

Value value_at(const Statement& row, int column, const std::string& type) {
  if (row.type(column) == Type::kNull) return std::monostate();
  if (type == "INTEGER") return row.integer(column);
  if (type == "BLOB") return Blob{row.view(column)};
  if (type == "ANY") return Value(std::in_place_type<Any>, row.any(column));
  return row.view(column);
}

// What a value is, how long it is, and it.
void append(std::string& text, const Value& value) {
  if (const auto* any = std::get_if<Any>(&value)) {
    text += '*';
    return std::visit([&](const auto& inner) { append(text, Value(inner)); }, *any);
  }
  std::string_view bytes;
  std::string number;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) bytes = number = std::to_string(*integer);
  if (const auto* words = std::get_if<std::string_view>(&value)) bytes = *words;
  if (const auto* blob = std::get_if<Blob>(&value)) bytes = blob->bytes;
  text += fmt::format("{} {} ", value.index(), bytes.size());
  text += bytes;
}

class Copier {
 public:
  Copier(Connection& from, Connection& to, const CopyWatch& watch) : from_(from), to_(to), watch_(watch) {}

  Result<Copied> run();

 private:
  Result<void> prepare_target();
  Result<void> copy_table(const Table& table);
  Result<void> copy_rest(const Table& table);
  Result<TableDigest> digest_of(Connection& db, const Table& table);
  Result<bool> compare(const Table& table);
  Result<void> copy_sequence(const Table& table);
  Result<std::uint64_t> count(Connection& db, const Table& table);
  // Statements are known by the addresses of their texts.
  const char* keep(std::string sql) { return texts_.emplace_back(std::move(sql)).c_str(); }
  void tell(CopyStep::Doing doing, std::string_view table = {}) {
    if (watch_) watch_({doing, table, done_, all_});
  }

  Connection& from_;
  Connection& to_;
  const CopyWatch& watch_;
  std::deque<std::string> texts_;
  std::uint64_t done_ = 0;
  std::uint64_t all_ = 0;
  std::uint64_t resumed_ = 0;
};

std::string names_of(const std::vector<Column>& columns, std::string_view after = "") {
  std::string names;
  for (const Column& column : columns)
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", column.name, after);
  return names;
}

std::string marks(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += text.empty() ? "?" : ", ?";
  return text;
}

std::vector<Column> key_of(const Table& table) {
  std::vector<Column> key;
  for (const Column& column : table.columns)
    if (column.key > 0) key.push_back(column);
  std::ranges::sort(key, {}, &Column::key);
  return key;
}

std::vector<Value> values_of(const Statement& row, const std::vector<Column>& columns) {
  std::vector<Value> values;
  for (int i = 0; const Column& column : columns) values.push_back(value_at(row, i++, column.type));
  return values;
}

Result<std::uint64_t> Copier::count(Connection& db, const Table& table) {
  Statement row = db.query(keep("SELECT count(*) FROM " + table.name));
  TRY_VOID(row.step());
  return row.number(0);
}

Result<void> Copier::prepare_target() {
  TRY(const int version, version_of(from_));
  if (version != kSchemaVersion) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{} {}", from_.name(),
                            version == 0 ? "is no database of tagring"
                                         : "is of an older version: run \"tagring upgrade\" first"));
  }
  if (auto finished = check_finished(from_); !finished)
    return fail(finished.error().code, from_.name() + ": " + finished.error().message);
  TRY(const bool is_ours, has_table(to_, kUnfinishedCopy));
  if (!is_ours) {
    TRY(const std::vector<Table> there, tables_of(to_));
    if (!there.empty()) {
      return fail(ErrorCode::kConflict, fmt::format("{} has tables already: give an empty one", to_.name()));
    }
    TRY_VOID(mark_unfinished(to_));
  }
  TRY_VOID(migrate(to_));
  return make_years(to_);
}

// --- one table ---------------------------------------------------------------------------------------------

Result<void> Copier::copy_rest(const Table& table) {
  const std::vector<Column> key = key_of(table);
  const std::string columns = names_of(table.columns);
  const std::string order = names_of(key);
  Statement last = to_.query(
      keep(fmt::format("SELECT {} FROM {} ORDER BY {} LIMIT 1", order, table.name, names_of(key, " DESC"))));
  TRY(const bool is_begun, last.step());
  if (is_begun) {
    TRY(const std::uint64_t there, count(to_, table));
    done_ += there;
    resumed_ += there;
  }
  Statement row = from_.walk(
      keep(fmt::format("SELECT {} FROM {}{} ORDER BY {}", columns, table.name,
                       is_begun ? fmt::format(" WHERE ({}) > ({})", order, marks(key.size())) : "", order)),
      Values(is_begun ? values_of(last, key) : std::vector<Value>()));
  const bool by_copy = to_.dialect() == Dialect::kPostgres;
  const char* insert = by_copy
                           ? keep(fmt::format("COPY {}({}) FROM STDIN (FORMAT binary)", table.name, columns))
                           : keep(fmt::format("INSERT INTO {}({}) VALUES({})", table.name, columns,
                                              marks(table.columns.size())));
  CopyRows rows;
  for (bool more = true; more;) {
    TRY_VOID(to_.begin());
    for (int i = 0; i < kRowsOfATransaction && rows.size() < kBytesOfATransaction; ++i) {
      TRY(more, row.step());
      if (!more) break;
      const std::vector<Value> values = values_of(row, table.columns);
      if (by_copy) {
        rows.add(values);
      } else {
        TRY_VOID(to_.send(insert, Values(values)));
      }
      if (++done_ % kToldEvery == 0) tell(CopyStep::Doing::kCopies, table.name);
    }
    if (rows.count() > 0) {
      TRY_VOID(to_.copy_in(insert, rows.take()));
    }
    TRY_VOID(to_.commit());
  }
  return {};
}

// Of one that was interrupted it goes on after the last row that is there. If the source was used since, a
// row beyond may be one that is there, under another key: then all of the table is copied again.
Result<void> Copier::copy_table(const Table& table) {
  const std::uint64_t done = done_;
  const std::uint64_t resumed = resumed_;
  Result<void> copied = copy_rest(table);
  if (copied || copied.error().code != ErrorCode::kConflict || resumed_ == resumed) return copied;
  if (to_.in_transaction()) {
    TRY_VOID(to_.rollback());
  }
  done_ = done;
  resumed_ = resumed;
  TRY_VOID(to_.run(keep("DELETE FROM " + table.name)));
  return copy_rest(table);
}

Result<TableDigest> Copier::digest_of(Connection& db, const Table& table) {
  TableDigest digest;
  Statement row = db.walk(keep(fmt::format("SELECT {} FROM {}", names_of(table.columns), table.name)));
  for (;;) {
    TRY(const bool more, row.step());
    if (!more) return digest;
    std::string text;
    for (const Value& value : values_of(row, table.columns)) append(text, value);
    const crypto::Hash256 hash = crypto::sha256(text);
    std::array<std::uint64_t, 2> part{};
    std::memcpy(part.data(), hash.data(), sizeof part);
    for (std::size_t i = 0; i < part.size(); ++i) digest.sum[i] += part[i];
    ++digest.rows;
    if (++done_ % kToldEvery == 0) tell(CopyStep::Doing::kCompares, table.name);
  }
}

Result<bool> Copier::compare(const Table& table) {
  TRY(const TableDigest here, digest_of(from_, table));
  TRY_VOID(to_.begin_reading());
  const Result<TableDigest> there = digest_of(to_, table);
  to_.end_reading();
  TRY_VOID(there);
  return here == *there;
}

// Numbers that were given and are not there any more are not given again. Those of SQLite without
// AUTOINCREMENT go on from the greatest that is there.
Result<void> Copier::copy_sequence(const Table& table) {
  const std::vector<Column> key = key_of(table);
  if (key.size() != 1 || key.front().type != "INTEGER") return {};
  const std::string& column = key.front().name;
  const bool from_sqlite = from_.dialect() == Dialect::kSqlite;
  std::int64_t given = 0;
  {
    Statement row = from_sqlite
                        ? from_.query(keep(fmt::format(
                              "SELECT max(coalesce((SELECT max({}) FROM {}), 0), coalesce((SELECT seq"
                              " FROM sqlite_sequence WHERE name = '{}'), 0))",
                              column, table.name, table.name)))
                        : from_.query(keep(fmt::format(
                              "SELECT greatest((SELECT max({}) FROM {}),"
                              " pg_sequence_last_value(pg_get_serial_sequence('{}', '{}')::regclass), 0)",
                              column, table.name, table.name, column)));
    TRY_VOID(row.step());
    given = row.integer(0);
  }
  if (given == 0) return {};
  if (to_.dialect() == Dialect::kPostgres) {
    TRY_VOID(
        to_.run(keep(fmt::format("SELECT setval(pg_get_serial_sequence('{}', '{}'), ?)", table.name, column)),
                given));
    return {};
  }
  // It has rows for tables with AUTOINCREMENT only, as soon as one was inserted; a table whose rows are all
  // gone has none.
  TRY(const std::int64_t changed,
      to_.run(keep("UPDATE sqlite_sequence SET seq = ?1 WHERE name = ?2"), given, table.name));
  if (changed > 0) return {};
  TRY_VOID(to_.run(
      keep("INSERT INTO sqlite_sequence(name, seq) SELECT ?2, ?1 FROM sqlite_schema WHERE name = ?2 AND sql"
           " LIKE '%AUTOINCREMENT%'"),
      given, table.name));
  return {};
}

// --- all of it ---------------------------------------------------------------------------------------------

Result<Copied> Copier::run() {
  TRY_VOID(prepare_target());
  TRY_VOID(from_.begin_reading());
  TRY(std::vector<Table> tables, tables_of(from_));
  std::erase_if(tables, [](const Table& table) { return table.name == "migrations"; });
  for (const Table& table : tables) {
    TRY(const std::uint64_t rows, count(from_, table));
    all_ += rows;
  }
  const std::uint64_t rows = all_;
  for (const Table& table : tables) {
    tell(CopyStep::Doing::kCopies, table.name);
    TRY_VOID(copy_table(table));
  }
  done_ = 0;
  all_ *= 2;  // both sides
  for (const Table& table : tables) {
    tell(CopyStep::Doing::kCompares, table.name);
    TRY(const bool is_equal, compare(table));
    if (!is_equal) {
      TRY_VOID(to_.run(keep("DELETE FROM " + table.name)));
      TRY_VOID(copy_table(table));
      TRY(const bool is_mended, compare(table));
      if (!is_mended)
        return fail(ErrorCode::kCorrupt,
                    fmt::format("{} has other rows in {} than in {}", table.name, to_.name(), from_.name()));
    }
  }
  for (const Table& table : tables) {
    TRY_VOID(copy_sequence(table));
  }
  from_.end_reading();
  tell(CopyStep::Doing::kFinishes);
  TRY_VOID(to_.execute("ANALYZE"));
  // Last, so that whoever is interrupted before may type the same again.
  TRY_VOID(to_.execute(fmt::format("DROP TABLE {}", kUnfinishedCopy).c_str()));
  return Copied{tables.size(), rows, resumed_};
}

}  // namespace

Result<Copied> copy_database(Connection from, Connection to, const CopyWatch& watch) {
  Copier copier(from, to, watch);
  return copier.run();
}

}  // namespace tagring::db
