#include "sql/meta.hpp"

#include <algorithm>
#include <array>
#include <poll.h>
#include <string_view>

#include "base/bytes.hpp"
#include "sql/libpq.hpp"

namespace tagring::sql {
namespace {
constexpr const char* kByName = "SELECT encode(value, 'hex') FROM meta WHERE name = $1";
constexpr std::string_view kNoTable = "42P01";  // SQLSTATE undefined_table
constexpr int kAnswersWithin = 5'000;           // ms between two pieces of an answer

// Whether the answer to what was asked is there, all of it. One that waits for a lock is none.
bool has_answer(PGconn* link) {
  while (PQisBusy(link) == 1) {
    pollfd ready{.fd = PQsocket(link), .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kAnswersWithin) != 1 || PQconsumeInput(link) != 1) return false;
  }
  return true;
}

}  // namespace

Task<Result<std::optional<std::string>>> SqliteMeta::get(std::string name) {
  return database_.read([name = std::move(name)](Connection& db) -> Result<std::optional<std::string>> {
    Statement value = db.query("SELECT value FROM meta WHERE name = ?", name);
    TRY(const bool row, value.step());
    if (!row) return std::nullopt;
    return value.text(0);
  });
}

Task<Result<void>> SqliteMeta::set(std::string name, std::string value) {
  return database_.write([name = std::move(name), value = std::move(value)](Connection& db) -> Result<void> {
    TRY_VOID(db.run(
        "INSERT INTO meta(name, value) VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
        name, Blob{value}));
    return {};
  });
}

Task<Result<std::uint64_t>> SqliteMeta::next_incarnation(const Clock& clock) {
  const auto now = static_cast<std::uint64_t>(to_ms(clock.wall_now()));
  return database_.write([now](Connection& db) -> Result<std::uint64_t> {
    TRY(const std::uint64_t last, last_number(db, "node:incarnation"));
    const std::uint64_t next = std::max(last + 1, now);
    TRY_VOID(reserve_numbers(db, "node:incarnation", next - last));
    return next;
  });
}

Result<std::uint64_t> reserve_numbers(Connection& connection, const std::string& counter,
                                      std::uint64_t count) {
  Statement last = connection.query(
      "INSERT INTO counters(name, value) VALUES(?1, ?2)"
      " ON CONFLICT(name) DO UPDATE SET value = counters.value + excluded.value RETURNING value",
      counter, count);
  TRY(const bool row, last.step());
  if (!row) return fail(ErrorCode::kCorrupt, "database: no counter " + counter);
  const std::uint64_t first = last.number(0) - count + 1;
  TRY_VOID(last.step());
  return first;
}

Result<std::uint64_t> last_number(Connection& connection, const std::string& counter) {
  Statement last = connection.query("SELECT value FROM counters WHERE name = ?", counter);
  TRY(const bool row, last.step());
  return row ? last.number(0) : 0;
}

Result<std::optional<std::string>> remembered(const std::string& dsn, const std::string& name) {
  // What the connection string says of the first ones goes before.
  const std::array<const char*, 6> keys = {"connect_timeout",  "tcp_user_timeout", "dbname",
                                           "application_name", "client_encoding",  nullptr};
  const std::array<const char*, 6> values = {"5", "5000", dsn.c_str(), "tagring front", "UTF8", nullptr};
  const PostgresLink link(PQconnectdbParams(keys.data(), values.data(), /*expand_dbname=*/1));
  if (!link) return fail(ErrorCode::kUnavailable, "PostgreSQL: out of memory");
  if (PQstatus(link.get()) != CONNECTION_OK)
    return fail(ErrorCode::kUnavailable, "PostgreSQL: " + one_line(PQerrorMessage(link.get())));
  const char* const parameter = name.c_str();
  if (PQsendQueryParams(link.get(), kByName, 1, nullptr, &parameter, nullptr, nullptr, /*resultFormat=*/0) !=
      1)
    return fail(ErrorCode::kUnavailable, "PostgreSQL: " + one_line(PQerrorMessage(link.get())));
  if (!has_answer(link.get())) return fail(ErrorCode::kUnavailable, "PostgreSQL does not answer");
  const PostgresAnswer rows(PQgetResult(link.get()));
  const char* const state = PQresultErrorField(rows.get(), PG_DIAG_SQLSTATE);
  if (state != nullptr && std::string_view(state) == kNoTable) return std::nullopt;
  if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK)
    return fail(ErrorCode::kInvalid, "PostgreSQL: " + one_line(PQerrorMessage(link.get())));
  if (PQntuples(rows.get()) == 0) return std::nullopt;
  std::optional<std::string> value = from_hex(PQgetvalue(rows.get(), 0, 0));
  if (!value) return fail(ErrorCode::kCorrupt, "PostgreSQL: what is remembered cannot be read");
  return value;
}

}  // namespace tagring::sql
