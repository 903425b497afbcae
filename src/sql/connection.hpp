// A database behind RAII and Result: SQLite, or PostgreSQL. Nothing here throws; errors are those of
// backend.hpp.
//
// SQL is written once, in what both understand: parameters are ? or ?1, ON CONFLICT names the key, columns in
// DO UPDATE name their table where they could be meant twice, subqueries in FROM have names.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "sql/backend.hpp"

namespace tagring::sql {

// As an argument: as many parameters as there are values.
using Values = std::span<const Value>;

// A prepared statement on loan from its connection's cache, with its parameters bound. Given back, and its
// rows forgotten, on destruction. An error while preparing or binding is reported by the first step().
class Statement {
 public:
  Statement(Statement&& other) noexcept : prepared_(std::exchange(other.prepared_, nullptr)) {}
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // Moves to the next row; false after the last one.
  Result<bool> step() { return prepared_->step(); }

  // Columns of the current row, from 0. Those of another type are converted as SQLite does.
  [[nodiscard]] Type type(int column) const { return prepared_->type(column); }
  [[nodiscard]] std::int64_t integer(int column) const { return prepared_->integer(column); }
  [[nodiscard]] std::uint64_t number(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  [[nodiscard]] std::string text(int column) const { return std::string(view(column)); }  // TEXT or BLOB
  // Until the next step().
  [[nodiscard]] std::string_view view(int column) const { return prepared_->view(column); }
  [[nodiscard]] Any any(int column) const { return prepared_->any(column); }  // the same
  [[nodiscard]] WallTime time(int column) const { return WallTime(Duration(integer(column))); }

 private:
  friend class Connection;
  explicit Statement(Prepared* prepared) : prepared_(prepared) {}

  template <class T>
  void bind_any(int index, const T& value, bool copy) {
    if constexpr (std::same_as<T, bool> || std::signed_integral<T>) {
      prepared_->bind(index, static_cast<std::int64_t>(value));
    } else if constexpr (std::unsigned_integral<T>) {
      prepared_->bind(index, static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX)));
    } else if constexpr (std::same_as<T, WallTime>) {
      prepared_->bind(index, to_ms(value));
    } else if constexpr (std::same_as<T, Blob> || std::same_as<T, Any>) {
      prepared_->bind(index, value, copy);
    } else {
      prepared_->bind(index, std::string_view(value), copy);
    }
  }

  void bind_value(int index, const Value& value, bool copy) {
    std::visit(
        [&](const auto& of_type) {
          if constexpr (std::same_as<std::decay_t<decltype(of_type)>, std::monostate>) {
            prepared_->bind_null(index);
          } else {
            bind_any(index, of_type, copy);
          }
        },
        value);
  }
  // The parameters after the first `count`; how many there are then.
  template <class T>
  int bind_after(int count, const T& argument, bool copy) {
    if constexpr (std::same_as<T, Values>) {
      for (const Value& value : argument) bind_value(++count, value, copy);
      return count;
    } else {
      bind_any(count + 1, argument, copy);
      return count + 1;
    }
  }

  Prepared* prepared_;
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

// One connection to a database that is locked against other processes; a commit is on the disk when it
// returns. Not thread-safe.
class Connection {
 public:
  // An SQLite file, which is made if there is none. `vfs` empty: the system's.
  static Result<Connection> open(const std::string& path, const std::string& vfs = {});
  // A PostgreSQL database (postgres.hpp).
  static Result<Connection> connect(const std::string& dsn, const StandingBy& standing_by = nullptr);
  explicit Connection(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
  Connection(Connection&& other) noexcept = default;
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  // A statement to step through. `sql` must be a string literal: its address is the key of the cache. Two
  // loans of one literal at a time are a programming error.
  template <class... Args>
  [[nodiscard]] Statement query(const char* sql, const Args&... args) {
    return bound(sql, /*in_parts=*/false, /*copy=*/true, args...);
  }
  // The same where rows may be very many, or are left before their end: they are taken in parts. In a
  // transaction.
  template <class... Args>
  [[nodiscard]] Statement walk(const char* sql, const Args&... args) {
    return bound(sql, /*in_parts=*/true, /*copy=*/true, args...);
  }
  // Runs a statement whose rows do not matter; how many rows it changed.
  template <class... Args>
  Result<std::int64_t> run(const char* sql, const Args&... args) {
    return finish(bound(sql, /*in_parts=*/false, /*copy=*/false, args...));
  }
  // The same where not even that matters: nobody waits for the answer, and an error may be that of a later
  // statement, or of settle().
  template <class... Args>
  Result<void> send(const char* sql, const Args&... args) {
    return bound(sql, /*in_parts=*/false, /*copy=*/false, args...).prepared_->send();
  }
  // Runs one or more statements without parameters, uncached.
  Result<void> execute(const char* script) { return backend_->execute(script); }

  // See Backend.
  Result<void> copy_in(const std::string& command, std::string_view rows) {
    return backend_->copy_in(command, rows);
  }
  Result<void> take_term() { return backend_->take_term(); }
  Result<Tenure> tenure() { return backend_->tenure(); }
  Result<void> begin() { return backend_->begin(); }
  Result<void> commit() { return backend_->commit(); }
  Result<void> rollback() { return backend_->rollback(); }
  Result<void> begin_reading() { return backend_->begin_reading(); }
  void end_reading() { backend_->end_reading(); }
  Result<void> settle() { return backend_->settle(); }
  [[nodiscard]] bool in_transaction() const { return backend_->in_transaction(); }
  [[nodiscard]] Dialect dialect() const { return backend_->dialect(); }
  [[nodiscard]] std::string name() const { return backend_->name(); }

  // Rows inserted, updated and deleted since it was opened.
  [[nodiscard]] std::int64_t changes() const { return backend_->changes(); }
  // Does `work`, and has `told` called now and then while a statement of SQLite runs in it, some ten times a
  // second. It may look at changes(), and use the connection for nothing else.
  Result<void> watched(std::function<void()> told, const std::function<Result<void>()>& work) {
    return backend_->watched(std::move(told), work);
  }
  // For what SQLite offers beyond statements; null if it is not SQLite.
  [[nodiscard]] sqlite3* native() const { return backend_->native(); }

 private:
  template <class... Args>
  Statement bound(const char* sql, bool in_parts, bool copy, const Args&... args) {
    Statement statement = prepare(sql, in_parts);
    int count = 0;
    ((count = statement.bind_after(count, args, copy)), ...);
    return statement;
  }
  Statement prepare(const char* sql, bool in_parts);
  static Result<std::int64_t> finish(Statement statement);

  std::unique_ptr<Backend> backend_;
  std::unordered_map<const char*, std::unique_ptr<Prepared>> cache_;  // goes before the backend
};

}  // namespace tagring::sql
