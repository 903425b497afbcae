#include "sql/postgres_lock.hpp"

#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

namespace tagring::sql {
namespace {

// "tagr", and the schema.
constexpr const char* kLock =
    "SET lock_timeout = '2s';"
    "SELECT pg_advisory_lock(1952540530, hashtext(current_schema()) & 2147483647);"
    "SET lock_timeout = '10s'";
// Another one, which all who wait for the first may have at a time: so that they are seen.
constexpr const char* kStandBy =
    "SELECT pg_advisory_lock_shared(1952540531, hashtext(current_schema()) & 2147483647)";
constexpr const char* kStandByNoMore =
    "SELECT pg_advisory_unlock_shared(1952540531, hashtext(current_schema()) & 2147483647)";
constexpr std::string_view kOfLocks =
    " FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND l.objid::bigint = hashtext(current_schema()) & 2147483647";
constexpr std::string_view kOfHolder = " AND l.classid = 1952540530";
constexpr std::string_view kOfWaiting = " AND l.classid = 1952540531";
constexpr std::string_view kWho =
    "format('%s from %s since %s (pid %s there)', a.application_name,"
    " coalesce(host(a.client_addr), 'the server''s own machine'), to_char(a.backend_start, 'YYYY-MM-DD "
    "HH24:MI'), a.pid)";
constexpr std::string_view kIsSilent =
    "a.wait_event_type = 'Client' AND a.state_change < clock_timestamp() - $1::float8 * interval '1 ms'";
constexpr const char* kTerm = "SELECT coalesce((SELECT value FROM counters WHERE name = 'node:term'), 0)";
// Who waits looks each second, and may be busy for some when it tries to take the lock.
constexpr Duration kHangs = std::chrono::seconds(15);

PostgresAnswer ask(PGconn* connection, const std::string& sql, std::int64_t parameter) {
  const std::string text = std::to_string(parameter);
  const char* value = text.c_str();
  return PostgresAnswer(
      PQexecParams(connection, sql.c_str(), 1, nullptr, &value, nullptr, nullptr, /*resultFormat=*/0));
}

bool is_true(const PGresult* answer, int column) {
  return std::string_view(PQgetvalue(answer, 0, column)) == "t";
}

}  // namespace

Result<std::optional<LockHolder>> take_lock(PGconn* connection) {
  const PostgresAnswer locked(PQexec(connection, kLock));
  if (PQresultStatus(locked.get()) == PGRES_COMMAND_OK) return std::nullopt;
  const char* state = PQresultErrorField(locked.get(), PG_DIAG_SQLSTATE);
  if (state == nullptr || std::string_view(state) != "55P03")
    return failure(connection, locked.get(), "lock");
  TRY(std::optional<LockHolder> holder, look_at_lock(connection, Duration(0)));
  return holder ? std::move(holder) : LockHolder();
}

Result<std::optional<LockHolder>> look_at_lock(PGconn* connection, Duration silence) {
  const PostgresAnswer found =
      ask(connection, fmt::format("SELECT a.pid, {}, {}{}{}", kWho, kIsSilent, kOfLocks, kOfHolder),
          silence.count());
  if (PQresultStatus(found.get()) != PGRES_TUPLES_OK) return failure(connection, found.get(), "lock");
  if (PQntuples(found.get()) == 0) return std::nullopt;
  return LockHolder{.process = std::atoi(PQgetvalue(found.get(), 0, 0)),
                    .who = PQgetvalue(found.get(), 0, 1),
                    .is_silent = is_true(found.get(), 2)};
}

void stand_by(PGconn* connection, bool stands_by) {
  const PostgresAnswer done(PQexec(connection, stands_by ? kStandBy : kStandByNoMore));
}

Result<Tenure> look_at_tenure(PGconn* connection) {
  Tenure tenure;
  const PostgresAnswer term(PQexec(connection, kTerm));
  if (PQresultStatus(term.get()) != PGRES_TUPLES_OK) return failure(connection, term.get(), "term");
  tenure.term = std::strtoll(PQgetvalue(term.get(), 0, 0), nullptr, 10);
  TRY(const std::optional<LockHolder> holder, look_at_lock(connection, kHangs));
  if (holder) tenure.holder = holder->who;
  const PostgresAnswer waiting = ask(connection,
                                     fmt::format("SELECT {}{}{} AND NOT ({}) ORDER BY a.backend_start", kWho,
                                                 kOfLocks, kOfWaiting, kIsSilent),
                                     kHangs.count());
  if (PQresultStatus(waiting.get()) != PGRES_TUPLES_OK)
    return failure(connection, waiting.get(), "who waits");
  for (int i = 0; i < PQntuples(waiting.get()); ++i)
    tenure.waiting.emplace_back(PQgetvalue(waiting.get(), i, 0));
  return tenure;
}

bool end_holder(PGconn* connection, int process) {
  const PostgresAnswer ended =
      ask(connection,
          fmt::format("SELECT pg_terminate_backend(a.pid, 2000){}{} AND a.pid = $1", kOfLocks, kOfHolder),
          process);
  return PQresultStatus(ended.get()) == PGRES_TUPLES_OK && PQntuples(ended.get()) == 1 &&
         is_true(ended.get(), 0);
}

}  // namespace tagring::sql
