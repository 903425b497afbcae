#include "sql/postgres_lock.hpp"

#include <cstdlib>
#include <string_view>

namespace tagring::sql {
namespace {

// "tagr", and the schema.
constexpr const char* kLock =
    "SET lock_timeout = '2s';"
    "SELECT pg_advisory_lock(1952540530, hashtext(current_schema()) & 2147483647);"
    "SET lock_timeout = '10s'";
// What is not known of a session of another role is null: such a one is not silent, and so is nobody for a
// silence of null.
constexpr const char* kHolder =
    "SELECT h.pid, h.who, CASE WHEN h.is_silent THEN pg_terminate_backend(h.pid, 2000) ELSE false END FROM ("
    "SELECT a.pid, format('%s from %s since %s (pid %s there)', a.application_name,"
    " coalesce(host(a.client_addr), 'the server''s own machine'), to_char(a.backend_start, 'YYYY-MM-DD "
    "HH24:MI'), a.pid) AS who,"
    " a.wait_event_type = 'Client' AND a.state_change < clock_timestamp() - $1::float8 * interval '1 ms' AS "
    "is_silent"
    " FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND l.classid = 1952540530 AND l.objid::bigint = hashtext(current_schema()) & 2147483647) h";
constexpr const char* kEndFormer =
    "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE pid = $1"
    " AND application_name = current_setting('application_name')";

PostgresAnswer ask(PGconn* connection, const char* sql, const std::optional<std::int64_t>& parameter) {
  const std::string text = parameter ? std::to_string(*parameter) : "";
  const char* value = parameter ? text.c_str() : nullptr;
  return PostgresAnswer(PQexecParams(connection, sql, 1, nullptr, &value, nullptr, nullptr, /*text*/ 0));
}

}  // namespace

Result<std::optional<LockHolder>> take_lock(PGconn* connection) {
  const PostgresAnswer locked(PQexec(connection, kLock));
  if (PQresultStatus(locked.get()) == PGRES_COMMAND_OK) return std::nullopt;
  const char* state = PQresultErrorField(locked.get(), PG_DIAG_SQLSTATE);
  if (state == nullptr || std::string_view(state) != "55P03")
    return failure(connection, locked.get(), "lock");
  TRY(std::optional<LockHolder> holder, look_at_lock(connection, std::nullopt));
  return holder ? std::move(holder) : LockHolder();
}

Result<std::optional<LockHolder>> look_at_lock(PGconn* connection, std::optional<Duration> silence) {
  const auto milliseconds = silence.transform([](Duration time) { return std::int64_t{time.count()}; });
  const PostgresAnswer found = ask(connection, kHolder, milliseconds);
  if (PQresultStatus(found.get()) != PGRES_TUPLES_OK) return failure(connection, found.get(), "lock");
  if (PQntuples(found.get()) == 0) return std::nullopt;
  return LockHolder{.process = std::atoi(PQgetvalue(found.get(), 0, 0)),
                    .who = PQgetvalue(found.get(), 0, 1),
                    .was_ended = std::string_view(PQgetvalue(found.get(), 0, 2)) == "t"};
}

void end_former_session(PGconn* connection, int process) {
  static_cast<void>(ask(connection, kEndFormer, process));
}

}  // namespace tagring::sql
