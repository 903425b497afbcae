// What the stores need of a database, behind sql::Connection: sqlite.hpp and postgres.hpp are the two that
// there are.
//
// How their errors map: kCorrupt for a damaged or foreign database and for SQL that does not fit the schema,
// kConflict for a violated constraint, kInvalid for what may not be stored, kTooLarge for a value over a
// limit of the database, else kUnavailable (disk full, I/O, locked by another process, connection lost). Each
// names the SQL or the database.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

struct sqlite3;

namespace tagring::sql {

// Told for whom a standby waits, about once a second.
using StandingBy = std::function<void(const std::string& whom)>;

enum class Dialect : std::uint8_t { kSqlite, kPostgres };

// Binds bytes as BLOB instead of TEXT.
struct Blob {
  std::string_view bytes;
  friend bool operator==(const Blob&, const Blob&) = default;
};
// For a column of type ANY, which keeps the type with each value.
using Any = std::variant<std::int64_t, Blob, std::string_view>;

// What a column of some row may have, where it is not known beforehand.
using Value = std::variant<std::monostate, std::int64_t, std::string_view, Blob, Any>;

// Column types, as the value is stored.
enum class Type : std::uint8_t { kNull, kInteger, kReal, kText, kBlob };

// A statement of a connection, kept by it. open(), bind() and step(), or open(), bind() and send(), then
// close().
class Prepared {
 public:
  Prepared() = default;
  virtual ~Prepared() = default;
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  // Errors of it and of bind() are those of the first step().
  virtual void open() = 0;
  virtual void bind(int index, std::int64_t value) = 0;
  // `copy`: the bytes may go before the last step.
  virtual void bind(int index, std::string_view text, bool copy) = 0;
  virtual void bind(int index, Blob blob, bool copy) = 0;
  virtual void bind(int index, const Any& value, bool copy) = 0;
  virtual void bind_null(int index) = 0;
  virtual Result<bool> step() = 0;
  // To its end, without its rows; its error may be one of Backend::settle() instead.
  virtual Result<void> send() = 0;
  virtual void close() = 0;

  [[nodiscard]] virtual Type type(int column) const = 0;
  [[nodiscard]] virtual std::int64_t integer(int column) const = 0;
  [[nodiscard]] virtual std::string_view view(int column) const = 0;
  [[nodiscard]] virtual Any any(int column) const = 0;
  // Rows that it changed, after the last step.
  [[nodiscard]] virtual std::int64_t changed() const = 0;

  bool lent = false;
};

// Whose the tables of a PostgreSQL are (postgres_lock.hpp). Sessions as "tagring, process 17 from 192.0.2.1
// since 2026-11-26 05:30 (pid 4711 there)".
struct Tenure {
  std::int64_t term = 0;             // of the last process that was the node; 0: there was none yet
  std::string holder;                // empty: nobody is the node now
  std::vector<std::string> waiting;  // that stand by, and look for their turn
};

// One connection to one database that nobody else uses meanwhile. Not thread-safe.
class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  [[nodiscard]] virtual Dialect dialect() const = 0;
  // A path, or where it is: for messages, without a password.
  [[nodiscard]] virtual std::string name() const = 0;

  // `in_parts`: its rows may be many, and left before their end.
  virtual std::unique_ptr<Prepared> prepare(const char* sql, bool in_parts) = 0;
  virtual Result<void> execute(const char* script) = 0;

  // Rows in PostgreSQL's own form (postgres_values.hpp), which it takes faster than statements.
  virtual Result<void> copy_in(const std::string& command, std::string_view rows) = 0;

  // PostgreSQL: makes this process the node, by a number that is one more than that of the process before
  // (the counter "node:term"). From then on a connection that was lost is made again, if the number is the
  // last one still, and what this process committed last is there; else everything fails with kSuperseded
  // from there on. SQLite: nothing, since no other process gets in.
  virtual Result<void> take_term() { return {}; }
  // PostgreSQL: whose the tables are. Inside a transaction. SQLite: nothing is known.
  virtual Result<Tenure> tenure() { return Tenure(); }

  // Transactions that write and that only read. A connection that was lost is made again here, and nowhere
  // else.
  virtual Result<void> begin() = 0;
  // PostgreSQL, of the node: if the answer is lost, the commit is looked for over a new connection, for ten
  // seconds. If it is found later, all fails with kSuperseded from there on, since the caller was told
  // kUnavailable.
  virtual Result<void> commit() = 0;
  virtual Result<void> rollback() = 0;
  virtual Result<void> begin_reading() = 0;
  virtual void end_reading() = 0;
  // The first error of the statements that were sent since the last step or settle().
  virtual Result<void> settle() = 0;
  [[nodiscard]] virtual bool in_transaction() const = 0;

  [[nodiscard]] virtual std::int64_t changes() const = 0;
  // SQLite: has `told` called while `work` is done. PostgreSQL: just does it.
  virtual Result<void> watched(std::function<void()> told, const std::function<Result<void>()>& work) = 0;
  [[nodiscard]] virtual sqlite3* native() const { return nullptr; }
};

}  // namespace tagring::sql
