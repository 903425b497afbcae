// SQLite behind RAII and Result. Nothing here throws; every error names the SQL or the file.
//
// How its result codes map: kCorrupt for a damaged or foreign file and for SQL that does not fit the schema,
// kConflict for a violated constraint, kTooLarge for a value over SQLite's limits, else kUnavailable (disk
// full, I/O, locked by another process).
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace tagring::sql {

// Binds bytes as BLOB instead of TEXT.
struct Blob {
  std::string_view bytes;
};

// Column types, as the value is stored.
enum class Type : std::uint8_t { kNull, kInteger, kReal, kText, kBlob };

// A prepared statement on loan from its connection's cache, with its parameters bound. Given back, and its
// rows forgotten, on destruction. An error while preparing or binding is reported by the first step().
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // Moves to the next row; false after the last one.
  Result<bool> step();

  // Columns of the current row, from 0. Those of another type are converted as SQLite does.
  [[nodiscard]] Type type(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t number(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  [[nodiscard]] std::string text(int column) const { return std::string(view(column)); }  // TEXT or BLOB
  [[nodiscard]] std::string_view view(int column) const;  // until the next step()
  [[nodiscard]] WallTime time(int column) const { return WallTime(Duration(integer(column))); }

 private:
  friend class Connection;
  struct Cached {
    sqlite3_stmt* handle = nullptr;
    bool lent = false;
  };
  Statement(sqlite3* connection, Cached* cached, int error)
      : connection_(connection), cached_(cached), error_(error) {}

  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view text, bool copy);
  void bind(int index, Blob blob, bool copy);
  template <class T>
  void bind_any(int index, const T& value, bool copy) {
    if constexpr (std::same_as<T, bool> || std::signed_integral<T>) {
      bind(index, static_cast<std::int64_t>(value));
    } else if constexpr (std::unsigned_integral<T>) {
      bind(index, static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX)));
    } else if constexpr (std::same_as<T, WallTime>) {
      bind(index, to_ms(value));
    } else if constexpr (std::same_as<T, Blob>) {
      bind(index, value, copy);
    } else {
      bind(index, std::string_view(value), copy);
    }
  }

  sqlite3* connection_;
  Cached* cached_;
  int error_;
};

// Every row that is left of a statement, each read by `read`.
template <class T, class Read>
Result<std::vector<T>> all_rows(Statement row, Read read) {
  std::vector<T> found;
  for (;;) {
    TRY(const bool more, row.step());
    if (!more) return found;
    found.push_back(read(row));
  }
}

// One connection to a database file: WAL, synchronous=FULL (a commit is on the disk when it returns), and
// the file locked against other processes. Not thread-safe.
class Connection {
 public:
  // Creates the file if there is none. `vfs` empty: the system's.
  static Result<Connection> open(const std::string& path, const std::string& vfs = {});
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  // A statement to step through. `sql` must be a string literal: its address is the key of the cache. Two
  // loans of one literal at a time are a programming error.
  template <class... Args>
  [[nodiscard]] Statement query(const char* sql, const Args&... args) {
    Statement statement = prepare(sql);
    int index = 0;
    (statement.bind_any(++index, args, /*copy=*/true), ...);
    return statement;
  }
  // Runs a statement whose rows do not matter; how many rows it changed.
  template <class... Args>
  Result<std::int64_t> run(const char* sql, const Args&... args) {
    Statement statement = prepare(sql);
    int index = 0;
    (statement.bind_any(++index, args, /*copy=*/false), ...);
    return finish(std::move(statement));
  }
  // Runs one or more statements without parameters, uncached.
  Result<void> execute(const char* script);

  // Rows inserted, updated and deleted since it was opened.
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] bool in_transaction() const;
  // Has `told` called now and then while a statement runs, some ten times a second; null: no more. It may
  // look at changes(), and use the connection for nothing else.
  void on_progress(std::function<void()> told);
  // For what SQLite offers beyond statements.
  [[nodiscard]] sqlite3* native() const { return handle_; }
  // While set, preparing a statement that writes is a programming error.
  void set_read_only(bool on) { read_only_ = on; }

 private:
  explicit Connection(sqlite3* handle) : handle_(handle) {}
  Statement prepare(const char* sql);
  Result<std::int64_t> finish(Statement statement);

  sqlite3* handle_;
  bool read_only_ = false;
  std::unique_ptr<std::function<void()>> progress_;           // does not move
  std::unordered_map<const char*, Statement::Cached> cache_;  // its nodes do not move
};

}  // namespace tagring::sql
